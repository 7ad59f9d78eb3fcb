"""The jobs of a sweep, and the launchers that run them."""
