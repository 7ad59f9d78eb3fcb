"""The interface to flash attention in C: its inputs, checked, as `attention.h` describes them."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from models.cpu import Loops, dense, loops, loops_of, warn
from models.distance import Toeplitz
from models.ops.processor import bfloat16_by

SIDE = 32  # rows and columns that the loops multiply at once
Pairs = Tensor | Toeplitz


@dataclass(frozen=True)
class Logits:
    """The logit of a pair: scale * factor * product + mask."""

    scale: float
    window: int | None  # how many of the keys up to its own a query sees; None: all keys, those ahead as well
    mask: Pairs | None = None  # (1 or B, 1 or H, R, K) float32
    factor: Pairs | None = None  # never without a mask
    # the mask (1 or B, 1 or H, 1, K) is what keys lose: less what a query's own key loses
    is_decay: bool = False
    sink: Tensor | None = None  # (1 or H, 1 or R, 1), the logit of what reads nothing


def same_dtype(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return all three tensors in one type, as the loops read them."""
    return (q, k, v) if q.dtype == k.dtype == v.dtype else (q.float(), k.float(), v.float())


def loops_for(x: Tensor, file: str = "attention") -> Loops | None:
    """Return the loops that multiply this type fastest, if there are any."""
    ways = [(way.upper(),) for way in bfloat16_by()] if x.dtype == torch.bfloat16 else []
    candidates = (loops(file, x, *way) for way in (*ways, ()))
    return next((found for found in candidates if found and is_right(found, file, x.dtype)), None)


@torch.compiler.assume_constant_result
def has_loops(dtype: torch.dtype) -> bool:
    return loops_of("attention", dtype) is not None


@cache
@torch.no_grad()
def is_right(functions: Loops, file: str, dtype: torch.dtype) -> bool:
    """Return whether newly loaded loops agree with PyTorch; if not, print that."""
    library = functions.library
    same = library.params_size() == ctypes.sizeof(Params)
    if same and file == "attention":
        q, k, v = torch.linspace(0, 9e3, 3 * 80 * 32, device="cpu").sin().view(3, 1, 2, 40, 32).to(dtype)
        out, scale = empty_by_token(q, 32), 32**-0.5
        call(functions, file, Params(Logits(scale, 40), q=q, k=k, v=v, out=out))
        expected = scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True, scale=scale)
        same = bool((out - expected).abs().max() < 64 * torch.finfo(dtype).eps)
    if not same:
        warn(f"{file}.c was compiled wrongly, so PyTorch does its work.")
    return same


def read_keys(q: Tensor, k: Tensor, v: Tensor, scores: Logits) -> tuple[Tensor, Tensor]:
    """Return the output (B, H, R, D), and the logarithm of the sum of weights (B, H, R), float32. Groups of
    heads may share a head of k and v."""
    q, k, v = (dense(x) for x in (q, k, v))
    out, lse = empty_by_token(q, v.size(-1)), q.new_empty(q.shape[:-1], dtype=torch.float32)
    run("attention", Params(scores, q=q, k=k, v=v, out=out, lse=lse), v)
    return out, lse


def empty_by_token(q: Tensor, width: int) -> Tensor:
    """Allocate (B, H, R, D) with the heads of a token side by side, as the next layer reads them."""
    return q.new_empty(q.size(0), q.size(2), q.size(1), width).transpose(1, 2)


class StridedTensor(ctypes.Structure):
    """The place of a tensor (B, H, N, ...): its first number, and strides of sequences, heads and tokens."""

    _fields_ = (("data", ctypes.c_void_p), ("strides", ctypes.c_int64 * 3))

    @classmethod
    def of(cls, x: Tensor) -> "StridedTensor":
        return cls(x.data_ptr(), x.stride()[:3])


