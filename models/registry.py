"""From a name in `conf/` to an encoding.

`conf/encoding/` and `conf/extension/` are the registry: a file there names its class in
`_target_` and gives the method's own parameters. What a method must know of the model
(heads, head_width, width, depth, length) it takes by asking for it in its constructor.
"""

import difflib
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from omegaconf import Container, OmegaConf

from models.effect import Encoding
from models.extension import Extension
from models.options.learned_sink import LearnedSink
from models.options.ssmax import SSMax
from models.schedule import Schedule

CONF = Path(__file__).resolve().parents[1] / "conf"
RECIPE = ("version", "finetune_steps", "finetune_length", "finetune_learning_rate")  # not its own parameters
OPTIONS = {"ssmax": SSMax, "learned_sink": LearnedSink}  # of any encoding, by their keys
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
    if applies(kind, encoding):
        own = {key: value for key, value in settings.items() if key != "log_n"}
        result: Encoding = construct(own, encoding.shape, encoding=encoding)
        result.shape = encoding.shape
        return extend("log_n", result) if settings.get("log_n", False) else result
    if not any(applies(kind, e) for e in reachable(encoding)):
        fitting = ", ".join(n for n in names() if fits(name, n))
        raise ValueError(
            f"The extension '{name}' does not fit {type(encoding).__name__}; it fits: {fitting}."
        )
    inside = [
        extended(name, settings, inner) if any(applies(kind, e) for e in reachable(inner)) else inner
        for inner in encoding.inside
    ]
    outer = encoding.around(inside)
    outer.shape = encoding.shape
    return outer


def applies(kind: type[Extension], encoding: Encoding) -> bool:
    """Whether an extension goes around this encoding itself."""
    return kind.fits_to(encoding) and not isinstance(encoding, Schedule)


def reachable(encoding: Encoding) -> Iterator[Encoding]:
    """An encoding, and those inside it that extensions may be applied to."""
    yield encoding
    for inner in encoding.inside:
        yield from reachable(inner)


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
    return any(applies(locate(target), e) for e in reachable(encoding))


def layers(settings: Mapping[str, Any], depth: int, shape: Mapping[str, int]) -> list[Encoding]:
    """What `GPT` tiles over its layers: one shared encoding, a schedule's members, or one a layer."""
    if settings.get("share", True):
        one = build(settings, shape)
        return list(one.inside) if isinstance(one, Schedule) else [one]
    return [build(settings, shape) for _ in range(depth)]


def build(settings: Mapping[str, Any], shape: Mapping[str, int]) -> Encoding:
    """The encoding that a file's content describes, for a model of this shape."""
    own = {
        key: value for key, value in settings.items() if key not in ("family", "version", "share", *OPTIONS)
    }
    encoding: Encoding = construct(own, shape)
    for option, wrapper in OPTIONS.items():
        if settings.get(option, False):
            if isinstance(encoding, Schedule):
                encoding = encoding.around([wrapper(inner, shape["heads"]) for inner in encoding.inside])
            else:
                encoding = wrapper(encoding, shape["heads"])
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
    return dict(OmegaConf.to_container(parsed(file), resolve=True) or {})  # type: ignore[arg-type]


@cache
def parsed(file: Path) -> Container:
    """A file's content, which is read once: parsing takes milliseconds."""
    return OmegaConf.load(file)


def locate(path: str) -> Any:
    """The class at a dotted path."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
