"""Budgets of numbers in memory: small in a CPU's cache, large on a GPU, where small products are slow."""

from torch import Tensor

ON_GPU = 1 << 25  # 128 MB in float32


def budget_of(x: Tensor, on_cpu: int, on_gpu: int | None = None) -> int:
    """Return how many numbers of the type of x may be held at a time, besides those kept for a gradient."""
    return (on_gpu or ON_GPU) if x.is_cuda else on_cpu
