"""The loss of a checkpoint under our attention, and in transformers with SDPA: tokens a second and memory."""

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from sweeps.bench.clock import Measurement, Options, median_times
from train.evaluation.losses import token_losses
from train.runtime.machine import keep_memory, peak_memory, reset_peak_memory

CONTENDERS = ("ours", "transformers")
SHORT, LONG = 2_048, 16_384  # tokens: for throughput, for memory
LAST = 1_024  # tokens whose loss is computed
ROUNDS = 5


def measure(options: Options) -> Iterator[Measurement]:
    """Yield tokens a second of each contender, in turns; then the peak of each, in a process of its own."""
    if not options.checkpoint:
        return
    place, dtype = options.checkpoint, options.dtype
    spent = median_times({name: losses_of(name, place, dtype, SHORT) for name in CONTENDERS}, ROUNDS)
    for name, seconds in spent.items():
        yield "checkpoint", f"{name} {dtype}", SHORT, SHORT / seconds
    for name in CONTENDERS:
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            peak = process.submit(peak_of, name, place, dtype, torch.get_num_threads()).result()
        yield "checkpoint_memory", f"{name} {dtype}", LONG, peak


def peak_of(contender: str, place: str, dtype: str, threads: int) -> int:
    """Return the most bytes that are resident in this process while it computes losses."""
    torch.set_num_threads(threads)
    is_ours = contender == "ours"
    if is_ours:
        keep_memory()  # as every evaluation does
    losses = losses_of(contender, place, dtype, LONG)
    if is_ours:
        keep_memory(LONG)
    reset_peak_memory()
    losses()
    return peak_memory() or 0


@torch.no_grad()
def losses_of(contender: str, place: str, dtype: str, length: int) -> Callable[[], Tensor]:
    """Return the computation of the losses (LAST,) of random tokens under a checkpoint."""
    from train.public.checkpoint import load_checkpoint, load_weights  # takes seconds to import

    weights = getattr(torch, dtype)
    if contender == "ours":
        with tempfile.TemporaryDirectory() as folder:
            model = load_checkpoint(place, weights, Path(folder)).model
        x = text(model.head.out_features, length)
        return lambda: token_losses(model, x[:, :-1], x[:, 1:], first=length - LAST)[0]
    theirs = load_weights(place, weights, attn_implementation="sdpa").eval()
    x = text(theirs.config.vocab_size, length)

    @torch.no_grad()
    def losses() -> Tensor:
        logits = theirs(input_ids=x[:, :-1], use_cache=False, logits_to_keep=LAST).logits[0]  # (LAST, V)
        return F.cross_entropy(logits.float(), x[0, -LAST:], reduction="none")

    return losses


def text(vocab: int, length: int) -> Tensor:
    return torch.randint(vocab, (1, length + 1), generator=torch.Generator().manual_seed(0))
