"""Text or task -> token ids -> Batch. Knows nothing of models."""
