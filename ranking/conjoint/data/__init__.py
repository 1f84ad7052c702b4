"""Conjoint studies: reading, validation, design."""
