"""The speed of everything, side by side, on the machine at hand: `python -m sweeps.bench`."""
