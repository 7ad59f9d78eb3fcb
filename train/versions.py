"""Numbers that are raised when the same settings would give other results.

They are parts of the names of runs and of trained models, so that what an older version made is not
taken for what this one would make; golden/ holds results to them. A method has its own: `version` in its
file of `conf/`.
"""

from importlib.metadata import version

import data

TRAINING = {
    "model": 1,  # models/gpt.py and how its weights start
    "kernels": 1,  # models/attend.py, models/kernels/
    "loss": 1,  # train/loss.py, train/objective.py
    "optimizer": 1,  # train/module.py: AdamW, its schedule and clipping, parts of a batch
    "data": data.VERSION,  # documents, tokens, batches, problems
}
EVALUATION = {
    "text": 1,  # train/evaluation/text.py, train/protocols.py, windows of data/
    "problems": 1,  # train/evaluation/problems.py
}
PACKAGES = ("torch", "lightning", "numpy", "tokenizers", "sympy", "networkx")


def packages() -> str:
    """The versions of what computes a result, in one line."""
    return ", ".join(f"{name} {version(name)}" for name in PACKAGES)
