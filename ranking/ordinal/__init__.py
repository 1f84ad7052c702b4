"""Ordinal regression with fixed margins: thresholds on a score, for one C or for all of them."""
