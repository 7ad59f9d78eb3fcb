"""Write `vectors/*.json` from the formulas:  python -m tests.vectors.write"""

import json
import math
import re
from pathlib import Path
from typing import Any

from models.sources import paper_and_link
from tests.vectors.case import RULES, Case, Numbers
from tests.vectors.catalogue import METHODS, Method

FOLDER = Path(__file__).parents[2] / "vectors"
LONGEST_LIST = 64  # numbers of a parameter; of longer ones the rule is given alone
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "bfloat16": 5e-2}


def listed(value: Any) -> Any:
    """Return numbers as JSON has them: minus infinity is the string "-inf"."""
    if isinstance(value, list | tuple):
        return [listed(item) for item in value]
    return "-inf" if value == -math.inf else value


def flat(value: Any) -> list[float]:
    return [number for item in value for number in flat(item)] if isinstance(value, list) else [value]


def shape(value: Any) -> list[int]:
    return [len(value), *shape(value[0])] if isinstance(value, list) else []


def parameter(value: Any) -> dict[str, Any]:
    numbers = flat(value)
    about: dict[str, Any] = {"shape": shape(value)}
    return about | {"values": numbers} if len(numbers) <= LONGEST_LIST else about | {"first": numbers[:4]}


def case_of(method: Method, case: Case) -> dict[str, Any]:
    numbers: Numbers = method.formula(case)
    heads, pairs = range(case.heads), case.pairs
    result: dict[str, Any] = {
        "name": case.name, "length": case.length, "trained_length": case.trained_length, "heads": case.heads,
        "head_width": case.head_width, "causal": case.causal, "settings": dict(case.settings),
    }  # fmt: skip
    rope_parameters = method.rope_parameters(case) if method.rope_parameters else None
    if rope_parameters is not None:
        result["config"] = {
            "head_dim": case.head_width, "max_position_embeddings": case.trained_length,
            "rope_parameters": rope_parameters,
        }  # fmt: skip
    if numbers.parameters:
        result["parameters"] = {name: parameter(value) for name, value in numbers.parameters.items()}
    if numbers.inv_freq is not None:
        result["inv_freq"] = numbers.inv_freq
    if numbers.attention_factor is not None:
        result["attention_factor"] = numbers.attention_factor
    if numbers.inv_freq is not None and numbers.attention_factor is not None and not pairs:
        at = [1, case.trained_length, 4 * case.trained_length - 1]
        result["cos_sin"] = [{"position": p, **waves(numbers, p)} for p in at]
    if numbers.buckets is not None:
        distances = [
            d for d in (-40, -9, -8, -1, 0, 1, 7, 8, 15, 16, 17, 20, 31, 32, 100) if d >= 0 or not case.causal
        ]
        result["buckets"] = {str(d): numbers.buckets(d) for d in distances}
    if numbers.embedding is not None:
        result["embedding"] = [
            {"position": p, "values": numbers.embedding(p)} for p in (0, 1, 17, case.length - 1)
        ]
    if pairs and numbers.logit is not None:
        result["softmax_scale"] = case.head_width**-0.5
        result["q_and_k_of_head_0"] = {"q[1]": case.q(0, 1), "k[1]": case.k(0, 1)}
        result["pairs"] = [list(pair) for pair in pairs]
        if numbers.bias is not None:
            result["bias"] = [[numbers.bias(h, i, j) for h in heads] for i, j in pairs]
        result["logits"] = [[numbers.logit(h, i, j) for h in heads] for i, j in pairs]
    return {key: listed(value) if key in ("bias", "logits") else value for key, value in result.items()}


def waves(numbers: Numbers, position: int) -> dict[str, list[float]]:
    """Return cos and sin of every pair at a position, times the attention factor."""
    angles = [position * f for f in numbers.inv_freq or []]
    factor = numbers.attention_factor or 1.0
    return {"cos": [factor * math.cos(a) for a in angles], "sin": [factor * math.sin(a) for a in angles]}


def contents(method: Method) -> dict[str, Any]:
    """Return what the file of a method holds."""
    paper, link = paper_and_link("extension" if method.is_extension else "encoding", method.name)
    return {
        "format": 1, "method": method.name, "of": "rope" if method.is_extension else "encoding",
        "source": {"paper": paper, "link": link}, "inputs": RULES, "tolerance": TOLERANCE,
        "differs": list(method.differs), "cases": [case_of(method, case) for case in method.cases],
    }  # fmt: skip


def text(method: Method) -> str:
    """Return a file as text: one line for each list of numbers."""
    encoded = json.dumps(contents(method), indent=1, allow_nan=False)
    return (
        re.sub(r"\[\s+([^\[\]{}]+?)\s+\]", lambda numbers: f"[{' '.join(numbers[1].split())}]", encoded)
        + "\n"
    )


if __name__ == "__main__":
    for method in METHODS:
        (FOLDER / f"{method.name}.json").write_text(text(method))
