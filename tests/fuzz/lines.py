"""Command lines that a user might type, and many that nobody would.

They draw on every setting of `conf/`, plausible and absurd values, typing errors, and groups.
"""

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

from omegaconf import OmegaConf

from models.registry import extensions, load
from tests.conftest import SHAPE
from train.config.compose import compose_config
from train.config.overrides import settings
from train.paths import CONF

SIZES = """model.vocab=300 model.width=32 model.depth=2 model.heads=2 model.length=16 batch=6
    trainer.max_steps=6 evaluation.windows=5 evaluation.ladder=[1,2,4]"""
GROUPS = ("encoding", "extension", "data", "model", "trainer", "optimizer", "evaluation")
NAMES = "null zzz ../encoding/rope [] a/b '' [rope,alibi] 1 0.5 /etc/x {a:1} glob(z*)"
ABSURD = """0 -1 1 2 3 -3 7 64 0.5 1.5 -0.5 1000000 1e-300 1e300 1e999 1e30 1e-12 nan inf -inf -0.0 0x10
    1_000 1000000000000000000000000000000 9223372036854775807 4294967296 16777217 true false null auto none
    all controls zzz rope ladder é a/b ../x . '' '|' '0' [] [1] [0] [-1] [1,2] [2,1] [nan] [zzz] [[]] [null]
    [true] [1e300] [1.5] {} {a:1} {_target_:os.system} ${seed} ${zzz} ${encoding} ${name:} ${oc.env:HOME}
    ${oc.env:NOT_THERE} ???"""
WORDS = """half interleaved index rotations positions frequencies+biases angles auto reference explicit sdpa
    band flex rms layer clm mlm muon adamw needle passage ddp 32-true bf16-mixed bytes bpe online disabled cpu
    gpu models.encodings.alibi.ALiBi models.extensions.pi.PI
    data.tasks.strings.Copy data.tasks.base.Task os.system nowhere.Else"""
NOISE = "(rope a==b = encoding ~ + seed=1,2 seed=choice(1,2) 'x\ty' seed=\\ ' seed é=1"


def names(group: str) -> list[str]:
    return sorted(file.stem for file in (CONF / group).glob("*.yaml"))


@cache
def defaults(group: str = "", name: str = "") -> dict[str, Any]:
    """Return all settings of a group's choice, or of all groups, by dotted name."""
    if group:
        content = OmegaConf.to_container(OmegaConf.load(CONF / group / f"{name}.yaml"))
        content.pop("defaults", None)
        return dict(leaves(content if "model" in content else {group: content}))
    return dict(leaves(compose_config().model_dump(mode="json")))


@cache
def fitting(encoding: str) -> list[str]:
    return extensions(load(encoding, **SHAPE))


def leaves(node: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def near(value: Any, random: Random) -> str:
    """Return a value near the current one."""
    match value:
        case bool():
            values = ["true", "false"]
        case int():
            values = [value + 1, value - 1, value // 2, 2 * value, 4 * value, random.randint(1, 99)]
        case float():
            values = [value / 4, value / 2, value, 2 * value, 4 * value, random.random()]
        case [_, *_]:
            values = [
                f"[{','.join(near(random.choice(value), random) for _ in range(random.randint(1, 3)))}]"
            ]
        case _:
            values = [value, value, *range(1, 20, 3), "0.5", random.choice(WORDS.split())]
    return str(random.choice(values))


def misspelt(word: str, random: Random) -> str:
    place = random.randrange(len(word) + 1)
    return word[:place] + random.choice(["", word[place : place + 1] * 2, "z", ".", "_"]) + word[place + 1 :]


def assignment(known: dict[str, Any], random: Random) -> str:
    """Return a setting with a value; one in five is unknown or malformed."""
    key = random.choice(sorted(known))
    number = random.choice([random.randint(-(10**6), 10**6), random.uniform(-10, 10), random.random()])
    value = random.choice([*[near(known[key], random)] * 4, random.choice(ABSURD.split()), number])
    match random.randrange(30):
        case 0:
            key = misspelt(key, random)
        case 1:
            key = random.choice(["+", "++"]) + misspelt(key, random)
        case 2:
            return "~" + key
        case 3:
            return random.choice(NOISE.split())
        case 4:
            key = random.choice(settings())  # perhaps of another choice
        case 5:
            key = random.choice([*GROUPS, "names.model", key.rpartition(".")[0]])
    return f"{key}={value}"


def line(random: Random, text: str, run: str) -> list[str]:
    """Return words of `python -m train`, or of `train.evaluate` if they begin with run=.

    A training has choices of groups, sizes that run quickly, and one to three assignments."""
    if random.random() < 0.1:
        chosen = ("evaluation.", "extension.", "trainer.", "checkpoint", "wandb.", "seed")
        of_both = {key: value for key, value in defaults().items() if key.startswith(chosen)}
        words = [f"run={run}", f"extension={random.choice([*fitting('rope'), 'none'])}"]
        return words + [assignment(of_both, random) for _ in range(random.choice([1, 1, 2, 3]))]
    choices = {group: random.choice(names(group)) for group in ("encoding", "extension", "data")}
    if random.random() < 0.9:
        choices["extension"] = random.choice([*fitting(choices["encoding"]), "none"])
    if random.random() < 0.6:
        choices["data"] = "files"
    words = [f"{group}={name}" for group, name in choices.items()]
    if choices["data"] == "files":
        words += [*SIZES.split(), f"data.path={text}"]
    if random.random() < 0.1:
        group = random.choice(GROUPS)
        name = random.choice(names(group))
        name = random.choice([name, name, misspelt(name, random), random.choice(NAMES.split())])
        words.append(f"{group}={name}")
    values = {key: value for group, name in choices.items() for key, value in defaults(group, name).items()}
    if random.random() < 0.9:  # few methods have many parameters, all have these
        values = {
            key: value for key, value in values.items() if not key.endswith(("_target_", "family"))
        } or values
    known = [values, defaults()]
    return words + [assignment(random.choice(known), random) for _ in range(random.choice([1, 1, 2, 3]))]
