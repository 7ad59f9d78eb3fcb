"""The encodings and extensions give the published numbers of `vectors/`."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from jsonschema import validate
from torch import Tensor

from models.attention import logits
from models.change import base_and_changes
from models.effect import Layer, Positions
from models.encoding import Encoding, members
from models.encodings import extend, load
from models.extensions.frequencies import Frequencies
from tests.tolerance import agree, float64
from tests.vectors.case import Case
from tests.vectors.catalogue import BY_NAME
from tests.vectors.write import FOLDER, text

FILES = sorted(set(FOLDER.glob("*.json")) - {FOLDER / "schema.json"})
PARAMETERS = {  # of a module, in the order of the formula's
    "fire": ["read.weight", "read.bias", "write.weight", "write.bias"],
    "dape_kerple": ["inner.r1", "inner.r2", "read.weight", "read.bias", "write.weight", "write.bias"],
    "fox": ["gate.weight", "gate.bias"],
    "carope": ["frequency.weight"],
    "deberta": ["table", "to_key", "to_query"],
}
CASES = [(file.stem, case) for file in FILES for case in json.loads(file.read_text())["cases"]]


def case_of(about: dict[str, Any]) -> Case:
    keys = ("name", "length", "settings", "heads", "head_width", "trained_length", "causal")
    return Case(**{key: about[key] for key in keys})


def built(name: str, case: Case) -> Encoding:
    """Return the encoding of a case, with the parameters of the formula."""
    shape = {
        "heads": case.heads, "head_width": case.head_width, "width": case.width, "depth": 1,
        "length": case.trained_length,
    }  # fmt: skip
    of_rope = {"base": 10_000.0, "partial": 1.0}
    settings = {key: value for key, value in case.settings.items() if key not in of_rope}
    if BY_NAME[name].is_extension:
        plain = load("rope", **shape, **{key: case.settings.get(key, of_rope[key]) for key in of_rope})
        return extend(name, plain, **settings)
    encoding = load(name, **shape, **dict(case.settings))
    target = members(encoding)[0]
    values = BY_NAME[name].formula(case).parameters
    names = PARAMETERS.get(name) or [key for key, _ in target.named_parameters()]
    with torch.no_grad():
        for key, value in zip(names, values.values(), strict=True):
            scale = case.head_width**-0.5 if name == "t5" else 1.0
            target.get_parameter(key).copy_(scale * torch.tensor(value))
    return target


def listed(values: list[Any]) -> Tensor:
    return torch.tensor([[float(number) for number in row] for row in values])


@pytest.mark.parametrize(
    ("name", "about"), CASES, ids=lambda value: value if isinstance(value, str) else value["name"]
)
def test_numbers(name: str, about: dict[str, Any]) -> None:
    case = case_of(about)
    with float64():
        encoding = built(name, case)
        base, changes = base_and_changes(encoding)
        if changes and isinstance(changes[0], Frequencies):
            extension = changes[0]
            factor = case.factor if extension.factor == "auto" else float(extension.factor)
            found = extension.scaled(base.frequencies(), factor, base.base)
            torch.testing.assert_close(found, torch.tensor(about["inv_freq"]), rtol=1e-9, atol=0)
            assert extension.magnitude(factor) == pytest.approx(about["attention_factor"], rel=1e-9)
        if not {"embedding", "logits"} & {*about}:
            return  # of lengths at which frequencies alone are published
        q, k = (
            torch.tensor([[[f(h, t) for t in range(case.length)] for h in range(case.heads)]])
            for f in (case.q, case.k)
        )
        x = torch.tensor([[case.x(t) for t in range(case.length)]])
        effect = encoding.effect_at(Positions.of(case.length, causal=case.causal), Layer(x, q, k, q))
        if "embedding" in about:
            assert effect.embed is not None
            found = effect.embed(torch.zeros_like(x))[0] / getattr(encoding, "amplitude", 1.0)
            at = [row["position"] for row in about["embedding"]]
            agree(found[at], listed([row["values"] for row in about["embedding"]]))
        if "logits" in about:
            found = logits(q, k, effect)
            found = torch.stack([found[0, :, i, j] for i, j in about["pairs"]])
            agree(found, listed(about["logits"]))


@pytest.mark.parametrize("name", BY_NAME)
def test_files_are_what_the_formulas_give(name: str) -> None:
    assert (FOLDER / f"{name}.json").read_text() == text(BY_NAME[name])


def test_a_short_sequence_after_a_long_one_has_the_numbers_of_before() -> None:
    for name in BY_NAME:
        first, *others = [case for stem, case in CASES if stem == name]
        for case in others:
            if case["name"].endswith("after a longer one"):
                assert {**case, "name": first["name"]} == first
                assert math.isclose(case["length"], first["length"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_schema_describes_each_file(file: Path) -> None:
    validate(json.loads(file.read_text()), json.loads((FOLDER / "schema.json").read_text()))
