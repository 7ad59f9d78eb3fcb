"""Claims of the literature (`sweeps/claims/*.yaml`), each decided by rows that were measured here."""
