"""The court: claims of the literature (`sweeps/claims/*.yaml`), decided by measured rows."""
