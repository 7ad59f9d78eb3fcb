"""Reports of sweeps that were never trained: their statements, their refusals, and the files they leave
alone."""

import json
import re
import shutil
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sweeps import command
from sweeps.charts.decomposition import DISTANCES, EARLY, POSITIONS, WHOLE, decompose
from sweeps.charts.extensions import extension_changes
from sweeps.charts.gain import gain_by_length
from sweeps.comparison import comparisons_of
from sweeps.report import make
from sweeps.report.__main__ import main
from sweeps.report.answers import answers, setting
from sweeps.report.diagnostics import diagnoses
from sweeps.report.terminal import terminal_text
from sweeps.results import UNREADABLE, load_sweep, path_text
from sweeps.tables.methods import method_table, sides_table
from sweeps.tables.notes import gaps, gaps_note
from sweeps.tables.runs import fairness_table
from tests.harm import files_of_at_most
from tests.sweeps.synthetic import (
    comparison_of,
    edit,
    figures_of,
    make_sweep,
    page_of,
    rewrite,
    text_of,
    vouch,
)
from train.paths import ROOT
from train.results.rows import read_rows

ARCHIVES = ROOT / "docs/study"
SMALL: dict[str, Any] = {"windows": 24, "lengths": (64, 128, 256, 512)}


@pytest.fixture(scope="module")
def headline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sweep(tmp_path_factory.mktemp("headline"), failed=["t5-s1"], bimodal="nope")


def test_a_report_has_all_its_parts_and_needs_nothing_else(
    headline: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(headline) == 1
    printed = capsys.readouterr().out
    for name in ("report.html", "table.txt", "figures/loss_by_length.png", "figures/loss_by_position.png"):
        assert (headline / name).stat().st_size > 1000
        assert name in printed
    assert "t5-s1: torch.OutOfMemoryError: CUDA out of memory [cuda:0]" in printed
    assert "t5-s1/train.log" in printed
    assert "\x1b" not in printed
    figures = figures_of((headline / "report.html").read_text())
    assert {"loss_by_length", "loss_by_position"} <= set(figures)
    names = [line.split(",")[2] for line in figures["loss_by_length"][0]["datasets"]["table"].splitlines()]
    assert {"rope", "alibi"} <= set(names)


@pytest.mark.usefixtures("undrawn")
def test_signs_that_a_terminal_obeys_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], **SMALL)
    evil = {"name": "evil\x1b[31m\x07", "folder": "evil"}
    edit(folder / "sweep.json", lambda about: about["jobs"].append(evil))
    make(folder)
    assert "\x1b" not in capsys.readouterr().out + page_of(folder)


def test_one_seed_among_several_is_compared_with_nobody() -> None:
    """By documents alone it would be told apart more easily than three seeds are."""
    sweep, alone = load_sweep(ARCHIVES / "natural_rates"), "bam learning_rate=0.0025"
    (comparison,), (usual,) = comparisons_of(sweep, alone), comparisons_of(sweep)
    assert {*comparison.differences["verdict"]} == {""}, "it has one seed"
    best = usual.best[256]
    assert {alone, "kerple_log learning_rate=0.0025"} <= {*best.untested}
    assert not {*best.tied} & {*best.untested}
    assert best.worse + len(best.tied) + len(best.untested) == best.others


def test_a_narrow_terminal_cuts_names_and_no_number() -> None:
    sweep = load_sweep(ARCHIVES / "encodings")
    table = terminal_text(sweep, comparisons_of(sweep), 80).split(" seeds, ")[0]
    cut = [word for word in table.split() if "…" in word]
    assert cut, "the names of this table are too long for 80 columns"
    assert not any(word[0].isdigit() or word[0] in "+−" for word in cut), cut


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
    (into / "figures/of_before.png").write_text("old")
    (folder / "rope-s0/results.jsonl").unlink()
    make(folder, into=into)
    assert not (into / "figures/of_before.png").exists()
    assert (into / "figures/loss_by_length.png").exists()


