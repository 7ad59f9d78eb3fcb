"""The rotations that a checkpoint's config.json asks for, in the vocabulary of transformers."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from torch import Tensor

from conf.errors import UsageError
from models.change import base_and_changes
from models.encoding import Encoding
from models.encodings import extend, load
from models.encodings.p_rope import PRoPE
from models.encodings.rope import RoPE
from models.extensions.frequencies import Frequencies

SCALED = {
    "linear": "pi",
    "dynamic": "dynamic_ntk",
    "yarn": "yarn",
    "llama3": "llama3",
    "longrope": "longrope",
}
"""The extension that computes a rope type."""

PLAIN = ("default", "proportional")
RENAMED = {"su": "longrope", "mrope": "default"}  # in older files
ROTARY = {"rope_theta", "rope_scaling", "rope_parameters", "rotary_emb_base", "rotary_pct", "rotary_dim"}
Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Rope:
    """The rotations of all layers, or of those of one type."""

    layers: str  # "all layers", or the type
    kind: str  # the rope type
    parameters: Parameters
    base: float
    head_width: int
    rotated: int  # features
    still: int  # features that do not turn
    context: int  # tokens that the file promises
    trained: int  # tokens before the scaling

    @property
    def ratio(self) -> float:
        """Return how many times the promised context is longer than the trained length."""
        return self.context / self.trained

    @property
    def factor(self) -> float:
        """Return the factor of the scaling: the one that the file gives, or the ratio."""
        given = self.parameters.get("factor")
        return 1.0 if self.kind in PLAIN else float(given or self.ratio)

    def encoding(self, config: Any, layout: str = "interleaved") -> Encoding:
        """Return the rotation without scaling, for the model of a configuration of transformers."""
        heads, part = int(config.num_attention_heads), self.rotated / self.head_width
        shape = {
            "heads": heads, "head_width": self.head_width, "width": heads * self.head_width,
            "depth": int(config.num_hidden_layers), "length": self.trained,
        }  # fmt: skip
        if self.kind == "proportional":
            return load("p_rope", **shape, base=self.base, proportion=part, layout=layout)
        return load("rope", **shape, base=self.base, partial=part, layout=layout)

    def scaled_encoding(self, plain: Encoding) -> Encoding:
        """Return `encoding` under the scaling that the file asks for."""
        if self.kind in PLAIN:
            return plain
        extended = extend(SCALED[self.kind], plain, **self.settings)
        change_of(extended).attention_factor = self.attention_factor
        return extended

    def frequencies(self, length: int, **changes: Any) -> tuple[Tensor, float]:
        """Return radians a token (D/2,) float64 in a sequence of `length`, and the factor of cos and sin."""
        if self.kind == "proportional":
            part = self.rotated / self.head_width
            return PRoPE(self.head_width, self.base, part).frequencies(), 1.0
        plain = load("rope", head_width=self.rotated, length=self.trained, base=self.base)
        kept = cast(RoPE, plain).frequencies()
        if self.kind in PLAIN:
            return kept, 1.0
        factor = max(1.0, length / self.trained) if self.kind == "dynamic" else self.factor
        extension = change_of(extend(SCALED[self.kind], plain, **self.settings | changes))
        return extension.scaled(kept, factor, self.base), self.attention_factor or extension.magnitude(factor)

    @property
    def attention_factor(self) -> float | None:
        """Return the factor of cos and sin that the file gives, if it does."""
        given = self.parameters.get("attention_factor")
        mscale, all_dim = self.parameters.get("mscale"), self.parameters.get("mscale_all_dim")
        if given is None and self.kind == "yarn" and mscale and all_dim:
            return magnitude(self.factor, mscale) / magnitude(self.factor, all_dim)
        return None if given is None else float(given)

    @property
    def settings(self) -> dict[str, Any]:
        """Return the parameters of our extension."""
        given = self.parameters
        if self.kind == "dynamic":
            return {"alpha": float(given.get("factor", 1.0))}
        if self.kind == "yarn":
            return {
                "factor": self.factor, "fast": float(given.get("beta_fast") or 32),
                "slow": float(given.get("beta_slow") or 1), "truncate": bool(given.get("truncate", True)),
            }  # fmt: skip
        if self.kind == "llama3":
            fast, slow = given.get("high_freq_factor", 4.0), given.get("low_freq_factor", 1.0)
            return {"factor": self.factor, "fast": float(fast), "slow": float(slow)}
        if self.kind == "longrope":
            return {"factor": self.factor, "factors": list(given["long_factor"])}
        return {"factor": self.factor}


def change_of(extended: Encoding) -> Frequencies:
    """Return the change of an encoding under one extension."""
    return cast(Frequencies, base_and_changes(extended)[1][0])


def magnitude(factor: float, mscale: float = 1.0) -> float:
    """Return YaRN's factor of cos and sin."""
    return 0.1 * mscale * math.log(factor) + 1 if factor > 1 else 1.0


def read_config(path: Path) -> dict[str, Any]:
    """Return a config.json. Raise UsageError if it is none."""
    file = path / "config.json" if path.is_dir() else path
    try:
        config = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise UsageError(f"{file} is not JSON: give the config.json of a checkpoint.") from None
    text = config.get("text_config", config) if isinstance(config, dict) else None
    if not isinstance(text, dict) or "max_position_embeddings" not in text:
        raise UsageError(
            f"{file} names no max_position_embeddings: it is not the configuration of a decoder."
        )
    return text


def ropes_of(config: Mapping[str, Any]) -> list[Rope]:
    """Return the rotations of each type of layer. Raise UsageError if there are none."""
    given = config.get("rope_parameters") or config.get("rope_scaling") or {}
    nested = {key: value for key, value in given.items() if isinstance(value, Mapping)}
    if not ROTARY & config.keys() and config.get("model_type") != "llama":
        raise UsageError("This configuration has no rotary positions: there is nothing to audit.")
    return [rope_of(config, name, part) for name, part in (nested or {"all layers": given}).items()]


def rope_of(config: Mapping[str, Any], layers: str, given: Parameters) -> Rope:
    kind = str(given.get("rope_type") or given.get("type") or "default")
    kind = RENAMED.get(kind, kind)
    if kind not in (*SCALED, *PLAIN):
        raise UsageError(f"The rope type '{kind}' is unknown; there are: {', '.join((*SCALED, *PLAIN))}.")
    width = config.get("qk_rope_head_dim") or config.get("head_dim")
    width = int(
        width or first(config, "hidden_size", "n_embd") // first(config, "num_attention_heads", "n_head")
    )
    part = given.get(
        "partial_rotary_factor", config.get("partial_rotary_factor", config.get("rotary_pct", 1.0))
    )
    context = int(first(config, "max_position_embeddings", "n_positions"))
    original = given.get("original_max_position_embeddings", config.get("original_max_position_embeddings"))
    factor = float(given.get("factor") or 1.0)
    if original is None and kind in ("yarn", "linear"):
        original = context / factor if kind == "linear" else context
    base = given.get("rope_theta", config.get("rope_theta", config.get("rotary_emb_base", 10_000.0)))
    rotated, window = int(width * part), config.get("sliding_window")
    context = int(window) if window and "sliding" in layers else context
    still = width - rotated + int(config.get("qk_nope_head_dim") or 0)
    return Rope(layers, kind, given, float(base), width, rotated, still, context, int(original or context))


def first(config: Mapping[str, Any], *names: str) -> Any:
    """Return the value of the first of several names that a configuration has."""
    return next(config[name] for name in names if config.get(name) is not None)
