"""Reports of sweeps that were never trained: their statements, their refusals, and the files they leave
alone."""

import json
import re
import shutil
import sys
from dataclasses import replace
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sweeps import command
from sweeps.charts.extensions import common_beginning
from sweeps.comparison.answers import answers, difference_sentence, setting
from sweeps.comparison.notes import gaps
from sweeps.comparison.summarize import summarise
from sweeps.comparison.summary import Comparison, Summary
from sweeps.report import make
from sweeps.report.__main__ import main
from sweeps.report.diagnostics import diagnoses
from sweeps.report.power import power
from sweeps.results import UNREADABLE, load_sweep, path_text
from sweeps.tables.methods import methods
from sweeps.tables.runs import fairness_table
from sweeps.tables.terminal import terminal_text
from tests.sweeps.synthetic import edit, figures_of, make_sweep, page_of, rewrite, vouch
from train.results.rows import read_rows

SMALL: dict[str, Any] = {"windows": 24, "lengths": (64, 128, 256, 512)}


@pytest.fixture(scope="module")
def headline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sweep(tmp_path_factory.mktemp("headline"), failed=["t5-s1"], bimodal="nope")


@pytest.fixture(scope="module")
def summary(headline: Path) -> Summary:
    return summarise(load_sweep(headline))


def compared(folder: Path, reference: str | None = None) -> Comparison:
    """Return the only comparison of a sweep."""
    (found,) = summarise(load_sweep(folder), reference).comparisons
    return found


def test_a_report_has_all_its_parts_and_needs_nothing_else(
    headline: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(headline) == 1
    printed = capsys.readouterr().out
    for name in ("report.html", "table.txt", "figures/loss_by_length.png", "figures/against_crop.png"):
        assert (headline / name).stat().st_size > 1000
        assert name in printed
    assert "t5-s1: torch.OutOfMemoryError: CUDA out of memory [cuda:0]" in printed
    assert "t5-s1/train.log" in printed
    assert "\x1b" not in printed
    figures = figures_of((headline / "report.html").read_text())
    assert {"loss_by_length", "loss_by_position", "against_crop"} <= set(figures)
    names = [line.split(",")[2] for line in figures["loss_by_length"][0]["datasets"]["table"].splitlines()]
    assert {"rope", "alibi"} <= set(names)


@pytest.mark.usefixtures("undrawn")
def test_without_pictures_there_is_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], **SMALL)
    assert make(folder) == 0
    out, errors = capsys.readouterr()
    assert "alibi" in out
    assert "alibi" in (folder / "table.txt").read_text()
    assert f"The pictures were not drawn, the table was: python -m sweeps.report {folder} tries" in errors


@pytest.mark.usefixtures("undrawn")
def test_signs_that_a_terminal_obeys_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], **SMALL)
    evil = {"name": "evil\x1b[31m\x07", "folder": "evil"}
    edit(folder / "sweep.json", lambda about: about["jobs"].append(evil))
    make(folder)
    assert "\x1b" not in capsys.readouterr().out + page_of(folder)


