"""Causes of a loss that rises past the training length: `python -m train.diagnose run=...`"""
