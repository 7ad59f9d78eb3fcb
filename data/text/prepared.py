"""The record of a folder of token ids."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Prepared:
    """The record of a folder of token ids."""

    name: str
    fingerprint: str  # of all token ids, the ends of held-out documents, and the tokenizer
    description: str
    vocab: int
    dtype: str
    mask_token: int  # in place of a masked token
    warning: str = ""  # what every run on it prints
