"""Documents to token ids."""
