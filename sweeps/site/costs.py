"""The cost of a method in time and memory, from docs/benchmarks.csv and docs/gpu.md."""

import re
from functools import cache

import pandas as pd

from models import table
from sweeps.numbers import text_table
from sweeps.site.origin import host
from train.paths import ROOT

TIMES = {
    "train_vs_nope": "a training step at 128 tokens, times that of NoPE",
    "evaluate_vs_causal": "attention over 8,192 tokens, times plain causal attention of PyTorch",
}


def costs(group: str, name: str) -> str:
    """Return a table of what a method costs in time and memory; a sentence if nothing was measured."""
    key = name if group == "encoding" else f"{host(name)}+{name}"
    rows = [
        [words, machine, f"{value:.3g}"]
        for kind, words in TIMES.items()
        for machine, value in times_of(kind, key).items()
    ]
    page = (ROOT / "docs/gpu.md").read_text("utf-8")
    if found := re.search(rf"^\| `{re.escape(key)}` \| (.+?) \| (.+?) \| (.+?) \|$", page, re.MULTILINE):
        counted = "counted, 124M weights, bf16"
        rows += [["GPU memory of training", counted, found[1]]]
        rows += [[f"GPU memory of evaluation at {found[3]} tokens", counted, found[2]]]
    about = "Neither [time](../benchmarks.md) nor [memory](../gpu.md) was measured."
    if rows:
        sources = "How [time](../benchmarks.md) was measured, and [memory](../gpu.md) counted."
        about = f"{text_table(['cost', 'where', 'value'], rows)}\n\n{sources}"
    if group == "extension":
        return about
    row = table.encoding_row(name)
    added = f"On top of causal attention: `{row.cost}` ([what the words mean](../methods.md))."
    return f"Weights of its own, in `model=tiny`: {row.parameters:,}. {added}\n\n{about}"


def times_of(kind: str, model: str) -> pd.Series:
    """Return the measurements of a kind, by machine."""
    every = benchmarks()
    is_wanted = (every["kind"] == kind) & (every["model"] == model) & (every["threads"] == 1)
    return every[is_wanted].set_index("machine")["value"]


@cache
def benchmarks() -> pd.DataFrame:
    return pd.read_csv(ROOT / "docs/benchmarks.csv", keep_default_na=False)
