"""What the benchmarks should reach, beside what they did."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sweeps.report.methods import families

BIASES = ("bias by distance",)
ROTATIONS = ("rotation and scale of q, k", "window and schedule")
CONTENT = ("shaw", "deberta", "cope", "dape_kerple")
LONG, LONGEST = 8_192, 65_536  # tokens of the evaluations that the page shows
Values = Mapping[str, float]
Pick = Callable[[Values], list[str]]  # the names of the results that a goal is about


@dataclass(frozen=True)
class Goal:
    """The worst of some results should be at least, or at most, so much."""

    what: str
    pick: Pick
    bound: float
    unit: str = "x"
    least: bool = False  # whether the bound is to be reached from below
    why: str = ""  # it is out of reach, where it is known

    def row(self, values: Values) -> str:
        names = [name for name in self.pick(values) if name in values]
        if not names:
            return ""
        worst = (min if self.least else max)(names, key=values.__getitem__)
        value = values[worst]
        reached = value >= self.bound if self.least else value <= self.bound
        goal = f"{'≥' if self.least else '≤'} {self.bound:,g} {self.unit}"
        of = f" ({encoding_of(worst)})" if len(names) > 1 else ""
        verdict = "reached" if reached else f"**not reached**{'. ' * bool(self.why)}{self.why}"
        return f"| {self.what} | {shown(value)} {self.unit}{of} | {goal} | {verdict} |"


def shown(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def encoding_of(name: str) -> str:
    """What a result is about, without the rest of its name."""
    for part in ("step_", "evaluate_memory_", "evaluate_", "train_rope_vs_", f"{LONG}_", f"{LONGEST}_"):
        name = name.removeprefix(part)
    for part in ("_vs_nope", "_vs_causal", "_compiled"):
        name = name.removesuffix(part)
    return name if name in families() else name.replace("_", " ")


def exactly(*names: str) -> Pick:
    return lambda values: list(names)


def of_families(prefix: str, suffix: str, wanted: tuple[str, ...]) -> Pick:
    return lambda values: [
        f"{prefix}{name}{suffix}" for name, family in families().items() if family in wanted
    ]


long_biases = of_families(f"evaluate_{LONG}_", "_vs_causal", BIASES)


def longest_memory(values: Values) -> list[str]:
    return [name for name in values if name.startswith(f"evaluate_memory_{LONGEST}_")]


GOALS = [
    Goal(
        "training, RoPE against compiled peers",
        exactly(
            *(
                f"train_rope_vs_{peer}_compiled"
                for peer in ("transformers_gpt2", "transformers_llama", "x_transformers")
            )
        ),
        1.9,
        least=True,
    ),
    Goal(
        "training, RoPE against transformers",
        exactly("train_rope_vs_transformers_gpt2", "train_rope_vs_transformers_llama"),
        2.0,
        least=True,
    ),
    Goal("training, RoPE against x-transformers", exactly("train_rope_vs_x_transformers"), 2.5, least=True),
    Goal(
        "share of the GEMM peak",
        exactly("gemm_share_rope"),
        0.6,
        unit="",
        least=True,
        why="With AMX the peak is several times that of the processor that this was set on. The products of "
        "a step reach `gemm_share_products` by themselves, with nothing between them",
    ),
    Goal("step of distance biases against NoPE", of_families("step_", "_vs_nope", BIASES), 1.10),
    Goal(
        "step of rotations against NoPE",
        of_families("step_", "_vs_nope", ROTATIONS),
        1.15,
        why="PoPE has twice the features of the others, and a softplus",
    ),
    Goal("step of FoX against NoPE", exactly("step_fox_vs_nope"), 1.15),
    Goal("step of content methods against NoPE", exactly(*(f"step_{name}_vs_nope" for name in CONTENT)), 3.0),
    Goal(
        f"evaluation at {LONG:,}, distance biases against causal flash",
        lambda values: [name for name in long_biases(values) if "fire" not in name],
        1.0,
        why="PyTorch's flash attention with a mask takes 1.3 x of that without",
    ),
    Goal(
        f"evaluation at {LONG:,}, FIRE against causal flash",
        exactly(f"evaluate_{LONG}_fire_vs_causal"),
        1.0,
        why="Its bias depends on the query's place as well: a small network sees every pair",
    ),
    Goal(f"memory of an evaluation at {LONGEST:,}", longest_memory, 4096, unit="MiB"),
    Goal("Lightning against a bare loop", exactly("lightning_vs_loop"), 1.03),
    Goal("start of a job in a sweep", exactly("job_startup_seconds"), 1.0, unit="s"),
    Goal("a sweep against its pure work / cores", exactly("sweep_wall_vs_work"), 1.15),
]


def table(values: Values) -> list[str]:
    """Markdown: every goal that something was measured of."""
    rows = [row for goal in GOALS if (row := goal.row(values))]
    return ["| what | measured (the worst) | goal | |", "|---|---:|---:|---|", *rows, ""] if rows else []
