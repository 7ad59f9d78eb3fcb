"""Fixtures: every method of `conf/`, built small, with all parameters moved away from their start, and a tiny
GPT around it. A new file under `conf/` is tested without a change here."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models import registry
from models.attention import logits
from models.effect import Effect, Layer, Positions
from models.encoding import Encoding, members
from models.gpt import GPT
from tests.tolerance import float64

torch.set_num_threads(1)
os.environ["TORCHINDUCTOR_VEC_ISA_OK"] = (
    "1"  # trial programs take 12 seconds for each folder of compiled code
)

LENGTH, VOCAB = 16, 13
SHAPE = {"heads": 4, "head_width": 8, "width": 32, "depth": 2, "length": LENGTH}
FAR = 1 << 30  # longer than anything here


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip a test that PyTorch's flash attention ends. It asks the processor about AMX, but
    ATEN_CPU_CAPABILITY about AVX-512; on a real processor the two go together."""
    try:
        yield
    except RuntimeError as error:
        if "pack_vnni2 is only supported when avx512" in str(error):
            pytest.skip(f"PyTorch's own attention: {error}")
        raise


@pytest.fixture(autouse=True)
def same_rounding() -> Iterator[None]:
    """Restore the threads and the rounding, which a run changes for its whole process."""
    yield
    torch.set_num_threads(1)
    torch.set_flush_denormal(False)


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Be a user of W&B without a key and without settings, in a process that has not imported it."""
    import wandb

    for key in list(os.environ):
        if key.startswith("WANDB_") or key in ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID"):
            monkeypatch.delenv(key)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for key in ("WANDB_CONFIG_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(key, str(tmp_path / "user"))
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    wandb.teardown()
    yield
    wandb.teardown()


@dataclass(frozen=True)
class Method:
    """An encoding, and the extension around it."""

    encoding: str
    extension: str = "none"

    def __str__(self) -> str:
        return self.encoding if self.extension == "none" else f"{self.encoding}+{self.extension}"

    def fresh(self, **parameters: object) -> Encoding:
        """Build the method anew and move its parameters, always in the same way."""
        with torch.random.fork_rng():
            torch.default_generator.manual_seed(0)  # torch's own formats three stacks without a GPU
            encoding = registry.load(self.encoding, **SHAPE, **parameters)
            return registry.extend(self.extension, perturb(encoding)).eval()

    @property
    def built(self) -> Encoding:
        """Return the method as built once for all tests: never change it."""
        return built(self)

    @property
    def exact(self) -> Encoding:
        """Return the same method in float64, for use under `float64`."""
        return exact(self)

    @property
    def span(self) -> int:
        """Return the longest span for which the method has an effect."""
        return self.built.limit or FAR

    @property
    def longest(self) -> int:
        """Return the longest sequence that a model with the method takes."""
        context = self.built.context
        return FAR if context is not None and context <= self.span else self.span


@cache
def built(method: Method) -> Encoding:
    return method.fresh()


@cache
def exact(method: Method) -> Encoding:
    return method.fresh().double()


def perturb(module: Any, seed: int = 3) -> Any:
    """Change all parameters by about a fifth, so that none is zero, one, or equal to another."""
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            change = 0.2 * torch.randn(parameter.shape, generator=noise)
            parameter.copy_(torch.where(parameter == 0, change, parameter * (1 + change)))
    return module


ENCODINGS = [Method(name) for name in registry.names("encoding")]
EXTENDED = [
    Method(method.encoding, extension)
    for method in ENCODINGS
    for extension in registry.extensions(method.built)
    if extension != "none"
]
EVERY = ENCODINGS + EXTENDED
FIRST = {method.extension: method for method in reversed(EXTENDED)} | {
    method.extension: method for method in EXTENDED if method.encoding == "rope"
}
ONE_OF_EACH = ENCODINGS + list(FIRST.values())
"""Every encoding, and every extension on one encoding."""
DECLARED = [name for name in Encoding.__annotations__ if name != "shape"]
OF_EACH_KIND = list({
    tuple(bool(getattr(method.built, name)) for name in DECLARED): method for method in reversed(ENCODINGS)
}.values())  # fmt: skip
"""An encoding for each combination of what its class declares."""


def over(methods: list[Method]) -> pytest.MarkDecorator:
    """Return a mark that runs a test once for each method, under its name."""
    return pytest.mark.parametrize("method", methods, ids=str)


def gpt(encoding: Encoding, depth: int = 2, **options: object) -> GPT:
    """Return a tiny GPT whose weights are large enough for attention to be far from uniform."""
    tiled = members(encoding)
    model = GPT(VOCAB, SHAPE["width"], max(depth, len(tiled)), SHAPE["heads"], [], **options)
    noise = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=noise)
    model.encodings = nn.ModuleList(tiled)
    return model


@cache
def model_of(method: Method, **options: object) -> GPT:
    """Return a model in float64 that all tests share: never change it."""
    return gpt(method.fresh(), **options).double()


def tokens(length: int = LENGTH, batch: int = 2, seed: int = 1) -> Tensor:
    return torch.randint(VOCAB, (batch, length), generator=torch.Generator().manual_seed(seed))


@cache
def content(length: int, batch: int = 1) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return x (B, T, C) and q, k, v (B, H, T, D); a shorter content is the beginning of a longer one."""
    x = torch.randn(2, 8 * LENGTH, SHAPE["width"], generator=torch.Generator().manual_seed(5))
    wide = torch.randn(3, SHAPE["width"], SHAPE["width"], generator=torch.Generator().manual_seed(6))
    x = x[:batch, :length]
    q, k, v = (heads(x @ w * w.size(0) ** -0.5) for w in wide)
    return x, q, k, v


def heads(x: Tensor) -> Tensor:
    """Split the heads: (B, T, C) -> (B, H, T, D)."""
    return x.unflatten(-1, (SHAPE["heads"], -1)).transpose(1, 2)


def scores(encoding: Encoding, positions: Positions) -> Tensor:
    """Return the logits (1, H, T, T) of fixed content in float64, after the encoding has changed the
    embeddings."""
    x, q, k, v = (t.double() for t in content(positions.at.numel()))
    with torch.no_grad(), float64():
        embed = encoding.effect_at(positions).embed
        if embed is not None:
            change = embed(x) - x
            x, q, k = x + change, q + heads(change), k + heads(change)
        return logits(q, k, late(encoding, positions, x, q, k, v))


def late(encoding: Encoding, positions: Positions, *content: Tensor) -> Effect:
    """Return the effect in a layer with this content: x, q, k and v."""
    return encoding.effect_at(positions, Layer(*content))
