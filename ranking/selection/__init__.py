"""The best C along a path, and the search over folds."""
