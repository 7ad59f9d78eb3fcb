"""Findings: where engines differ on a configuration, and where it contradicts itself.

`findings.yaml` has the texts; a rule here yields the name of a finding and the numbers in its text.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from train.public.rope_parameters import Rope, magnitude

Config = Mapping[str, Any]
Found = Iterator[tuple[str, dict[str, Any]]]


@dataclass(frozen=True)
class ConfigFinding:
    """One reason why a checkpoint may compute other numbers than its authors'."""

    reach: str  # the lengths at which numbers differ
    text: str
    size: str  # of the difference, in numbers
    engines: Mapping[str, str]  # what each engine does
    source: str


@cache
def entries() -> dict[str, dict[str, Any]]:
    """Return the content of `findings.yaml`."""
    return dict(yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8")))


def findings_of(config: Config, rope: Rope) -> list[ConfigFinding]:
    """Return the findings about the layers of one type."""
    return [
        ConfigFinding(
            entries()[name]["reach"], entries()[name]["text"].format(**numbers),
            entries()[name]["size"].format(**numbers),
            {engine: act.format(**numbers) for engine, act in entries()[name]["engines"].items()},
            entries()[name]["source"],
        )
        for rule in RULES
        for name, numbers in rule(config, rope)
    ]  # fmt: skip


def spelling(config: Config, rope: Rope) -> Found:
    old, new = config.get("rope_scaling"), config.get("rope_parameters")
    if old and new and old != new:
        types = (part.get("rope_type") or part.get("type") or "default" for part in (old, new))
        yield "two_scalings", dict(zip(("old", "new"), types, strict=True))
    if "type" in rope.parameters and "rope_type" not in rope.parameters:
        yield "old_name", {"factor": rope.factor}


def factor(config: Config, rope: Rope) -> Found:
    given = float(rope.parameters.get("factor") or rope.ratio)
    if rope.kind in ("yarn", "longrope") and not math.isclose(given, rope.ratio, rel_tol=0.01):
        yield "factor", {"factor": given, "ratio": rope.ratio, "at_least_1": max(1.0, rope.ratio)}


def yarn(config: Config, rope: Rope) -> Found:
    if rope.kind != "yarn":
        return
    usual, asked = magnitude(rope.factor), rope.attention_factor
    mscale, all_dim = (rope.parameters.get(key) for key in ("mscale", "mscale_all_dim"))
    if asked is not None and not math.isclose(asked, usual, rel_tol=1e-4):
        is_given = "attention_factor" in rope.parameters
        keys = "attention_factor" if is_given else "mscale and mscale_all_dim together"
        yield (
            "attention_factor",
            {"keys": keys, "asked": asked, "usual": usual, "logits": (usual / asked) ** 2},
        )
    if all_dim and "qk_rope_head_dim" in config:
        yield "latent_attention", {"softmax": magnitude(rope.factor, float(all_dim)) ** 2}
    if mscale and not all_dim:
        yield "mscale_alone", {}
    if not rope.parameters.get("truncate", True) and rope.layers != "all layers":
        exact, whole = (rope.frequencies(rope.context, truncate=truncate)[0] for truncate in (False, True))
        yield "truncate", {"off": float((whole / exact - 1).abs().max())}


def dynamic(config: Config, rope: Rope) -> Found:
    if rope.kind == "dynamic":
        yield "dynamic", {"growth": (rope.settings["alpha"] + 1) ** (rope.rotated / (rope.rotated - 2))}


def longrope(config: Config, rope: Rope) -> Found:
    if rope.kind != "longrope":
        return
    for key in ("long_factor", "short_factor"):
        count, pairs = len(rope.parameters.get(key, [])), rope.rotated // 2
        if count != pairs:
            yield "divisors", {"key": key, "count": count, "pairs": pairs}
    yield "two_sets", {"magnitude": rope.frequencies(rope.context)[1]}


def llama3(config: Config, rope: Rope) -> Found:
    if rope.kind == "llama3":
        slowest = rope.frequencies(rope.context)[0][-1].item()
        angle = rope.context * slowest * (rope.factor - 1)
        yield "llama3", {"angle": angle, "context": rope.context}
        if rope.settings["fast"] == rope.settings["slow"]:
            yield "equal_factors", {}


def partial(config: Config, rope: Rope) -> Found:
    if 0 < rope.rotated < rope.head_width:
        yield (
            "partial",
            {
                "rotated": rope.rotated,
                "width": rope.head_width,
                "squeezed": rope.base ** (2 / rope.rotated - 1),
                "whole": rope.base ** (-(rope.rotated - 2) / rope.head_width),
                "meaning": "the fast part" if rope.kind == "proportional" else "its own spectrum",
            },
        )


def other_attention(config: Config, rope: Rope) -> Found:
    if config.get("dual_chunk_attention_config"):
        yield "dual_chunk", {}
    window = config.get("sliding_window") if config.get("use_sliding_window", True) else None
    if window and rope.layers in ("all layers", "sliding_attention"):
        yield "window", {"window": window, "more": window + 1}


RULES = (spelling, factor, yarn, dynamic, longrope, llama3, partial, other_attention)
