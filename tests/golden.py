"""Results of a few float32 steps, recorded in golden/*.json, so that no change moves them unnoticed.

After a change that should alter results, record the new ones and explain them in the changelog:

    make golden
"""

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch

import data
from data.source import Source
from models.gpt import GPT
from models.registry import extend, extensions, names, read
from tests.composing import composed, with_encoding
from train import build
from train.config.schema import Config
from train.context import Recipe, Run
from train.evaluation.losses import token_losses
from train.evaluation.problems import ProblemEvaluator
from train.evaluation.text import TextEvaluator, amounts
from train.fit.batches import TrainingData
from train.fit.callbacks import Curves
from train.fit.loss import mean_loss
from train.fit.module import Training
from train.fit.processes import trainer
from train.paths import ROOT
from train.results.protocols import BY_POSITION, PROTOCOLS
from train.runtime.process import quiet

FOLDER = ROOT / "golden"
SCRATCH = TemporaryDirectory()  # of the text that is trained on
TOLERANCE = (
    2e-5  # relative; instruction sets differ by 6e-6 at most, one percent of a method's parameter moves more
)
FORMS = ("rope", "alibi", "t5", "fire", "fox", "cope", "shaw", "deberta", "window_rope", "xpos")
KERNELS = {
    "reference": FORMS,
    "explicit": FORMS,
    "sdpa": ("rope", "alibi", "t5", "fire", "window_rope", "xpos"),
    "band": ("shaw", "deberta"),
}  # flex would be compiled
TINY = """model.vocab=256 model.width=32 model.depth=4 model.heads=2 model.length=16 batch=4 trainer=cpu
    trainer.precision=32-true trainer.max_steps=3 trainer.log_every=1 evaluation.ladder=[1,2,4]
""".split()
Numbers = list[float | None]


class Case(NamedTuple):
    """A name, and the function that measures the recorded numbers."""

    name: str
    measure: Callable[[], Numbers | str]


def cases() -> Iterator[Case]:
    for name in names("data"):
        if "lengths" in read("data", name).get("data", {}) or name == "recall":
            yield Case(f"data/{name}", partial(task, name))
    yield Case("data/text", text)
    for name in names("encoding"):
        yield Case(f"encoding/{name}", partial(encoding, name))
    for name in names("extension"):
        yield Case(f"extension/{name}", partial(extension, name))
    for kernel, fitting in KERNELS.items():
        for name in fitting:
            yield Case(f"kernel/{name}-{kernel}", partial(forms, name, kernel))
    for name, overrides in {
        "muon": ["optimizer=muon"],
        "mlm": ["objective=mlm", "model.causal=false"],
        "parts": ["trainer.accumulate=2"],
        "layer_norm": ["model.norm=layer"],
    }.items():
        yield Case(f"training/{name}", partial(training, overrides))
    yield Case("evaluation/text", text_protocols)
    yield Case("evaluation/problems", problems)


# ---- what is measured


@cache
def source() -> Source:
    """Return a corpus of words in random order, as bytes."""
    folder = Path(SCRATCH.name)
    words = "the quick brown fox jumps over a lazy dog and then it sleeps".split()
    for number in range(12):
        draw = random.Random(number)
        (folder / f"{number}.txt").write_text(" ".join(draw.choice(words) for _ in range(400)))
    parameters = {"_target_": "data.text.files.Files", "name": "files", "path": str(folder)}
    return data.load(
        parameters | {"tokenizer": "bytes", "held_out": 0.3, "repeat": 0.5}, 256, folder / "cache"
    )


def train_model(config: Config) -> tuple[Numbers, GPT]:
    """Train a model; return its losses from step 2 on, the final norm of all weights, and the model."""
    model, curves = build.build_gpt(config), Curves("train")
    noise = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.blocks.parameters():  # attention far from uniform shows what changes it
            parameter += 0.2 * torch.randn(parameter.shape, generator=noise)
    run = Run(source(), Recipe.of(config), config.trainer, config.evaluation)
    more = {"max_steps": config.trainer.max_steps, "callbacks": [curves], "limit_val_batches": 0}
    training = Training(model, run.recipe, config.trainer)
    trainer(config.trainer, "32-true", **more).fit(training, datamodule=TrainingData(run))
    norm = float(torch.stack([p.detach().double().norm() for p in model.parameters()]).norm())
    return [*(loss for _, loss in curves.curve("loss")[1:]), norm], model


def training(overrides: list[str]) -> Numbers:
    return train_model(composed(*TINY, *overrides))[0]


@cache
def model_of(name: str) -> tuple[Numbers, GPT]:
    return train_model(with_encoding(composed(*TINY), name))


