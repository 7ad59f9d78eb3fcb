"""Claims of the literature (`literature/`), decided by measured rows."""
