"""Progress of running work, in a log and in a terminal."""

import sys

import pytest

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


def test_a_time_is_rounded() -> None:
    assert [duration(seconds) for seconds in (0.4, 119, 150, 7300)] == [
        "0 s",
        "119 s",
        "2 minutes",
        "2 hours",
    ]
