"""Tests, benchmarks and the problems they share."""
