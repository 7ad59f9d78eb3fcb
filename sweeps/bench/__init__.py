"""Benchmarks: the speed of everything, side by side, on this machine: `python -m sweeps.bench`."""