def test_a_report_may_be_written_elsewhere_where_one_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The new report deletes figures of the old one."""
    folder, into = make_sweep(tmp_path / "sweep", ["rope", "alibi"], **SMALL), tmp_path / "of/it"
    before = sorted(folder.rglob("*"))
    make(folder, into=into)
    assert sorted(folder.rglob("*")) == before
    assert path_text(into / "report.html") in capsys.readouterr().out
    assert (into / "figures/loss_by_length.png").stat().st_size
    edit(into / "summary.json", lambda old: old["files"].append("figures/of_before.png"))
    (into / "figures/of_before.png").write_text("old")
    (into / "figures/of_somebody.png").write_text("not of a report")
    (folder / "rope-s0/results.jsonl").unlink()
    make(folder, into=into)
    assert not (into / "figures/of_before.png").exists()
    assert (into / "figures/of_somebody.png").exists()
    assert "figures/of_before.png" not in json.loads((into / "summary.json").read_text())["files"]


def test_numbers_are_those_of_the_rows(headline: Path, summary: Summary) -> None:
    """Values are means over seeds; differences use the seeds that both methods have."""
    runs = {(run.encoding, run.seed): run for run in load_sweep(headline).runs}

    def value(encoding: str, seed: int) -> float:
        rows = [
            r for r in runs[encoding, seed].rows if (r.extension, r.protocol, r.metric, r.length) == chosen
        ]
        return float(rows[0].value or 0)

    chosen = ("none", "same_tokens", "loss", 512)
    (comparison,) = summary.comparisons
    curve = comparison.headline.methods["alibi"]["none"]
    assert curve.value[3] == pytest.approx(np.mean([value("alibi", seed) for seed in range(3)]), abs=1e-5)
    difference = np.mean([value("t5", seed) - value("rope", seed) for seed in (0, 2)])
    assert comparison.difference["t5"].value[3] == pytest.approx(difference, abs=1e-5)


def test_what_is_known_of_the_methods_is_reported(summary: Summary) -> None:
    (comparison,) = summary.comparisons
    found = comparison.effective
    assert [found[name].length for name in ("alibi", "rope", "learned")] == [2048, 128, 64]
    assert found["alibi"].low == 2048
    assert comparison.extensions["rope"]["rerope"].better.low == 2048
    assert comparison.extensions["rope"]["none"].better.low is None
    assert comparison.difference["alibi"].verdict[-1] == "better"
    assert comparison.difference["learned"].verdict[1:] == [None] * 5
    assert {groups.method for groups in comparison.two_groups} == {"nope"}
    assert setting(comparison).startswith(
        "10 methods, 3 seeds, trained on python at 64 tokens and evaluated up to 2,048"
    )
    lines = answers(comparison)
    assert lines["Best where it was trained"].startswith("sandwich, 3.949 nats")
    assert lines["Gains from longer context"].startswith("kerple_log and alibi, at every length")
    assert lines["Holds"].startswith("kerple_log, sandwich (in the mean) and alibi (no worse at 2,048")
    assert re.match(r"rope \+1\.\d\d, nope .* and xpos \+0\.22 .* learned: no value", lines["Loses"])
    assert lines["Extensions"].startswith("Of 6 extensions of rope, rerope does best at 2,048 tokens (−0.")
    for part in ("data other than python", "means are misleading: nope (from 128)", "seeds (t5)"):
        assert part in lines["What this cannot say"]


def test_equal_methods_are_not_separated(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alike_1", "alike_2"], seeds=3, **SMALL)
    assert compared(folder, "alike_1").difference["alike_2"].verdict == ["not separable"] * 4
    best = compared(folder).best[-1]
    assert best
    assert best.tied
    assert "tied for best (not separable)" in terminal_text(summarise(load_sweep(folder)), 80)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 200])
def test_the_table_fits(summary: Summary, width: int) -> None:
    lines = terminal_text(summary, width).splitlines()
    rows = [line for line in lines if re.match(r"( *\d+ {2,}[a-z]|  \+ )", line)]
    assert len(rows) == 10 + 7  # methods, and what extends rope
    assert max(map(len, rows)) <= max(width, 55)
    assert ("±" in "".join(rows)) is (width >= 100)
    assert "trained" in "".join(lines)


def test_the_best_is_marked_only_where_it_is_separable(summary: Summary) -> None:
    (comparison,) = summary.comparisons
    rows = [line for line in terminal_text(summary, 80).splitlines() if re.match(r" *\d+ +kerple_log", line)]
    stars = rows[0].count("*")
    assert stars == sum(
        best is not None and best.method == "kerple_log" and not best.tied for best in comparison.best
    )
    assert 0 < stars < 6


def test_a_single_seed_is_named_as_such(tmp_path: Path) -> None:
    found = summarise(load_sweep(make_sweep(tmp_path, seeds=1, **SMALL)))
    assert found.comparisons[0].over == "documents"
    assert "Variation between seeds, since there is one." in terminal_text(found, 200)


def test_no_interval_is_printed_where_there_is_too_little(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], seeds=1, **SMALL | {"windows": 3})
    found = summarise(load_sweep(folder))
    assert "No intervals: they need at least two seeds or five documents." in terminal_text(found, 200)
    assert "±" not in terminal_text(found, 200)
    assert "separable" not in " ".join(answers(found.comparisons[0]).values())


def test_without_losses_by_document_intervals_are_over_seeds(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], **SMALL)
    np.savez(folder / "alibi-s1/documents.npz")
    vouch(folder)
    comparison = compared(folder)
    assert comparison.over == "seeds"
    assert comparison.notes == ["alibi-s1 was scored on different windows: intervals are over seeds only."]
    assert None not in comparison.headline.methods["rope"]["none"].low


def test_losses_by_document_of_other_results_are_not_used(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], **SMALL)
    file = folder / "rope-s1/documents.npz"
    content = dict(np.load(file))
    content["none|same_tokens|128"] += 1
    np.savez(file, **content)
    vouch(folder)
    assert (
        "rope, seed 1, has losses per document that disagree with its rows at 128 tokens"
        in compared(folder).notes[0]
    )


def test_only_jobs_of_the_sweep_count(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi", "t5"], **SMALL)
    edit(folder / "sweep.json", lambda about: about.update(jobs=about["jobs"][:-3]))
    assert set(compared(folder).methods) == {"rope", "alibi"}
    (folder / "sweep.json").unlink()
    assert set(compared(folder).methods) == {"rope", "alibi", "t5"}
    assert set(compared(folder / "t5-s0").methods) == {"t5"}


def test_of_trainings_by_other_code_the_newest_counts(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "sweep", ["rope", "alibi"], seeds=2)
    expected = compared(folder)
    (folder / "sweep.json").unlink()
    old = folder / "rope-older"
    shutil.copytree(folder / "rope-s0", old)
    rows = read_rows(old / "results.jsonl")
    edit(old / "run.json", lambda about: about.update(training="0ld", started="2001-01-01T00:00:00"))
    rewrite(old, [replace(row, value=9.0) for row in rows])
    found = compared(folder)
    assert found.scores == expected.scores
    assert found.provenance.runs["rope"] == ["rope-s0", "rope-s1"]
    assert (
        "rope, seed 0: the newest of 2 trainings, which differ in code, packages or precision; left out: "
        "rope-older." in found.notes
    )


@pytest.mark.usefixtures("undrawn")
def test_a_sweep_of_failures_still_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_sweep(tmp_path, ["rope"], seeds=2, failed=["rope-s0", "rope-s1"])
    shutil.rmtree(folder / "rope-s1")
    assert make(folder) == 2
    assert "rope-s1: not started" in capsys.readouterr().out
    page = page_of(folder)
    assert "no job has results" in page
    assert "1 of 2 jobs have no results yet: rope-s1" in page
    assert "1 of 2 jobs failed: rope-s0" in page


def test_settings_that_differ_name_methods_and_are_red(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi", "t5"], changed={"alibi": {"batch": 16}}, **SMALL)
    for seed, base in enumerate((500, 10_000, 10_000)):
        file = folder / f"rope-s{seed}/run.json"

        def change(about: dict[str, Any], seed: int = seed, base: int = base) -> None:
            about["settings"]["encoding"]["base"] = base
            about["settings"]["trainer"]["keep"] = [0.5] * seed  # what is kept changes no result

        edit(file, change)
    vouch(folder)
    comparison = compared(folder)
    assert set(comparison.methods) == {"rope base=500", "rope base=10000", "alibi", "t5"}
    unequal = " ".join(difference_sentence(comparison.fairness))
    assert "sequences per step (alibi)" in unequal
    assert "tokens (alibi)" in unequal
    assert "encoding" not in unequal
    page = page_of(folder)
    assert 'class="differs"><span>16</span>' in page
    assert "Elsewhere: sequences per step 32, " in page
    assert "t5" not in [row[0].text for row in fairness_table(comparison).rows], "only what differs has a row"


def test_training_lengths_and_data_are_reported_apart(tmp_path: Path) -> None:
    make_sweep(tmp_path / "short", ["rope", "alibi"], **SMALL)
    make_sweep(tmp_path / "long", ["rope", "alibi"], **SMALL | {"lengths": (128, 256, 512)})
    page = page_of(tmp_path)
    assert "python, trained at 64 tokens" in page
    assert "python, trained at 128 tokens" in page
    assert 'data-figure="loss_by_length-128"' in page


def test_extensions_without_crop_are_compared_with_none(tmp_path: Path) -> None:
    """This is so if one checkpoint is evaluated in several precisions."""
    folder = make_sweep(tmp_path, ["rope", "alibi"], controls=(), extend=("rope", "alibi"), **SMALL)
    comparison = compared(folder)
    assert comparison.opponent == "none"
    found, curves = comparison.extensions["alibi"]["yarn"], comparison.headline.methods["alibi"]
    change = [b - a for a, b in zip(curves["none"].value, curves["yarn"].value, strict=True) if a and b]
    assert found.lengths == [64, 128, 256, 512]
    assert found.value == pytest.approx(change, abs=2e-5)
    half, alone = (
        [
            (high - low) / 2
            for low, high in zip(curve.low, curve.high, strict=True)
            if low is not None and high is not None
        ]
        for curve in (found, curves["none"])
    )
    assert all(a < b / 2 for a, b in zip(half, alone, strict=True))  # the differences are paired
    page, printed = page_of(folder), terminal_text(summarise(load_sweep(folder)), 150)
    assert "What extensions change" in page
    assert "crop" not in page[page.index("<main") : page.index("How to read this")]
    assert "change" in printed
    assert "crop" not in printed
    assert answers(comparison)["Extensions"].startswith("Of 12 extensions, rope + rerope (−")
    assert 'data-figure="extensions"' in page
    assert 'data-figure="against_crop"' not in page


def test_names_of_extensions_that_differ_in_one_setting() -> None:
    assert common_beginning(["bfloat16 what=positions", "bfloat16 what=biases"]) == "bfloat16 what="
    assert common_beginning(["pi factor=2", "yarn"]) == ""
    assert common_beginning(["pi", "yarn"]) == ""
    assert common_beginning(["pi factor=2"]) == ""


def test_a_family_is_what_the_run_itself_says_or_that_of_no_other(tmp_path: Path) -> None:
    names = ["rope", "stranger", "alibi", "mine"]
    changed = {"mine": {"encoding": {"family": "my family"}}}
    comparison = compared(make_sweep(tmp_path, names, changed=changed, **SMALL))
    families = [comparison.methods[name].family for name in names[1:]]
    assert families == ["other", "bias by distance", "my family"]
    assert comparison.order[-1] == "stranger"


def test_names_cannot_break_the_page(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope"], **SMALL)
    edit(folder / "sweep.json", lambda about: about.update(name="</script><b>x"))
    for place in folder.glob("rope-s*"):
        edit(place / "run.json", lambda about: about.update(encoding="</script><b>y"))
    vouch(folder)
    page = page_of(folder)
    assert "</script><b>y" in str(figures_of(page))
    assert "</script><b>x" in unescape(page) != page
    assert "</script><b>x" not in page


def test_power(tmp_path: Path, headline: Path) -> None:
    (table, words), *rest = power(headline, seeds=6)
    assert rest == []
    cells = [list(column.cells) for column in table.columns]
    assert cells[0] == ["2", "3", "5", "6", "8", "12"]
    for column in cells[1:]:
        assert all(float(upper) >= float(lower) for upper, lower in pairwise(column))
    assert "With 6 seeds at 2,048 tokens" in words
    with pytest.raises(ValueError, match="at least 2, not 1"):
        power(headline, seeds=1)
    with pytest.raises(ValueError, match="no method 'ropes'"):
        power(headline, seeds=3, reference="ropes")
    with pytest.raises(ValueError, match="one seed"):
        power(make_sweep(tmp_path, seeds=1, **SMALL), seeds=3)


SCORES = np.array(["a"] * 24), np.ones((24, 2)), 1j * np.ones(24)
DAMAGE: list[tuple[str, Any, str]] = [
    ("results.jsonl", b"{\n{\n", "is damaged at line 1"),
    ("results.jsonl", b"", "is empty"),
    ("documents.npz", b"PK broken", "documents.npz is damaged"),
    ("documents.npz", b"", "documents.npz is damaged"),
    ("run.json", b"[1]", "run.json is damaged"),
    ("run.json", b"\xff", "run.json is damaged"),
    ("results.jsonl", b"\xff\xfe\n", "results.jsonl is damaged at line 1"),
    ("results.jsonl", b"[" * 100_000 + b"\n", "results.jsonl is damaged at line 1"),
    ("results.jsonl", {"value": "4.1"}, "results.jsonl is damaged at line 1 (value: '4.1')"),
    ("results.jsonl", {"length": None}, "results.jsonl is damaged at line 1 (length: None)"),
    ("results.jsonl", {"length": 64.5}, "results.jsonl is damaged at line 1 (length: 64.5)"),
    ("results.jsonl", {"length": 0}, "results.jsonl has a length below 1"),
    ("results.jsonl", {"trained_length": 0}, "results.jsonl has a length below 1"),
    ("results.jsonl", {"encoding": ["rope"]}, "results.jsonl is damaged at line 1 (encoding: ['rope'])"),
    *(("documents.npz", scores, "documents.npz is damaged") for scores in SCORES),
]


@pytest.mark.usefixtures("undrawn")
def test_runs_that_cannot_be_read_are_left_out_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], seeds=len(DAMAGE) + 1, **SMALL)
    for seed, (name, content, _) in enumerate(DAMAGE):
        file = folder / f"rope-s{seed}" / name
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif isinstance(content, dict):
            first, _, rest = file.read_text().partition("\n")
            file.write_text(json.dumps(json.loads(first) | content) + "\n" + rest)
        else:
            np.savez(file, **dict(np.load(file)) | {"none|same_tokens|64": content})
    vouch(folder)
    assert make(folder) == len(DAMAGE)
    page, printed = page_of(folder).replace("&#39;", "'"), capsys.readouterr().out
    assert f"{len(DAMAGE)} of {2 * len(DAMAGE) + 2} jobs cannot be read" in printed
    sweep = load_sweep(folder)
    for seed, (_, _, reason) in enumerate(DAMAGE):
        (found,) = [
            failure.reason for failure in sweep.troubles[UNREADABLE] if failure.name == f"rope-s{seed}"
        ]
        assert reason in found
        assert found in page
        assert found in printed
    assert {(run.encoding, run.seed) for run in sweep.runs if run.encoding == "rope"} == {
        ("rope", len(DAMAGE))
    }
    assert sum(run.encoding == "alibi" for run in sweep.runs) == len(DAMAGE) + 1


def test_scores_of_no_length_are_not_used(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope"], seeds=2, **SMALL)
    file = folder / "rope-s1/documents.npz"
    np.savez(file, **dict(np.load(file)) | {"none|same_tokens|far": np.ones(24)})
    vouch(folder)
    assert compared(folder).over == "seeds and documents"


def test_settings_may_be_lists(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], changed={"rope": {"batch": [16, 32]}}, **SMALL)
    assert "sequences per step" in " ".join(difference_sentence(compared(folder).fairness))


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"run": "rope"}'])
def test_a_damaged_diagnosis_is_reported(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "diagnostics.json").write_bytes(content)
    (found,) = diagnoses([tmp_path])
    assert found.figures == []
    assert "diagnostics.json is damaged: delete it, or diagnose the run again." in found.sentences[0]


def test_a_diagnosis_whose_lists_do_not_fit_is_reported(tmp_path: Path) -> None:
    variant = {
        "extension": "none", "lengths": [], "farthest": [], "ends": [], "entropy": [], "unseen": [],
        "keys": [], "profile": [],
    }  # fmt: skip
    about = {
        "run": "rope", "data": "python", "trained_length": 64, "sequences": 2, "queries": 4, "farthest": [],
        "variants": [variant], "sentences": ["so"],
    }  # fmt: skip
    (tmp_path / "diagnostics.json").write_text(json.dumps(about))
    (found,) = diagnoses([tmp_path])
    assert "is damaged" in found.sentences[0]


@pytest.mark.usefixtures("undrawn")
def test_a_killed_job_is_reported_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its log says so: the process that started it adds the line."""
    folder = make_sweep(tmp_path, ["rope", "alibi"], seeds=1, failed=["alibi-s0"], **SMALL)
    log = "step 120, loss 4.9\nValueError: ignored\nKilled by signal 9, SIGKILL (out of memory?)\n"
    (folder / "alibi-s0/train.log").write_text(log)
    assert make(folder) == 1
    assert "alibi-s0: Killed by signal 9, SIGKILL (out of memory?)" in capsys.readouterr().out
    assert "Killed by signal 9, SIGKILL (out of memory?)" in page_of(folder)


