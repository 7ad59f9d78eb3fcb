"""Runs side by side: curves, comparisons, and what they say."""
