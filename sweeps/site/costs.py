"""The cost of a method in time and memory, from docs/benchmarks.csv and docs/gpu.md."""

import csv
import re
from functools import cache

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
        [words, machine, f"{float(value):.3g}"]
        for kind, words in TIMES.items()
        for machine, value in times_of(kind, key)
    ]
    rows += [[words, "counted, 124M weights, bf16", value] for words, value in memory(key)]
    added = ""
    if group == "encoding":
        row = table.encoding_row(name)
        weights = f"Weights of its own, in `model=tiny`: {row.parameters:,}."
        added = (
            f"{weights} On top of causal attention: `{row.cost}` ([what the words mean](../methods.md)).\n\n"
        )
    if not rows:
        return f"{added}Neither [time](../benchmarks.md) nor [memory](../gpu.md) was measured."
    text = text_table(["cost", "where", "value"], rows)
    return f"{added}{text}\n\nHow [time](../benchmarks.md) was measured, and [memory](../gpu.md) counted."


@cache
def benchmarks() -> list[dict[str, str]]:
    with (ROOT / "docs/benchmarks.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def times_of(kind: str, model: str) -> list[tuple[str, str]]:
    """Return the machine and the value of each measurement."""
    key = kind, model, "1"
    return [
        (row["machine"], row["value"])
        for row in benchmarks()
        if (row["kind"], row["model"], row["threads"]) == key
    ]


def memory(key: str) -> list[tuple[str, str]]:
    """Return what a method occupies on a GPU, from the table in docs/gpu.md."""
    found = re.search(rf"^\| `{re.escape(key)}` \| (.+?) \| (.+?) \| (.+?) \|$", gpu_page(), re.MULTILINE)
    if not found:
        return []
    return [
        ("GPU memory of training", found[1]),
        (f"GPU memory of evaluation at {found[3]} tokens", found[2]),
    ]


@cache
def gpu_page() -> str:
    return (ROOT / "docs/gpu.md").read_text("utf-8")
