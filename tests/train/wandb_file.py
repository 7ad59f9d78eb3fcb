"""Reads the .wandb file of a run: records in the framing of LevelDB's log."""

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wandb.proto.wandb_internal_pb2 import Record

BLOCK = 32768
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


@dataclass
class Content:
    """What W&B was told."""

    history: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[str, tuple[str, bool]] = field(default_factory=dict)  # name -> (its x axis, hidden)
    globs: list[str] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    run: Any = None
    exits: list[int] = field(default_factory=list)

    def curve(self, x: str, y: str) -> list[tuple[float, float]]:
        return [(point[x], point[y]) for point in self.history if y in point]


def read(folder: Path) -> Content:
    """The run in a folder wandb/[offline-]run-<time>-<id>."""
    (file,) = folder.glob("run-*.wandb")
    content = Content()
    for raw in records(file.read_bytes()):
        record = Record.FromString(raw)
        kind = record.WhichOneof("record_type")
        if kind == "history":
            content.history.append(items(record.history.item))
        elif kind == "metric" and record.metric.glob_name:
            content.globs.append(record.metric.glob_name)
        elif kind == "metric":
            content.metrics[record.metric.name] = (record.metric.step_metric, record.metric.options.hidden)
        elif kind == "summary":
            content.summary |= items(record.summary.update)
        elif kind == "run":
            content.run = record.run
            content.config |= items(record.run.config.update)
        elif kind == "config":
            content.config |= items(record.config.update)
        elif kind == "exit":
            content.exits.append(record.exit.exit_code)
    return content


def items(pairs: Any) -> dict[str, Any]:
    return {"/".join(pair.nested_key) or pair.key: json.loads(pair.value_json) for pair in pairs}


def records(data: bytes) -> list[bytes]:
    """The whole records; one that a crash tore is left out."""
    found, parts, at = [], b"", 7
    assert data[:7] == struct.pack("<4sHB", b":W&B", 0xBEE1, 0)
    while at + 7 <= len(data):
        room = BLOCK - at % BLOCK
        if room < 7:
            at += room
            continue
        length, kind = struct.unpack_from("<HB", data, at + 4)
        if kind not in (FULL, FIRST, MIDDLE, LAST):
            break
        chunk = data[at + 7 : at + 7 + length]
        if len(chunk) < length:
            break
        at += 7 + length
        parts = chunk if kind in (FULL, FIRST) else parts + chunk
        if kind in (FULL, LAST):
            found.append(parts)
    return found
