"""Reports of tasks that were never trained: accuracy by length, and by length and depth."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sweeps.charts.by_length import by_length
from sweeps.charts.depths import by_depth, short_number
from sweeps.compare import compare
from sweeps.comparison import comparisons_of
from sweeps.report.answers import setting
from sweeps.results import load_sweep
from sweeps.tables.methods import method_table, sides_table
from tests.sweeps.synthetic import comparison_of, make_sweep, page_of, rewrite, text_of
from train.results.rows import read_rows

SLOPES = {"alibi": 0.1, "t5": 0.5, "nope": 1.1, "rope": 2.2, "learned": 0.0}  # accuracy lost an octave
CHANCE = 0.0625
LENGTHS, PROBLEMS = (20, 25, 30, 35, 40), 40
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)


def answers(method: str, length: int, trained: int, seed: int) -> dict[str, np.ndarray]:
    """Return the correct share of each problem's ten tokens, and whether all are correct, by protocol."""
    same, alone = np.random.default_rng([length, 1]), np.random.default_rng([length, seed, len(method)])
    place = np.tile(DEPTHS, PROBLEMS // len(DEPTHS))
    hard = same.normal(0, 0.05, PROBLEMS) + 0.3 * (1 - place) * np.log2(length / trained)
    right = 0.97 - SLOPES[method] * np.log2(length / trained) - hard - 0.02 * alone.random(PROBLEMS)
    share = np.round(10 * np.clip(right, 0, 1)) / 10
    found = {"answers|accuracy": share, "answers|exact_match": (share == 1).astype(float)}
    return found | {f"depth_{depth:.2f}|accuracy": share[place == depth] for depth in DEPTHS}


def add_answers(folder: Path, lengths: tuple[int, ...], data: str) -> None:
    """Add answers to every run of a sweep; under crop, answers past the training length are wrong."""
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
            for key, values in answers(first.encoding, length, lengths[0], first.seed).items():
                protocol, metric = key.split("|")
                if undefined and protocol != "answers":
                    continue
                for extension, scores in (("none", values), ("crop", values * (length == lengths[0]))):
                    value = None if undefined else float(scores.mean())
                    row = replace(kept[0], extension=extension, protocol=protocol, length=length)
                    count = 0 if undefined else PROBLEMS
                    kept.append(replace(row, metric=metric, value=value, sequences=count))
                    if key == "answers|accuracy" and extension == "none":
                        kept.append(replace(row, metric="chance", value=CHANCE))
                    if protocol == "answers" and not undefined:
                        documents[f"{extension}|answers|{length}|{metric}"] = scores
        np.savez(place / "documents.npz", **documents)
        (place / "run.json").write_text(json.dumps(about))
        rewrite(place, kept)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_sweep(tmp_path_factory.mktemp("copy"), list(SLOPES), seeds=2, windows=8, extend=())
    add_answers(folder, LENGTHS, "copy")
    return folder


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lengths, both = (64, 128, 256, 512), ("same_tokens", "sliding")
    place = tmp_path_factory.mktemp("mixed")
    folder = make_sweep(place, list(SLOPES), 3, lengths, 24, extend=(), protocols=both)
    add_answers(folder, lengths, "python+passkey")
    return folder


def test_a_task_is_ranked_by_accuracy(copied: Path) -> None:
    comparison = comparison_of(copied)
    assert (comparison.protocol, comparison.metric, comparison.sign) == ("answers", "accuracy", -1)
    assert comparison.names == ["alibi", "t5", "nope", "rope", "learned"]
    each = [answers("t5", 40, 20, seed)["answers|accuracy"].mean() for seed in range(2)]
    assert comparison.means["value"]["t5", "none", 40] == pytest.approx(np.mean(each))
    assert comparison.differences["verdict"]["alibi", 40] == "better"
    assert comparison.sample.shape[1] == PROBLEMS
    assert not comparison.table.has("same_tokens", "loss")
    table = method_table(comparison)
    place = [column.head for column in table.columns].index("worst seed")
    cells = {row[1].text: row[place].value for row in table.rows}
    assert cells["t5"] == pytest.approx(min(each))
    assert cells["learned"] is None


def test_lengths_are_not_called_tokens_where_a_task_counts_otherwise(copied: Path) -> None:
    text = " ".join([*setting(comparison_of(copied)), *text_of(copied).split()])
    for part in (
        "trained on copy at length 20 and evaluated up to 40 (2x) under answers",
        "accuracy, share of the answer · answers · copy · trained at length 20",
        f"{PROBLEMS} problems of each length",
        "learned past length 20: undefined",
        "Majority baseline: 0.06.",
        "exact",
    ):
        assert part in text
    assert "0 tokens" not in text


def test_an_accuracy_gains_by_rising(copied: Path) -> None:
    found = comparison_of(copied).gains
    share = [answers("alibi", 40, 20, seed)["answers|accuracy"].mean() for seed in range(2)]
    assert found["value"]["alibi", "none", 40] == pytest.approx(np.mean(share))
    assert "accuracy with everything minus that under" in " ".join(setting(comparison_of(copied)))


def test_both_sides_stand_in_one_table_and_have_their_own_words(mixed: Path) -> None:
    of_text, of_answers = comparisons_of(load_sweep(mixed))
    assert (of_text.main, of_answers.main) == (("same_tokens", "loss"), ("answers", "accuracy"))
    table = sides_table([of_text, of_answers])
    assert table is not None
    heads = ["method", "loss", "gain", "gain", "accuracy", "gain", "gain"]
    assert [column.head for column in table.columns] == heads
    rows = {row[0].text: row for row in table.rows}
    assert rows["t5"][1].value == of_text.means["value"]["t5", "none", 64]
    assert rows["t5"][6].value == of_answers.gains["value"]["t5", "none", 512]
    assert [cell.text for cell in rows["learned"][5:]] == ["–"] * 2
    page = page_of(mixed)
    assert "How much lower the loss is with everything" in page
    assert "How much higher the accuracy is with everything" in page
    for name in ("loss_by_length", "accuracy_by_length", "accuracy_by_depth"):
        assert f'data-figure="{name}"' in page


def test_losses_of_models_that_also_answer_are_compared(mixed: Path) -> None:
    """The default sweep has both; without metric= and protocol= it is the loss of the text."""
    _, text = compare(["alibi", "rope", f"in={mixed}", "at=8x"])
    assert text.startswith("loss, nats per token, under same_tokens;")
    _, text = compare(["alibi", "rope", f"in={mixed}", "at=8x", "metric=accuracy"])
    assert "under answers; paired" in text
    assert text.endswith("At the last line alibi is better.")


def test_accuracy_is_drawn_from_zero_to_one_with_chance(mixed: Path) -> None:
    of_text, of_answers = comparisons_of(load_sweep(mixed))
    first = next(iter(by_length(of_answers).values()))
    low, high = first["spec"]["encoding"]["y"]["scale"]["domain"]
    assert low < 0 < 1 < high < 1.1
    rows = first["datasets"]["table"].splitlines()
    assert len([row for row in rows if row.startswith("chance,") and str(CHANCE) in row]) == 4
    drawn = by_depth(of_answers)["accuracy"]
    assert drawn["facet"]["sort"] == of_answers.order
    assert len(drawn["datasets"]["table"].splitlines()) == 1 + len(SLOPES) * len(DEPTHS) * 4
    assert by_depth(of_text) == {}
    texts = [short_number(value) for value in (float("nan"), 0.0, 0.47, 0.999, 1.0)]
    assert texts == ["–", ".00", ".47", "1", "1"]
