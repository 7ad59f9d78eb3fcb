"""Training one model."""
