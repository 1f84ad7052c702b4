"""Part-worths from choices: CBC(C) at one C, along the path, cross-validated."""
