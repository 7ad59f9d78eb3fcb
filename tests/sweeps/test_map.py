"""The map of settings shows what its table says."""

from io import StringIO
from pathlib import Path

import pandas as pd

from sweeps.map import SHOWN, VERDICTS, figure
from train.paths import ROOT

FILE = ROOT / "docs/study/map.csv"


def test_every_number_is_shown_and_only_what_is_sure_is_coloured(tmp_path: Path) -> None:
    found = pd.read_csv(FILE)
    drawn = figure(found)
    rows = pd.read_csv(StringIO(drawn.views["gain"]["datasets"]["table"]))
    assert len(rows) == found["times"].isin(SHOWN).sum()
    assert (rows["verdict"].eq("gains") == (rows["high"] < 0)).all()
    assert (rows["verdict"].eq("loses") == (rows["low"] > 0)).all()
    assert rows["verdict"].isin(VERDICTS).all()
    assert drawn.save(tmp_path)[0].stat().st_size > 10_000
