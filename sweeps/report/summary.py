"""Everything that tables, figures and the page show, as one plain dict: `summary.json` of a report."""

from typing import Any

import numpy as np

from sweeps.report.curves import Curves, Table, Variant
from sweeps.report.fairness import fairness, provenance
from sweeps.report.methods import family, order
from sweeps.report.results import Run, Sweep
from sweeps.report.statistics import Interval, bimodal, holm, longest_unbroken

HIGHER_IS_BETTER = ("accuracy", "exact_match", "tokens_per_second")
COST = ("tokens_per_second", "peak_memory")
TOLERANCE = 0.02  # nats a token: a loss that is higher by no more than this is not called worse


def summarise(sweep: Sweep, reference: str | None = None, tolerance: float = TOLERANCE) -> dict[str, Any]:
    groups: dict[tuple[str, str, int], list[Run]] = {}
    for run in sweep.runs:
        row = run.rows[0]
        groups.setdefault((row.data, row.corpus, row.trained_length), []).append(run)
    settings = [setting(Table(runs), *key, reference, tolerance) for key, runs in sorted(groups.items())]
    if reference and settings and not any(one["reference"] == reference for one in settings):
        known = sorted({name for one in settings for name in one["methods"]})
        raise ValueError(f"There is no method '{reference}' to refer to in {sweep.folder}; there are: {', '.join(known)}.")
    return {
        "name": sweep.name,
        "command": sweep.command,
        "started": sweep.started,
        "folder": str(sweep.folder),
        "jobs": len(sweep.runs) + len(sweep.failures),
        "failures": [vars(failure) for failure in sweep.failures],
        "settings": settings,
    }


def setting(
    table: Table, data: str, corpus: str, trained: int, reference: str | None, tolerance: float
) -> dict[str, Any]:
    """What is said of the runs with the same data and the same training length."""
    protocols: dict[str, dict[str, Any]] = {}
    for protocol, metric in sorted(table.cells, key=lambda key: (key[0] != "same_tokens", key[1] != "loss", key)):
        if protocol != "training":
            protocols.setdefault(protocol, {})[metric] = drawn(table.curves(protocol, metric))
    main = next(((p, m) for p, of in protocols.items() if p != "by_position" for m in of if m not in COST), None)
    result: dict[str, Any] = {
        "data": data,
        "corpus": corpus,
        "trained_length": trained,
        "tolerance": tolerance,
        "reference": None,
        "protocols": protocols,
        "training": training(table),
        "fairness": fairness(table),
        "provenance": provenance(table),
    }
    names = table.methods
    if main is not None:
        curves = table.curves(*main)
        sign = -1 if main[1] in HIGHER_IS_BETTER else 1
        names = ranked(curves, sign)
        chosen = chosen_reference(names, table, reference)
        result |= {
            "protocol": main[0],
            "metric": main[1],
            "lengths": curves.lengths,
            "seeds": curves.seeds,
            "documents": len(curves.counts) if len(curves.counts) > 1 else 0,
            "windows": int(curves.counts.sum()) if len(curves.counts) > 1 else 0,
            "over": curves.over,
            "reference": chosen,
            "difference": against(curves, names, [chosen] * len(curves.lengths), sign),
            "best": best(curves, names, sign),
            "effective": effective(curves, names, trained, tolerance, sign),
            "extensions": extensions(curves, names, trained, sign),
            "bimodal": two_groups(curves),
        }
    result["notes"] = table.notes
    result["methods"] = {
        name: {"encoding": table.encodings[name], "family": family(table.encodings[name])} for name in names
    }
    result["order"] = sorted(names, key=lambda name: (order(table.encodings[name]), name))
    return result


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


def ranked(curves: Curves, sign: int) -> list[str]:
    """Methods, best at the longest length first; where one is undefined, the longest length at which it is not."""
    means = sign * curves.interval(curves.samples).value  # (V, T)

    def key(number: int) -> tuple[int, float]:
        known = np.flatnonzero(np.isfinite(means[number]))
        return (-int(known[-1]), float(means[number, known[-1]])) if len(known) else (1, 0.0)

    plain_ones = [number for number, (_, extension) in enumerate(curves.variants) if extension == "none"]
    return [curves.variants[number][0] for number in sorted(plain_ones, key=key)]


def chosen_reference(names: list[str], table: Table, asked: str | None) -> str:
    """RoPE unless another is asked for; without it, the first of the families."""
    if asked in names:
        return str(asked)
    return "rope" if "rope" in names else min(names, key=lambda name: (order(table.encodings[name]), name))


