"""Weights, gradients and the optimizer's state cut into a piece a process (FSDP), for a model that one device
has no room for. What is written to the disk is whole."""

from lightning.pytorch.strategies import ModelParallelStrategy
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor
from torch.nn.utils.parametrize import register_parametrization

from models.gpt import GPT


class Sharded(ModelParallelStrategy):
    """All processes hold pieces; Lightning's own default would cut tensors within a node instead."""

    def __init__(self) -> None:
        super().__init__(tensor_parallel_size=1, save_distributed_checkpoint=False)

    def _setup_distributed(self) -> None:
        super()._setup_distributed()
        self._data_parallel_size = self.world_size


def shard(model: GPT, mesh: DeviceMesh) -> None:
    """In place; a block is fetched whole where it is used, and let go."""
    for module in list(model.modules()):
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter.ndim == 0:  # which cannot be cut
                register_parametrization(module, name, Number())
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    register_fsdp_forward_method(model, "hidden")  # the loss takes it and the head apart


class Number(nn.Module):
    """A vector of one number in the place of a number."""

    def forward(self, vector: Tensor) -> Tensor:
        return vector.squeeze(0)

    def right_inverse(self, number: Tensor) -> Tensor:
        return number.unsqueeze(0)


def weights(model: nn.Module) -> dict[str, Tensor]:
    """Whole, on the first process; of pieces, all have to ask."""
    if not any(isinstance(parameter, DTensor) for parameter in model.parameters()):
        return model.state_dict()
    pieces = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    numbers = {key for key in pieces if key.endswith(".original")}
    named = {key: key.removesuffix(".original").replace("parametrizations.", "") for key in numbers}
    return {named.get(key, key): value[0] if key in numbers else value for key, value in pieces.items()}
