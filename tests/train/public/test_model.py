"""Checkpoints of transformers under our attention: small random ones of every family."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from conf.errors import UsageError
from models.registry import RECIPE, read
from train.evaluation.losses import token_losses
from train.public.model import PublicModel, public_model
from train.public.rope_parameters import ropes_of

SMALL = {
    "vocab_size": 97, "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
    "intermediate_size": 96, "max_position_embeddings": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
GROUPED = {"num_key_value_heads": 2}
WIDE, NARROW = GROUPED | {"head_dim": 24}, {"sliding_window": 8}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16}
LLAMA3 = YARN | {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "Llama": ("llama", GROUPED),
    "Llama, no groups": ("llama", {}),
    "Llama 3.1": ("llama", GROUPED | {"rope_parameters": LLAMA3}),
    "linear": ("llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}}),
    "YaRN": ("llama", {"rope_parameters": YARN}),
    "YaRN, its own factor": ("llama", {"rope_parameters": YARN | {"attention_factor": 1.3}}),
    "YaRN, two mscales": ("llama", {"rope_parameters": YARN | {"mscale": 0.7, "mscale_all_dim": 1.0}}),
    "Mistral": ("mistral", GROUPED | NARROW),
    "Qwen 2": ("qwen2", GROUPED),
    "Qwen 3": ("qwen3", WIDE),
    "SmolLM 3": ("smollm3", GROUPED),
    "OLMo 2": ("olmo2", GROUPED),
    "OLMo 3": ("olmo3", GROUPED | NARROW),
    "Phi": ("phi", {}),
    "Phi 3": ("phi3", GROUPED),
    "Gemma": ("gemma", WIDE),
    "Gemma 2": ("gemma2", WIDE | NARROW),
    "Gemma 3": ("gemma3_text", WIDE | NARROW),
    "GPT-NeoX": ("gpt_neox", {}),
    "StableLM": ("stablelm", GROUPED),
    "Cohere": ("cohere", GROUPED),
    "GLM": ("glm", GROUPED | {"head_dim": 16}),
    "Granite": ("granite", GROUPED),
    "StarCoder 2": ("starcoder2", GROUPED),
    "gpt-oss": ("gpt_oss", GROUPED | NARROW | EXPERTS | {"head_dim": 16}),
}


def settings_of(extension: str) -> dict[str, Any]:
    return {key: value for key, value in read("extension", extension).items() if key not in RECIPE}


def random_model(kind: str, **settings: Any) -> PreTrainedModel:
    torch.manual_seed(0)
    config = AutoConfig.for_model(kind, **settings)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    for parameter in model.parameters():
        if parameter.ndim >= 2:
            torch.nn.init.normal_(parameter, std=0.15)
    return model


def family(name: str) -> PreTrainedModel:
    kind, settings = FAMILIES[name]
    return random_model(kind, **SMALL | settings)


def under_ours(inner: PreTrainedModel) -> PublicModel:
    return public_model(inner, ropes_of(inner.config.get_text_config().to_dict()))


def tokens(length: int = 40) -> Tensor:
    return torch.randint(0, 97, (2, length), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", FAMILIES)
@torch.no_grad()
def test_logits_are_those_of_transformers(name: str) -> None:
    """They agree past windows, in every layer, with grouped keys, caps, sinks, scales and scalings."""
    inner = family(name).eval()
    expected = inner(input_ids=tokens(), use_cache=False).logits
    found = under_ours(inner)(tokens())
    assert ((found - expected).abs().max() / expected.abs().max()).item() < 1e-5


OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "gptj": (
        {"n_embd": 64, "n_layer": 2, "n_head": 4, "rotary_dim": 8, "n_positions": 64},
        "cannot be replaced",
    ),
    "falcon": (SMALL, "cannot be replaced"),
    "bloom": ({"hidden_size": 64, "n_layer": 2, "n_head": 4}, "no rotary positions"),
    "mpt": ({"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 64}, "no rotary positions"),
    "gpt2": ({"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64}, "no rotary positions"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_cannot_be_reproduced_is_refused(kind: str) -> None:
    settings, sentence = OTHERS[kind]
    with pytest.raises(UsageError, match=sentence):
        under_ours(random_model(kind, **{"vocab_size": 97, **settings}))


@pytest.mark.parametrize(
    "extension", ["pi", "ntk", "dynamic_ntk", "yarn", "rerope", "self_extend", "window", "sinks", "crop"]
)
@torch.no_grad()
def test_extensions(extension: str) -> None:
    """Each extension changes what follows the training length, and little or nothing before it."""
    model = under_ours(family("Llama"))
    other = model.under(extension, settings_of(extension))
    x = tokens(150)
    before, after = token_losses(model, x[:, :-1], x[:, 1:]), token_losses(other, x[:, :-1], x[:, 1:])
    assert after.isfinite().all()
    assert not torch.equal(before, after)
    near = tokens(30)
    exact = extension not in ("rerope", "self_extend")
    agrees = torch.allclose(model(near), other(near), atol=1e-4)
    assert agrees or not exact


@torch.no_grad()
def test_none_is_as_configured_and_plain_is_unscaled() -> None:
    scaled, unscaled = under_ours(family("linear")), under_ours(family("Llama, no groups"))
    x = tokens()
    assert not torch.allclose(scaled(x), unscaled(x), atol=1e-3)
    assert torch.allclose(scaled.under("plain", {"_target_": None})(x), unscaled(x), atol=1e-5)
    pi = unscaled.under("pi", settings_of("pi") | {"factor": 2.0})
    assert torch.allclose(scaled(x), pi(x), atol=1e-5)
    assert torch.allclose(scaled.under("pi", settings_of("pi") | {"factor": 2.0})(x), pi(x), atol=1e-5)


@torch.no_grad()
def test_windows_of_layers_stay_under_an_extension() -> None:
    """A layer of Mistral sees eight keys: a change before them cannot reach a one-layer model's end."""
    kind, settings = FAMILIES["Mistral"]
    model = under_ours(random_model(kind, **SMALL | settings | {"num_hidden_layers": 1}))
    yarn = model.under("yarn", settings_of("yarn"))
    x = tokens(100)
    changed = x.clone()
    changed[:, :92] = (changed[:, :92] + 1) % 97
    assert torch.allclose(yarn(x)[:, -1], yarn(changed)[:, -1], atol=1e-5)