@pytest.mark.usefixtures("undrawn")
def test_the_command_says_what_is_wrong_in_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    make_sweep(tmp_path / "well", ["rope"], seeds=1, **SMALL)
    make_sweep(tmp_path / "failed", ["rope", "alibi"], seeds=1, failed=["alibi-s0"], **SMALL)
    for name, code in (("nowhere", 2), ("empty", 2), ("well", 0), ("failed", 1)):
        monkeypatch.setattr(sys, "argv", ["report", str(tmp_path / name)])
        with pytest.raises(SystemExit) as ended:
            command(main)
        assert ended.value.code == code
        errors = capsys.readouterr().err
        mistake = re.fullmatch(r"yardstick: There (is no folder|are no results in) .*\n", errors)
        assert bool(mistake) == (code == 2)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"jobs": 3}', '{"jobs": [1]}', '{"jobs": [{"name": "x"}]}']
)
def test_without_a_list_of_jobs_every_run_is_reported(content: str, tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], seeds=1, **SMALL)
    (folder / "sweep.json").write_text(content)
    sweep = load_sweep(folder)
    assert {run.folder.name for run in sweep.runs} == {"rope-s0", "alibi-s0"}
    assert "is damaged: every run found in its folder is reported" in sweep.notes[0]


@pytest.mark.usefixtures("undrawn")
def test_a_job_with_a_strange_seed_stops_nothing(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], seeds=1, failed=["alibi-s0"], **SMALL)
    edit(folder / "sweep.json", lambda about: about["jobs"][1].update(seed={"oops": None}))
    assert make(folder) == 1


