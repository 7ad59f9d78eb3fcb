"""Documents of text become token ids, which `Text` reads."""

from typing import Any

__all__ = ["Prepared", "Text"]


def __getattr__(name: str) -> Any:
    """Import `Text` and `Prepared` when they are used: they need torch, which the id of a run does not."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from data.text import tokens

    return getattr(tokens, name)
