"""The model, and every way to tell it where a token stands."""
