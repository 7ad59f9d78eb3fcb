"""From a name in `conf/` to an encoding.

`conf/encoding/` and `conf/extension/` are the registry: a file there names its class in
`_target_` and gives the method's own parameters. What a method must know of the model
(heads, head_width, width, depth, length) it takes by asking for it in its constructor.
"""

import difflib
import inspect
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from models.effect import Encoding
from models.encodings.schedule import Schedule
from models.encodings.ssmax import SSMax
from models.extension import Extension

CONF = Path(__file__).resolve().parents[1] / "conf"
RECIPE = (
    "finetune_steps",
    "finetune_length",
    "finetune_learning_rate",
)  # of an extension's training, not its own
SHAPE = ("heads", "head_width", "width", "depth", "length")


def names(group: str = "encoding") -> list[str]:
    """Every choice in `conf/<group>/`."""
    return sorted(file.stem for file in (CONF / group).glob("*.yaml"))


def load(name: str, **parameters: Any) -> Encoding:
    """The encoding of `conf/encoding/<name>.yaml`.

    `parameters` are the model's heads, head_width, width, depth and length (training
    length, tokens), and overrides of what the file says. ValueError names what is unknown.
    """
    shape = {key: parameters.pop(key) for key in SHAPE if key in parameters}
    return build(read("encoding", name) | parameters, shape)


def extend(name: str, encoding: Encoding, **parameters: Any) -> Encoding:
    """`encoding`, its weights shared, under the extension of `conf/extension/<name>.yaml`.

    ValueError names the encodings that fit where this one does not.
    """
    settings = {k: v for k, v in read("extension", name).items() if k not in RECIPE} | parameters
    return encoding if settings.get("_target_") is None else extended(name, settings, encoding)


def extended(name: str, settings: Mapping[str, Any], encoding: Encoding) -> Encoding:
    """`encoding` under an extension; inside a schedule, or a wrapper where only what it wraps fits."""
    kind: type[Extension] = locate(settings["_target_"])
    if kind.fits_to(encoding) and not isinstance(encoding, Schedule):
        own = {key: value for key, value in settings.items() if key != "log_n"}
        result: Encoding = construct(own, encoding.shape, encoding=encoding)
        result.shape = encoding.shape
        return extend("log_n", result) if settings.get("log_n", False) else result
    inside = encoding.within(lambda inner: extended(name, settings, inner))
    if inside is None:
        fitting = ", ".join(n for n in names() if fits(name, n))
        raise ValueError(
            f"The extension '{name}' does not fit {type(encoding).__name__}; it fits: {fitting}."
        )
    inside.shape = encoding.shape
    return inside


def extensions(encoding: Encoding) -> list[str]:
    """The names of all extensions that fit an encoding."""
    return [name for name in names("extension") if encoding_fits(name, encoding)]


def fits(extension: str, encoding: str) -> bool:
    """Whether an extension can be applied to an encoding, by their names in `conf/`."""
    return encoding_fits(extension, load(encoding, heads=4, head_width=16, width=64, depth=4, length=32))


def encoding_fits(extension: str, encoding: Encoding) -> bool:
    target = read("extension", extension).get("_target_")
    if target is None:
        return True
    kind: type[Extension] = locate(target)
    found: list[Encoding] = []

    def look(inner: Encoding) -> Encoding:
        if kind.fits_to(inner):
            found.append(inner)
        else:
            inner.within(look)
        return inner

    look(encoding)
    return bool(found)


def layers(settings: Mapping[str, Any], depth: int, shape: Mapping[str, int]) -> list[Encoding]:
    """What `GPT` tiles over its layers: one shared encoding, a schedule's members, or one a layer."""
    if settings.get("share", True):
        one = build(settings, shape)
        return list(one.members) if isinstance(one, Schedule) else [one]
    return [build(settings, shape) for _ in range(depth)]


def build(settings: Mapping[str, Any], shape: Mapping[str, int]) -> Encoding:
    """The encoding that a file's content describes, for a model of this shape."""
    own = {key: value for key, value in settings.items() if key not in ("share", "ssmax")}
    encoding: Encoding = construct(own, shape)
    knows_shape(encoding, shape)
    if settings.get("ssmax", False):
        inside = encoding.within(SSMax.of) if isinstance(encoding, Schedule) else None
        encoding = inside or SSMax.of(encoding)
        knows_shape(encoding, shape)
    return encoding


def knows_shape(encoding: Encoding, shape: Mapping[str, int]) -> None:
    """Tell an encoding and all inside it what they were built for."""
    for inside in encoding.modules():
        if isinstance(inside, Encoding):
            inside.shape = dict(shape)


def construct(settings: Mapping[str, Any], shape: Mapping[str, int], **given: Any) -> Any:
    """An object from `_target_` and its parameters; nested ones are built the same way."""
    kind = locate(settings["_target_"])
    wanted = inspect.signature(kind).parameters
    unknown = [key for key in settings if key != "_target_" and key not in wanted]
    if unknown:
        known = [key for key in wanted if key not in given]
        raise ValueError(
            f"{kind.__name__} has no parameter '{unknown[0]}'; it has: {', '.join(known) or 'none'}."
        )
    missing = [key for key in SHAPE if key in wanted and key not in shape and key not in settings]
    if missing:
        raise ValueError(f"{kind.__name__} needs to know {', '.join(missing)} of the model.")
    values: dict[str, Any] = {key: shape[key] for key in SHAPE if key in wanted and key in shape}
    values |= {key: nested(value, shape) for key, value in settings.items() if key != "_target_"}
    return kind(**values, **given)


def nested(value: Any, shape: Mapping[str, int]) -> Any:
    if isinstance(value, Mapping) and "_target_" in value:
        return build(value, shape)
    return [nested(item, shape) for item in value] if isinstance(value, list) else value


def read(group: str, name: str) -> dict[str, Any]:
    """The content of `conf/<group>/<name>.yaml`."""
    file = CONF / group / f"{name}.yaml"
    if not file.exists():
        close = difflib.get_close_matches(name, names(group), 1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise ValueError(f"There is no {group} '{name}'.{hint} There are: {', '.join(names(group))}.")
    return dict(OmegaConf.to_container(OmegaConf.load(file), resolve=True) or {})  # type: ignore[arg-type]


def locate(path: str) -> Any:
    """The class at a dotted path."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
