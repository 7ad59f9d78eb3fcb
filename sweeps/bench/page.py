"""The results of benchmarks as a table of numbers and a page."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from sweeps.drawing.page import markdown_page
from sweeps.numbers import to_markdown
from train.results.run_folder import write_whole

KEY = ["machine", "kind", "threads", "length", "model"]
COLUMNS = {  # of the table of methods, and what a page calls them
    "train": "training, tokens/s", "train_vs_nope": "step, x NoPE",
    "evaluate": "attention over 8,192 tokens, s", "evaluate_vs_causal": "x causal",
}  # fmt: skip
PEERS = {"peers": "tokens/s", "peers_compiled": "tokens/s, compiled"}
ANSWERS = {  # each question is answered by the largest of these results, and by the model that has it
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
class Speed:
    """A number, and its conditions."""

    kind: str
    model: str  # an encoding; a peer with its attention and precision; "" of a sweep
    length: int  # tokens; 0 of a sweep
    threads: int
    value: float
    machine: str
    date: str


def write_page(speeds: Sequence[Speed], folder: Path) -> None:
    """Write `benchmarks.csv` and `benchmarks.md`; earlier measurements stay unless they were repeated."""
    file = folder / "benchmarks.csv"
    earlier = pd.read_csv(file, keep_default_na=False).to_dict("records") if file.exists() else []
    frame = pd.DataFrame([*earlier, *map(asdict, speeds)]).drop_duplicates(KEY, keep="last")
    frame = frame.sort_values(KEY, ignore_index=True)
    frame["value"] = [float(f"{value:.4g}") for value in frame["value"]]
    write_whole(file, frame.to_csv(index=False))
    write_whole(folder / "benchmarks.md", bench_page(frame))


def bench_page(frame: pd.DataFrame) -> str:
    """Return a page: the answers to a reader's questions for each machine, then its tables."""
    machines = dict(list(frame.groupby("machine")))
    answers = pd.DataFrame({name: answers_of(part[part["threads"] == 1]) for name, part in machines.items()})
    tables = {name: tables_of(part) for name, part in machines.items()}
    dates = {name: ", ".join(sorted(set(part["date"]))) for name, part in machines.items()}
    template = Path(__file__).with_name("benchmarks.md.j2")
    return markdown_page(template, answers=table_text(answers), machines=tables, dates=dates)


def answers_of(part: pd.DataFrame) -> dict[str, str]:
    """Return the answers to the questions for which there are measurements."""
    best = {question: part.query(query).nlargest(1, "value") for question, query in ANSWERS.items()}
    return {
        question: speed_text(row.value) + (f" ({row.model})" if row.model not in ("rope", "") else "")
        for question, found in best.items()
        for row in found.itertuples()
    }


def tables_of(part: pd.DataFrame) -> list[str]:
    """Return the table of the methods, and that of the libraries, each with its fastest variant."""
    methods = part[part["kind"].isin(COLUMNS)].pivot(index="model", columns="kind", values="value")
    methods = methods.reindex(columns=[kind for kind in COLUMNS if kind in methods]).rename(columns=COLUMNS)
    peers = part[part["kind"].isin(PEERS)]
    heads = peers["kind"].map(PEERS) + peers["threads"].map({1: ""}).fillna(", two threads")
    libraries = peers.assign(head=heads, library=peers["model"].str.split().str[0])
    libraries = libraries.pivot_table("value", "library", "head", aggfunc="max", sort=False)
    return [table_text(table) for table in (methods, libraries) if len(table)]


def table_text(table: pd.DataFrame) -> str:
    """Return a table in Markdown, with empty cells for missing numbers."""
    rows = ([name, *map(speed_text, values)] for name, *values in table.itertuples())
    return to_markdown(["", *table.columns], rows)


def speed_text(value: float | str) -> str:
    if isinstance(value, str) or pd.isna(value):
        return value if isinstance(value, str) else ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
