"""RankSVM at one C, along the path, and cross-validated."""
