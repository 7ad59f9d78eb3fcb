"""The table that a run prints at its end."""

from dataclasses import replace
from math import inf

from tests.train.results.test_curves import ROW
from train.results.rows import Row
from train.results.summary_table import headline, objective, summary_table


def rows(extension: str, protocol: str, metric: str, *values: float | None) -> list[Row]:
    row = replace(ROW, encoding="rope", extension=extension, protocol=protocol, metric=metric)
    return [replace(row, length=64 << k, value=value) for k, value in enumerate(values)]


def test_losses_and_accuracies_by_length() -> None:
    found = [
        *rows("none", "training", "loss", 4.2),
        *rows("none", "same_tokens", "loss", 3.82, 3.8312, None),
        *rows("none", "same_tokens", "tokens_per_second", 1e4, 1e4, None),
        *rows("none", "sliding", "loss", 3.9, 4.0, None),
        *rows("none", "by_position", "loss", 5.0, 4.0, 3.0),
        *rows("yarn", "same_tokens", "loss", 3.82, 3.79, 3.8),
        *rows("none", "answers", "loss", 1.0, 2.0, None),
        *rows("none", "answers", "accuracy", 0.5, 0.25, None),
        *rows("none", "depth_0.25", "accuracy", 1.0, 1.0, None),
    ]
    assert summary_table(found).splitlines() == [
        "",
        "loss, nats per token (same_tokens)      64     128     256",
        "rope                                 3.820   3.831       -",
        "  + yarn                             3.820   3.790   3.800",
        "",
        "accuracy (answers)      64     128     256",
        "rope                 0.500   0.250       -",
    ]


def test_nothing_by_length() -> None:
    assert summary_table(rows("none", "by_position", "loss", 5.0, 4.0)) == ""


def test_what_a_search_lowers() -> None:
    plain, yarn = (
        rows("none", "same_tokens", "loss", 3.8, 4.0),
        rows("yarn+9", "same_tokens", "loss", 3.8, 3.7),
    )
    assert objective(plain + yarn) == 4.0
    assert objective(plain + yarn, "yarn") == 3.7
    assert objective(rows("none", "answers", "accuracy", 0.9, 0.25)) == 0.75
    assert objective(rows("none", "same_tokens", "loss", 3.8, None)) == inf
    assert objective(rows("none", "training", "diverged_at", 12.0)) == inf


def test_the_headline_is_of_the_extension() -> None:
    plain, window = (
        rows("none", "same_tokens", "loss", 3.8, 4.0),
        rows("window", "same_tokens", "loss", 3.8, 3.9),
    )
    yarn = rows("yarn", "same_tokens", "loss", 3.8, 3.7)
    assert headline(plain + window) == ", loss 3.800 at 64, 4.000 at 128"
    assert headline(plain + window + yarn, "yarn") == ", loss 3.800 at 64, 3.700 at 128"
    assert headline(rows("none", "training", "diverged_at", 12.0)) == ", diverged at step 12"
