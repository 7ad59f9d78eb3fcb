"""The summary of a sweep."""

from dataclasses import replace

import numpy as np

from conf.errors import UsageError
from sweeps.comparison import comparisons
from sweeps.comparison.comparisons import chosen_reference, order_names, ranked
from sweeps.comparison.copying import copying_gains
from sweeps.comparison.curves import BESIDE, Curves, Group, estimates, plain_values
from sweeps.comparison.decomposition import decompose
from sweeps.comparison.fairness import fairness, provenance
from sweeps.comparison.protocols import protocol_labels
from sweeps.comparison.records import SKIPPED, Curve, MethodRecord, Scores
from sweeps.comparison.summary import HIGHER_IS_BETTER, WINDOW, Comparison, Summary, halfway
from sweeps.methods import family, is_window
from sweeps.numbers import plural
from sweeps.results import FinishedRun, Sweep
from train.results.protocols import is_partial
from train.results.rows import ANSWERS, CHANCE, ONCE, OUT_OF_MEMORY

TOLERANCE = 0.02  # nats per token: a loss that is higher by no more than this is not called worse


def summarise(sweep: Sweep, reference: str | None = None, tolerance: float = TOLERANCE) -> Summary:
    """Return the summary of a sweep for its report. Raise UsageError if no method is called `reference`."""
    comparisons, notes = [], list(sweep.notes)
    for group in comparable_groups(sweep):
        if main_score(group) is None:
            notes.append(f"{group.data}: none of its runs was evaluated.")
        else:
            comparisons.append(comparison_of(group, reference, tolerance))
    if reference and comparisons and not any(comparison.reference == reference for comparison in comparisons):
        known = ", ".join(sorted({name for comparison in comparisons for name in comparison.methods}))
        raise UsageError(
            f"There is no method '{reference}' to compare with in {sweep.folder}; there are: {known}."
        )
    return Summary(
        name=sweep.name,
        command=sweep.command,
        started=sweep.started,
        folder=str(sweep.folder),
        jobs=len(sweep.jobs),
        runs=[str(run.folder) for run in sweep.runs],
        troubles={
            f"{len(jobs)} of {plural(len(sweep.jobs), 'job')} {outcome}": jobs
            for outcome, jobs in sweep.troubles.items()
            if jobs
        },
        notes=notes,
        comparisons=comparisons,
    )


def comparable_groups(sweep: Sweep) -> list[Group]:
    """Return the runs that may be compared, by data, corpus and training length; text and answers are
    separate."""
    alike: dict[tuple[str, str, int, bool], list[FinishedRun]] = {}
    for run in sweep.runs:
        kinds = {row.is_answer for row in run.rows if row.protocol != ONCE}
        for answers in kinds or {False}:
            rows = [row for row in run.rows if row.protocol == ONCE or row.is_answer == answers]
            key = rows[0].data, rows[0].corpus, rows[0].trained_length, answers
            alike.setdefault(key, []).append(replace(run, rows=rows))
    return [Group(runs) for _, runs in sorted(alike.items())]


def main_score(group: Group) -> tuple[str, str] | None:
    """Return the protocol and the metric that rank methods: loss under same_tokens, or the accuracy of all
    answers."""
    every = [key for key in group.cells if key[0] != ONCE and not is_partial(key[0]) and key[1] not in BESIDE]
    return min(every, key=importance, default=None)


def importance(key: tuple[str, str]) -> tuple[bool, bool, tuple[str, str]]:
    return key[0] not in ("same_tokens", ANSWERS), key[1] not in ("loss", "accuracy"), key


