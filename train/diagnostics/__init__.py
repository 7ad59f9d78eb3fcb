"""Causes of a loss that rises past the training length: `yardstick diagnose run=...`"""
