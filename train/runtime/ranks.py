"""The rank of this process in its run, known before torch.distributed starts."""

import os

LAUNCHERS = (("RANK",), ("SLURM_PROCID", "NODE_RANK", "LOCAL_RANK"))
"""torchrun numbers all processes, SLURM too; Lightning's own launch numbers nodes, and processes of each."""


def is_rank_zero() -> bool:
    """Whether this process speaks for the run: it alone trains under the lock, writes, and reports to W&B."""
    names = next((names for names in LAUNCHERS if names[0] in os.environ), LAUNCHERS[-1])
    return all(os.environ.get(name, "0") == "0" for name in names)