def test_a_full_disk_leaves_the_old_report_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command ends with one sentence, which names the file."""
    folder = make_sweep(tmp_path, ["rope", "alibi"], seeds=1, **SMALL)
    make(folder)
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    monkeypatch.setattr(sys, "argv", ["report", str(folder)])
    for size in (0, 40_000, len(before[folder / "report.html"]) - 1):
        with files_of_at_most(size), pytest.raises(SystemExit) as stopped:
            command(main)
        assert stopped.value.code == 2
        assert capsys.readouterr().err.startswith("yardstick: File too large (")
        assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_equal_methods_are_not_separated(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alike_1", "alike_2"], seeds=3, **SMALL)
    found = comparison_of(folder, "alike_1").differences["verdict"]
    assert set(found["alike_2"]) == {"not separable"}
    assert comparison_of(folder).best[512].tied
    assert "not shown to be worse than" in text_of(folder, 80)


def test_a_single_seed_is_named_as_such(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, seeds=1, **SMALL)
    assert comparison_of(folder).table.over == "documents"
    assert "Variation between seeds, since there is one." in " ".join(text_of(folder).split())


def test_no_interval_is_printed_where_there_is_too_little(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], seeds=1, **SMALL | {"windows": 3})
    assert "No intervals: they need at least two seeds or five documents." in text_of(folder)
    assert "[" not in text_of(folder)
    assert "separable" not in " ".join(answers(comparison_of(folder)).values())


def test_only_jobs_of_the_sweep_count(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi", "t5"], **SMALL)
    edit(folder / "sweep.json", lambda about: about.update(jobs=about["jobs"][:-3]))
    assert set(comparison_of(folder).names) == {"rope", "alibi"}
    (folder / "sweep.json").unlink()
    assert set(comparison_of(folder).names) == {"rope", "alibi", "t5"}
    assert set(comparison_of(folder / "t5-s0").names) == {"t5"}


def test_of_trainings_by_other_code_the_newest_counts(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "sweep", ["rope", "alibi"], seeds=2)
    expected = comparison_of(folder)
    (folder / "sweep.json").unlink()
    old = folder / "rope-older"
    shutil.copytree(folder / "rope-s0", old)
    rows = read_rows(old / "results.jsonl")
    edit(old / "run.json", lambda about: about.update(training="0ld", started="2001-01-01T00:00:00"))
    rewrite(old, [replace(row, value=9.0) for row in rows])
    found = comparison_of(folder)
    assert found.table.values.equals(expected.table.values)
    assert found.source("rope") == "rope-s0, rope-s1"
    (note,) = (note for note in found.table.notes if note.startswith("rope, seed 0: the newest of 2"))
    assert note.endswith("left out: rope-older.")


@pytest.mark.usefixtures("undrawn")
def test_a_sweep_of_failures_still_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_sweep(tmp_path, ["rope"], seeds=2, failed=["rope-s0", "rope-s1"])
    shutil.rmtree(folder / "rope-s1")
    killed = "Killed by signal 9, SIGKILL (out of memory?)"  # a line of the process that started the job
    (folder / "rope-s0/train.log").write_text(f"step 120, loss 4.9\nValueError: ignored\n{killed}\n")
    assert make(folder) == 2
    printed, page = capsys.readouterr().out, page_of(folder)
    assert "rope-s1: not started" in printed
    assert f"rope-s0: {killed}" in printed
    assert killed in page
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
    comparison = comparison_of(folder)
    assert set(comparison.names) == {"rope base=500", "rope base=10000", "alibi", "t5"}
    unequal = answers(comparison)["What this cannot say"]
    assert "sequences per step (alibi)" in unequal
    assert "tokens (alibi)" in unequal
    assert "encoding.base" not in unequal
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


def test_a_family_is_what_the_run_itself_says_or_that_of_no_other(tmp_path: Path) -> None:
    names = ["rope", "stranger", "alibi", "mine"]
    changed = {"mine": {"encoding": {"family": "my family"}}}
    comparison = comparison_of(make_sweep(tmp_path, names, changed=changed, **SMALL))
    families = [comparison.family(name) for name in names[1:]]
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


SCORES = np.array(["a"] * 24), np.ones((24, 2))
DAMAGE: list[tuple[str, Any, str]] = [
    ("results.jsonl", b"{\n{\n", "is damaged at line 1"),
    ("results.jsonl", b"", "is empty"),
    ("documents.npz", b"PK broken", "documents.npz is damaged"),
    ("run.json", b"[1]", "run.json is damaged"),
    ("results.jsonl", b"[" * 100_000 + b"\n", "results.jsonl is damaged at line 1"),
    ("results.jsonl", {"value": "4.1"}, "results.jsonl is damaged at line 1 (value: '4.1')"),
    ("results.jsonl", {"length": 0}, "results.jsonl has a length below 1"),
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
        (found,) = [job.reason for job in sweep.troubles[UNREADABLE] if job.name == f"rope-s{seed}"]
        assert reason in found
        assert found in page
        assert found in printed
    assert [run.seed for run in sweep.runs if run.encoding == "rope"] == [len(DAMAGE)]
    assert sum(run.encoding == "alibi" for run in sweep.runs) == len(DAMAGE) + 1


@pytest.mark.parametrize("content", [b"{", b'{"run": "rope"}'])
def test_a_damaged_diagnosis_is_reported(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "diagnostics.json").write_bytes(content)
    (found,) = diagnoses([tmp_path])
    assert found.figures == []
    assert "diagnostics.json is damaged: delete it, or diagnose the run again." in found.sentences[0]


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


@pytest.mark.parametrize("content", ["{", "[]", '{"jobs": [{"name": "x"}]}'])
def test_without_a_list_of_jobs_every_run_is_reported(content: str, tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], seeds=1, **SMALL)
    (folder / "sweep.json").write_text(content)
    sweep = load_sweep(folder)
    assert {run.folder.name for run in sweep.runs} == {"rope-s0", "alibi-s0"}
    assert "is damaged: every run found in its folder is reported" in sweep.notes[0]


def test_an_unknown_reference_names_those_that_there_are(headline: Path) -> None:
    with pytest.raises(ValueError, match=r"no method 'ropes'.* there are: alibi, kerple_log"):
        make(headline, reference="ropes")
    assert comparison_of(headline, "alibi").differences["verdict"]["rope", 2048] == "worse"


def test_gaps_are_reported_by_what_rows_say(tmp_path: Path) -> None:
    """Undefined is a row of no sequences, not finite a row of some, not evaluated no row."""
    folder = make_sweep(tmp_path, ["rope", "alibi", "learned", "t5"], seeds=2, windows=24, extend=())
    for seed in (0, 1):
        alibi, t5 = (folder / f"{name}-s{seed}" for name in ("alibi", "t5"))
        rewrite(alibi, [row for row in read_rows(alibi / "results.jsonl") if row.length != 256])
        rows = read_rows(t5 / "results.jsonl")
        rewrite(t5, [replace(row, value=None) if row.length == 512 else row for row in rows])
    found = comparison_of(folder)
    past = [length for length in found.lengths if length > 64]
    assert gaps(found) == {
        "not evaluated": {"alibi": [256]}, "undefined": {"learned": past}, "not finite": {"t5": [512]},
    }  # fmt: skip
    parts = (
        "alibi at 256 tokens: not evaluated; learned past 64 tokens: undefined; t5 at 512 tokens: not finite"
    )
    assert gaps_note(found) == f"No value for {parts}."


def test_a_length_without_memory_is_a_gap_with_its_reason(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope", "alibi"], seeds=2, windows=24, extend=())
    for place, extension in (("rope-s0", "none"), ("rope-s1", "none"), ("alibi-s1", "crop")):
        rows = read_rows(folder / place / "results.jsonl")
        full = [row for row in rows if (row.extension, row.length) == (extension, 2048)]
        marked = replace(full[0], protocol="same_tokens", metric="out_of_memory", value=1.0)
        kept = [replace(row, value=None, error=None) if row in full else row for row in rows]
        rewrite(folder / place, [*kept, marked])
    found = comparison_of(folder)
    expected = {"out of memory": {"alibi + crop": [2048], "rope": [2048]}}
    assert gaps(found) == expected
    assert np.isnan(found.means["value"]["rope", "none", 2048])
    assert np.isfinite(found.means["value"]["alibi", "none", 2048])
    assert "No value for alibi + crop at 2,048 tokens: out of memory; rope at" in text_of(folder)
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
    comparison = comparison_of(folder)
    table = method_table(comparison)
    place = [column.head for column in table.columns].index("temperature")
    cells = {row[1].text: (row[place].text, row[place].small) for row in table.rows}
    assert cells == {"t5": ("× 1.25", "−0.300"), "rope": ("× 1.25", "0.000")}


def test_the_page_answers_first_by_one_definition(tmp_path: Path) -> None:
    """What gains, holds and loses is said of the gain alone, in the answer, the chart and the table."""
    folder = make_sweep(
        tmp_path, ["rope", "fox", "alibi"], 3, controls=("crop", "window"), extend=(), windows=32,
        protocols=("same_tokens", "sliding"),
    )  # fmt: skip
    comparison, page = comparison_of(folder), page_of(folder)
    lines = answers(comparison)
    assert lines["Loses"].startswith("At 256 tokens (4x): rope −")
    for verdict in ("gains", "holds", "loses", "undecided"):
        for name in ("rope", "fox", "alibi"):
            for length, part in zip((256, 2048), lines[verdict.capitalize()].split("; at"), strict=True):
                assert (name in part) == (comparison.gains["verdict"][name, "none", length] == verdict)
    drawn = figures_of(page)["gain_by_length"][0]["datasets"]["table"]
    assert "2,048 tokens, 32x" in drawn
    first = ('id="gain_by_length"', 'data-figure="gain_by_length"', 'id="by_length"', 'id="methods"')
    places = [page.index(part) for part in ("Best where it was trained", *first)]
    assert places == sorted(places), "the answer leads, then the gain"
    assert "the better of a sliding window and a sliding crop of the training length" in page
    table = method_table(comparison)
    places = [n for n, column in enumerate(table.columns) if column.head == "gain"]
    (row,) = (row for row in table.rows if row[1].text == "rope")
    assert "loses" in row[places[-1]].small
    assert row[1].small == "Rotary position embedding, Su et al., 2021"
    assert row[1].link.startswith("https://arxiv.org/")
    assert sides_table([comparison]) is None, "there is no retrieval"


def test_without_a_fair_crop_the_gain_names_its_control(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope"], 2, controls=("crop", "window"), extend=(), **SMALL)
    text = " ".join(setting(comparison_of(folder)))
    assert "minus the loss with everything" in text
    assert "a sliding window of the training length alone" in text


def test_the_first_lines_say_what_was_read(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path, ["rope"], 1, changed={"rope": {"data.repeat": 1.5}}, **SMALL)
    about = "python: x; training: 3 documents, 1.0 MB, 614,400 tokens; held out: 2 documents, 9 tokens"
    edit(folder / "rope-s0/run.json", lambda run: run.update(corpus_description=about))
    vouch(folder)
    text = answers(comparison_of(folder))["Training text"]
    assert text.startswith("Not natural: 1.5 spans of every training sequence were repeated within it")
    assert text.endswith("Read 2.00 times.")
    assert next(iter(answers(comparison_of(folder)))) == "Training text"


def test_extensions_are_compared_with_fair_controls_or_with_none(tmp_path: Path) -> None:
    folder = make_sweep(tmp_path / "none", ["rope", "alibi"], controls=(), extend=("rope", "alibi"), **SMALL)
    comparison, page = comparison_of(folder), page_of(folder)
    means = comparison.means["value"]
    found = extension_changes(comparison)
    change = means["alibi", "none", 512] - means["alibi", "yarn", 512]
    assert found["value"]["alibi", "yarn", 512] == pytest.approx(change)
    alone = comparison.means.loc[("alibi", "none", 512)]
    paired = found.loc[("alibi", "yarn", 512)]
    assert paired["high"] - paired["low"] < (alone["high"] - alone["low"]) / 2
    assert 'data-figure="extensions"' in page
    assert answers(comparison)["Extensions"].startswith("Of 6 extensions, rope + rerope (−")
    both = ("same_tokens", "sliding")
    fair = make_sweep(tmp_path / "fair", ["rope"], controls=("crop", "window"), protocols=both, **SMALL)
    found = extension_changes(comparison_of(fair))
    assert found["value"]["rope", "rerope", 512] > found["value"]["rope", "none", 512]
    assert "rerope does best at 512 tokens (gain +" in answers(comparison_of(fair))["Extensions"]
    drawn = figures_of(page_of(fair))["gain_by_length"][0]["datasets"]["table"]
    for extension in ("no extension", "rerope"):
        assert extension in drawn, "a single method has a row for each extension"
    lost = comparison_of(fair)  # memory ran out at the longest length
    vars(lost)["gains"] = lost.gains.drop(lost.longest, level="length")
    assert "256 tokens" in str(gain_by_length(lost))


def test_the_decomposition_adds_up(tmp_path: Path) -> None:
    both = ("same_tokens", "sliding")
    folder = make_sweep(
        tmp_path, ["rope", "learned"], 2, controls=("crop", "window"), protocols=both, extend=(), windows=24
    )
    found = decompose(comparison_of(folder).table)["value"]
    value = comparison_of(folder).table.values.groupby(level=[0, 1, 2, 3, 4]).mean()

    def loss(extension: str, protocol: str, length: int) -> float:
        return float(value["rope", extension, protocol, "loss", length])

    for length in (128, 2048):
        full, home = loss("crop", "sliding", length), loss("none", "same_tokens", 64)
        window, whole = loss("window", "same_tokens", length), loss("none", "same_tokens", length)
        assert found[EARLY, "rope", length] == pytest.approx(full - home, abs=1e-6)
        assert found[DISTANCES, "rope", length] == pytest.approx(window - full, abs=1e-6)
        assert found[POSITIONS, "rope", length] == pytest.approx(whole - window, abs=1e-6)
        assert found[WHOLE, "rope", length] == pytest.approx(whole - home, abs=1e-6)
    page = page_of(folder)
    assert "Why the loss changes past the training length" in page
