"""Progress of running work, in a log and in a terminal."""

import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from train.launch.scheduler import RunningJob, SweepProgress
from train.runtime.progress import Status, duration


def test_a_terminal_shows_the_newest_line_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for is_terminal, lines in ((False, "a\nb\nc\n"), (True, "a\n\033[A\033[Kb\nc\n")):
        monkeypatch.setattr(sys.stdout, "isatty", lambda answer=is_terminal: answer)
        status = Status()
        status.show("a")
        status.show("b", "c")
        assert capsys.readouterr().out == lines


def test_a_sweep_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Jobs take 100 s, two at a time: six are left, one of them half done."""
    now = time.perf_counter()
    running = {
        Path("runs/t5"): RunningJob(SimpleNamespace(exitcode=None, terminate=id, kill=id), now - 50, 0)
    }
    progress = SweepProgress(10, [100.0] * 4, now - 225)
    progress.show(running, "alibi done")
    assert capsys.readouterr().out == "alibi done (4 of 10, about 5 minutes left)\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    progress.show(running, "alibi done")
    assert capsys.readouterr().out == (
        "alibi done\n[########------------] 4 of 10, about 5 minutes left  t5\n"
    )


def test_a_time_is_rounded() -> None:
    assert [duration(seconds) for seconds in (0.4, 119, 150, 7300)] == [
        "0 s",
        "119 s",
        "2 minutes",
        "2 hours",
    ]
