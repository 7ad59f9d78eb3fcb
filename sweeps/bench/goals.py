"""What the benchmarks should reach (`goals.yml`), beside what they did."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from sweeps.report.methods import families

LONG, LONGEST = 8_192, 65_536  # tokens of the evaluations that the page shows
SETS = ("amx", "avx512_bf16", "avx512", "avx2")  # of instructions, as names of results end


@dataclass(frozen=True)
class Goal:
    """As `goals.yml` describes it."""

    what: str
    results: str
    bound: float
    unit: str = "x"
    least: bool = False
    why: str = ""
    methods: list[str] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    each_set: bool = False  # of instructions as well

    @property
    def names(self) -> list[str]:
        """The results that it is about."""
        every = [name for name, family in families().items() if not self.families or family in self.families]
        methods = [name for name in self.methods or every if name not in self.without]
        names = list(dict.fromkeys(self.results.format(name) for name in methods))
        return names + [f"{name}_{one}" for name in names for one in SETS if self.each_set]

    def row(self, values: Mapping[str, float]) -> str:
        known = {name: values[name] for name in self.names if name in values}
        if not known:
            return ""
        worst = (min if self.least else max)(known, key=known.__getitem__)
        reached = known[worst] >= self.bound if self.least else known[worst] <= self.bound
        goal = f"{'≥' if self.least else '≤'} {self.bound:,g} {self.unit}"
        which = f" ({encoding_of(worst)})" if len(known) > 1 else ""
        verdict = "reached" if reached else f"**not reached**{'. ' * bool(self.why)}{self.why}"
        return f"| {self.what} | {shown(known[worst])} {self.unit}{which} | {goal} | {verdict} |"


GOALS = [Goal(**one) for one in yaml.safe_load(Path(__file__).with_suffix(".yml").read_text())]


def shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def encoding_of(name: str) -> str:
    """What a result is about, without the rest of its name."""
    for one in SETS:
        if name.endswith(f"_vs_causal_{one}"):
            return f"{encoding_of(name.removesuffix(f'_{one}'))}, {one}"
    for part in ("step_", "evaluate_memory_", "evaluate_", "train_rope_", "compiled_vs_", "vs_"):
        name = name.removeprefix(part)
    for length in (LONG, LONGEST):
        name = name.removeprefix(f"{length}_")
    for part in ("_vs_nope", "_vs_causal", "_compiled"):
        name = name.removesuffix(part)
    return name if name in families() else name.replace("_", " ")
