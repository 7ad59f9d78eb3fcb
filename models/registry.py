"""Encodings and extensions by their names in `conf/`.

`conf/encoding/` and `conf/extension/` are the registry: a file there names its class in `_target_`
and gives the method's own parameters. A method that depends on the model's heads, head_width, width,
depth or length has parameters of these names in its constructor. If positions turn only a part of a
head, its width, `rotary`, is the head_width of the methods that turn features.
"""

import inspect
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from conf.choices import content, files
from conf.errors import UsageError, no_choice
from models.change import Changed
from models.encoding import Encoding, Schedule, members

ABOUT = ("title", "family", "paper", "link")  # a method, and no parameters of it
RECIPE = ("finetune_steps", "finetune_length", "finetune_learning_rate")  # of training under it
OPTIONS = {  # of any encoding, by their keys
    "ssmax": "models.options.ssmax.SSMax",
    "learned_sink": "models.options.learned_sink.LearnedSink",
    "softmax_one": "models.options.learned_sink.SoftmaxOne",
    "entmax": "models.options.entmax.Entmax",
    "output_gate": "models.options.output_gate.OutputGate",
    "rotate_values": "models.options.rotated_values.RotatedValues",
    "rotate_values_only": "models.options.rotated_values.RotatedValuesOnly",
}
LOG_N = "models.extensions.log_n.LogN"  # a setting of any extension
SHAPE = ("heads", "head_width", "width", "depth", "length", "rotary")


def names(group: str = "encoding") -> list[str]:
    """Return every choice of a group, in order."""
    return list(files(group))


def load(name: str, **parameters: Any) -> Encoding:
    """Return the encoding of `conf/encoding/<name>.yaml`.

    `parameters` are the model's heads, head_width, width, depth and length (training length in tokens), and
    replacements of values in the file. Raise UsageError for unknown names.
    """
    shape = {key: parameters.pop(key) for key in SHAPE if key in parameters}
    return build(read("encoding", name) | parameters, shape)


def extend(name: str, encoding: Encoding, **parameters: Any) -> Encoding:
    """Return `encoding`, with shared weights, under the extension of `conf/extension/<name>.yaml`.

    Raise UsageError, with the names of the encodings that it fits, if it does not fit this one.
    """
    settings = {k: v for k, v in read("extension", name).items() if k not in (*RECIPE, *ABOUT)} | parameters
    if not encoding_fits(name, encoding):
        fitting = ", ".join(n for n in names() if fits(name, n))
        raise UsageError(f"The extension '{name}' does not fit {encoding.name}; it fits: {fitting}.")
    if not isinstance(encoding, Schedule):
        return changed(settings, encoding)
    schedule = Schedule([changed(settings, member) for member in members(encoding)])
    schedule.shape = encoding.shape
    return schedule


def encodings_under(settings: Mapping[str, Any], encodings: Sequence[Encoding]) -> list[Encoding]:
    """Return encodings under an extension; layers of a schedule that it does not fit stay as they are."""
    return [changed(settings, encoding) for encoding in encodings]


def changed(settings: Mapping[str, Any], encoding: Encoding) -> Encoding:
    """Return an encoding under an extension of these settings, unless it does not fit; with `log_n`, which
    fits any encoding, all the same."""
    changes, kind = [], None if settings.get("_target_") is None else locate(settings["_target_"])
    if kind is not None and kind.fits_to(encoding):
        parameters = {key: value for key, value in settings.items() if key not in ("log_n", *ABOUT)}
        changes.append(construct(parameters, encoding.shape, encoding=encoding))
    if settings.get("log_n", False):
        changes.append(construct({"_target_": LOG_N}, encoding.shape))
    return Changed(encoding, changes) if changes else encoding


def needs_more(extension: str) -> bool:
    """Return whether an extension has a parameter without default."""
    parameters = read("extension", extension).items()
    return any(value is None for key, value in parameters if key not in ("_target_", *RECIPE, *ABOUT))


