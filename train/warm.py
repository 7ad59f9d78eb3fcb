"""What every job of a sweep needs, imported once: in the server that the jobs are forked from."""

import contextlib

import pandas  # noqa: F401  (wandb looks for it at the first value that is logged)
import plotly.graph_objects  # noqa: F401  (a figure that is logged at the end)

import train.__main__
import train.run  # noqa: F401
from train.settings import sources

with contextlib.suppress(ImportError):
    import wandb.sdk.launch  # noqa: F401  (wandb.init imports it, in most of its time)

sources("train.run")  # reads the code once
