"""Documents of text become token ids, which `data.text.Text` reads."""

from typing import Any

from data.text.prepared import Prepared as Prepared


def __getattr__(name: str) -> Any:
    """Import `Text` on first use: it needs torch, which the id of a run does not."""
    if name != "Text":
        raise AttributeError(f"module 'data.text' has no attribute '{name}'")
    from data.text.tokens import Text

    return Text
