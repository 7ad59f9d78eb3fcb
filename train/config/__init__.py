"""From a command line to a Config."""
