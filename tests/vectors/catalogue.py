"""Which methods have vectors, with what settings, from which source, and who publishes other numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.vectors import biases, contents, contextual, rotary, scaled
from tests.vectors.case import LONG, SHORT, Case, Numbers

Formula = Callable[[Case], Numbers]


@dataclass(frozen=True)
class Method:
    """One file of vectors."""

    name: str
    formula: Formula
    cases: tuple[Case, ...]
    is_extension: bool = False
    rope_parameters: Callable[[Case], dict[str, Any] | None] | None = (
        None  # in the vocabulary of transformers
    )
    differs: tuple[str, ...] = ()


def short_and_long(**settings: Any) -> tuple[Case, ...]:
    """Return a case within the training length, one beyond it, and the first once more after the second."""
    lengths = {"within the training length": SHORT, "beyond it": LONG, "within it, after a longer one": SHORT}
    return tuple(Case(name, length, settings) for name, length in lengths.items())


def sized(name: str, trained: int, factor: float, **settings: Any) -> Case:
    """Return a case of a published size, of which the frequencies alone are listed."""
    width, base = settings.pop("head_width", 128), settings.pop("base", 10_000.0)
    settings = {"base": base, **settings}
    return Case(name, round(trained * factor), settings, head_width=width, trained_length=trained)


def published(*names: str) -> tuple[Case, ...]:
    sizes = {
        "Llama 2, 4 times longer": sized("Llama 2, 4 times longer", 4096, 4.0),
        "Llama 3, 8 times longer": sized("Llama 3, 8 times longer", 8192, 8.0, base=500_000.0),
        "gpt-oss, 32 times longer": sized(
            "gpt-oss, 32 times longer", 4096, 32.0, base=150_000.0, head_width=64, truncate=False
        ),
    }
    return tuple(sizes[name] for name in names)


LLAMA = "Llama 2, 4 times longer", "Llama 3, 8 times longer"


def scaling(rope_type: str, **more: Any) -> Callable[[Case], dict[str, Any] | None]:
    def parameters(case: Case) -> dict[str, Any] | None:
        if "ramp" in case.settings or "log_n" in case.settings:
            return None  # has no name there
        given = {key: case.settings[key] for key in ("truncate",) if key in case.settings}
        given |= partial_factor(case)
        theta = case.settings.get("base", 10_000.0)
        length = {"original_max_position_embeddings": case.trained_length}
        length = length if rope_type in ("yarn", "llama3", "longrope") else {}
        return {"rope_type": rope_type, "rope_theta": theta, "factor": case.factor} | length | more | given

    return parameters


def partial_factor(case: Case) -> dict[str, Any]:
    return {"partial_rotary_factor": case.settings["partial"]} if "partial" in case.settings else {}


def dynamic(case: Case) -> dict[str, Any] | None:
    """Return transformers' parameters, whose factor is 1 where the base follows the length alone."""
    theta = case.settings.get("base", 10_000.0)
    return None if "log_n" in case.settings else {"rope_type": "dynamic", "rope_theta": theta, "factor": 1.0}


def trained(name: str, formula: Formula, *more: Case, **settings: Any) -> Method:
    return Method(name, formula, (*short_and_long(**settings)[:2], *more))


def extension(name: str, formula: Formula, *more: Case, **about: Any) -> Method:
    settings = about.pop("settings", {})
    return Method(name, formula, (*short_and_long(**settings), *more), is_extension=True, **about)


TWELVE = Case("twelve heads, no power of two", SHORT, heads=12)
BOTH = Case("keys ahead are visible", SHORT, causal=False)
T5_BOTH = Case("keys ahead are visible", SHORT, {"reach": 32}, causal=False)

PARTIAL = Case("three quarters of the features turn", LONG, {"partial": 0.75})

