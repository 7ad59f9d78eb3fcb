"""The content of a W&B run, as `wandb leet inspect` reads it from the file on the disk."""

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wandb.util import get_core_path


@dataclass
class Content:
    history: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, tuple[str, bool]] = field(default_factory=dict)  # name -> (its x axis, hidden)
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    exits: list[int] = field(default_factory=list)
    artifacts: list[str] = field(default_factory=list)  # their types

    def curve(self, x: str, y: str) -> list[tuple[float, float]]:
        return [(point[x], point[y]) for point in self.history if y in point]

    @property
    def panels(self) -> set[str]:
        """Return the names of the curves and tables; the data of each chart is a table."""
        axes = {name for name, (_, is_hidden) in self.metrics.items() if is_hidden}
        return {key.partition(".")[0] for point in self.history for key in point if key[0] != "_"} - axes


def read(folder: Path) -> Content:
    """Return the run in a folder wandb/[offline-]run-<time>-<id>."""
    (file,) = folder.glob("run-*.wandb")
    inspect = [get_core_path(), "leet", "inspect", "--no-observability", "--json", "--run-file", file, folder]
    lines = subprocess.run(inspect, capture_output=True, text=True, check=True).stdout.splitlines()
    content = Content()
    for record in map(json.loads, lines):
        match record:
            case {"history": {"item": item}}:
                content.history.append(item)
            case {"metric": {"name": name, **more}}:
                content.metrics[name] = more.get("step_metric", ""), "hidden" in more["options"]
            case {"summary": {"update": update}}:
                content.summary |= update
            case {"run": {"config": {"update": update}, **about}}:
                content.config |= update
                content.run = about
            case {"config": {"update": update}}:
                content.config |= update
            case {"artifact": {"type": kind}}:
                content.artifacts.append(kind)
            case {"exit": {"exit_code": code}}:
                content.exits.append(code)
    return content
