"""The count of numbers held at a time: few in a CPU's cache, many on a GPU, where small products are slow."""

from torch import Tensor

ON_GPU = 1 << 25  # 128 MB in float32


def budget_of(x: Tensor, on_cpu: int) -> int:
    """Return how many numbers like those of x may be held at a time, beside what is kept for a gradient."""
    return ON_GPU if x.is_cuda else on_cpu
