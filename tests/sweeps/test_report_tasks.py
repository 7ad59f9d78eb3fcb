"""Reports of tasks that were never trained: accuracy by length, and by length and depth."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sweeps.charts import by_depth, lines_by_length
from sweeps.charts.depths import depth_accuracies, depths, short_name
from sweeps.comparison.answers import setting, sides_line
from sweeps.comparison.records import Gain, LongestLength
from sweeps.comparison.summarize import comparable_groups, summarise
from sweeps.comparison.summary import Comparison
from sweeps.report.power import power
from sweeps.results import load_sweep
from sweeps.tables.both import sides_table as table_of_both
from sweeps.tables.methods import methods
from sweeps.tables.terminal import terminal_text
from sweeps.texts import PARTS
from tests.sweeps.synthetic import make_sweep, page_of, rewrite, vouch
from train.results.rows import read_rows

SLOPES = {"alibi": 0.1, "t5": 0.5, "nope": 1.1, "rope": 2.2, "learned": 0.0}  # accuracy lost an octave
CHANCE = 0.0625
LENGTHS, TRAINED, PROBLEMS = (20, 25, 30, 35, 40), 20, 40
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)


def answers(folder: Path, length: int, trained: int, seed: int, deep: bool) -> dict[str, np.ndarray]:
    """Return the correct share of each problem's ten tokens, and whether all are correct, under each
    protocol."""
    method = folder.name.rpartition("-")[0]
    same, alone = np.random.default_rng([length, 1]), np.random.default_rng([length, seed, len(method)])
    place = np.tile(DEPTHS, PROBLEMS // len(DEPTHS))
    hard = same.normal(0, 0.05, PROBLEMS) + 0.3 * (1 - place) * deep * np.log2(length / trained)
    right = 0.97 - SLOPES[method] * np.log2(length / trained) - hard - 0.02 * alone.random(PROBLEMS)
    share = np.round(10 * np.clip(right, 0, 1)) / 10
    found = {"answers|accuracy": share, "answers|exact_match": (share == 1).astype(float)}
    if deep:
        found |= {f"depth_{depth:.2f}|accuracy": share[place == depth] for depth in DEPTHS}
    return found


def add_answers(folder: Path, lengths: tuple[int, ...], deep: bool = False, data: str = "copy") -> None:
    """Add answers to every run of a sweep. Text keeps no rows if the lengths are a task's own."""
    for place in sorted(path.parent for path in folder.glob("*/results.jsonl")):
        rows, about = read_rows(place / "results.jsonl"), json.loads((place / "run.json").read_text())
        first, alone = rows[0], lengths[0] != rows[0].trained_length
        about["settings"]["model"]["length"] = 41 if alone else first.trained_length
        documents = {} if alone else dict(np.load(place / "documents.npz"))
        documents["answers"] = np.arange(PROBLEMS)
        left = [row for row in rows if row.protocol == "training" or not alone]
        kept = [replace(row, trained_length=lengths[0], data=data) for row in left]
        for length in lengths:
            undefined = first.encoding == "learned" and length > lengths[0]
            for key, values in answers(place, length, lengths[0], first.seed, deep).items():
                protocol, metric = key.split("|")
                if undefined and protocol != "answers":
                    continue
                value = None if undefined else float(values.mean())
                row = replace(kept[0], extension="none", protocol=protocol, length=length)
                kept.append(replace(row, metric=metric, value=value, sequences=0 if undefined else PROBLEMS))
                if key == "answers|accuracy":
                    kept.append(replace(row, metric="chance", value=CHANCE))
                if protocol == "answers" and not undefined:
                    documents[f"none|answers|{length}|{metric}"] = values
        np.savez(place / "documents.npz", **documents)
        (place / "run.json").write_text(json.dumps(about))
        rewrite(place, kept)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_sweep(tmp_path_factory.mktemp("copy"), list(SLOPES), seeds=2, windows=8, extend=())
    add_answers(folder, LENGTHS)
    return folder


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lengths = (64, 128, 256, 512)
    folder = make_sweep(tmp_path_factory.mktemp("mixed"), list(SLOPES), 2, lengths, 24, extend=())
    add_answers(folder, lengths, deep=True, data="python+passkey")
    return folder


def values(folder: Path, encoding: str, length: int) -> list[float]:
    rows = [row for run in load_sweep(folder).runs for row in run.rows if row.encoding == encoding]
    chosen = [r for r in rows if (r.protocol, r.metric, r.length) == ("answers", "accuracy", length)]
    return [row.value for row in chosen if row.value is not None]


