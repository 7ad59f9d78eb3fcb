"""Everything that tables, figures and the page show, as one plain dict: `summary.json` of a report."""

from dataclasses import replace
from typing import Any

import numpy as np

from sweeps.report import comparisons, protocols
from sweeps.report.causes import decompose
from sweeps.report.comparisons import chosen_reference, plain, ranked
from sweeps.report.curves import BESIDE, Curves, Table
from sweeps.report.fairness import fairness, provenance
from sweeps.report.methods import family, order
from sweeps.report.results import Run, Sweep
from train.rows import ANSWERS, CHANCE, ONCE

HIGHER_IS_BETTER = ("accuracy", "exact_match", "margin", "tokens_per_second")
TOLERANCE = 0.02  # nats a token: a loss that is higher by no more than this is not called worse


def summarise(sweep: Sweep, reference: str | None = None, tolerance: float = TOLERANCE) -> dict[str, Any]:
    settings = [setting(Table(runs), *key[:3], reference, tolerance) for key, runs in groups(sweep).items()]
    if reference and settings and not any(one["reference"] == reference for one in settings):
        known = ", ".join(sorted({name for one in settings for name in one["methods"]}))
        raise ValueError(
            f"There is no method '{reference}' to refer to in {sweep.folder}; there are: {known}."
        )
    return {
        "name": sweep.name,
        "command": sweep.command,
        "started": sweep.started,
        "folder": str(sweep.folder),
        "jobs": len(sweep.runs) + len(sweep.failures),
        "failures": [vars(failure) for failure in sweep.failures],
        "runs": [str(run.folder) for run in sweep.runs],
        "settings": settings,
    }


def groups(sweep: Sweep) -> dict[tuple[str, str, int, bool], list[Run]]:
    """The runs that may be compared: by data, corpus and training length; what a run says of text and what
    it answers are looked at apart."""
    found: dict[tuple[str, str, int, bool], list[Run]] = {}
    for run in sweep.runs:
        kinds = {row.is_answer for row in run.rows if row.protocol != ONCE}
        for answers in kinds or {False}:
            rows = [row for row in run.rows if row.protocol == ONCE or row.is_answer == answers]
            key = rows[0].data, rows[0].corpus, rows[0].trained_length, answers
            found.setdefault(key, []).append(replace(run, rows=rows))
    return dict(sorted(found.items()))


def headline(table: Table) -> tuple[str, str] | None:
    """The protocol and metric that methods are ranked by: loss under same_tokens, accuracy of all answers."""
    every = [key for key in table.cells if key[0] not in ("training", "by_position") and key[1] not in BESIDE]
    return min(every, key=importance, default=None)


def importance(key: tuple[str, str]) -> tuple[bool, bool, tuple[str, str]]:
    return key[0] not in ("same_tokens", ANSWERS), key[1] not in ("loss", "accuracy"), key


def setting(
    table: Table, data: str, corpus: str, trained: int, reference: str | None, tolerance: float
) -> dict[str, Any]:
    """What is said of the runs with the same data and the same training length."""
    drawn_as: dict[str, dict[str, Any]] = {}
    for protocol, metric in sorted(table.cells, key=importance):
        if protocol != "training" and metric != CHANCE:
            drawn_as.setdefault(protocol, {})[metric] = drawn(table.curves(protocol, metric))
    names = table.methods
    result: dict[str, Any] = {
        "data": data,
        "corpus": corpus,
        "trained_length": trained,
        "in_tokens": in_tokens(table.runs, trained),
        "tolerance": tolerance,
        "reference": None,
        "chance": chance(table),
        "protocols": drawn_as,
        "labels": protocols.labels(table.runs, trained),
        "decomposition": {},
        "training": training(table),
        "fairness": fairness(table),
        "provenance": provenance(table),
    }
    if main := headline(table):
        curves = table.curves(*main)
        sign = -1 if main[1] in HIGHER_IS_BETTER else 1
        names = ranked(curves, sign)
        chosen = chosen_reference(names, table, reference)
        crop_protocol, crop = comparisons.cropped(table, main[0], curves)
        scored = len(curves.counts) > 1
        result |= {
            "protocol": main[0],
            "metric": main[1],
            "sign": sign,
            "lengths": curves.lengths,
            "seeds": curves.seeds,
            "documents": len(curves.counts) if scored else 0,
            "windows": int(curves.counts.sum()) if scored else 0,
            "over": curves.over.replace("documents", "problems") if table.answers else curves.over,
            "reference": chosen,
            "difference": comparisons.against(curves, names, [chosen] * len(curves.lengths), sign),
            "best": comparisons.best(curves, names, sign),
            "effective": comparisons.effective(curves, names, trained, tolerance, sign),
            "against": comparisons.opponent(crop),
            "extensions": comparisons.extensions(curves, crop, names, trained, sign),
            "crop": crop_protocol,
            "bimodal": comparisons.two_groups(curves),
            "decomposition": decompose(table, names, trained),
        }
    families = {name: family(table.encodings[name]) for name in names}
    result["notes"] = table.notes
    result["methods"] = {
        name: {"encoding": table.encodings[name], "family": families[name]} for name in names
    }
    result["order"] = sorted(names, key=lambda name: (order(table.encodings[name]), name))
    return result


def in_tokens(runs: list[Run], trained: int) -> bool:
    """Whether lengths count tokens; a task that counts in another way needs more tokens than that."""
    return all(run.settings.get("model.length", trained) == trained for run in runs)


def chance(table: Table) -> dict[str, list[float]]:
    """{lengths, value}: the accuracy of always giving the commonest token; empty where nothing is asked."""
    found = {length: value for (_, length, _), value in table.cells.get((ANSWERS, CHANCE), {}).items()}
    return {"lengths": sorted(found), "value": [found[n] for n in sorted(found)]} if found else {}


def drawn(curves: Curves) -> dict[str, Any]:
    """{method: {extension: mean, interval and seeds at each length}}."""
    found = curves.interval(curves.samples)
    methods: dict[str, dict[str, Any]] = {}
    for number, (method, extension) in enumerate(curves.variants):
        methods.setdefault(method, {})[extension] = {
            "value": plain(found.value[number]),
            "low": plain(found.low[number]),
            "high": plain(found.high[number]),
            "seeds": plain(curves.values[number].T),
        }
    return {"lengths": curves.lengths, "seeds": curves.seeds, "methods": methods}


def training(table: Table) -> dict[str, dict[str, float]]:
    """{method: {metric: mean over seeds}} of what was measured in training."""
    found: dict[str, dict[str, list[float]]] = {}
    for (protocol, metric), cells in table.cells.items():
        for ((method, _), _, _), value in cells.items() if protocol == "training" else ():
            if np.isfinite(value):
                found.setdefault(method, {}).setdefault(metric, []).append(value)
    return {name: {metric: float(np.mean(v)) for metric, v in of.items()} for name, of in found.items()}
