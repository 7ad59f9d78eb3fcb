"""Facts about runs: whether methods are comparable, the circumstances, and the failures."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from sweeps.comparison import Comparison
from sweeps.methods import differing_keys, plain_text
from sweeps.numbers import MISSING, plural
from sweeps.results import Failure
from sweeps.runs import FinishedRun
from sweeps.table import Table
from sweeps.tables.cells import Cell, Column, DisplayTable, left_column, text_cell
from train.results.rows import ONCE

CHECKED = {
    "steps": "trainer.max_steps",
    "sequences per step": "batch",
    "learning rate": "optimizer.learning_rate",
}
NOT_DESCRIBED = ("outputs", "wandb", "names", "jobs", "hydra", "sweeps", "extension")  # nothing of the result


def method_facts(table: Table) -> tuple[pd.DataFrame, pd.Series]:
    """Return the facts that a reader checks first and the other differing settings besides the encoding's, as
    text: a row for each method; and what is usual for each of them."""
    differing = differing_keys([run.settings for run in table.runs])
    others = [key for key in differing if not key.startswith("encoding.") and key not in CHECKED.values()]
    every = {name: facts_of(runs, others) for name, runs in table.members.items()}
    facts = pd.DataFrame(list(every.values()), index=list(every))
    return facts, pd.Series({key: Counter(facts[key]).most_common(1)[0][0] for key in facts})


def facts_of(runs: list[FinishedRun], others: list[str]) -> dict[str, str]:
    """Return the facts about the runs of a method."""
    evaluated = [row for run in runs for row in run.rows if row.extension == "none"] or runs[0].rows
    facts: dict[str, list[Any]] = {
        "parameters besides the encoding": [shared_parameters(run) for run in runs],
        **{name: [run.settings.get(key) for run in runs] for name, key in CHECKED.items()},
        "tokens": [run.trained_tokens for run in runs],
        "precision": [row.precision for row in evaluated],
        "data": [f"{row.data} {row.corpus[:8]}" for row in evaluated],
        "seeds": [run.seed for run in runs],
        **{key: [run.settings.get(key) for run in runs] for key in others},
    }
    return {name: join_values(values, ", " if name == "seeds" else " / ") for name, values in facts.items()}


def shared_parameters(run: FinishedRun) -> int | None:
    measured = {row.metric: row.value for row in run.rows if row.protocol == ONCE}
    total, of_encoding = measured.get("parameters"), measured.get("encoding_parameters")
    return None if total is None else round(total) - round(of_encoding or 0)


def join_values(values: list[Any], by: str) -> str:
    """Return the distinct values of a method's runs as text."""
    known = sorted({value for value in values if value is not None}, key=lambda v: (str(type(v)), v))
    return by.join(f"{v:,}" if isinstance(v, int) and v >= 10_000 else plain_text(v) for v in known)


def fairness_table(comparison: Comparison) -> DisplayTable:
    """Return the settings that differ besides the encoding's, and a line on those that all share."""
    facts, usual = method_facts(comparison.table)
    differs = facts != usual
    unequal = list(facts.columns[differs.any()])
    rows = []
    for name in facts.index[differs.any(axis=1)]:
        kinds = {key: "differs" * bool(differs[key][name]) for key in unequal}
        cells = [Cell(facts[key][name] or MISSING, kind=kind) for key, kind in kinds.items()]
        rows.append([text_cell(str(name)), *cells])
    same = ", ".join(f"{key} {value}" for key, value in usual.items() if value and key not in unequal)
    rest = ", ".join(f"{key} {usual[key] or MISSING}" for key in unequal)
    rate = "The learning rate was tuned for none of them." if "learning rate" not in unequal else ""
    others = f"Elsewhere: {rest}." if rest else "Only the encoding differs."
    notes = [f"The same for all methods: {same}.", f"{others} {rate}"]
    return DisplayTable("Is it fair?", [left_column("method"), *map(Column, unequal)], rows, notes)


def failure_table(jobs: Sequence[Failure]) -> DisplayTable:
    rows = [
        [text_cell(failure.name), Cell(failure.reason, kind="wrap"), Cell(failure.log, kind="wrap code")]
        for failure in jobs
    ]
    return DisplayTable("Jobs without results", [*map(left_column, ("job", "reason", "log"))], rows)


def circumstances(table: Table) -> dict[str, str]:
    """Return the origin of the runs, as far as it is known."""
    rows, facts = [row for run in table.runs for row in run.rows], [run.facts for run in table.runs]
    dates = sorted(str(fact["started"]) for fact in facts if fact.get("started"))
    seconds = sum(float(fact.get("seconds") or 0) for fact in facts)
    about = "; ".join(sorted({run.about.corpus_description for run in table.runs} - {""}))
    known = {
        "data": about if table.data in about else f"{table.data} {about}",
        "corpus (SHA-256)": rows[0].corpus,
        "command of one run": next((str(fact["command"]) for fact in facts if fact.get("command")), ""),
        "machine": "; ".join(sorted({run.about.machine for run in table.runs} - {""})),
        "versions": "; ".join(sorted({row.versions for row in rows})),
        "commit": ", ".join(commit or "none" for commit in sorted({row.commit for row in rows})),
        "dates": f"{dates[0]} to {dates[-1]}" if dates else "",
        "time": f"{seconds / 60:,.1f} minutes of runs, {plural(len(facts), 'run')}" if seconds else "",
    }
    return {name: text for name, text in known.items() if text}


def shared_settings(runs: Sequence[FinishedRun]) -> dict[str, str]:
    """Return the settings that all runs share."""
    first = {key: value for key, value in runs[0].facts.items() if key.startswith("settings.")}
    return {
        key.removeprefix("settings."): str(value)
        for key, value in first.items()
        if value is not None and key.split(".")[1] not in NOT_DESCRIBED
        if all(run.facts.get(key) == value for run in runs)
    }
