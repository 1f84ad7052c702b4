"""Measures of rankings and of predicted levels."""
