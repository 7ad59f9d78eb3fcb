"""Devices that this machine does not have: a GPU as tensors without values, a processor without x86."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from models.attention import flex


class OneDevice(TorchDispatchMode):
    """No operation may mix devices, which tensors without values let pass; only scalars may."""

    def __torch_dispatch__(self, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        tensors = [x for x in tree_leaves((given, named)) if isinstance(x, Tensor) and x.dim()]
        found = {x.device.type for x in tensors}
        assert len(found) < 2, f"{function} mixes {' and '.join(sorted(found))}"
        return function(*given, **(named or {}))


@contextmanager
def gpu() -> Iterator[None]:
    """Tensors without values pass for a GPU's, so that kernels and operations choose as they do there."""
    on_gpu = property(lambda tensor: tensor.device.type == "meta")
    with (
        patch.object(torch.Tensor, "is_cuda", on_gpu),
        patch.object(flex, "compiled_flex", lambda form: flex_shapes),
    ):
        yield


def flex_shapes(q: Tensor, k: Tensor, v: Tensor, score: Any, seen: Any, scale: float, return_aux: Any) -> Any:
    """What FlexAttention returns, without values; the score is called with all pairs at once."""
    sizes = (*q.shape[:-1], k.size(-2))
    b, h, i, j = torch.meshgrid(*(torch.arange(n, device=q.device) for n in sizes), indexing="ij")
    if score is not None:
        assert score(q @ k.mT, b, h, i, j).shape == sizes
    out = (q @ k.mT) @ v
    return out if return_aux is None else (out, SimpleNamespace(lse=out.float().sum(-1)))


WITHOUT_X86 = """
import platform, sys
platform.machine = lambda: "aarch64"
import torch

def absent(*given):
    raise AssertionError("An ARM processor was asked about x86.")

for name in dir(torch.cpu):
    if name.startswith("_is_"):
        setattr(torch.cpu, name, absent)
torch._C._get_cpu_capability = torch.backends.cpu.get_cpu_capability = lambda: "DEFAULT"
torch.backends.mkl.is_available = torch.backends.mkldnn.is_available = lambda: False
for name in ("intel_extension_for_pytorch", "mkl", "intel_openmp", "cpuinfo"):
    sys.modules[name] = None  # an import of it fails
import runpy
runpy.run_module("train", run_name="__main__", alter_sys=True)
"""
"""A run whose settings are the arguments, on a processor that is not x86 as far as Python can tell."""