def test_a_task_is_ranked_by_accuracy(copied: Path) -> None:
    (comparison,) = summarise(load_sweep(copied)).comparisons
    assert (comparison.protocol, comparison.metric, comparison.sign) == ("answers", "accuracy", -1)
    assert list(comparison.methods) == ["alibi", "t5", "nope", "rope", "learned"]
    assert comparison.headline.methods["t5"]["none"].value[-1] == pytest.approx(
        np.mean(values(copied, "t5", 40)), abs=1e-5
    )
    assert comparison.difference["alibi"].verdict[-1] == "better"
    assert comparison.effective["rope"].length == 20
    assert (comparison.windows, comparison.documents) == (PROBLEMS, PROBLEMS)
    assert comparison.over == "seeds and problems"
    assert "same_tokens" not in comparison.scores


def test_intervals_are_over_problems(copied: Path) -> None:
    """With one seed, this is the standard error of the mean over problems, by Student's t."""
    runs = [run for run in load_sweep(copied).runs if run.seed == 0]
    (group,) = comparable_groups(replace(load_sweep(copied), runs=runs))
    curves = group.curves("answers", "accuracy")
    found = curves.interval(curves.samples)
    place = curves.variants.index(("t5", "none"))
    each = answers(copied / "t5-s0", 30, TRAINED, 0, False)["answers|accuracy"]
    half = (found.high - found.low)[place, 2] / 2
    assert found.value[place, 2] == pytest.approx(each.mean())
    assert half == pytest.approx(2.02 * each.std(ddof=1) / PROBLEMS**0.5, rel=0.1)


def test_lengths_are_not_called_tokens_where_a_task_counts_otherwise(copied: Path) -> None:
    found = summarise(load_sweep(copied))
    text = setting(found.comparisons[0]) + terminal_text(found, 200)
    for part in (
        "trained on copy at length 20 and evaluated up to 40 (2x) under answers",
        "Best where it was trained: t5, 0.95",
        "(share of the answer, from length 20 to length 40); learned: no value there.",
        "accuracy, share of the answer · answers · copy · trained at length 20",
        f"{PROBLEMS} problems of each length",
        "learned past length 20: undefined",
        "exact",
    ):
        assert part in text
    assert "0 tokens" not in text


def test_a_mixture_gives_a_loss_and_answers(mixed: Path) -> None:
    found = summarise(load_sweep(mixed))
    of_text, of_answers = found.comparisons
    assert (of_text.protocol, of_text.metric) == ("same_tokens", "loss")
    assert (of_answers.protocol, of_answers.metric) == ("answers", "accuracy")
    assert of_text.in_tokens
    assert of_answers.in_tokens
    assert not depths(of_text)
    assert "answers" not in of_text.scores
    text = terminal_text(found, 200)
    assert "loss, nats per token · same_tokens · python+passkey" in text
    assert "accuracy, share of the answer · answers · python+passkey · trained at 64 tokens" in text
    assert of_text.notes == of_answers.notes == []


def test_who_holds_both_sides(mixed: Path) -> None:
    """These are the methods that beat crop up to the longest length, in loss, in retrieval and in both."""

    def holding(comparison: Comparison, names: list[str]) -> Comparison:
        nothing = [0.0] * len(comparison.lengths)
        ends = {name: comparison.longest if name in names else None for name in comparison.methods}
        gains = {
            name: {"none": Gain(nothing, [], [], comparison.lengths, LongestLength(end, end, end))}
            for name, end in ends.items()
        }
        return replace(comparison, opponent="crop", extensions=gains)

    of_text, of_answers = summarise(load_sweep(mixed)).comparisons
    assert sides_line([of_text, of_answers]) == ""
    line = sides_line([holding(of_text, ["alibi", "t5"]), holding(of_answers, ["t5", "nope"])])
    assert line == (
        "Better than crop at every length: in both, t5; in loss alone, alibi; in retrieval alone, nope."
    )
    assert sides_line([holding(of_text, []), replace(holding(of_answers, []), corpus="another")]) == ""


