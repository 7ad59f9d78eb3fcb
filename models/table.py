"""The table of all methods, read from their docstrings, their files in `conf/`, and their effects."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from models.distance import ByDistance
from models.effect import Effect, Layer, Positions
from models.encoding import Encoding, members
from models.registry import ABOUT, encoding_fits, extend, load, names, read
from models.sources import paper_and_link

SHAPE = {"heads": 4, "head_width": 32, "width": 128, "depth": 4, "length": 64}  # conf/model/tiny.yaml


@dataclass(frozen=True)
class EncodingRow:
    """One line of the table of encodings."""

    name: str
    enters: str
    relative: bool
    parameters: int  # in the whole model, at `SHAPE`
    layers: str  # whether they share parameters, have their own, or both
    limit: int | None
    cost: str
    paper: str
    link: str


@dataclass(frozen=True)
class ExtensionRow:
    """One line of the table of extensions."""

    name: str
    changes: str
    parameters: str
    fits: str
    paper: str
    link: str


def encoding_rows() -> list[EncodingRow]:
    return [encoding_row(name) for name in names("encoding")]


def extension_rows() -> list[ExtensionRow]:
    built = {name: load(name, **SHAPE) for name in names("encoding")}
    return [extension_row(name, built) for name in names("extension")]


def encoding_row(name: str) -> EncodingRow:
    encoding, settings = load(name, **SHAPE), read("encoding", name)
    effects = [member.effect_at(Positions.of(16), empty_layer(16)) for member in members(encoding)]
    copies = 1 if settings.get("share", True) else SHAPE["depth"]
    count = copies * sum(p.numel() for p in encoding.parameters())
    drawn = "drawn; " if encoding.draws > 1 else ""
    return EncodingRow(
        name, drawn + layers_text([enters(e) for e in effects]),
        encoding.relative, count, owners(encoding, copies), encoding.limit,
        highest_cost(effects), *paper_and_link("encoding", name),
    )  # fmt: skip


def empty_layer(tokens: int) -> Layer:
    """Return the content of a layer of `SHAPE`, which decides no kind of effect."""
    x = torch.zeros(1, tokens, SHAPE["width"])
    q = x.unflatten(-1, (SHAPE["heads"], -1)).transpose(1, 2)
    return Layer(x, q, q, q, SHAPE["depth"] - 1)


def owners(encoding: Encoding, copies: int) -> str:
    """Return whether layers share parameters, have their own, or both."""
    sets = [{id(p) for p in member.parameters()} for member in members(encoding)]
    common, every = set.intersection(*sets), set.union(*sets)
    if copies > 1 or not common:
        return "own" if every else ""
    return "shared" if common == every else "both"


def layers_text(words: list[str]) -> str:
    """Return a description of all layers, or of each kind of layer in a schedule."""
    counts = Counter(words)
    if len(counts) == 1:
        return words[0]
    return "; ".join(f"{n} of {len(words)} layers: {word}" for word, n in counts.items())


def enters(effect: Effect) -> str:
    """Return the places where position enters, in words."""
    bias = "logits: distance" if isinstance(effect.bias, ByDistance) else "logits: positions"
    place_of_attention = (
        "weights" if effect.attention is not None and effect.attention.scores is None else "logits: content"
    )
    places = {
        "embedding": {"embed"},
        "q and k": {"rotate"},
        "far q and k": {"regions"},
        bias: {"bias", "score_scale"},
        "logits: content": {"log_decay", "adjust"},
        "mask": {"visible"},
        "temperature": {"logit_scale"},
        "sink": {"sink"},
        "values": {"enter", "leave", "values"},
    }
    found = [place for place, fields in places.items() if fields & effect.parts]
    found += [place_of_attention] * ("attention" in effect.parts and place_of_attention not in found)
    return ", ".join(found) or "nowhere"


COSTS: dict[str, Callable[[Effect], bool]] = {
    "logits": lambda effect: bool(effect.parts & {"adjust", "attention", "score_scale", "values"}),
    "twice": lambda effect: "regions" in effect.parts,
    "table": lambda effect: not isinstance(effect.bias, ByDistance | None),
    "line": lambda effect: effect.bias is not None,
    "sum": lambda effect: bool(effect.parts & {"log_decay"}),
    "q and k": lambda effect: bool(effect.parts & {"rotate", "logit_scale", "enter", "leave"}),
}
"""What is computed on top of plain causal attention, the most expensive first; `LEGEND` explains."""

LEGEND = """
Rel: logits depend on positions through their differences alone. Weights and limits are those of
`model=tiny` (width 128, depth 4, heads 4, trained at 64 tokens); own: each layer has its own. Drawn:
positions are drawn at random. Cost on top of causal attention over T tokens: `q and k`, `sum`: O(T) a
sequence; `line`: T numbers a head, `table`: T² a head, for all sequences; `logits`: T² a head and
sequence. Attention: with `model.kv_heads`, heads share keys in groups; with `model.latent`, all heads read
keys and values from one small vector (DeepSeek-V2, 2024), and positions turn `model.rotary` features of a
head. There `pope`, `rope_bias` and `asentmax`, which change whole heads, are refused, and YaRN's temperature
is that of the rotary part alone. Rotary:
"""


def legend() -> str:
    return " ".join(LEGEND.split()) + " " + ", ".join(rotary()) + "."


def rotary() -> list[str]:
    """Return the encodings whose frequencies an extension can change."""
    return fitting("pi", {name: load(name, **SHAPE) for name in names("encoding")})


def fitting(extension: str, built: dict[str, Encoding]) -> list[str]:
    """Return the names of the encodings that an extension fits."""
    return [name for name, encoding in built.items() if encoding_fits(extension, encoding)]


def highest_cost(effects: list[Effect]) -> str:
    """Return the cost of the most expensive of these effects, on top of attention."""
    return next((name for name, has in COSTS.items() if any(map(has, effects))), "none")


def extension_row(name: str, built: dict[str, Encoding]) -> ExtensionRow:
    settings = read("extension", name)
    parameters = ", ".join(
        f"{k}={setting_text(v)}" for k, v in settings.items() if k not in ("_target_", *ABOUT)
    )
    chosen = fitting(name, built)
    is_rotary = chosen == fitting("pi", built)
    return ExtensionRow(
        name, changes(name, built["rope" if "rope" in chosen else chosen[0]]),
        parameters, "rotary" if is_rotary else names_text(chosen, list(built)),
        *paper_and_link("extension", name),
    )  # fmt: skip


def changes(name: str, before: Encoding) -> str:
    """Return what an extension changes at four times the training length: the fields of the effect that
    differ."""
    after = extend(name, before)
    if after.context != before.context:
        return "what is shown"
    if after.limit != before.limit:
        return "the limit"
    old, new = (members(e)[0].effect_at(Positions.of(4 * SHAPE["length"])) for e in (before, after))
    parts = {
        "q and k": not torch.equal(rotation_table(old), rotation_table(new)),
        "far q and k": (new.regions is None) != (old.regions is None),
        "mask": new.visible != old.visible,
        "temperature": new.logit_scale is not old.logit_scale,
        "weights": new.attention is not old.attention,
    }
    return ", ".join(part for part, changed in parts.items() if changed) or "nothing"


def rotation_table(effect: Effect) -> torch.Tensor:
    """Return equal queries and keys, rotated by the effect, (2, 1, H, T, D)."""
    ones = torch.ones(1, SHAPE["heads"], effect.positions.length, SHAPE["head_width"])
    return torch.stack(effect.rotate(ones, ones) if effect.rotate else (ones, ones))


def names_text(chosen: list[str], everything: list[str]) -> str:
    """Return `chosen` in as few words as possible."""
    missing = [name for name in everything if name not in chosen]
    if not missing:
        return "every encoding"
    if len(missing) > len(chosen) / 2:
        return ", ".join(chosen)
    randomized = {name for name in everything if name.startswith("randomized_")}
    if randomized <= set(missing):
        missing = [name for name in missing if name not in randomized] + ["randomized"]
    return "all but " + ", ".join(missing)


def setting_text(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
