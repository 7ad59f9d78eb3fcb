"""Documents of text to token ids; `data.text.Text` is what they become."""

from typing import Any

from data.text.prepared import Prepared as Prepared


def __getattr__(name: str) -> Any:
    """Import `Text` when it is asked for, with torch, which the id of a run does without."""
    if name != "Text":
        raise AttributeError(f"module 'data.text' has no attribute '{name}'")
    from data.text.tokens import Text

    return Text
