"""Imports that all jobs of a sweep need, done once in the server that forks them."""

import contextlib
import signal
import sys

from train.runtime.process import REQUEUE, set_environment

set_environment()
for number in (signal.SIGINT, *REQUEUE):  # are for the parent and for the jobs
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # W&B clears its folders

import pandas  # noqa: E402, F401  (wandb looks for it at the first value that is logged)

import train.run  # noqa: E402, F401  (what a job imports)

with contextlib.suppress(ImportError):
    import wandb.sdk.launch  # noqa: F401  (wandb.init imports it, in most of its time)
