"""A picture of every method, on one page that needs no internet: `python -m sweeps.gallery`."""