METHODS = (
    trained("nope", biases.nope),
    trained("alibi", biases.alibi, TWELVE, BOTH),
    trained("alibi_learned", biases.alibi_learned),
    trained("nape", biases.nape),
    trained("hard_alibi", biases.hard_alibi),
    trained("kerple_log", biases.kerple_log),
    trained("kerple_power", biases.kerple_power),
    trained("bam", biases.bam),
    trained("sandwich", biases.sandwich),
    trained("t5", biases.t5, T5_BOTH, reach=32),
    trained("fire", biases.fire),
    trained("shaw", contents.shaw),
    trained("deberta", contents.deberta),
    trained("cope", contents.cope),
    trained("fox", contents.fox),
    trained("carope", contents.carope),
    trained("dape_kerple", contents.dape_kerple),
    trained("stick_breaking", contents.stick_breaking),
    trained("transformer_xl", contextual.transformer_xl),
    trained("selective_rope", contextual.selective_rope, rank=2),
    trained("repo", contextual.repo),
    Method("grape_m", contextual.grape_m, short_and_long()[:2],
           differs=("The authors' code has sigmoid(x / 16) where their text has softplus(x).",)),
    trained("grape_a", contextual.grape_a),
    trained("grape_ap", contextual.grape_ap),
    Method("path", contextual.path, short_and_long(rank=2)[:2],
           differs=("PaTH-FoX in the authors' code scales the gates by 1/sqrt(D); FoX itself does not.",)),
    Method("asentmax", contextual.asentmax, short_and_long()[:2],
           differs=("These logits go through entmax 1.5, not through a softmax.",)),
    trained("sinusoidal", contents.sinusoidal),
    trained("integer", contents.integer),
    Method(
        "rope", rotary.rope,
        (*short_and_long(), Case("features f and f + D/2 are a pair", LONG, {"layout": "half"}),
         Case("half of the features turn", LONG, {"partial": 0.5}), *published(*LLAMA[:1])),
        rope_parameters=lambda case: {
            "rope_type": "default", "rope_theta": case.settings.get("base", 10_000.0),
            "partial_rotary_factor": case.settings.get("partial", 1.0),
        },
        differs=("GPT-J, Meta's Llama and llama.cpp's NORM pair neighbours; GPT-NeoX and transformers pair "
                 "features f and f + D/2. Converted checkpoints permute the rows of the weights.",),
    ),
    Method(
        "p_rope", rotary.p_rope, short_and_long(),
        rope_parameters=lambda case: {
            "rope_type": "proportional", "rope_theta": 10_000.0, "partial_rotary_factor": 0.75,
        },
        differs=("A partial rotary factor has two meanings: the spectrum of a narrower head "
                 "(rope) or the fast part of the whole one (p_rope). At 25 % of 64 features the slowest "
                 "pair turns by 0.00032 or by 0.133 radians a token.",),
    ),
    trained("hope_high_frequency", rotary.high_frequency),
    trained("fm_rope", rotary.fm_rope),
    trained("evq_rope", rotary.evq_rope),
    trained("lerope", rotary.lerope),
    trained("mobius_rope", rotary.mobius_rope),
    trained("rope_2d", rotary.rope_2d),
    trained("rope_bias", rotary.rope_bias),
    trained("window_rope", rotary.window_rope),
    trained("xpos", rotary.xpos),
    trained("pope", rotary.pope),
    trained("scale_invariant", rotary.scale_invariant),
    extension("pi", scaled.pi, *published(*LLAMA), PARTIAL,
              rope_parameters=scaling("linear")),
    extension("ntk", scaled.ntk,
              *published(*LLAMA)),
    extension("dynamic_linear", scaled.dynamic_linear),
    extension(
        "dynamic_ntk", scaled.dynamic_ntk, *published(*LLAMA),
        Case("with logits that grow by log n", LONG, {"log_n": True}),
        rope_parameters=dynamic,
        differs=("vLLM took one base for all lengths until April 2026 (pull request 41277) and made a "
                 "complex one below the trained length (issue 52665).",
                 "mlx-lm's InternLM doubled every position (issue 1545).",
                 "With cached keys, transformers rotates early keys by an older base."),
    ),
    extension("partial_ntk", scaled.partial_ntk,
              *published(*LLAMA)),
    extension(
        "yarn", scaled.yarn, *published(*LLAMA, "gpt-oss, 32 times longer"),
        Case("the ramp runs over turns, as in the paper", LONG, {"ramp": "rotations"}),
        Case("with logits that grow by log n", LONG, {"log_n": True}), PARTIAL,
        rope_parameters=scaling("yarn"),
        differs=("The paper's ramp runs over the turns of a pair; all released code runs it over the index.",
                 "transformers 5.23.0 ignores truncate: false where rope_parameters is nested by layer type.",
                 "llama.cpp assumes mscale = 1 in converted files (pull request 17945)."),
    ),
    extension("ntk_mixed", scaled.ntk_mixed, *published(*LLAMA)),
    extension(
        "llama3", scaled.llama3, *published(*LLAMA), PARTIAL,
        rope_parameters=scaling("llama3", low_freq_factor=1.0, high_freq_factor=4.0),
        differs=("ik_llama.cpp (pull request 2291), mlxcel (issue 1355) and others parsed these settings and "
                 "did not apply them.",),
    ),
    extension(
        "longrope", scaled.longrope,
        Case("divisors are given", LONG, {"factors": [1 + f / 4 for f in range(8)]}), PARTIAL,
        rope_parameters=lambda case: {
            "rope_type": "longrope", "rope_theta": 10_000.0, "factor": case.factor,
            "original_max_position_embeddings": case.trained_length,
            "short_factor": [1.0] * len(scaled.divisors(case)), "long_factor": scaled.divisors(case),
            **partial_factor(case),
        },
        differs=("transformers chooses the divisors by the length of the call, vLLM by the longest possible "
                 "one, llama.cpp by what was allocated.",),
    ),
    extension("mrrope_pro", partial(scaled.mrrope, is_uniform=False), *published(*LLAMA)),
    extension("mrrope_uni", partial(scaled.mrrope, is_uniform=True), *published(*LLAMA)),
    extension("clipped_rope", scaled.clipped_rope, *published(*LLAMA),
              differs=("The authors clip 20 of 64 pairs at base 500,000 and 8,192 tokens.",)),
    extension("resonance", scaled.resonance, *published(*LLAMA)),
    extension("dual_chunk", scaled.dual_chunk,
              differs=("ChunkLlama also sharpens logits, which its paper does not.",)),
    extension("string", scaled.string_shift,
              differs=("The authors' prefill counts the key at the border of both regions twice.",)),
    extension("jet_long", scaled.jet_long),
    extension("rerope", scaled.rerope),
    extension("leaky_rerope", scaled.leaky_rerope,
              settings={"group": 4}),
    extension("self_extend", scaled.self_extend, settings={"group": 4}),
    extension("lm_infinite", scaled.lm_infinite),
    extension("sinks", scaled.sinks),
    extension("window", scaled.window),
    extension("log_n", scaled.log_n),
)  # fmt: skip
BY_NAME = {method.name: method for method in METHODS}
