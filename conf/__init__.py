"""The choices of a run: one folder for each kind, one file for each choice."""