def test_both_sides_stand_in_one_table(mixed: Path) -> None:
    found = summarise(load_sweep(mixed)).comparisons
    assert table_of_both(found) is None  # nothing was cropped
    of_text, of_answers = (replace(comparison, opponent="crop") for comparison in found)
    less = replace(of_answers, methods={n: m for n, m in of_answers.methods.items() if n != "rope"})
    table = table_of_both([of_text, less])
    assert table is not None
    heads = [(column.head, column.below) for column in table.columns]
    crop, lengths = ("beats", "crop to"), ("64", "128", "512")
    losses, accuracies = ([(metric, length) for length in lengths] for metric in ("loss", "accuracy"))
    assert heads == [("method", ""), *losses, crop, *accuracies, crop]
    rows = {row[0].text: row for row in table.rows}
    assert list(rows) == list(of_text.methods)
    assert [cell.value for cell in rows["t5"][1:4]] == [of_text.curve("t5").value[n] for n in (0, 1, 3)]
    assert [cell.value for cell in rows["t5"][5:8]] == [of_answers.curve("t5").value[n] for n in (0, 1, 3)]
    assert [cell.text for cell in rows["rope"][5:]] == ["–"] * 4
    summary = replace(summarise(load_sweep(mixed)), comparisons=[of_text, less])
    assert table.title in terminal_text(summary, 200)


def test_the_worst_seed_is_shown(copied: Path, mixed: Path) -> None:
    comparison = summarise(load_sweep(copied)).comparisons[0]
    table = methods(comparison)
    place = [column.head for column in table.columns].index("worst seed")
    cells = {row[1].text: row[place].value for row in table.rows}
    assert cells["t5"] == pytest.approx(min(values(copied, "t5", 40)), abs=1e-5)
    assert cells["learned"] is None
    of_text = methods(summarise(load_sweep(mixed)).comparisons[0])
    assert "worst seed" not in [column.head for column in of_text.columns]


def test_accuracy_by_length_and_depth(mixed: Path) -> None:
    comparison = summarise(load_sweep(mixed)).comparisons[1]
    assert depths(comparison) == ["0.00", "0.25", "0.50", "0.75", "1.00"]
    found = depth_accuracies(comparison, "t5", "0.25")
    chosen = [
        row.value
        for run in load_sweep(mixed).runs
        for row in run.rows
        if (row.encoding, row.protocol, row.length) == ("t5", "depth_0.25", 128)
    ]
    assert len(chosen) == 2
    assert found[1] == pytest.approx(np.mean([value for value in chosen if value is not None]), abs=1e-5)
    assert depth_accuracies(comparison, "learned", "0.00")[1:] == [None] * 3
    assert [short_name(value) for value in (None, 0.0, 0.47, 0.999, 1.0)] == ["–", ".00", ".47", "1", "1"]


def test_pictures(mixed: Path, copied: Path) -> None:
    page, title = page_of(mixed), PARTS["by_depth"].title
    for name in ("loss_by_length", "accuracy_by_length", "accuracy_by_depth"):
        assert f'data-figure="{name}"' in page
    assert title in page
    assert title not in page_of(copied)


def test_accuracy_is_drawn_from_zero_to_one(mixed: Path) -> None:
    of_text, of_answers = summarise(load_sweep(mixed)).comparisons
    first = next(iter(lines_by_length(of_answers).values()))
    low, high = first["spec"]["encoding"]["y"]["scale"]["domain"]
    assert low < 0 < 1 < high < 1.1
    drawn = by_depth(of_answers)["accuracy"]
    assert drawn["facet"]["sort"] == of_answers.order
    rows = drawn["datasets"]["table"].splitlines()
    assert len(rows) == 1 + len(SLOPES) * len(DEPTHS) * 4
    assert by_depth(of_text) == {}


def test_chance_is_marked_and_never_ranked(copied: Path, mixed: Path) -> None:
    found = summarise(load_sweep(copied))
    (comparison,) = found.comparisons
    assert comparison.chance == dict.fromkeys(LENGTHS, CHANCE)
    assert "chance" not in comparison.scores["answers"]
    assert "Majority baseline: 0.06." in terminal_text(found, 200)
    rows = next(iter(lines_by_length(comparison).values()))["datasets"]["table"].splitlines()
    assert len([row for row in rows if row.startswith("chance,") and str(CHANCE) in row]) == len(LENGTHS)
    of_text, of_answers = summarise(load_sweep(mixed)).comparisons
    assert not of_text.chance
    assert of_answers.chance


def test_power_of_accuracies(copied: Path) -> None:
    ((_, words),) = power(copied, seeds=4)
    assert words.startswith("Accuracy, share of the answer under answers: the difference from rope")
    assert "With 4 seeds at length 40:" in words


def test_other_problems_give_no_paired_intervals(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], seeds=2, windows=8, extend=())
    add_answers(folder, LENGTHS)
    file = folder / "rope-s1/documents.npz"
    np.savez(file, **{**np.load(file), "answers": np.arange(PROBLEMS) // 2})
    vouch(folder)
    (comparison,) = summarise(load_sweep(folder)).comparisons
    assert comparison.over == "seeds"
    assert "was scored on different windows" in comparison.notes[0]
