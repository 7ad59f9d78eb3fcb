"""What engines make of a configuration: where transformers, vLLM and llama.cpp differ, and where the file
contradicts itself.

The differences are those of public issues and pull requests up to November 2026, which `source` names.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from train.public.rope_parameters import Rope, magnitude

Reach = Literal["at every length", "beyond the trained length", "within the trained length"]
Config = Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """One reason why a checkpoint may compute other numbers than its authors'."""

    reach: Reach
    text: str
    size: str  # of the difference, in numbers
    engines: tuple[tuple[str, str], ...]  # engine, what it does
    source: str


def findings_of(config: Config, rope: Rope) -> list[Finding]:
    """Return the findings about the layers of one type."""
    return [finding for rule in RULES for finding in rule(config, rope)]


def contradicting_names(config: Config, rope: Rope) -> Iterator[Finding]:
    old, new = config.get("rope_scaling"), config.get("rope_parameters")
    if old and new and old != new:
        yield Finding(
            "at every length",
            "rope_scaling and rope_parameters differ.",
            f"rope_scaling has {kind_of(old)}, rope_parameters {kind_of(new)}",
            (("transformers 5", "reads rope_parameters"), ("older versions, vLLM", "read rope_scaling")),
            "transformers' release 5",
        )
    if "type" in rope.parameters and "rope_type" not in rope.parameters:
        yield Finding(
            "at every length",
            "The rope type stands under its old name, type.",
            f"an engine that reads rope_type alone has factor 1 in place of {rope.factor:g}",
            (("transformers", "reads both"), ("sglang before PR 26187, mlxcel", "read rope_type alone")),
            "sglang PR 26187, mlxcel issue 1355",
        )


def kind_of(parameters: Mapping[str, Any]) -> str:
    return str(parameters.get("rope_type") or parameters.get("type") or "default")


def contradicting_factor(config: Config, rope: Rope) -> Iterator[Finding]:
    given = rope.parameters.get("factor")
    if (
        rope.kind in ("yarn", "longrope")
        and given
        and not math.isclose(float(given), rope.ratio, rel_tol=0.01)
    ):
        yield Finding(
            "beyond the trained length",
            f"factor is {float(given):g}; the context is {rope.ratio:g} times the original length.",
            f"the slowest pair is divided by {float(given):g} or by {max(1.0, rope.ratio):g}",
            (
                ("transformers", "takes factor, with a warning"),
                ("some engines", "take the ratio of the lengths"),
            ),
            "transformers' modeling_rope_utils",
        )


def sharpened_logits(config: Config, rope: Rope) -> Iterator[Finding]:
    if rope.kind != "yarn":
        return
    usual = magnitude(rope.factor)
    mscale, all_dim = (rope.parameters.get(key) for key in ("mscale", "mscale_all_dim"))
    asked = rope.attention_factor
    if asked is not None and not math.isclose(asked, usual, rel_tol=1e-4):
        named = (
            "attention_factor"
            if "attention_factor" in rope.parameters
            else "mscale and mscale_all_dim together"
        )
        yield Finding(
            "at every length",
            f"{named} set another factor of cos and sin than YaRN does by itself.",
            f"{asked:.7g} in place of {usual:.7g}: logits differ by {(usual / asked) ** 2:.4g}",
            (
                ("transformers", f"{asked:.7g}"),
                ("vLLM before 2026", f"{usual:.7g}"),
                ("mlx-lm before PR 1507", f"{usual:.7g}"),
            ),
            "vLLM PRs 46280, 48351, issues 48621, 48623; mlx-lm PR 1507",
        )
    if all_dim and "qk_rope_head_dim" in config:
        softmax = magnitude(rope.factor, float(all_dim)) ** 2
        yield Finding(
            "at every length",
            "mscale_all_dim also multiplies the softmax scale of latent attention.",
            f"logits x {softmax:.7g}",
            (
                ("transformers before PR 47435", "leaves it out for DeepSeek-V2 and Mistral 4"),
                ("llama.cpp", "assumes mscale = 1 and a factor of 0.1 that conversion has multiplied in"),
            ),
            "transformers PR 47435, llama.cpp PR 17945",
        )
    if mscale and not all_dim:
        yield Finding(
            "at every length",
            "mscale stands without mscale_all_dim.",
            "one of two factors is read as absent",
            (("transformers", "ignores mscale"), ("others", "may take mscale alone")),
            "transformers' modeling_rope_utils",
        )


def ignored_truncate(config: Config, rope: Rope) -> Iterator[Finding]:
    if rope.kind != "yarn" or rope.parameters.get("truncate", True):
        return
    exact, _ = rope.frequencies(rope.context)
    whole, _ = rope.frequencies(rope.context, truncate=True)
    off = float((whole / exact - 1).abs().max())
    if rope.layers != "all layers":
        yield Finding(
            "at every length",
            "truncate: false stands in parameters that are nested by layer type.",
            f"one frequency is off by {off:.0%}",
            (("transformers 5.23.0", "ignores it"), ("vLLM", "reads it")),
            "vectors/yarn.json",
        )


