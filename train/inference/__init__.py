"""A trained model in use: text, and export to other programs."""
