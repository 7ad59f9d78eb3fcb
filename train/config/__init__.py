"""Configuration: from a command line to a `Config`."""
