"""Fairness: differences between methods besides the encoding, and the circumstances of the runs."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sweeps.methods import differing_keys, short
from sweeps.numbers import plural
from sweeps.results import FinishedRun
from sweeps.table import Table
from train.results.rows import ONCE

SHOWN = {
    "steps": "trainer.max_steps",
    "sequences per step": "batch",
    "learning rate": "optimizer.learning_rate",
}
NOT_DESCRIBED = ("outputs", "wandb", "names", "jobs", "hydra", "sweeps", "extension")  # nothing of the result


def fairness(table: Table) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Return what is usual for the facts that a reader checks first and for other differing settings besides
    the encoding's; and the methods that differ in some of them."""
    differing = differing_keys([run.settings for run in table.runs])
    others = [key for key in differing if not key.startswith("encoding.") and key not in SHOWN.values()]
    every = {name: columns(runs, others) for name, runs in table.members.items()}
    keys = next(iter(every.values()))
    usual = {key: Counter(row[key] for row in every.values()).most_common(1)[0][0] for key in keys}
    unequal = {name: {k: row[k] for k in keys if row[k] != usual[k]} for name, row in every.items()}
    return usual, {name: row for name, row in unequal.items() if row}


def columns(runs: list[FinishedRun], others: list[str]) -> dict[str, str]:
    """Return the facts about the runs of a method."""
    evaluated = [row for run in runs for row in run.rows if row.extension == "none"] or runs[0].rows
    facts: dict[str, list[Any]] = {
        "parameters besides the encoding": [shared_parameters(run) for run in runs],
        **{name: [run.settings.get(key) for run in runs] for name, key in SHOWN.items()},
        "tokens": [trained_tokens(run) for run in runs],
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


def trained_tokens(run: FinishedRun) -> int | None:
    """Return the number of tokens seen in training; None if a task counts lengths in another unit, as steps
    then differ in tokens."""
    try:
        steps, batch = int(run.settings["trainer.max_steps"]), int(run.settings["batch"])
        length = int(run.settings["model.length"])
        return steps * batch * length if run.rows[0].trained_length == length else None
    except (KeyError, TypeError, ValueError):
        return None


def join_values(values: list[Any], by: str) -> str:
    """Return the distinct values of a method's runs as text."""
    known = sorted({value for value in values if value is not None}, key=lambda v: (str(type(v)), v))
    return by.join(f"{v:,}" if isinstance(v, int) and v >= 10_000 else short(v) for v in known)


def provenance(table: Table) -> dict[str, str]:
    """Return the origin of the runs, as far as it is known."""
    rows, facts = [row for run in table.runs for row in run.rows], [run.facts for run in table.runs]
    dates = sorted(str(fact["started"]) for fact in facts if fact.get("started"))
    seconds = sum(float(fact.get("seconds") or 0) for fact in facts)
    about = distinct_values(facts, "corpus_description")
    known = {
        "data": about if table.data in about else f"{table.data} {about}",
        "corpus (SHA-256)": rows[0].corpus,
        "command of one run": next((str(fact["command"]) for fact in facts if fact.get("command")), ""),
        "machine": distinct_values(facts, "machine"),
        "versions": "; ".join(sorted({row.versions for row in rows})),
        "commit": ", ".join(commit or "none" for commit in sorted({row.commit for row in rows})),
        "dates": f"{dates[0]} to {dates[-1]}" if dates else "",
        "time": f"{seconds / 60:,.1f} minutes of runs, {plural(len(facts), 'run')}" if seconds else "",
    }
    return {name: text for name, text in known.items() if text}


def shared_settings(facts: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the settings that all runs share."""
    for key, value in facts[0].items():
        name = key.removeprefix("settings.")
        described = key != name and value is not None and name.split(".")[0] not in NOT_DESCRIBED
        if described and all(fact.get(key) == value for fact in facts):
            yield name, str(value)


def distinct_values(facts: list[dict[str, Any]], key: str) -> str:
    """Return the values of a fact over all runs; nested ones as pairs."""
    values = {
        str(fact[key])
        if key in fact
        else ", ".join(f"{k.removeprefix(key + '.')} {v}" for k, v in fact.items() if k.startswith(key + "."))
        for fact in facts
    }
    return "; ".join(sorted(value for value in values if value))
