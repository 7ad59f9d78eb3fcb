"""Comparisons of runs: curves, statistics, and the sentences about them."""
