"""Rows of a sweep or of a run -> a table, figures, a page and a verdict: `python -m sweeps.report <folder>`."""
