"""transformers' rope functions, held to `vectors/`; what it computes differently is named here."""

import json
from typing import Any

import pytest
import torch
from transformers import PretrainedConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from tests.vectors.write import FOLDER

CASES = [
    (file.stem, case)
    for file in sorted(set(FOLDER.glob("*.json")) - {FOLDER / "schema.json"})
    for case in json.loads(file.read_text())["cases"]
    if case.get("config", {}).get("rope_parameters", {}).get("rope_type") in ROPE_INIT_FUNCTIONS
]
IGNORED = "truncate"  # by transformers 5.23.0 where rope_parameters is nested by layer type


def configured(case: dict[str, Any], layer_type: str | None = None) -> PretrainedConfig:
    """Return the configuration of a case; with a layer type, its rope parameters are nested under it."""
    config = case["config"]
    parameters = config["rope_parameters"]
    heads, head_dim = case["heads"], config["head_dim"]
    return PretrainedConfig(
        head_dim=head_dim,
        hidden_size=heads * head_dim,
        num_attention_heads=heads,
        max_position_embeddings=config["max_position_embeddings"],
        rope_parameters=parameters if layer_type is None else {layer_type: parameters},
        layer_types=None if layer_type is None else [layer_type],
    )


def computed(case: dict[str, Any], layer_type: str | None = None) -> tuple[torch.Tensor, float]:
    function = ROPE_INIT_FUNCTIONS[case["config"]["rope_parameters"]["rope_type"]]
    return function(configured(case, layer_type), "cpu", seq_len=case["length"], layer_type=layer_type)


@pytest.mark.parametrize(
    ("name", "case"), CASES, ids=lambda value: value if isinstance(value, str) else value["name"]
)
def test_frequencies_and_factor(name: str, case: dict[str, Any]) -> None:
    found, factor = computed(case)
    torch.testing.assert_close(found, torch.tensor(case["inv_freq"]), rtol=3e-6, atol=0)
    assert factor == pytest.approx(case["attention_factor"], rel=1e-6)


def test_nested_parameters_lose_truncate() -> None:
    """The one difference: a frequency of gpt-oss' numbers is off by three quarters."""
    different = set()
    for name, case in CASES:
        if name == "yarn":
            found, _ = computed(case, "full_attention")
            ratio = found / torch.tensor(case["inv_freq"])
            if (ratio - 1).abs().max() > 1e-5:
                different.add(case["name"])
                assert case["settings"].get(IGNORED) is False
                assert ratio.max().item() == pytest.approx(1.7627, abs=1e-3)
    assert different == {"gpt-oss, 32 times longer"}