def comparison_of(group: Group, reference: str | None, tolerance: float) -> Comparison:
    """Return the comparison of runs with the same data and the same training length."""
    key = main_score(group)
    assert key is not None
    (protocol, metric), curves, trained = key, group.curves(*key), group.trained
    sign = -1 if metric in HIGHER_IS_BETTER else 1
    every = ranked(curves, sign)
    controls = comparisons.better_controls(curves, every, sign)
    bounded = [name for name in every if is_window(name, group.members[name][0]) or is_bounded(curves, name)]
    rivals = [name for name in every if name not in bounded] or every
    names = [*rivals, *(name for name in bounded if name not in rivals)]
    chosen = chosen_reference(names, group, reference)
    crop_protocol, crop = comparisons.crop_curves(group, protocol, curves)
    windows = curves.counts if len(curves.counts) > 1 else np.zeros(0)
    gaps = group.gaps(protocol, metric)
    scores: dict[str, dict[str, Scores]] = {}
    for key in sorted(group.cells, key=importance):
        if key[0] != ONCE and key[1] not in (CHANCE, OUT_OF_MEMORY):
            scores.setdefault(key[0], {})[key[1]] = scores_of(group.curves(*key))
    chance = {length: value for (_, length, _), value in group.cells.get((ANSWERS, CHANCE), {}).items()}
    return Comparison(
        data=group.data,
        corpus=group.runs[0].rows[0].corpus,
        trained_length=trained,
        in_tokens=is_in_tokens(group),
        tolerance=tolerance,
        protocol=protocol,
        metric=metric,
        sign=sign,
        lengths=curves.lengths,
        seeds=curves.seeds,
        documents=len(windows),
        windows=int(windows.sum()),
        over=curves.over.replace("documents", "problems") if group.answers else curves.over,
        methods={name: method_record(name, group) for name in names},
        bounded=names[len(rivals) :],
        order=order_names(names, group),
        reference=chosen,
        scores=scores,
        labels=protocol_labels(group.runs, trained),
        chance=dict(sorted(chance.items())),
        gaps=gaps,
        difference=comparisons.differences(curves, names, [chosen] * len(curves.lengths), sign),
        gains=comparisons.context_gains(curves, controls, sign),
        copying=copying_gains(group, every, curves.lengths[halfway(curves.lengths, trained)], curves.lengths),
        best=comparisons.best_methods(curves, rivals, sign),
        effective=comparisons.effective(curves, names, trained, tolerance, sign, gaps.get(SKIPPED, {})),
        opponent=comparisons.extension_baseline(crop),
        crop=crop_protocol,
        extensions=comparisons.extension_comparisons(curves, crop, names, trained, sign),
        decomposition=decompose(group, names),
        two_groups=comparisons.two_groups(curves),
        fairness=fairness(group),
        provenance=provenance(group),
        notes=group.notes,
    )


def is_bounded(curves: Curves, name: str) -> bool:
    """Return whether a method gives the same result in a window of the training length, because it sees no
    further."""
    change = curves.interval(curves.at([(name, WINDOW)]) - curves.of([name])).value
    return len(curves.lengths) > 1 and bool((abs(change) < 1e-5).all())


def is_in_tokens(group: Group) -> bool:
    """Return whether lengths count tokens; tasks may count in another unit."""
    return all(run.settings.get("model.length", group.trained) == group.trained for run in group.runs)


def scores_of(curves: Curves) -> Scores:
    """Return mean, interval and seeds at each length."""
    methods: dict[str, dict[str, Curve]] = {}
    each = zip(curves.variants, estimates(curves.interval(curves.samples)), curves.values, strict=True)
    for (name, extension), estimate, values in each:
        methods.setdefault(name, {})[extension] = Curve(
            **vars(estimate), seeds=[*map(plain_values, values.T)]
        )
    return Scores(curves.lengths, curves.seeds, methods)


def method_record(name: str, group: Group) -> MethodRecord:
    """Return a method, with the means over seeds of its training's measurements."""
    measured = {metric: cells for (protocol, metric), cells in group.cells.items() if protocol == ONCE}
    values = {
        metric: [value for (variant, *_), value in cells.items() if variant[0] == name and np.isfinite(value)]
        for metric, cells in measured.items()
    }
    cost = {metric: float(np.mean(known)) for metric, known in values.items() if known}
    return MethodRecord(family(group.members[name][0]), cost)
