"""Audit of a config.json without weights: `yardstick audit config.json`.

The page has the base, the pairs that never complete a turn in training, the context that the base allows, and
what transformers, vLLM and llama.cpp make of the file. The exit code is 1 if engines differ or the file
contradicts itself. `--json` prints the same as JSON.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from conf.errors import UsageError
from train.diagnostics.base import longest_retrieval
from train.public.findings import ConfigFinding, findings_of
from train.public.rope_parameters import Rope, read_config, ropes_of


@dataclass(frozen=True)
class Rotations:
    """The facts about the rotations of layers of one type."""

    layers: str
    rope_type: str
    base: float
    pairs: int
    unfinished_pairs: int  # complete no turn within the trained length
    trained_length: int
    context: int
    factor: float
    attention_factor: float
    longest_retrieval: int  # tokens up to which the base lets a query prefer a similar key (Men et al.)
    findings: tuple[ConfigFinding, ...]


def rotations_of(config: Mapping[str, Any], rope: Rope) -> Rotations:
    """Return the facts about one rope at its promised context."""
    frequencies, factor = rope.frequencies(rope.context)
    trained = replace(rope, kind="default").frequencies(rope.trained)[0]
    return Rotations(
        rope.layers,
        rope.kind,
        rope.base,
        trained.numel(),
        int((trained * rope.trained < 2 * math.pi).sum()),
        rope.trained,
        rope.context,
        rope.factor,
        factor,
        longest_retrieval(frequencies.numpy(), rope.still // 2, rope.context),
        tuple(findings_of(config, rope)),
    )


def text_of(parts: list[Rotations]) -> str:
    """Return one page of text; its first line is the answer."""
    count = sum(len(part.findings) for part in parts)
    subject, verb = (
        ("One setting is", "contradicts") if count == 1 else (f"{count} settings are", "contradict")
    )
    answer = f"{subject} read differently by engines, or {verb} another."
    lines = [answer if count else "No engine is known to read this file differently."]
    for part in parts:
        if part.longest_retrieval < part.context:
            reached = f"{part.longest_retrieval:,} tokens, not {part.context:,}"
            lines.append(f"The base lets a query find a similar key up to {reached}.")
    for part in parts:
        lines += ["", *lines_of(part)]
    return "\n".join(lines)


def lines_of(part: Rotations) -> list[str]:
    """Return the lines about layers of one type."""
    scaling = "" if part.rope_type == "default" else f" by {part.factor:g}"
    lines = [
        f"{part.layers}: {part.rope_type}{scaling}, base {part.base:,.0f}",
        f"  {part.pairs} pairs turn; {part.unfinished_pairs} complete no turn within the "
        f"{part.trained_length:,} tokens of training",
        f"  the context is {part.context:,} tokens; a query prefers similar keys up to "
        f"{part.longest_retrieval:,} (Men et al., 2024)",
    ]
    if part.attention_factor != 1:
        lines.append(f"  cos and sin x {part.attention_factor:.7g}, logits x {part.attention_factor**2:.7g}")
    for finding in part.findings:
        lines += ["", f"  {finding.text} ({finding.reach})", f"    {finding.size}"]
        lines += [f"    {engine}: {behaviour}" for engine, behaviour in finding.engines.items()]
        lines.append(f"    source: {finding.source}")
    return lines


def audit(path: Path) -> list[Rotations]:
    """Return the facts and findings about the rotations that a config.json asks for.

    Raise UsageError if the file is no configuration, or one without rotary positions.
    """
    return rotations_of_all(read_config(path))


def rotations_of_all(config: Mapping[str, Any]) -> list[Rotations]:
    """Return the facts and findings about the rotations of each type of layer."""
    return [rotations_of(config, rope) for rope in ropes_of(config)]


def main(words: Sequence[str]) -> int:
    """Print the page of the configuration that a command line names, and return the exit code."""
    paths = [word for word in words if word != "--json"]
    if len(paths) != 1:
        raise UsageError("Name one configuration or model: yardstick audit path/to/config.json, or model=...")
    parts = audit(Path(paths[0]))
    print(json.dumps([asdict(part) for part in parts], indent=1) if "--json" in words else text_of(parts))
    return 1 if any(part.findings for part in parts) else 0
