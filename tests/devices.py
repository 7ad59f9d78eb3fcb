"""Devices that this machine lacks: tensors without values, a processor other than x86."""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class NoFloat64(TorchDispatchMode):
    """Refuse float64 for tensors without values, as Apple's GPUs do."""

    def __torch_dispatch__(self, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        result = function(*given, **(named or {}))
        for x in tree_leaves(result):
            assert not (isinstance(x, Tensor) and x.is_meta and x.dtype is torch.float64), function
        return result


class OneDevice(TorchDispatchMode):
    """Refuse operations on tensors of two devices, but for scalars: tensors without values allow them."""

    def __torch_dispatch__(self, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        tensors = [x for x in tree_leaves((given, named)) if isinstance(x, Tensor) and x.dim()]
        found = {x.device.type for x in tensors}
        assert len(found) < 2, f"{function} mixes {' and '.join(sorted(found))}"
        return function(*given, **(named or {}))


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
