"""Low-rank adapters (Hu et al., 2021, https://arxiv.org/abs/2106.09685), to train a checkpoint further.

The weights of the checkpoint stay as they are: each matrix has the product of two narrow ones added to it.
"""

from copy import deepcopy
from typing import Any

import torch
from torch import nn

from train.public.model import PublicModel

RANK = 16


def with_adapters(model: PublicModel, seed: int) -> PublicModel:
    """Return a copy of a checkpoint whose adapters alone are trained, and make up its state."""
    from peft import LoraConfig, get_peft_model  # takes seconds to import

    other = deepcopy(model)
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        adapters = LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules="all-linear")
        get_peft_model(other.inner, adapters)  # which changes its layers in place
    other.register_state_dict_post_hook(drop_frozen)
    other.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    return other


def drop_frozen(module: nn.Module, state: dict[str, Any], prefix: str, _: object) -> None:
    """Delete the weights that are not trained from a state."""
    for name, parameter in module.named_parameters(remove_duplicate=False):
        if not parameter.requires_grad:
            del state[prefix + name]
