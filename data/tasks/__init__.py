"""Algorithmic tasks: how a question is drawn, and its answer."""