class Params(ctypes.Structure):
    """`Params` of cpu/attention.h, and what keeps its tensors alive."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("sequences", "heads", "queries", "keys", "inner", "width")),
        *((name, ctypes.c_int64) for name in ("before", "causal", "window", "parts", "sharing", "is_decay")),
        *(
            (name, StridedTensor)
            for name in ("q", "k", "v", "out", "probs", "gradient", "to_q", "to_k", "to_v")
        ),
        *((name, StridedTensor) for name in ("factor", "mask", "sink", "to_mask", "lse")),
        ("scale", ctypes.c_float),
        ("memory", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("per_thread", "threads")),
    )

    def __init__(self, scores: Logits, **tensors: Tensor) -> None:
        q, v = tensors["q"], tensors["v"]
        (sequences, heads, queries, inner), (keys, width) = q.shape, v.shape[-2:]
        read = tensors["k"].size(1)
        sharing = heads // read if heads % read == 0 else 1
        parts = -(-torch.get_num_threads() // max(1, sequences * heads))
        window = scores.window if scores.window is not None and scores.window < keys else 0
        sizes = sequences, heads, queries, keys, inner, width, keys - queries
        kinds = scores.window is not None, window, parts, sharing, scores.is_decay
        super().__init__(*sizes, *kinds, scale=scores.scale)
        shapes: dict[str, tuple[int, ...]] = {"probs": (queries, -(-keys // SIDE) * SIDE), "lse": (queries,)}
        shapes |= dict.fromkeys(("k", "to_k"), (keys, inner)) | dict.fromkeys(("v", "to_v"), (keys, width))
        shapes |= dict.fromkeys(("out", "gradient"), (queries, width))
        self.tensors: list[object] = [tensors, scores]
        for name, x in tensors.items():
            count = heads // sharing if name in ("k", "v") else heads
            expect(name, x.shape, (sequences, count, *shapes.get(name, (queries, inner))))
            setattr(self, name, StridedTensor.of(x))
        for name in ("factor", "mask", "sink"):
            if (number := getattr(scores, name)) is not None:
                setattr(self, name, self.strided(name, number))

    def strided(self, name: str, x: Tensor | Toeplitz) -> StridedTensor:
        """Return the place of a number for each pair, for each query, or for each key."""
        columns = 1 if name == "sink" else self.keys
        if isinstance(x, Toeplitz):
            line = dense(x.line.float())
            if x.start < self.queries - 1 or x.start + columns > line.size(-1):
                raise ValueError(
                    f"attention: {name} has {line.size(-1)} distances, too few from {x.start} on."
                )
            self.tensors.append(line)
            of_h = line.stride(0) if line.size(0) > 1 else 0
            return StridedTensor(line[:, x.start :].data_ptr(), (0, of_h, -1))
        x = dense((x if x.dim() == 4 else x[None]).float())
        self.tensors.append(x)
        expect(name, x.shape[-2:], (self.queries if x.size(-2) > 1 else 1, columns))
        of_b, of_h, *_ = x.expand(self.sequences, self.heads, -1, -1).stride()
        return StridedTensor(x.data_ptr(), (of_b, of_h, x.stride(-2) if x.size(-2) > 1 else 0))


def expect(name: str, found: Sequence[int], expected: Sequence[int]) -> None:
    if tuple(found) != tuple(expected):
        raise ValueError(f"attention: {name} has shape {tuple(found)} where {tuple(expected)} is needed.")


def run(name: str, params: Params, x: Tensor) -> None:
    functions = loops_for(x, name)
    assert functions is not None
    call(functions, name, params)


def call(functions: Loops, name: str, params: Params) -> None:
    """Call a function that asks for memory, with zeros for each thread."""
    size = getattr(functions.library, f"{name}_memory")
    size.restype, params.threads = ctypes.c_int64, torch.get_num_threads()
    params.per_thread = size(ctypes.byref(params))
    memory = torch.zeros(params.threads * params.per_thread, dtype=torch.uint8, device="cpu")
    params.memory = memory.data_ptr()
    functions(name, params)
