"""Rows, protocols, and the folder of a run."""
