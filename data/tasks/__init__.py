"""Algorithmic tasks, one file each: how a question is drawn, and its answer."""
