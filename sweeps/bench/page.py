"""The results of benchmarks as a table of numbers and a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pydantic import TypeAdapter

from conf.errors import UsageError
from sweeps.bench.instructions import LIMITS
from sweeps.numbers import markdown
from sweeps.texts import markdown_page

HEADS = {  # of each kind of result in a table
    "train": "tokens/s", "train_vs_nope": "step, x NoPE", "peers": "", "peers_compiled": "compiled",
    "evaluate_vs_causal": "x causal", "evaluate": "s", "sweep": "", "sweep_evaluation": "",
}  # fmt: skip
TABLES = {  # kinds, rows and columns
    "A training step": (["train", "train_vs_nope"], ["model"], ["kind"]),
    "Training with other libraries, tokens/s":
        (["peers", "peers_compiled"], ["library", "kind", "threads"], ["isa"]),
    "Attention over 8,192 tokens": (["evaluate_vs_causal", "evaluate"], ["model"], ["kind", "isa"]),
}  # fmt: skip
ORDER = {name: place for place, name in enumerate([*HEADS, *LIMITS, ""])}
KEY = ["machine", "kind", "threads", "length", "isa", "model"]
QUESTIONS = {  # each is answered by the largest of these results, and by the model that has it
    "training with RoPE, tokens/s": "kind == 'peers' and model == 'rope'",
    "the fastest other library, tokens/s": "kind == 'peers' and model != 'rope'",
    "RoPE through `torch.compile`, tokens/s": "kind == 'peers_compiled' and model == 'rope'",
    "the fastest other library through it, tokens/s": "kind == 'peers_compiled' and model != 'rope'",
    "step of the slowest method, x NoPE": "kind == 'train_vs_nope'",
    "attention over 8,192 tokens with RoPE, seconds": "kind == 'evaluate' and model == 'rope'",
    "the same relative to plain causal flash attention": "kind == 'evaluate_vs_causal' and model == 'rope'",
    "the same with the slowest method": "kind == 'evaluate_vs_causal'",
    "`make sweep SWEEP=quick` with data and report, minutes": "kind == 'sweep'",
    "its evaluation, x its training": "kind == 'sweep_evaluation'",
}


@dataclass(frozen=True)
class Result:
    """A number, and its conditions."""

    kind: str  # of HEADS
    model: str  # an encoding; a peer with its attention and precision; "" of a sweep
    length: int  # tokens; 0 of a sweep
    isa: str  # the instruction set that libraries were limited to; "" for none
    threads: int
    value: float
    machine: str
    date: str = "an unknown date"


RESULTS = TypeAdapter(list[Result])


def write_page(results: Sequence[Result], folder: Path) -> None:
    """Write `benchmarks.csv` and `benchmarks.md`; earlier measurements stay unless they were repeated."""
    frame = pd.DataFrame([*earlier_results(folder), *results])
    frame = frame.drop_duplicates(KEY, keep="last")
    frame = frame.sort_values(
        KEY, key=lambda c: c.map(ORDER) if c.name in ("kind", "isa") else c, ignore_index=True
    )
    frame["value"] = [float(f"{value:.4g}") for value in frame["value"]]
    frame.to_csv(folder / "benchmarks.csv", index=False)
    (folder / "benchmarks.md").write_text(bench_page(frame))


def earlier_results(folder: Path) -> list[Result]:
    """Return the earlier measurements of a folder."""
    file = folder / "benchmarks.csv"
    try:
        rows = pd.read_csv(file, keep_default_na=False).to_dict("records") if file.exists() else []
        return RESULTS.validate_python(rows)
    except ValueError:
        raise UsageError(
            f"{file} does not hold benchmarks: delete it, or choose another folder by to=."
        ) from None


def bench_page(frame: pd.DataFrame) -> str:
    """Return a page: the answers to a reader's questions for each machine, then its tables."""
    machines = dict(list(frame.groupby("machine")))
    answers = pd.DataFrame({name: answers_of(largest_set(part)) for name, part in machines.items()})
    by_machine = {name: tables(part) for name, part in machines.items()}
    dates = {name: ", ".join(sorted(set(part["date"]))) for name, part in machines.items()}
    template = Path(__file__).with_name("benchmarks.md.j2")
    return markdown_page(template, answers=table_text(answers), machines=by_machine, dates=dates)


def largest_set(part: pd.DataFrame) -> pd.DataFrame:
    """Return the results for one thread and the largest instruction set of a machine."""
    return part[(part["isa"] == min(part["isa"], key=ORDER.__getitem__)) & (part["threads"] == 1)]


def answers_of(part: pd.DataFrame) -> dict[str, str]:
    """Return the answers to the questions for which there are measurements."""
    answers = {}
    for question, query in QUESTIONS.items():
        for row in part.query(query).nlargest(1, "value").to_dict("records"):
            model = "" if row["model"] in ("rope", "") else f" ({row['model']})"
            answers[question] = value_text(row["value"]) + model
    return answers


def tables(part: pd.DataFrame) -> dict[str, str]:
    """Return the tables of a machine by title; of several results in one place, the largest counts."""
    threads = part["threads"].map(lambda count: f"{count} threads" if count > 1 else "")
    part = part.assign(library=part["model"].str.split().str[0], threads=threads)
    result = {}
    for title, (kinds, index, columns) in TABLES.items():
        rows = part[part["kind"].isin(kinds)]
        if len(rows):
            result[title] = table_text(rows.pivot_table("value", index, columns, aggfunc="max", sort=False))
    return result


def table_text(table: pd.DataFrame) -> str:
    """Return a table in Markdown, with empty cells for missing numbers."""
    rows = ([head_text(name), *map(value_text, values)] for name, *values in table.itertuples())
    return markdown(["", *map(head_text, table.columns)], rows)


def head_text(name: str | tuple[str, ...]) -> str:
    """Return the head of a row or a column, whose name is one text or several."""
    parts = [name] if isinstance(name, str) else name
    return ", ".join(text for part in parts if (text := HEADS.get(part, part)))


def value_text(value: float | str) -> str:
    if isinstance(value, str) or pd.isna(value):
        return value if isinstance(value, str) else ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
