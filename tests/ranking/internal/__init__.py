"""Tests that pin what is behind the public names of `ranking`: a refactoring may change them."""
