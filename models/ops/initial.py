"""The scale of initial weights."""


def spread(width: int) -> float:
    """Standard deviation of matrices and embeddings: 0.55 / sqrt(width), GPT-2's 0.02 at width 768."""
    return 0.02 * (768 / width) ** 0.5