def losses(model: GPT, length: int) -> Numbers:
    """Return the mean loss of held-out windows; None past the length for which the model is defined."""
    if min(length, model.context or length) > (model.limit or length):
        return [None]
    windows = source().windows(2, length)
    return [float(token_losses(model, windows.tokens[:, :-1], windows.tokens[:, 1:]).mean())]


def encoding(name: str) -> Numbers:
    """Return the losses of three steps, and the loss at four times the training length."""
    numbers, model = model_of(name)
    return numbers + losses(model, 64)


def extension(name: str) -> Numbers:
    """Return the loss at twice and four times the training length, on the first encoding that the extension
    fits."""
    for encoding in ("rope", *names("encoding")):
        _, model = model_of(encoding)
        members = list(model.encodings)
        if name in extensions(members[0]):
            longer = model.under([extend(name, member) for member in members])
            return losses(longer, 32) + losses(longer, 64)
    raise ValueError(f"No encoding fits {name}.")


def forms(name: str, kernel: str) -> Numbers:
    """Return the loss of a trained model on a long sequence, and loss and gradient of a batch if the kernel
    trains."""
    _, model = model_of(name)
    for block in model.blocks:
        block.attention.kernel = kernel
    try:
        numbers = losses(model, 600)
        if kernel != "band":
            batch = source().batch(9, 48, 2, seed=0)
            loss = mean_loss(model.hidden(batch.tokens), model.head.weight, batch.targets)
            gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
            total = torch.stack([g.norm() for g in gradients if g is not None]).norm()
            numbers += [loss.item(), total.item()]
    finally:
        for block in model.blocks:
            block.attention.kernel = "auto"
    return numbers


def text_protocols() -> Numbers:
    """Return the loss under every protocol at every length."""
    _, model = model_of("rope")
    windows, evaluation = source().windows(3, 64), composed(*TINY).evaluation
    pieces = amounts(evaluation, evaluation.at(16), 16)
    text = TextEvaluator({"none": model}, windows, pieces, (*PROTOCOLS, BY_POSITION), 512)
    trainer(composed(*TINY).trainer, "32-true").validate(text, verbose=False)
    return [result.value for result in text.results() if result.metric == "loss"]


def problems() -> Numbers:
    """Return accuracy and loss of an untrained model at every length."""
    config = composed(*TINY, "data=copy", "model.vocab=18", "model.length=41")
    task = data.load(config.data | {"name": "copy"}, 18, Path())
    evaluator = ProblemEvaluator({"none": build.build_gpt(config)}, task, [5, 20, 30], 16, 512)
    trainer(config.trainer, "32-true").validate(evaluator, verbose=False)
    return [result.value for result in evaluator.results() if result.protocol == "answers" and result.error]


def task(name: str) -> str:
    """Return a hash of the ids of batches and of held-out problems."""
    config = composed(f"data={name}")
    task = data.load(config.data | {"name": name}, config.model.vocab, Path())
    held_out = task.problems(3, config.evaluation.at(config.model.length)[-1])
    return digest(
        *(task.batch(step, config.model.length, 4, 0).tokens for step in range(3)), held_out.targets
    )


def text() -> str:
    """Return a hash of the ids of batches and of windows of text, whose tokens are bytes."""
    windows = source().windows(5, 32)
    return digest(*(source().batch(step, 32, 4, 0).tokens for step in range(3)), windows.tokens)


def digest(*ids: torch.Tensor) -> str:
    return hashlib.sha256(b"".join(tensor.contiguous().numpy().tobytes() for tensor in ids)).hexdigest()[:16]


# ---- what is recorded


def file_of(case: str) -> Path:
    return FOLDER / f"{case.partition('/')[0]}.json"


def recorded() -> dict[str, object]:
    return {k: v for file in sorted(FOLDER.glob("*.json")) for k, v in json.loads(file.read_text()).items()}


def is_same(new: Numbers | str, old: object) -> bool:
    """Return whether results are equal, apart from the rounding of other instruction sets."""
    if isinstance(new, str) or not isinstance(old, list) or len(old) != len(new):
        return new == old
    pairs = zip(new, old, strict=True)
    return all(a == b or (a and b and abs(a - b) <= TOLERANCE * abs(b)) for a, b in pairs)


def record() -> None:
    """Record all results, except for changes by rounding, and print the changes."""
    known = recorded()
    files: dict[Path, dict[str, object]] = {}
    for case in cases():
        new, old = case.measure(), known.get(case.name)
        if not is_same(new, old):
            print(f"{case.name}: {old} -> {new}")
        files.setdefault(file_of(case.name), {})[case.name] = old if is_same(new, old) else new
    FOLDER.mkdir(exist_ok=True)
    for file, content in files.items():
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in content.items())
        file.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    quiet()
    torch.set_num_threads(1)
    record()
