"""Whether settings make sense, before anything heavy starts; what does not is said in one sentence."""

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from train.protocols import BY_POSITION, PROTOCOLS
from train.settings import CONF

CHOICES = {
    "objective": ("clm", "mlm"),
    "model.norm": ("rms", "layer"),
    "model.kernel": ("auto", "reference", "explicit", "sdpa", "band", "flex"),
    "trainer.accelerator": ("auto", "cpu", "gpu", "cuda", "mps"),
    "trainer.precision": ("auto", "32-true", "bf16-mixed", "16-mixed"),
    "wandb.mode": ("auto", "online", "offline", "disabled"),
}
POSITIVE = (
    "batch",
    "model.vocab",
    "model.width",
    "model.depth",
    "model.heads",
    "model.length",
    "trainer.max_steps",
    "trainer.num_nodes",
    "trainer.accumulate",
    "trainer.log_every",
    "trainer.checkpoint_every",
    "evaluation.windows",
    "evaluation.problems",
    "evaluation.tokens",
)
GROUPS = ("model", "encoding", "extension", "data", "optimizer", "trainer", "evaluation")


def check(settings: dict[str, Any]) -> None:
    """ValueError where a setting has the wrong kind of value or contradicts another."""
    given = dict(leaves(settings))
    known = dict(leaves(defaults(settings)))
    for key, value in given.items():
        if key in known:
            check_kind(key, value, known[key])
        elif not any(key.startswith(f"{k}.") or k.startswith(f"{key}.") for k in known):
            raise ValueError(f"There is no setting '{key}'.{close(key, known)}")
    for key, allowed in CHOICES.items():
        if given.get(key, allowed[0]) not in allowed:
            raise ValueError(f"{key} is '{given[key]}', but the choices are: {', '.join(allowed)}.")
    for key in POSITIVE:
        if given.get(key, 1) < 1:
            raise ValueError(f"{key}={given[key]} must be at least 1.")
    if settings["seed"] < 0:
        raise ValueError(f"seed={settings['seed']} must not be negative.")
    check_model(settings)
    check_evaluation(settings)


def check_kind(key: str, value: Any, default: Any) -> None:
    """A value must be of the kind of its default; where that is `auto`, null or a list, any will do."""
    kinds: dict[type, tuple[type, ...]] = {bool: (bool,), int: (int,), float: (int, float), str: (str,)}
    if default in ("auto", "ladder", None) or type(default) not in kinds:
        return
    if not isinstance(value, kinds[type(default)]) or (isinstance(value, bool) and type(default) is not bool):
        kind = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}[type(default)]
        raise ValueError(f"{key}={value} must be {kind}, such as {default}.")


def check_model(settings: dict[str, Any]) -> None:
    model, trainer = settings["model"], settings["trainer"]
    if model["width"] % model["heads"]:
        raise ValueError(f"model.heads={model['heads']} does not divide model.width={model['width']}.")
    if model["width"] // model["heads"] % 2:
        raise ValueError(
            f"model.width={model['width']} over model.heads={model['heads']} gives an odd head width of "
            f"{model['width'] // model['heads']}: rotary encodings pair features, so choose an even one."
        )
    if settings["objective"] == "mlm" and model["causal"]:
        raise ValueError(
            "objective=mlm hides tokens that a causal model cannot infer: add model.causal=false."
        )
    if settings["objective"] == "clm" and not model["causal"]:
        raise ValueError("model.causal=false would see the token that it must predict: add objective=mlm.")
    devices, parts = trainer["devices"], trainer["num_nodes"] * trainer["accumulate"]
    if isinstance(devices, int) and devices > 0 and settings["batch"] % (devices * parts):
        over = f"{devices * parts} devices and parts"
        raise ValueError(f"batch={settings['batch']} cannot be split evenly over {over}: change either.")


def check_evaluation(settings: dict[str, Any]) -> None:
    evaluation = settings["evaluation"]
    if evaluation["lengths"] != "ladder":
        lengths = evaluation["lengths"]
        if (
            not isinstance(lengths, list)
            or not lengths
            or not all(isinstance(n, int) and n > 0 for n in lengths)
        ):
            raise ValueError("evaluation.lengths must be a list of numbers of tokens, such as [64,128,256].")
    if not isinstance(evaluation["protocols"], list):
        raise ValueError("evaluation.protocols must be a list, such as [same_tokens,sliding].")
    names = [*PROTOCOLS, BY_POSITION]
    for protocol in evaluation["protocols"]:
        if protocol not in names:
            raise ValueError(f"There is no protocol '{protocol}'; there are: {', '.join(names)}.")
    check_amounts(settings)
    extensions = evaluation["extensions"]
    known = sorted(file.stem for file in (CONF / "extension").glob("*.yaml"))
    if extensions not in ("all", "controls") and not isinstance(extensions, list):
        raise ValueError("evaluation.extensions must be a list, such as [pi,ntk,yarn], or all, or controls.")
    for name in extensions if isinstance(extensions, list) else []:
        if name not in known:
            raise ValueError(
                f"There is no extension '{name}'.{close(name, known)} There are: {', '.join(known)}."
            )


def check_amounts(settings: dict[str, Any]) -> None:
    """What protocols count must fit into the shortest length."""
    evaluation = settings["evaluation"]
    lengths = evaluation["lengths"]
    if lengths == "ladder":
        lengths = [int(settings["model"]["length"] * times) for times in evaluation["ladder"]]
    for key in ("stride", "last"):
        value = evaluation[key]
        if value != "auto" and (type(value) is not int or not 1 <= value <= min(lengths)):
            raise ValueError(
                f"evaluation.{key}={value} must be auto or a number of tokens from 1 to {min(lengths)}, the "
                "shortest evaluated length."
            )


def check_protocols(settings: dict[str, Any], text: bool) -> None:
    """Protocols are about text; the default ones are left out without it, others are a mistake."""
    usual = OmegaConf.load(CONF / "evaluation" / "ladder.yaml").protocols
    asked = [name for name in settings["evaluation"]["protocols"] if name not in usual]
    if asked and not text:
        raise ValueError(
            f"evaluation.protocols=[{','.join(asked)}] is for text, and data={settings['names']['data']} has "
            "none: leave it out, answers are evaluated at every length anyway."
        )


def defaults(settings: dict[str, Any]) -> dict[str, Any]:
    """What the chosen files of `conf/` say."""
    parts = [OmegaConf.load(CONF / name) for name in ("evaluate.yaml", "config.yaml")]
    for group in GROUPS:
        if group in settings:
            name = settings["names"].get(group)
            files = [CONF / group / f"{name}.yaml"] if name else sorted((CONF / group).glob("*.yaml"))
            parts += [content(file) for file in files]
    merged: dict[str, Any] = OmegaConf.to_container(OmegaConf.merge(*parts), resolve=False)  # type: ignore[assignment]
    return {key: value for key, value in merged.items() if key not in ("defaults", "hydra")} | {
        "sweeps": None
    }


def content(file: Path) -> Any:
    """A file of `conf/` from the root: its first line may say that it is written so, else its folder is
    the root of what it says."""
    said = OmegaConf.load(file)
    whole = file.parent == CONF or file.read_text().startswith("# @package _global_")
    return said if whole else OmegaConf.create({file.parent.name: said})


def leaves(settings: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting by its dotted name."""
    for key, value in settings.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def close(name: str, known: Any) -> str:
    """A hint at what was probably meant."""
    found = difflib.get_close_matches(name, list(known), 1)
    return f" Did you mean '{found[0]}'?" if found else ""
