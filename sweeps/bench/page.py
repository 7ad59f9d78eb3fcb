"""Results as a flat list, as a page and as a figure."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch

from sweeps.bench.goals import LONG, LONGEST, encoding_of, shown, table
from sweeps.charts.figure import Figure, Row, Spec, described, titled
from sweeps.report.methods import families

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
    (docs / "benchmarks.svg").write_text(drawn(everything).svg())


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


def drawn(results: Sequence[Result]) -> Figure:
    """Two rows of bars: the step against NoPE, a long evaluation against causal attention."""
    steps = [result for result in results if result.name.endswith("_vs_nope")]
    evaluations = [result for result in results if result.name.endswith("_vs_causal")]
    charts = [ratios("training step, x NoPE", steps, 0)] if steps else []
    charts += [ratios(f"evaluation at {LONG:,}, x causal", evaluations, 1)] if evaluations else []
    tables = {name: text for chart in charts for name, text in chart.pop("datasets").items()}
    return Figure("benchmarks", {"ratios": {"datasets": tables, "hconcat": charts, "spacing": 40}})


def ratios(title: str, results: Sequence[Result], start: int) -> Spec:
    """Bars that start at 0, or at 1 on a logarithmic axis."""
    names = {encoding: r.value for r in results if (encoding := encoding_of(r.name)) in families()}
    rows: list[Row] = [{"encoding": name, "ratio": value} for name, value in names.items()]
    return titled(
        title, described("benchmarks", start=start, scale={"type": "log" if start else "linear"}), rows
    )


def machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    features = ("amx_bf16", "avx512_bf16")
    has = [f for f in features if any(f in line.split() for line in lines if line.startswith("flags"))]
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    name = f"{model[0]} ({', '.join(has) or 'no bf16'}), {len(model)} cores" if model else platform.machine()
    return f"{name}{gpu}; Python {platform.python_version()}, torch {torch.__version__}"
