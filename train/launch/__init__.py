"""The jobs of a sweep."""
