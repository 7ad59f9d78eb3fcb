"""Command lines that a user might type, and many that nobody would: settings of `conf/` with values that are
near, or absurd, or misspelt."""

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

from omegaconf import OmegaConf

from models.registry import extensions, load
from models.registry import names as names_of
from tests.conftest import SHAPE
from train.config.compose import compose_config
from train.paths import CONF

SIZES = """model.vocab=300 model.width=32 model.depth=2 model.heads=2 model.length=16 batch=6
    trainer.max_steps=6 evaluation.windows=5 evaluation.ladder=[1,2,4]""".split()
ABSURD = """0 -1 1 2 3 7 64 0.5 -0.5 1000000 1e-300 1e300 1e999 nan inf -inf 0x10 1_000 4294967296 true null
    auto all controls zzz rope é a/b ../x '' '|' [] [1] [0] [-1] [2,1] [nan] [zzz] [[]] [null] {} {a:1}
    {_target_:os.system} ${seed} ${zzz} ${encoding} ${oc.env:NOT_THERE} ??? half interleaved explicit flex mlm
    muon needle bytes gpu models.encodings.alibi.ALiBi data.tasks.strings.Copy os.system nowhere.X""".split()


LABELS = ("paper", "link")  # texts with commas, which nobody types


@cache
def defaults(group: str = "", name: str = "") -> dict[str, Any]:
    """Return all settings of a group's choice, or of all groups, by dotted name."""
    if not group:
        return dict(leaves(compose_config().model_dump(mode="json")))
    content = OmegaConf.to_container(OmegaConf.load(CONF / group / f"{name}.yaml"))
    content.pop("defaults", None)
    return dict(leaves(content if "model" in content else {group: content}))


def leaves(node: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        elif key not in LABELS:
            yield prefix + key, value


def assignment(known: dict[str, Any], random: Random) -> str:
    """Return a setting with a value near its own or an absurd one; one in ten keys is misspelt."""
    key = random.choice(sorted(known))
    value = known[key]
    if random.random() < 0.5:
        value = random.choice(ABSURD)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        value = random.choice([value + 1, value - 1, value / 2, 2 * value, random.uniform(-9, 99)])
    if random.random() < 0.1:
        place = random.randrange(len(key))
        key = key[:place] + random.choice(["", "z", ".", "=", "~"]) + key[place + 1 :]
    return f"{key}={value}"


def line(random: Random, text: str) -> list[str]:
    """Return words of `yardstick`: choices of groups, sizes that run quickly, one to three
    assignments."""
    encoding, data = random.choice(names_of("encoding")), random.choice(["files", *names_of("data")])
    extension = random.choice([*extensions(load(encoding, **SHAPE)), "none", *names_of("extension")[:3]])
    choices = {"encoding": encoding, "extension": extension, "data": data}
    words = [f"{group}={name}" for group, name in choices.items()]
    words += [*SIZES, f"data.path={text}"] if data == "files" else []
    own = {key: value for group, name in choices.items() for key, value in defaults(group, name).items()}
    known = [own or defaults(), defaults()]
    return words + [assignment(random.choice(known), random) for _ in range(random.randint(1, 3))]
