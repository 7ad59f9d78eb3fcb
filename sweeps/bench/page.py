"""Results as a flat list, as a page and as a figure."""

import json
import platform
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import torch
from jinja2 import Environment

from sweeps.comparison.methods import families
from sweeps.drawing.figure import Figure, Row, Spec, combine, describe, titled

DOCS = Path(__file__).resolve().parents[2] / "docs"
ABOVE = ("step_", "memory_", "evaluate_")  # names of what the table of encodings is made from
LONG, LONGEST = 8_192, 65_536  # tokens of the evaluations that the page shows
SETS = ("amx", "avx512_bf16", "avx512", "avx2")  # of instructions, as names of results end
RATIOS = ("_vs_nope", "_vs_causal")  # how those of the figure end


@dataclass(frozen=True)
class Measurement:
    name: str
    value: float
    unit: str
    how: str
    date: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y-%m-%d}")


def write_page(results: Sequence[Measurement], docs: Path = DOCS) -> None:
    """`benchmarks.json`, `.md` and `.svg`; what was measured earlier and not now is kept."""
    file = docs / "benchmarks.json"
    known = {r["name"]: r for r in json.loads(file.read_text())} if file.exists() else {}
    known |= {r.name: asdict(r) | {"value": float(f"{r.value:.4g}")} for r in results}
    file.write_text("[\n" + ",\n".join(json.dumps(r) for r in known.values()) + "\n]\n")
    everything = [Measurement(**r) for r in known.values()]
    others = sorted(file.parent.name for file in docs.glob("*/benchmarks.md"))
    (docs / "benchmarks.md").write_text(bench_page(everything, others))
    if any(r.name.endswith(RATIOS) for r in everything):
        (docs / "benchmarks.svg").write_text(bench_figure(everything).svg())


def bench_page(results: Sequence[Measurement], others: Sequence[str] = ()) -> str:
    """`others`: folders beside it, with pages of other processors."""
    value = {r.name: r.value for r in results}
    ratios = [r.name for r in results if r.name.endswith(RATIOS)]
    names = list(dict.fromkeys(name for item in ratios if (name := encoding_of(item)) in families()))
    long, longest = f"evaluate_{LONG}_{{}}", f"evaluate_{LONGEST}_{{}}"
    keys = ["train_{}", "step_{}", "step_{}_vs_nope", "memory_{}", long, f"{long}_vs_causal"]
    keys += [f"evaluate_memory_{LONG}_{{}}", longest, f"evaluate_memory_{LONGEST}_{{}}"]
    above = [key.format(name) for key in keys for name in names]
    dates = [r.date for r in results]
    environment = Environment(trim_blocks=True, keep_trailing_newline=True)
    return environment.from_string(Path(__file__).with_name("benchmarks.md.j2").read_text()).render(
        dates=" to ".join(dict.fromkeys((min(dates), max(dates)))),
        machine=machine(),
        others=others,
        long=f"{LONG:,}",
        longest=f"{LONGEST:,}",
        encodings=[[name, *(number_text(value.get(key.format(name))) for key in keys)] for name in names],
        sets=[item for item in SETS if any(set_of(r) == item for r in results)],
        contenders=by_set(results),
        evaluations=long_by_set(results),
        rest=[r for r in results if not r.name.startswith(ABOVE) and r.name not in above and not set_of(r)],
    )


def set_of(result: Measurement) -> str:
    """Return the instruction set of a speed; of all else none."""
    return next((item for item in SETS if result.unit == "tokens/s" and result.name.endswith(f"_{item}")), "")


def by_set(results: Sequence[Measurement]) -> list[list[str]]:
    """Each contender with its tokens/s under every set."""
    speeds = {(r.name.removesuffix(f"_{item}"), item): r.value for r in results if (item := set_of(r))}
    measured = [item for item in SETS if any(key[1] == item for key in speeds)]
    names = dict.fromkeys(name for name, _ in speeds)
    return [
        [
            name.removeprefix("train_").replace("_", " "),
            *(number_text(speeds.get((name, item))) for item in measured),
        ]
        for name in names
    ]


def long_by_set(results: Sequence[Measurement]) -> list[list[str]]:
    """Each encoding with its long evaluation under every set, below the sets that were measured."""
    values, key = {r.name: number_text(r.value) for r in results}, f"evaluate_{LONG}_{{}}_vs_causal_{{}}"
    measured = [item for item in SETS if any(key.format(name, item) in values for name in families())]
    rows = [[name, *(values.get(key.format(name, item), "") for item in measured)] for name in families()]
    return [measured, *(row for row in rows if any(row[1:]))] if measured else []


def bench_figure(results: Sequence[Measurement]) -> Figure:
    """Two rows of bars: the step against NoPE, a long evaluation against causal attention."""
    steps = ratios("training step, x NoPE", [r for r in results if r.name.endswith("_vs_nope")], 0)
    longest = [r for r in results if r.name.endswith("_vs_causal")]
    evaluations = ratios(f"evaluation at {LONG:,}, x causal", longest, 1)
    return Figure("benchmarks", {"ratios": combine([*steps, *evaluations], "hconcat", spacing=40)})


def ratios(title: str, results: Sequence[Measurement], start: int) -> list[Spec]:
    """Bars that start at 0, or at 1 on a logarithmic axis; none where there are no results."""
    names = {encoding: r.value for r in results if (encoding := encoding_of(r.name)) in families()}
    rows: list[Row] = [{"encoding": name, "ratio": value} for name, value in names.items()]
    scale = {"type": "log" if start else "linear"}
    return [titled(title, describe("benchmarks", start=start, scale=scale), rows)] if results else []


def number_text(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def encoding_of(name: str) -> str:
    """Return what a result is about, without the rest of its name."""
    parts = "step|evaluate_memory|evaluate|train_rope|compiled_vs|vs"
    ends = "_vs_nope|_vs_causal|_compiled"
    match = re.fullmatch(rf"(?:(?:{parts})_)*(?:{LONG}_|{LONGEST}_)?(.+?)(?:{ends})?", name)
    return match[1] if match else name


def machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    features = ("amx_bf16", "avx512_bf16")
    has = [f for f in features if any(f in line.split() for line in lines if line.startswith("flags"))]
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    name = f"{model[0]} ({', '.join(has) or 'no bf16'}), {len(model)} cores" if model else platform.machine()
    return f"{name}{gpu}; Python {platform.python_version()}, torch {torch.__version__}"
