"""Engine 1: the paper's algorithm on a dense dictionary."""
