"""One run: build, fit, evaluate, write rows."""

import os

# OpenMP's threads wait for each other by spinning: with other work on the same cores that is ten times slower
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is imported
