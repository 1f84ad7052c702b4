"""Problems and paths as plain data."""
