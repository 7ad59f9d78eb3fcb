"""Tests, which mirror the tree."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")  # read at Triton's import: kernels run on the CPU
