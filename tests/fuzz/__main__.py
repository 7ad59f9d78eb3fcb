"""Try many command lines in one warm process: python -m tests.fuzz --examples 2000 --seed 0"""

import argparse
import shlex
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from random import Random

import torch

from models.registry import encodings_under
from tests.fuzz.lines import line
from tests.train.conftest import texts
from train.checks.dry_run import dry_run
from train.config.compose import compose_config
from train.errors import explanation
from train.evaluation.losses import token_losses
from train.fit.loss import mean_loss
from train.runtime.process import quiet

LONG = 900  # characters: a list of all names has room
LARGE = 1 << 19  # weights: more is not run here, only checked


def outcome(words: list[str]) -> str:
    """Return `accepted`, `refused`, or the fault."""
    try:
        config = compose_config(*words)
        model, extensions = dry_run(config)
    except Exception as error:
        sentence = explanation(error)
        if sentence is None:
            return traceback.format_exc()
        names = [part for word in words for part in word.partition("=")[0].split(".")]
        keys = filter(None, [*words, *names])
        is_right = "\n" not in sentence and len(sentence) < LONG and any(key in sentence for key in keys)
        return "refused" if is_right else f"no sentence that names a setting: {sentence!r}"
    sizes = config.model
    if sizes.vocab * sizes.width + 12 * sizes.width**2 * sizes.depth > LARGE or sizes.length > 256:
        return "accepted"
    tokens = torch.randint(sizes.vocab, (2, sizes.length + 1), generator=torch.Generator().manual_seed(0))
    try:
        loss = mean_loss(model.train().hidden(tokens[:, :-1]), model.head.weight, tokens[:, 1:])
        loss.backward()
        assert loss.isfinite()
        for extension in extensions.values():
            changed = model.under(encodings_under(extension.parameters, model.tiled)).eval()
            assert token_losses(changed, tokens[:, :-1], tokens[:, 1:]).isfinite().all()
    except Exception:
        return f"accepted, but fails: {traceback.format_exc()}"
    return "accepted"


def outcomes(examples: int, seed: int, folder: Path) -> list[tuple[list[str], str]]:
    """Return command lines, determined by a seed, each with its outcome."""
    text = texts(folder / "text")
    lines = [[*line(Random(f"{seed}-{n}"), str(text)), f"outputs={folder}"] for n in range(examples)]
    return [(words, outcome(words)) for words in lines]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    quiet()
    with tempfile.TemporaryDirectory() as folder:
        found = outcomes(chosen.examples, chosen.seed, Path(folder))
    wrong = [(words, end) for words, end in found if end not in ("accepted", "refused")]
    for words, end in wrong:
        print(f"yardstick {shlex.join(words)}\n    {end}")
    print(Counter(end.split("\n")[0][:60] for _, end in found))
    sys.exit(len(wrong) > 0)


if __name__ == "__main__":
    main()
