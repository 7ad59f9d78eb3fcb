"""What the loops of `attention.c` and `attention_backward.c` are told: `attention.h` for ctypes."""

import ctypes
from dataclasses import dataclass

import torch
from torch import Tensor

from models.cpu import Loops, dense, loops
from models.ops.processor import bfloat16_by

SIDE = 32  # rows and columns that the loops multiply at once
SIZES = ("sequences", "heads", "queries", "keys", "inner", "width")
HOW = ("before", "causal", "window", "parts", "potential")
TENSORS = ("q", "k", "v", "out", "kept", "gradient", "to_q", "to_k", "to_v")
LINES = ("factor", "mask", "sink", "to_mask", "total", "units")


class Where(ctypes.Structure):
    """Where a tensor (B, H, N, ...) lies: its first number, and strides of sequences, heads and tokens."""

    _fields_ = (("at", ctypes.c_void_p), ("strides", ctypes.c_int64 * 3))

    @classmethod
    def of(cls, x: Tensor) -> "Where":
        return cls(x.data_ptr(), x.stride()[:3])


class Attention(ctypes.Structure):
    """What `native/attention.h` describes."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in SIZES + HOW),
        *((name, Where) for name in TENSORS + LINES),
        ("to_units", ctypes.c_void_p),
        ("from_units", ctypes.c_void_p),
        ("scale", ctypes.c_float),
        ("leak", ctypes.c_float),
    )


@dataclass(frozen=True)
class Lines:
    """A number for each pair as it lies in memory, where the lines of queries may overlap."""

    numbers: Tensor  # (1 or B, 1 or H, ...) from those of the first query on
    step: int  # from there to those of the next query

    @classmethod
    def of(cls, x: Tensor, backwards: bool = False) -> "Lines":
        """Of x (..., 1 or H, 1 or R, K); `backwards`: from the last query to the first."""
        x = dense((x if x.dim() == 4 else x[None]).float())  # as the loops read them
        step = x.stride(-2) if x.size(-2) > 1 else 0
        return cls(x[..., -1:, :], -step) if backwards else cls(x[..., :1, :], step)

    def where(self, sequences: int, heads: int) -> Where:
        of_b, of_h, *_ = self.numbers.expand(sequences, heads, -1, -1).stride()
        return Where(self.numbers.data_ptr(), (of_b, of_h, self.step))


@dataclass(frozen=True)
class Mixing:
    """What a network of leaky units, which reads the logits of all heads, adds to them."""

    units: Lines  # (1, hidden + H, ...) what a distance gives to each unit, and then to each head
    to_units: Tensor  # (hidden, H)
    from_units: Tensor  # (hidden, H)
    leak: float

    @property
    def sizes(self) -> dict[str, int]:
        return {"heads": self.to_units.size(1), "hidden": self.to_units.size(0)}


@dataclass(frozen=True)
class Logits:
    """What is done to products: scale * factor * product + mask, beside a sink; or by a network before the
    scale."""

    scale: float
    causal: bool
    before: int = 0  # keys before that of the first query
    window: int = 0  # how many of the last keys a query sees at the most; 0: all
    factor: Lines | None = None  # never without a mask
    mask: Lines | None = None
    potential: bool = False  # the mask is what keys lose, which a query's own is at 0
    sink: Lines | None = None
    network: Mixing | None = None  # without gradient


def by_c(x: Tensor, file: str, **sizes: int) -> Loops | None:
    """The loops that multiply numbers of this type the fastest, if there are any."""
    ways = [{way: 1} for way in bfloat16_by()] if x.dtype == torch.bfloat16 else []
    candidates = (loops(file, x, **sizes, **way) for way in (*ways, {}))
    return next((one for one in candidates if one is not None), None)


def described(logits: Logits, **tensors: Tensor) -> Attention:
    """What the loops are asked to do; `logits` and tensors must live until it is done."""
    q, k, v = (tensors[name] for name in "qkv")
    (sequences, heads, queries, inner), keys = q.shape, k.size(-2)
    apart = sequences if logits.network else sequences * heads  # what threads share out
    parts = -(-torch.get_num_threads() // max(1, apart))
    sizes = sequences, heads, queries, keys, inner, v.size(-1), logits.before, logits.causal, logits.window
    task = Attention(*sizes, parts, logits.potential, scale=logits.scale)
    for name, x in tensors.items():
        setattr(task, name, Where.of(x))
    for name in ("factor", "mask", "sink"):
        if (lines := getattr(logits, name)) is not None:
            setattr(task, name, lines.where(sequences, heads))
    if (network := logits.network) is not None:
        task.units, task.leak = network.units.where(sequences, -1), network.leak
        task.to_units, task.from_units = network.to_units.data_ptr(), network.from_units.data_ptr()
    return task


def run(name: str, task: Attention, x: Tensor, network: Mixing | None = None) -> None:
    functions = by_c(x, name, **(network.sizes if network is not None else {}))
    assert functions is not None
    functions(name, task)
