"""A simulated GPU: its tensors have shapes but no values, and it counts the memory that they would occupy.

The CPU computes as usual. A number read from the GPU is 1, a truth value is true. Lines that read from the
GPU are recorded, because a program waits there for a real GPU, and so are lines that copy numbers to it.
"""

import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map_only

from models.attention import flex

ATEN = torch.ops.aten
ROOT = Path(__file__).resolve().parents[2]
compile_by_torch, save_by_torch = torch.compile, torch.save


class GPU(TorchDispatchMode):
    """Carry out every operation that involves the GPU."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.tensors = FakeTensorMode(allow_non_fake_inputs=True)
        self.held: weakref.WeakSet[Any] = weakref.WeakSet()  # memory that a tensor has
        self.used = self.peak = 0  # bytes
        self.reads: Counter[str] = Counter()  # by line
        self.copies: Counter[str] = Counter()

    def __torch_dispatch__(self, operation: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        named, leaves = named or {}, tree_leaves((given, named))
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        on_gpu, to = [isinstance(x, FakeTensor) for x in tensors], None
        for device in (x for x in leaves if isinstance(x, torch.device)):
            to = device.type
        if not any(on_gpu) and to != "cuda":
            return operation(*given, **named)
        if torch.is_inference_mode_enabled() and operation.namespace == "aten":
            with self:  # where PyTorch does not take operations apart
                result = operation.decompose(*given, **named)
            if result is not NotImplemented:
                return result
        if operation is ATEN._local_scalar_dense.default:
            self.reads[line()] += 1
            return tensors[0].dtype == torch.bool or torch.ones((), dtype=tensors[0].dtype).item()
        if to == "cpu" or (operation is ATEN.copy_.default and not on_gpu[0]):
            self.reads[line()] += 1
            return torch.zeros(tensors[0].shape, dtype=named.get("dtype") or tensors[0].dtype)
        if operation is ATEN._to_copy.default and not on_gpu[0]:
            self.copies[line()] += 1
            # a conversion would be remembered, and its memory held
            operation, given = torch.empty, (tensors[0].shape,)
            named = {"dtype": named.get("dtype") or tensors[0].dtype, "device": "cuda"}
        with self.tensors:
            return self.hold(operation(*given, **named))

    def hold(self, result: Any) -> Any:
        """Count the memory of tensors until the last reference is gone, in units of 512 bytes."""
        for tensor in (x for x in tree_leaves(result) if isinstance(x, Tensor)):
            memory = tensor.untyped_storage()
            if memory not in self.held:
                size = -(-memory.nbytes() // 512) * 512
                self.held.add(memory)
                self.used += size
                self.peak = max(self.peak, self.used)
                weakref.finalize(memory, self.free, size)
        return result

    def free(self, size: int) -> None:
        self.used -= size

    def compile(self, function: Callable, **options: Any) -> Callable:
        """Trace as `torch.compile` does, with the scores of FlexAttention and their gradients, and stop
        before code for a GPU is written."""
        run = compile_by_torch(function, backend="eager", **options)

        def traced(*given: Any, **named: Any) -> Any:
            with _disable_current_modes(), self.tensors:
                result = run(*given, **named)
            return self.hold(result)

        return traced


def line() -> str:
    """Return the line of this project that is running."""
    frame = sys._getframe()
    while frame.f_back is not None:
        file = Path(frame.f_code.co_filename)
        if file.is_relative_to(ROOT) and "site-packages" not in file.parts and file.parent.name != "gpu":
            return f"{file.relative_to(ROOT)}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return "a backward pass"


def save(state: Any, file: Any) -> None:
    save_by_torch(tree_map_only(FakeTensor, lambda x: torch.zeros(x.shape, dtype=x.dtype), state), file)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float = 1.0,
    enable_gqa: bool = False,
) -> Tensor:
    """Stand in for `scaled_dot_product_attention`, with the kernels that PyTorch chooses on an Ampere GPU or
    newer."""
    if mask is None and q.dtype != torch.float32:
        return ATEN._scaled_dot_product_flash_attention(q, k, v, 0.0, is_causal, False, scale=scale)[0]
    learns = torch.is_grad_enabled()
    return ATEN._scaled_dot_product_efficient_attention(q, k, v, mask, learns, 0.0, is_causal, scale=scale)[0]


def move(self: nn.Module, convert: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
    """Stand in for `Module._apply`, which keeps a shared weight shared on a real GPU."""
    weights: dict[Tensor, nn.Parameter] = {}
    for module in self.modules():
        for name, weight in module._parameters.items():
            if weight is not None:
                if weight not in weights:
                    weights[weight] = nn.Parameter(convert(weight.detach()), weight.requires_grad)
                module._parameters[name] = weights[weight]
        module._buffers.update({name: convert(b) for name, b in module._buffers.items() if b is not None})
    return self


@contextmanager
def fake_gpu() -> Iterator[GPU]:
    """Let PyTorch and Lightning find a GPU on this machine."""
    gpu, nothing = GPU(), lambda *given: None
    of_cuda = {
        "is_available": lambda: True,
        "is_bf16_supported": lambda *given: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_name": lambda *given: "a GPU that computes nothing",
        "get_device_capability": lambda *given: (9, 0),
        "get_device_properties": lambda *given: SimpleNamespace(major=9, minor=0, multi_processor_count=132),
        "max_memory_allocated": lambda: gpu.peak,
        "get_rng_state": lambda *given: torch.zeros(1),
        "get_rng_state_all": list,
    }
    without_effect = (
        "_lazy_init set_device set_rng_state set_rng_state_all reset_peak_memory_stats empty_cache"
    )
    of_cuda |= dict.fromkeys([*without_effect.split(), "synchronize"], nothing)
    patches = [(torch.cuda, name, value) for name, value in of_cuda.items()] + [
        (torch.cuda.amp.common, "amp_definitely_not_available", lambda: False),
        (torch, "compile", gpu.compile),
        (torch, "save", save),
        (nn.functional, "scaled_dot_product_attention", attention),
        (nn.Module, "_apply", move),
        (Tensor, "pin_memory", lambda x, *given: x),
        (FakeTensorMode, "avoid_device_init", True),
    ]
    flex.compiled_flex.cache_clear()
    with ExitStack() as stack:
        for patched in patches:
            stack.enter_context(patch.object(*patched))
        torch._C._set_only_lift_cpu_tensors(True)  # numbers of Python's reach the GPU by a copy
        stack.callback(torch._C._set_only_lift_cpu_tensors, False)
        yield stack.enter_context(gpu)
