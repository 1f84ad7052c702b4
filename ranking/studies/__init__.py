"""Whole studies: fit, choose, measure, tabulate."""
