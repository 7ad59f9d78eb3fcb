"""Every method, whole runs under every protocol, and the memory of each method at the size of GPT-2."""

import argparse
import gc
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from torch._dynamo.utils import counters

from models.gpt import GPT
from models.registry import extend
from tests.composing import composed, run_here
from tests.conftest import EVERY, LENGTH, ONE_OF_EACH, Method, gpt
from tests.gpu.driver import leave
from tests.gpu.fake import GPU, ROOT, fake_gpu
from tests.train.conftest import SMALL, texts
from train.build import build_gpt
from train.evaluation.losses import token_losses
from train.fit.loss import mean_loss
from train.fit.optimizer import optimizer_of

ROOM = 40e9  # bytes that a method may occupy
LONG = 32  # times the training length
WALKING = {"path": 4}  # its queries walk over all keys: at LONG, half a million operations a layer
CHOOSES = (
    "models/ops/precision.py"  # `is_true` waits for a GPU once a pass, where a value decides on the form
)
COPIES = "models/encodings/fope.py"  # once a pass two matrices that a cast of the model must not round
LONG_FIRE = ["encoding=fire", "model=base", "model.length=8192", "batch=2", "trainer.accumulate=1"]
LIMIT_OF_FIRE = 20e9  # bytes
PAGE, HEADING = ROOT / "docs/gpu.md", "| method | training | evaluation | at |"
OF_STEPS = ("models/", "train/fit/module.py", "train/fit/loss.py", "train/fit/muon.py")
RUNS = (
    "encoding=alibi evaluation=protocols evaluation.extensions=all",
    "encoding=t5 evaluation.retrieval=needle model.length=48",
    "encoding=rope extension=temperature trainer.keep=[0.5] optimizer=muon",
    "encoding=rope extension=yarn extension.finetune_steps=2 trainer.precision=16-mixed",
    "encoding=bam objective=mlm model.causal=false trainer.accumulate=2",
    "encoding=fire data=copy model.length=41",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description=__doc__)
    parser.add_argument("--only", nargs="+", help="methods such as rope or rope+yarn; no runs, no table")
    only, failed = parser.parse_args().only, []
    with fake_gpu() as gpu:
        methods = [method for method in EVERY if only is None or str(method) in only]
        for method in methods:
            failed += [f"{method}: {fault}" for fault in faults(method, gpu)]
        if only is None:
            for settings in RUNS:
                failed += run(settings, gpu)
            failed += write_table(gpu)
            failed += train_long(gpu)
    print("\n".join(failed) or f"{len(methods)} methods train and evaluate on a GPU that computes nothing.")
    leave(bool(failed))


def faults(method: Method, gpu: GPU) -> Iterator[str]:
    """Train and evaluate a small model; yield the lines that read from the GPU or copy to it."""
    model, graphs = gpt(method.fresh()).to("cuda"), []
    gpu.reads.clear(), gpu.copies.clear()
    train(model, 2, LENGTH)
    for length in (LENGTH, 10 * LENGTH + 3, 20 * LENGTH, 20 * LENGTH):  # one is a block of FlexAttention's
        evaluate(model, 2, min(length, method.longest))
        graphs.append(counters["stats"]["unique_graphs"])
    yield from (f"{line} reads from the GPU" for line in gpu.reads if not line.startswith(CHOOSES))
    yield from (f"{line} copies to the GPU" for line in gpu.copies if not line.startswith(COPIES))
    if graphs[-2] != graphs[-1]:
        yield "FlexAttention is compiled again at the same length"


