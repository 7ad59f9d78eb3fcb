"""What the positions of a checkpoint mean:  yardstick audit config.json

Print the base, the pairs that never complete a turn in training, the context that the base allows, and what
transformers, vLLM and llama.cpp make of the file. The exit code is 1 if engines differ or the file
contradicts itself. `--json` prints the same as JSON.
"""

import json
import math
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from conf.errors import UsageError
from train.errors import command_line
from train.public.findings import Finding, findings_of
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
    findings: tuple[Finding, ...]


def rotations_of(config: dict[str, Any], rope: Rope) -> Rotations:
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


def longest_retrieval(frequencies: "np.ndarray[Any, Any]", still: int, longest: int) -> int:
    """Return the context, at most `longest`, within which sum_f cos(m theta_f) is nowhere negative; each of
    `still` pairs that do not turn adds 1.

    Men et al. (2024, https://arxiv.org/abs/2405.14591): beyond it a query no longer prefers a similar key.
    """
    distance, total = np.arange(longest, dtype=np.float64), np.full(longest, float(still))
    for frequency in frequencies:
        total += np.cos(distance * frequency)
    negative = np.flatnonzero(total < 0)
    return int(negative[0]) if len(negative) else longest


def page(parts: list[Rotations]) -> str:
    """Return one page of text; its first line is the answer."""
    count = sum(len(part.findings) for part in parts)
    subject = "One setting is" if count == 1 else f"{count} settings are"
    answer = f"{subject} read differently by engines, or contradict another."
    lines = [answer if count else "No engine is known to read this file differently."]
    for part in parts:
        if part.longest_retrieval < part.context:
            reached = f"{part.longest_retrieval:,} tokens, not {part.context:,}"
            lines.append(f"The base lets a query find a similar key up to {reached}.")
    for part in parts:
        lines += ["", *described(part)]
    return "\n".join(lines)


def described(part: Rotations) -> list[str]:
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
        lines += [f"    {engine}: {what}" for engine, what in finding.engines]
        lines.append(f"    source: {finding.source}")
    return lines


def audit(path: Path) -> list[Rotations]:
    """Return the facts and findings about the rotations that a config.json asks for.

    Raise UsageError if the file is no configuration, or one without rotary positions.
    """
    config = read_config(path)
    return [rotations_of(config, rope) for rope in ropes_of(config)]


def entry() -> None:
    """Run `yardstick audit`."""
    with command_line(__doc__):
        paths = [argument for argument in sys.argv[1:] if argument != "--json"]
        if len(paths) != 1:
            raise UsageError("Name one configuration: yardstick audit path/to/config.json")
        parts = audit(Path(paths[0]))
        print(json.dumps([asdict(part) for part in parts], indent=1) if "--json" in sys.argv else page(parts))
        sys.exit(1 if any(part.findings for part in parts) else 0)


if __name__ == "__main__":
    entry()
