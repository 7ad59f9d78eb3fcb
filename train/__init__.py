"""One run: build, fit, evaluate, write rows."""

import os

# OpenMP's threads wait for each other by spinning: with other work on the same cores that is ten times slower
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is imported

# Of 4 KiB each, the pages of large tensors take a tenth of a step to find; Linux has huge ones for who asks
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # read at the first tensor
