"""Where weights start."""


def spread(width: int) -> float:
    """Standard deviation of matrices and embeddings: GPT-2's 0.02 at width 768, 0.55 / sqrt(width) at any."""
    return 0.02 * (768 / width) ** 0.5
