"""Checkpoints of others: what their configuration means."""
