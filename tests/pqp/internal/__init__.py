"""Tests that pin internals: a refactoring may change them, unlike those of the public names."""
