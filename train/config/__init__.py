"""The way of a command line to a Config."""
