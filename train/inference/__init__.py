"""Inference: text from a trained model, and export to other programs."""
