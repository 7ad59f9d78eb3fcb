"""Figures: a chart for every view that a reader can choose, the first of which becomes a file."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from train.results.run_folder import write_whole

HERE = Path(__file__).parent
VEGA_LITE = "6.1"  # in 6.4 the point next to the pointer has no tooltip
THEME = yaml.safe_load((HERE / "theme.yml").read_text("utf-8"))
CONFIG, LIGHT, DARK = THEME["config"], THEME["light"], THEME["dark"]

Spec = dict[str, Any]  # Vega-Lite, https://vega.github.io/vega-lite/docs/spec.html
# in the table behind a chart, columns that begin with _ are for the drawing alone


@dataclass(frozen=True)
class Figure:
    """A figure: its file name, and a Vega-Lite specification for each view."""

    name: str
    views: dict[str, Spec]

    def svg(self, theme: Mapping[str, str] = LIGHT) -> str:
        """Return the first view in the colours of a theme."""
        import vl_convert

        text = json.dumps(static_spec(next(iter(self.views.values()))) | {"config": CONFIG})
        coloured = re.sub(r"var\(--(\w+)\)", lambda match: theme[match[1]], text)
        return str(vl_convert.vegalite_to_svg(coloured, VEGA_LITE))

    def _repr_svg_(self) -> str:
        """Return the SVG for a notebook."""
        return self.svg()

    def save(self, folder: Path) -> list[Path]:
        """Save the first view as PNG and as SVG in a folder, which may be missing; return both files."""
        import vl_convert

        svg, files = self.svg(), [folder / f"{self.name}.png", folder / f"{self.name}.svg"]
        write_whole(files[0], vl_convert.svg_to_png(svg, scale=2))
        write_whole(files[1], svg)
        return files


def panel(text: str, **values: object) -> Spec:
    """Return a chart from its description in YAML, with values in place of the words that begin with $."""
    chart = re.sub(r'"\$(\w+)"', lambda found: json.dumps(values[found[1]]), yaml_as_json(text))
    return dict(json.loads(chart))


@cache
def yaml_as_json(text: str) -> str:
    return json.dumps(yaml.safe_load(text))


def inline(table: pd.DataFrame, name: str = "table") -> Spec:
    """Return a table as the data of a chart: CSV, with empty cells for missing values."""
    is_text = table.map(lambda value: isinstance(value, str)).any()
    parse = dict.fromkeys(table.columns[~is_text], "number")
    text = table.replace([np.inf, -np.inf], np.nan).to_csv(index=False, float_format="%.7g")
    return {"datasets": {name: text}, "data": {"name": name, "format": {"type": "csv", "parse": parse}}}


def add_title(title: str, chart: Spec, table: pd.DataFrame) -> Spec:
    """Return a chart with a title, whose parts become lines, and with its own table."""
    text, *below = title.split("; ")
    heading = {"text": text, "fontSize": 12, "offset": 6} | ({"subtitle": below} if below else {})
    return {**chart, "title": heading, **inline(table, title)}


def combine(charts: Sequence[Spec], direction: str, **layout: object) -> Spec:
    """Combine titled charts by `direction`: hconcat, vconcat or concat. Their tables move to the top."""
    tables = {name: text for chart in charts for name, text in chart["datasets"].items()}
    bare = [{key: value for key, value in chart.items() if key != "datasets"} for chart in charts]
    return {"datasets": tables, direction: bare, **layout}


def facet(chart: Spec, table: pd.DataFrame, field: str, columns: int, title: str, note: str) -> Spec:
    """Return a chart for each value of a field, in the order of the table's rows.

    A page shows fewer panels side by side if it is narrow, and stretches them.
    """
    titles = list(table[field].unique())
    header = {"title": None, "labels": len(titles) > 1}
    return inline(table) | {
        "title": {"text": title, "subtitle": note},
        "facet": {"field": field, "type": "nominal", "sort": titles, "header": header},
        "columns": min(columns, len(titles)),
        "spacing": 16,
        "resolve": {"axis": {"x": "independent"}},
        "spec": chart,
    }


def place_beside(names: int, narrowest: int, axis: int = 62) -> Spec:
    """Return the pixels next to each panel, of the narrowest panel, and left of all: a page fits them."""
    return {"usermeta": {"beside": names, "narrowest": narrowest, "axis": axis}}


def note_missing(chart: Spec, missing: str) -> Spec:
    """Return a faceted chart with a note on what is missing."""
    facet = chart["facet"]
    header = facet["header"] | {"title": f"missing: {missing}" if missing else None}
    return {**chart, "facet": facet | {"header": header}}


def static_spec(part: Any) -> Any:
    """Return a specification without interaction, for a file."""
    if isinstance(part, list):
        return [static_spec(item) for item in part if not (isinstance(item, dict) and "params" in item)]
    if not isinstance(part, dict):
        return part
    if "hover" in part.get("condition", {}).get("test", ""):
        return {"value": part["value"]}
    return {key: static_spec(value) for key, value in part.items() if key not in ("params", "tooltip")}