def test_an_unknown_reference_names_those_that_there_are(headline: Path) -> None:
    with pytest.raises(ValueError, match=r"no method 'ropes'.* there are: alibi, kerple_log"):
        make(headline, reference="ropes")
    assert compared(headline, "alibi").difference["rope"].verdict[-1] == "worse"


def test_gaps_are_reported_by_what_rows_say(tmp_path: Path) -> None:
    """Undefined is a row of no sequences, not finite a row of some, not evaluated no row."""
    folder = make_sweep(tmp_path, ["rope", "alibi", "learned", "t5"], seeds=2, windows=24, extend=())
    for seed in (0, 1):
        alibi, t5 = (folder / f"{name}-s{seed}" for name in ("alibi", "t5"))
        rewrite(alibi, [row for row in read_rows(alibi / "results.jsonl") if row.length != 256])
        rows = read_rows(t5 / "results.jsonl")
        rewrite(t5, [replace(row, value=None) if row.length == 512 else row for row in rows])
    found = compared(folder)
    past = [length for length in found.lengths if length > 64]
    assert found.gaps == {
        "not evaluated": {"alibi": [256]}, "undefined": {"learned": past}, "not finite": {"t5": [512]},
    }  # fmt: skip
    parts = (
        "alibi at 256 tokens: not evaluated",
        "learned past 64 tokens: undefined",
        "t5 at 512 tokens: not finite",
    )
    assert gaps(found) == f"No value for {'; '.join(parts)}."
    assert (found.effective["alibi"].length or 0) > 256, "a length that nobody evaluated ends nothing"
    assert (found.effective["t5"].length or 0) < 512


