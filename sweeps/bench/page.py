"""Results as a flat list, as a page and as a figure."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch

from sweeps.bench.goals import LONG, LONGEST, shown, table

DOCS = Path(__file__).resolve().parents[2] / "docs"


@dataclass(frozen=True)
class Result:
    name: str
    value: float
    unit: str
    how: str


def write(results: Sequence[Result], docs: Path = DOCS) -> None:
    """`benchmarks.json`, `.md` and `.svg`; what was measured earlier and not now is kept."""
    file = docs / "benchmarks.json"
    known = {r["name"]: r for r in json.loads(file.read_text())} if file.exists() else {}
    known |= {r.name: asdict(r) | {"value": float(f"{r.value:.4g}")} for r in results}
    docs.mkdir(parents=True, exist_ok=True)
    file.write_text("[\n" + ",\n".join(json.dumps(r) for r in known.values()) + "\n]\n")
    everything = [Result(**r) for r in known.values()]
    (docs / "benchmarks.md").write_text(page(everything))
    draw(everything, docs / "benchmarks.svg")


def page(results: Sequence[Result]) -> str:
    value = {r.name: r.value for r in results}
    names = [r.name[5:-8] for r in results if r.name.startswith("step_") and r.name.endswith("_vs_nope")]
    lines = [
        "# Benchmarks", "",
        f"Measured by `make bench` on {datetime.now(UTC):%Y-%m-%d}: {machine()}.",
        "One thread, processor time, medians of interleaved rounds; every number and how it was taken is in",
        "[benchmarks.json](benchmarks.json). Timings are never asserted in a test.", "",
        *table(value),
        "![Step time and long evaluation of every encoding](benchmarks.svg)", "",
    ]  # fmt: skip
    lines += [
        f"Training step; attention of {LONG:,} tokens against plain causal flash attention, and of "
        f"{LONGEST:,}:", "",
        f"| encoding | tokens/s | step, ms | vs NoPE | MiB | {LONG:,}, ms | vs causal | MiB | {LONGEST:,}, s "
        "| MiB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    for name in names:
        keys = [
            f"train_{name}", f"step_{name}", f"step_{name}_vs_nope", f"memory_{name}",
            f"evaluate_{LONG}_{name}", f"evaluate_{LONG}_{name}_vs_causal", f"evaluate_memory_{LONG}_{name}",
            f"evaluate_{LONGEST}_{name}", f"evaluate_memory_{LONGEST}_{name}",
        ]  # fmt: skip
        lines.append(f"| {name} | " + " | ".join(shown(value.get(k)) for k in keys) + " |")
    rest = [
        r for r in results if not r.name.startswith(("step_", "memory_", "evaluate_")) and not per(r, names)
    ]
    if rest:
        lines += ["", "Everything else:", "", "| name | value | unit | how |", "|---|---:|---|---|"]
        lines += [f"| {r.name} | {r.value:,.4g} | {r.unit} | {r.how} |" for r in rest]
    return "\n".join(lines) + "\n"


def per(result: Result, names: Sequence[str]) -> bool:
    return result.name in {f"train_{name}" for name in names}


def draw(results: Sequence[Result], file: Path) -> None:
    """Two rows of bars: the step against NoPE, the longest evaluation against causal attention."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "benchmarks"
    parts = {"training step, x NoPE": "_vs_nope", "evaluation at the longest length, x causal": "_vs_causal"}
    figure, axes = plt.subplots(1, 2, figsize=(11, 7))
    for axis, (title, ending) in zip(axes, parts.items(), strict=True):
        chosen = [r for r in results if r.name.endswith(ending)]
        if ending == "_vs_causal":
            chosen = [r for r in chosen if r.name.startswith(f"evaluate_{LONG}_")]
        chosen.sort(key=lambda r: -r.value)
        labels = [
            r.name.removesuffix(ending).removeprefix("step_").removeprefix(f"evaluate_{LONG}_")
            for r in chosen
        ]
        axis.barh(labels, [r.value for r in chosen], color="#4477aa")
        axis.axvline(1, color="black", linewidth=0.8)
        axis.set(title=title, xscale="log" if ending == "_vs_causal" else "linear")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    features = ("amx_bf16", "avx512_bf16")
    has = [f for f in features if any(f in line.split() for line in lines if line.startswith("flags"))]
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    name = f"{model[0]} ({', '.join(has) or 'no bf16'}), {len(model)} cores" if model else platform.machine()
    return f"{name}{gpu}; Python {platform.python_version()}, torch {torch.__version__}"
