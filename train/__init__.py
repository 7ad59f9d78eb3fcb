"""One run: build, fit, evaluate, write rows."""
