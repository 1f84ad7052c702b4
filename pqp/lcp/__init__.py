"""The criss-cross method on a dictionary."""