def dynamic_base(config: Config, rope: Rope) -> Iterator[Finding]:
    if rope.kind != "dynamic":
        return
    alpha, factor = rope.settings["alpha"], rope.rotated / (rope.rotated - 2)
    yield Finding(
        "within the trained length",
        "Dynamic NTK changes its base with the length.",
        f"at twice the trained length the base is x {(alpha * 2 - alpha + 1) ** factor:.4g}",
        (
            ("transformers", "follows the length of the call; cached keys keep an older base"),
            ("vLLM before PR 41277", "one base for all lengths"),
            ("vLLM since", "no number below the trained length"),
            ("llama.cpp", "has no dynamic scaling"),
        ),
        "vLLM PR 41277, issue 52665",
    )


def chosen_divisors(config: Config, rope: Rope) -> Iterator[Finding]:
    if rope.kind != "longrope":
        return
    pairs = rope.rotated // 2
    for key in ("long_factor", "short_factor"):
        if len(rope.parameters.get(key, [])) != pairs:
            yield Finding(
                "at every length",
                f"{key} has {len(rope.parameters.get(key, []))} divisors for {pairs} pairs.",
                "the checkpoint cannot be loaded",
                (("transformers", "fails or warns"),),
                "transformers' modeling_rope_utils",
            )
    yield Finding(
        "within the trained length",
        "LongRoPE has two sets of divisors.",
        f"cos and sin x {rope.frequencies(rope.context)[1]:.7g} with the long set",
        (
            ("transformers", "chooses by the length of the call"),
            ("vLLM", "by the longest possible length"),
            ("llama.cpp", "by the length that was allocated"),
        ),
        "llama.cpp issue 24823",
    )


def parsed_and_not_applied(config: Config, rope: Rope) -> Iterator[Finding]:
    if rope.kind == "llama3":
        slowest = rope.frequencies(rope.context)[0][-1].item()
        angle = rope.context * slowest * (rope.factor - 1)
        yield Finding(
            "beyond the trained length",
            "Some engines read the llama3 scaling and do not apply it.",
            f"the slowest pair is {angle:.3g} radians off at {rope.context:,} tokens",
            (
                ("transformers, vLLM", "apply it"),
                ("llama.cpp", "has it in a tensor made by conversion: older files lack it"),
                ("ik_llama.cpp before PR 2291, mlxcel", "do not apply it"),
            ),
            "llama.cpp PR 8676, ik_llama.cpp PR 2291, mlxcel issue 1355",
        )
        if rope.settings["fast"] == rope.settings["slow"]:
            yield Finding(
                "at every length",
                "low_freq_factor equals high_freq_factor.",
                "a division by zero where it is no special case",
                (("transformers", "has a special case"),),
                "Llama 4 Scout",
            )


def turned_part(config: Config, rope: Rope) -> Iterator[Finding]:
    if 0 < rope.rotated < rope.head_width:
        squeezed = rope.base ** (2 / rope.rotated - 1)
        whole = rope.base ** (-(rope.rotated - 2) / rope.head_width)
        here = rope.kind == "proportional"
        yield Finding(
            "at every length",
            f"{rope.rotated} of {rope.head_width} features turn, which has two meanings.",
            f"the slowest pair turns by {squeezed:.3g} radians a token (its own spectrum) or by {whole:.3g}",
            (("this file", "the fast part" if here else "its own spectrum"),),
            "vectors/rope.json, vectors/p_rope.json",
        )


def other_attention(config: Config, rope: Rope) -> Iterator[Finding]:
    if config.get("dual_chunk_attention_config"):
        yield Finding(
            "beyond the trained length",
            "Dual chunk attention is asked for.",
            "distances change from half of a chunk on",
            (("vLLM", "applies it"), ("transformers, llama.cpp", "ignore it")),
            "vLLM's dual_chunk_flash_attn",
        )
    window = config.get("sliding_window")
    if (
        window
        and config.get("use_sliding_window", True)
        and rope.layers in ("all layers", "sliding_attention")
    ):
        yield Finding(
            "beyond the trained length",
            f"A window of {window:,} tokens.",
            "one key more or less",
            (
                ("transformers", f"{window:,} keys, the query's own included"),
                ("flash-attention's left = window", f"{window + 1:,} keys"),
            ),
            "flash-attention's README",
        )


RULES: tuple[Callable[[Config, Rope], Iterator[Finding]], ...] = (
    contradicting_names,
    contradicting_factor,
    sharpened_logits,
    ignored_truncate,
    dynamic_base,
    chosen_divisors,
    parsed_and_not_applied,
    turned_part,
    other_attention,
)
