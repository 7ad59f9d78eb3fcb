"""The model, and all ways to tell it the positions of tokens."""
