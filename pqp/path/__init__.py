"""The answer: a path and what can be asked of it."""