def against(curves: Curves, names: list[str], others: list[str], sign: int) -> dict[str, Any]:
    """The difference of every method to one method a length, and at each length what is separable after Holm."""
    samples = curves.at([(name, "none") for name in names])
    other = np.stack([curves.at([(name, "none")])[0, t] for t, name in enumerate(others)])
    found = curves.interval(samples - other, pool=True)
    same = np.array([[name == other for other in others] for name in names])
    corrected = np.stack([holm(np.where(same, np.nan, found.p)[:, t]) for t in range(len(others))], axis=1)
    return {
        name: {
            "value": plain(found.value[n]),
            "low": plain(found.low[n]),
            "high": plain(found.high[n]),
            "p": plain(corrected[n]),
            "verdict": [word(found, corrected, sign, n, t) for t in range(len(others))],
        }
        for n, name in enumerate(names)
    }


def word(found: Interval, corrected: np.ndarray, sign: int, n: int, t: int) -> str | None:
    if np.isnan(corrected[n, t]):
        return None
    if corrected[n, t] >= 0.05:
        return "not separable"
    return "better" if sign * found.value[n, t] < 0 else "worse"


def best(curves: Curves, names: list[str], sign: int) -> list[dict[str, Any] | None]:
    """At each length: the best method, and those that it is not separable from."""
    means = sign * curves.interval(curves.at([(name, "none") for name in names])).value
    means = np.where(np.isfinite(means), means, np.inf)
    winners = [names[int(column.argmin())] for column in means.T]
    found = against(curves, names, winners, sign)
    return [
        {
            "method": winner,
            "others": int(np.isfinite(means[:, t]).sum()) - 1,
            "tied": [
                name
                for n, name in enumerate(names)
                if name != winner and np.isfinite(means[n, t]) and found[name]["verdict"][t] != "worse"
            ],
        }
        if np.isfinite(means[:, t]).any()
        else None
        for t, winner in enumerate(winners)
    ]


def effective(curves: Curves, names: list[str], trained: int, tolerance: float, sign: int) -> dict[str, Any]:
    """The longest length, none between failing, at which the loss is not worse than at the training length: by the
    mean, and at the two ends of the interval of the paired difference."""
    lengths = [length for length in curves.lengths if length >= trained]
    if trained not in lengths:
        return {}
    samples = curves.at([(name, "none") for name in names], lengths)
    change = curves.interval(samples - samples[:, :1], pool=True)
    low, high = (change.low, change.high) if sign > 0 else (-change.high, -change.low)
    with np.errstate(invalid="ignore"):
        ends = {"length": sign * change.value <= tolerance, "low": high <= tolerance, "high": low <= tolerance}
    return {
        name: {end: longest_unbroken(holds[n], lengths) for end, holds in ends.items()}
        | {"change": plain(change.value[n]), "change_low": plain(change.low[n]), "change_high": plain(change.high[n])}
        for n, name in enumerate(names)
    }


def extensions(curves: Curves, names: list[str], trained: int, sign: int) -> dict[str, Any]:
    """Every method and its extensions against the same model that sees only the last tokens (crop)."""
    variants = [v for v in curves.variants if v[1] != "crop" and (v[0], "crop") in curves.variants]
    lengths = [length for length in curves.lengths if length > trained]
    result: dict[str, Any] = {}
    if not variants or not lengths:
        return result
    crops: list[Variant] = [(method, "crop") for method, _ in variants]
    found = curves.interval(curves.at(variants, lengths) - curves.at(crops, lengths), pool=True)
    beats = (found.high < 0) if sign > 0 else (found.low > 0)
    for name in names:
        for n, (method, extension) in enumerate(variants):
            if method == name:
                result.setdefault(name, {})[extension] = {
                    "lengths": lengths,
                    "value": plain(found.value[n]),
                    "low": plain(found.low[n]),
                    "high": plain(found.high[n]),
                    "beats": longest_unbroken(beats[n], lengths),
                }
    return result


def two_groups(curves: Curves) -> list[dict[str, Any]]:
    """Where seeds fall into two groups, a mean and an interval mislead."""
    return [
        {"method": method, "extension": extension, "length": length}
        for n, (method, extension) in enumerate(curves.variants)
        for t, length in enumerate(curves.lengths)
        if bimodal(curves.values[n, t])
    ]


def training(table: Table) -> dict[str, dict[str, float]]:
    """{method: {metric: mean over seeds}} of what was measured in training."""
    found: dict[str, dict[str, list[float]]] = {}
    for (protocol, metric), cells in table.cells.items():
        if protocol == "training":
            for ((method, extension), _, _), value in cells.items():
                if extension == "none" and np.isfinite(value):
                    found.setdefault(method, {}).setdefault(metric, []).append(value)
    return {method: {metric: float(np.mean(v)) for metric, v in of.items()} for method, of in found.items()}


def plain(values: np.ndarray) -> list[Any]:
    """Nested lists with six digits; what is not finite is None, as JSON has it."""
    if values.ndim > 1:
        return [plain(part) for part in values]
    return [float(f"{value:.6g}") if np.isfinite(value) else None for value in values]