def extensions(encoding: Encoding) -> list[str]:
    """Return the names of all extensions that fit an encoding."""
    return [name for name in names("extension") if encoding_fits(name, encoding)]


def encoding_fits(extension: str, encoding: Encoding) -> bool:
    """Return whether an extension fits an encoding, or a layer of a schedule."""
    target = read("extension", extension).get("_target_")
    return target is None or any(locate(target).fits_to(member) for member in members(encoding))


def fits(extension: str, encoding: str) -> bool:
    """Return whether an extension can be applied to an encoding, by their names in `conf/`."""
    return encoding_fits(extension, load(encoding, heads=4, head_width=16, width=64, depth=4, length=32))


def layers(settings: Mapping[str, Any], depth: int, shape: Mapping[str, int]) -> list[Encoding]:
    """Return the encodings that `GPT` tiles over its layers: a shared one, the members of a schedule that
    layers use, or one for each layer."""
    count = 1 if settings.get("share", True) else depth
    patterns = [members(build(settings, shape)) for _ in range(count)]
    if (needed := len(patterns[0])) > depth:
        raise UsageError(
            f"This encoding alternates over {needed} layers, and the model has only {depth}. "
            f"Add model.depth={needed}, or choose another encoding."
        )
    if count == 1:
        return patterns[0]
    return [pattern[layer % len(pattern)] for layer, pattern in enumerate(patterns)]


def with_seed(settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return settings with the run's seed added to the method's, so that runs draw different positions."""
    return dict(settings) | ({"seed": (settings["seed"] + seed) % 2**32} if "seed" in settings else {})


def build(settings: Mapping[str, Any], shape: Mapping[str, int]) -> Encoding:
    """Return the encoding of these settings, for a model of this shape."""
    others = ("share", *ABOUT, *OPTIONS)
    encoding: Encoding = construct({k: v for k, v in settings.items() if k not in others}, shape)
    chosen = [{"_target_": path} for name, path in OPTIONS.items() if settings.get(name, False)]
    if chosen:
        parts = [Changed(m, [construct(option, shape) for option in chosen]) for m in members(encoding)]
        encoding = Schedule(parts) if isinstance(encoding, Schedule) else parts[0]
    for module in encoding.modules():
        if isinstance(module, Encoding):
            module.shape = dict(shape)
    return encoding


def construct(settings: Mapping[str, Any], shape: Mapping[str, int], **given: Any) -> Any:
    """Return an object of the class `_target_` with its parameters; nested ones are built in the same way."""
    kind = locate(settings["_target_"])
    if "rotary" in shape and getattr(kind, "is_rotary", False):
        shape = {**shape, "head_width": shape["rotary"]}
    parameters = {key: construct_nested(value, shape) for key, value in settings.items() if key != "_target_"}
    known = inspect.signature(kind).parameters
    wanted = [key for key in known if key not in given]
    for key in parameters:
        if key not in wanted:
            has = ", ".join(wanted) or "none"
            raise UsageError(f"{kind.__name__} has no parameter '{key}'; it has: {has}.")
    missing = [key for key in SHAPE if key in wanted and key not in shape and key not in parameters]
    if missing:
        raise UsageError(f"{kind.__name__} depends on the model's {', '.join(missing)}: pass it as well.")
    given = {key: value for key, value in given.items() if key in known}
    return kind(**{key: value for key, value in shape.items() if key in wanted} | parameters, **given)


def construct_nested(value: Any, shape: Mapping[str, int]) -> Any:
    if isinstance(value, Mapping) and "_target_" in value:
        return build(value, shape)
    return [construct_nested(item, shape) for item in value] if isinstance(value, list) else value


def read(group: str, name: str) -> dict[str, Any]:
    """Return the content of `conf/<group>/<name>.yaml`."""
    if name not in files(group):
        raise UsageError(no_choice(group, name, names(group)))
    return content(group, name)


def locate(path: str) -> Any:
    """Return the class at a dotted path."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)
