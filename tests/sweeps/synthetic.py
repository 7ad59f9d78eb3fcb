"""Sweeps that were never trained, with the curves that training gives: for tests of the report."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from sweeps.report.methods import FAMILIES
from train.rows import Row, append

EVERY = [name for members in FAMILIES.values() for name in members]
HEADLINE = [
    "nope",
    "sinusoidal",
    "learned",
    "rope",
    "xpos",
    "alibi",
    "t5",
    "kerple_log",
    "sandwich",
    "randomized_rope",
]
LENGTHS = (64, 128, 256, 512, 1024, 2048)
DAMAGE = {  # loss at the training length, gain of more context, nats lost per doubling, when trained at 64 tokens
    "nope": (4.24, 0.03, 0.075), "integer": (4.40, 0.02, 0.45), "sinusoidal": (4.20, 0.02, 0.11),
    "learned": (4.26, 0.0, 0.0), "concatenated": (4.22, 0.02, 0.12),
    "rope": (4.14, 0.08, 0.19), "rope_2d": (4.15, 0.08, 0.17), "rope_bias": (4.08, 0.06, 0.02),
    "p_rope": (4.12, 0.07, 0.15), "xpos": (4.11, 0.06, 0.05), "pope": (4.10, 0.08, 0.10),
    "alibi": (4.10, 0.06, 0.004), "alibi_learned": (4.08, 0.06, 0.003), "t5": (4.12, 0.08, 0.09),
    "kerple_log": (4.05, 0.07, 0.008), "kerple_power": (4.07, 0.07, 0.009), "sandwich": (4.05, 0.06, 0.012),
    "bam": (4.08, 0.07, 0.001), "fire": (4.04, 0.08, 0.012), "shaw": (4.11, 0.05, 0.06),
    "deberta": (4.13, 0.05, 0.08), "cope": (4.09, 0.06, 0.05), "fox": (4.02, 0.09, 0.002),
    "dape_kerple": (4.03, 0.08, 0.001), "randomized_rope": (4.17, 0.06, 0.075),
    "randomized_sinusoidal": (4.29, 0.04, 0.05), "randomized_learned": (4.31, 0.04, 0.06),
    "randomized_alibi": (4.14, 0.06, 0.006), "window_rope": (4.16, 0.03, 0.0), "irope": (4.13, 0.07, 0.04),
}  # fmt: skip
EXTENDED = {
    "pi": 0.05,
    "ntk": 0.02,
    "yarn": 0.008,
    "dynamic_ntk": 0.012,
    "rerope": -0.012,
    "self_extend": -0.008,
}


def make_sweep(
    folder: Path,
    methods: Sequence[str] = HEADLINE,
    seeds: int = 3,
    lengths: Sequence[int] = LENGTHS,
    windows: int = 64,
    extensions: Sequence[str] = ("crop",),
    extend: Iterable[str] = ("rope",),
    protocols: Sequence[str] = ("same_tokens", "nonoverlapping"),
    failed: Sequence[str] = (),
    bimodal: str | None = None,
    changed: dict[str, dict[str, object]] | None = None,
) -> Path:
    """A finished sweep in `folder`. `extend`: methods evaluated under more than `extensions`;
    `failed`: names of jobs, such as rope-s1, that died; `bimodal`: a method one of whose seeds fails to extrapolate;
    `changed`: settings of a method that are not the sweep's."""
    jobs = []
    draw = np.random.default_rng(1)
    document = np.sort(draw.integers(0, max(2, windows * 3 // 4), windows))
    difficulty = draw.normal(0, 0.45, windows)[document] + draw.normal(0, 0.2, windows)
    for number, method in enumerate(methods):
        for seed in range(seeds):
            name = f"{method}-s{seed}"
            place = folder / name
            place.mkdir(parents=True, exist_ok=True)
            jobs.append({"name": name, "folder": name, "encoding": method, "seed": seed})
            if name in failed:
                (place / "train.log").write_text(
                    "epoch 0 step 120 loss 4.9\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.0 GiB.\n"
                )
                continue
            names = ["none", *extensions, *(EXTENDED if method in extend else ())]
            make_run(place, method, number, seed, lengths, document, difficulty, names, protocols, method == bimodal,
                     (changed or {}).get(method, {}))  # fmt: skip
    about = {
        "name": "encodings",
        "command": "python -m train sweeps=encodings",
        "started": "2025-11-21T14:03:00+00:00",
    }
    (folder / "sweep.json").write_text(json.dumps(about | {"jobs": jobs}))
    return folder


def make_run(
    place: Path, method: str, number: int, seed: int, lengths: Sequence[int], document: np.ndarray,
    difficulty: np.ndarray, extensions: Sequence[str], protocols: Sequence[str], bad_seed: bool,
    changed: dict[str, object],
) -> None:  # fmt: skip
    """One run folder, as train/ leaves it."""
    L = lengths[0]
    shared = np.random.default_rng(seed)
    draw = np.random.default_rng([number, seed])
    taste = np.random.default_rng([number]).normal(0, 0.05, len(document))  # of the method, for each window
    luck = shared.normal(0, 0.012) + draw.normal(0, 0.008)
    windows = len(document)
    fixed = {
        "run": place.name, "encoding": method, "seed": seed, "trained_length": L, "data": "python",
        "kernel": "sdpa" if method in FAMILIES["baselines"] + FAMILIES["rotation and scale of q, k"] else "explicit",
        "precision": "bf16-mixed", "corpus": "3f1c9a70d2" * 6 + "abcd", "commit": "3f80028",
        "versions": "torch 2.13.0, lightning 2.6.6, numpy 2.4.6, tokenizers 0.23.1",
    }  # fmt: skip
    rows, losses = [], {"document": document}

    def add(
        protocol: str, length: int, metric: str, value: float | None, extension: str = "none", **more: object
    ) -> None:
        content = {"error": None, "sequences": 0} | fixed | more
        rows.append(
            Row(protocol=protocol, length=length, metric=metric, value=value, extension=extension, **content)
        )  # type: ignore[arg-type]

    for extension in extensions:
        for length in lengths:
            for protocol in protocols:
                mean = expected(method, extension, protocol, length, L)
                if mean is None:
                    add(protocol, length, "loss", None, extension)
                    continue
                hurt = max(0.0, mean - 4.1)
                wobble = luck + draw.normal(0, 0.004 + 0.05 * hurt) * (extension == "none" and length > L)
                noise = draw.normal(0, 0.02, windows) + hurt * 0.3 * taste
                each = (
                    mean
                    + wobble
                    + difficulty
                    + taste
                    + noise
                    + 0.6 * (bad_seed and seed == 1 and length > L and extension == "none")
                )
                losses[f"{extension}|{protocol}|{length}"] = each
                error = float(each.std(ddof=1) / math.sqrt(windows))
                add(protocol, length, "loss", float(each.mean()), extension, error=error, sequences=windows)
                add(protocol, length, "bits_per_byte", float(each.mean()) / math.log(2) / 3.1, extension)
    for position in positions(lengths[-1]):
        inside = 3.9 + 1.9 * min(position, L) ** -0.5
        beyond = max(0.0, math.log2(position / L))
        mean = expected(method, "none", "same_tokens", L * 2 ** round(beyond) if beyond else L, L)
        if mean is not None:
            slope = DAMAGE.get(method, (4.2, 0, 0.1))[2]
            add(
                "by_position",
                position,
                "loss",
                inside + slope * beyond + luck + DAMAGE.get(method, (4.2,))[0] - 4.1,
            )
    own = 512 if method in ("kerple_log", "fire", "t5") else 8192 if method == "learned" else 0
    speed = 61_000 * (0.62 if fixed["kernel"] == "explicit" else 1.0) * draw.normal(1, 0.02)
    measured = {
        "loss": 4.0 + luck, "tokens_per_second": speed, "parameters": 1_115_264 + own, "encoding_parameters": own,
        "seconds": 600 * 32 * L / speed, "peak_memory": 3.1e8,
    }  # fmt: skip
    for metric, value in measured.items():
        add("training", L, metric, float(value))
    append(place / "results.jsonl", rows)
    np.savez(place / "documents.npz", **losses)  # type: ignore[arg-type]
    settings: dict[str, object] = {
        "seed": seed, "batch": 32, "objective": "clm",
        "model": {"vocab": 2048, "width": 128, "depth": 4, "heads": 4, "length": L, "norm": "rms", "kernel": "auto"},
        "encoding": {"_target_": f"models.encodings.{method}", "share": True, "ssmax": False},
        "data": {"name": "python", "windows": 4096}, "extension": {"finetune_steps": 0},
        "optimizer": {"learning_rate": 3e-3, "weight_decay": 0.1, "warmup": 0.05},
        "trainer": {"max_steps": 600, "precision": "auto", "devices": 1},
        "names": {"model": "tiny", "encoding": method, "extension": "none", "data": "python"},
    }  # fmt: skip
    for key, value in changed.items():
        section, _, name = key.partition(".")
        settings[section] = {**settings[section], name: value} if name else value  # type: ignore[dict-item]
    info = {
        "encoding": method, "seed": seed, "settings": settings, "seconds": 31.5,
        "command": f"python -m train encoding={method} seed={seed}",
        "machine": "AMD EPYC 9655 96-Core Processor, 2 cores, no GPU, Python 3.11.2",
        "started": f"2025-11-21T14:{number % 60:02}:{10 + seed}+00:00",
        "corpus_description": "Python sources of sympy 1.14, networkx 3.5 and torch 2.13, 11,204,117 tokens",
    }  # fmt: skip
    (place / "run.json").write_text(json.dumps(info))
    (place / "train.log").write_text("done\n")
    (place / "DONE").touch()


def expected(method: str, extension: str, protocol: str, length: int, L: int) -> float | None:
    """The mean loss of a method at a length."""
    start, gain, slope = DAMAGE.get(method, (4.2, 0.03, 0.1))
    if extension == "crop":
        return start
    if method == "learned" and length > L:
        return None
    octaves = math.log2(length / L)
    slope = slope if extension == "none" else EXTENDED.get(extension, 0.0)
    value = (
        start
        - gain * (1 - 2.0**-octaves)
        + slope * octaves**1.1 * (octaves > 0.5) * (1 if octaves > 1.5 else 0.3)
    )
    return value + (0.18 * 2.0**-octaves if protocol == "nonoverlapping" else 0.0)


def positions(longest: int) -> list[int]:
    ends = {round(8 * 2 ** (k / 2)) for k in range(64)}
    return [*sorted(end for end in ends if end < longest), longest]