def train(model: GPT, sequences: int, length: int) -> None:
    """Take two steps, because the moments of AdamW exist from the second step on."""
    tokens = torch.zeros(sequences, length, dtype=torch.long, device="cuda")
    optimizer = optimizer_of(model.train(), composed().optimizer, fused=True)
    for _ in range(2):
        with torch.autocast("cuda", torch.bfloat16):
            loss = mean_loss(model.hidden(tokens), model.head.weight, tokens)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def evaluate(model: GPT, sequences: int, length: int) -> None:
    tokens = torch.zeros(sequences, length, dtype=torch.long, device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        token_losses(model.eval(), tokens, tokens)


def run(settings: str, gpu: GPU) -> list[str]:
    """Do a whole run by Lightning. Print the lines that read from the GPU; return those of steps."""
    gpu.reads.clear()
    torch._dynamo.reset()  # a run is a process, which compiles for itself
    with tempfile.TemporaryDirectory() as folder:
        path = f"data.path={texts(Path(folder) / 'text')}"
        text = [] if "data=" in settings else [path, "data.held_out=0.6"]
        small = [*SMALL, "trainer=gpu", "trainer.precision=bf16-mixed", "trainer.compile=false"]
        small += ["evaluation.windows=2"]
        small += [f"outputs={folder}", *text]
        run_here(composed(*small, *settings.split()), Path(folder) / "run")
    print(settings, *(f"{count:6} {line}" for line, count in gpu.reads.most_common()), sep="\n", flush=True)
    return [f"{settings}: {line} reads from the GPU" for line in gpu.reads if waits_in_step(line, settings)]


def waits_in_step(line: str, settings: str) -> bool:
    """Return whether a line waits for the GPU in a training step without need. In float16 the optimizer has
    to: it leaves out a step whose gradients are not finite."""
    is_scaler = "precision=16-mixed" in settings and line.endswith("in training_step")
    is_expected = line.startswith(CHOOSES) or line.endswith("in on_validation_epoch_end") or is_scaler
    return line.startswith(OF_STEPS) and not is_expected


def write_table(gpu: GPU) -> list[str]:
    """Write the memory of each method to docs/gpu.md; return the methods that occupy too much."""
    torch._dynamo.reset()
    rows = {method: peaks(method, gpu) for method in ONE_OF_EACH}
    lines = [HEADING, "|---|--:|--:|--:|"]
    for method, (training, evaluation, length) in rows.items():
        lines.append(f"| `{method}` | {training / 1e9:.1f} GB | {evaluation / 1e9:.1f} GB | {length:,} |")
    PAGE.write_text("\n".join([PAGE.read_text().split(HEADING)[0].rstrip(), "", *lines, ""]))
    return [f"{method} needs too much memory" for method, used in rows.items() if max(used) > ROOM]


def train_long(gpu: GPU) -> list[str]:
    """Train FIRE at 8,192 tokens, where a number for each pair would take 190 GB."""
    torch._dynamo.reset()
    config = composed(*LONG_FIRE)
    with torch.device("cuda"):
        model = build_gpt(config)
    gc.collect()
    gpu.peak = gpu.used
    train(model, config.batch, config.model.length)
    print(f"FIRE at {config.model.length:,} tokens: {gpu.peak / 1e9:.1f} GB")
    return ["FIRE needs too much memory at 8,192 tokens"] if gpu.peak > LIMIT_OF_FIRE else []


def peaks(method: Method, gpu: GPU) -> tuple[int, int, int]:
    """Return the bytes of training, the bytes of evaluating a long sequence, and its length."""
    config = composed("model=base", f"encoding={method.encoding}", "batch=16", "trainer.accumulate=1")
    with torch.device("cuda"):
        model = build_gpt(config)
        model = model.under([extend(method.extension, encoding) for encoding in model.tiled])
    length = WALKING.get(method.encoding, LONG) * config.model.length
    length = length if model.context is not None else min(length, model.limit or length)
    gc.collect()
    gpu.peak = gpu.used
    train(model, config.batch, config.model.length)
    training, blocks = gpu.peak, model.blocks
    model.blocks = blocks[:4]  # layers that go on where others were need no more
    gc.collect()
    gpu.peak = gpu.used
    evaluate(model, 1, length)
    return training, gpu.peak, length
