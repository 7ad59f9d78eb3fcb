"""What each method is, read from its docstring, its file in `conf/`, and the effect that it has."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from models.effect import Curve, Effect, Encoding, Positions, Surface
from models.encodings.schedule import Schedule
from models.registry import extend, fits, load, locate, names, read

SHAPE = {"heads": 4, "head_width": 32, "width": 128, "depth": 4, "length": 64}  # conf/model/tiny.yaml


@dataclass(frozen=True)
class Method:
    """One line of the table of encodings."""

    name: str
    title: str
    enters: str
    relative: bool
    parameters: int  # in the whole model, at `SHAPE`
    shared: bool  # by all layers
    limit: int | None
    cost: str
    paper: str
    link: str


@dataclass(frozen=True)
class Change:
    """One line of the table of extensions."""

    name: str
    title: str
    changes: str
    parameters: str
    fits: str
    paper: str
    link: str


def encodings() -> list[Method]:
    return [method(name) for name in names("encoding")]


def extensions() -> list[Change]:
    return [change(name) for name in names("extension")]


def method(name: str) -> Method:
    encoding, settings = load(name, **SHAPE), read("encoding", name)
    effects = [member.at(Positions.of(16)) for member in members(encoding)]
    shared = settings.get("share", True)
    count = sum(p.numel() for p in encoding.parameters()) * (1 if shared else SHAPE["depth"])
    drawn = "drawn positions; " if encoding.draws > 1 else ""
    return Method(
        name, title(name, "encoding"), drawn + layered([enters(e) for e in effects]),
        encoding.relative, count, shared, encoding.limit,
        cost(effects), *source(name, "encoding"),
    )  # fmt: skip


def members(encoding: Encoding) -> list[Encoding]:
    return encoding.members if isinstance(encoding, Schedule) else [encoding]


def layered(words: list[str]) -> str:
    """What all layers do, or what each of those that take turns does."""
    counts = {word: words.count(word) for word in words}
    return (
        words[0]
        if len(counts) == 1
        else "; ".join(f"{n} of {len(words)} layers: {w}" for w, n in counts.items())
    )


def enters(effect: Effect) -> str:
    """Where position enters, in words."""
    bias = "logits by distance" if isinstance(effect.bias, Curve) else "logits by pair of positions"
    parts = {
        "embedding": effect.embed,
        "q and k": effect.rotate,
        "q and k of far pairs": effect.far,
        bias: effect.bias,
        "logits by content, summed": effect.potential,
        "logits by content": effect.adjust,
        "mask": effect.visible,
        "temperature": effect.temperature,
    }
    return ", ".join(word for word, part in parts.items() if part is not None) or "nowhere"


COSTS: dict[str, Callable[[Effect], bool]] = {
    "logits: O(BT²)": lambda effect: effect.adjust is not None,
    "two products": lambda effect: effect.far is not None,
    "table: O(T²)": lambda effect: isinstance(effect.bias, Surface),
    "table: O(T)": lambda effect: isinstance(effect.bias, Curve),
    "running sum: O(T)": lambda effect: effect.potential is not None,
    "q and k: O(T)": lambda effect: effect.rotate is not None or effect.temperature is not None,
}
"""What is computed on top of plain causal attention, the dearest first."""


def cost(effects: list[Effect]) -> str:
    """What the dearest of these effects costs, by its form."""
    found = (words for words, has in COSTS.items() if any(has(effect) for effect in effects))
    return next(found, "nothing")


def change(name: str) -> Change:
    settings = read("extension", name)
    own = ", ".join(f"{k}={short(v)}" for k, v in settings.items() if k != "_target_")
    fitting = [encoding for encoding in names("encoding") if fits(name, encoding)]
    return Change(
        name, title(name, "extension"), changes(name, fitting[0] if "rope" not in fitting else "rope"),
        own, all_but(fitting, names("encoding")), *source(name, "extension"),
    )  # fmt: skip


def changes(name: str, encoding: str) -> str:
    """What an extension changes at four times the training length: the parts of the effect that differ."""
    before = load(encoding, **SHAPE)
    after = extend(name, before)
    if after.context != before.context:
        return "what is shown"
    if after.limit != before.limit:
        return "the limit"
    long = Positions.of(4 * SHAPE["length"])
    old, new = (members(e)[0].at(long) for e in (before, after))
    parts = {
        "embedding": differ(old.embed, new.embed, torch.randn(1, 256, SHAPE["width"])),
        "q and k": differ(old.rotate, new.rotate, *torch.randn(2, 1, 4, 256, 32)),
        "q and k of far pairs": new.far is not old.far,
        "logits": new.bias is not old.bias and new.bias is None,
        "mask": new.visible != old.visible,
        "temperature": new.temperature is not old.temperature,
    }
    return ", ".join(word for word, changed in parts.items() if changed) or "nothing"


def differ(old: Any, new: Any, *inputs: torch.Tensor) -> bool:
    """Whether two functions do different things to the same tensors."""
    if old is None or new is None:
        return old is not new
    pairs = zip(torch.stack([*old(*inputs)]), torch.stack([*new(*inputs)]), strict=True)
    return not all(torch.allclose(a, b) for a, b in pairs)


def all_but(chosen: list[str], everything: list[str]) -> str:
    """`chosen` in the fewest words."""
    missing = [name for name in everything if name not in chosen]
    if not missing:
        return "every encoding"
    return "all but " + ", ".join(missing) if len(missing) < len(chosen) / 2 else ", ".join(chosen)


def short(value: Any) -> str:
    return "null" if value is None else str(value)


def words_of(name: str, group: str) -> str:
    """The first paragraph about a method, `Title (authors, year, link): what it is`, of its module."""
    target = read(group, name).get("_target_")
    text = inspect.getdoc(inspect.getmodule(locate(target))) if target else None
    return " ".join((text or "").split("\n\n")[0].split())


SOURCE = re.compile(r"^(?P<title>[^(:]*\w)[^(]*\((?P<paper>[^()]*?\d{4})[^()]*?(?P<link>https?://[^\s,;)]+)")


def title(name: str, group: str) -> str:
    found = SOURCE.match(words_of(name, group))
    return found["title"] if found else name


def source(name: str, group: str) -> tuple[str, str]:
    """(authors and year, link), or two empty strings where nobody is to be named."""
    found = SOURCE.match(words_of(name, group))
    return (found["paper"], found["link"]) if found else ("", "")