def test_a_length_without_memory_is_a_gap_with_its_reason(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], seeds=2, windows=24, extend=())
    for place, extension in (("rope-s0", "none"), ("rope-s1", "none"), ("alibi-s1", "crop")):
        rows = read_rows(folder / place / "results.jsonl")
        full = [row for row in rows if (row.extension, row.length) == (extension, 2048)]
        marked = replace(full[0], protocol="same_tokens", metric="out_of_memory", value=1.0)
        kept = [replace(row, value=None, error=None) if row in full else row for row in rows]
        rewrite(folder / place, [*kept, marked])
    found = compared(folder)
    assert found.gaps == {"out of memory": {"alibi + crop": [2048], "rope": [2048]}}
    assert found.curve("rope").value[-1] is None
    assert found.curve("alibi").value[-1] is not None
    assert (
        "No value for alibi + crop at 2,048 tokens: out of memory; rope at 2,048 tokens: out of memory."
        in (terminal_text(summarise(load_sweep(folder)), 200))
    )
    assert page_of(folder)


def test_what_a_temperature_recovers(tmp_path: Path) -> None:
    """A column has the best factor and the change that it makes."""
    folder = make_sweep(tmp_path, ["rope", "t5"], 2, controls=("crop", "temperature"), extend=(), windows=8)
    for place in folder.glob("*-s*"):
        rows = read_rows(place / "results.jsonl")
        plain = {(r.protocol, r.length): r.value for r in rows if (r.extension, r.metric) == ("none", "loss")}
        kept = [row for row in rows if row.extension != "temperature"]
        for row in (row for row in rows if (row.extension, row.metric) == ("temperature", "loss")):
            less = 0.3 * (row.encoding == "t5") * (row.length > row.trained_length)
            kept.append(replace(row, value=(plain[row.protocol, row.length] or 0.0) - less))
            kept.append(replace(row, metric="temperature", value=1.25, error=None))
        np.savez(place / "documents.npz")
        rewrite(place, kept)
    (comparison,) = summarise(load_sweep(folder)).comparisons
    table = methods(comparison)
    place = [column.head for column in table.columns].index("temperature")
    cells = {row[1].text: (row[place].text, row[place].small) for row in table.rows}
    assert cells == {"t5": ("× 1.25", "−0.300"), "rope": ("× 1.25", "0.000")}
    bare = {name: {"none": comparison.headline.methods[name]["none"]} for name in comparison.methods}
    without = replace(
        comparison,
        scores={comparison.protocol: {comparison.metric: replace(comparison.headline, methods=bare)}},
        crop=comparison.protocol,
    )
    assert "temperature" not in [column.head for column in methods(without).columns]
