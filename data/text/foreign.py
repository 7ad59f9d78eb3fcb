"""Tokenizers from a tokenizer.json, of any model of the `tokenizers` library."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Encoding
from tokenizers import Tokenizer as Model

from conf.errors import UsageError
from data.text.interrupt import run_in_thread
from data.text.tokenizer import END, Encoded, Tokenizer

ENDS = (END, "<|end_of_text|>", "</s>", "<eos>", "[SEP]")
MASKS = ("[MASK]", "<mask>", "<|mask|>", "<|mdm_mask|>")
LIKE_END = re.compile(r"end.?of.?(text|sentence|document|sequence)|\beos\b|\beod\b", re.IGNORECASE)


class ForeignTokenizer(Tokenizer):
    """The tokens of a file. Its post-processor, truncation, padding and dropout do not apply to a corpus."""

    model: Model

    def __init__(self, file: Path, end_token: str | None = None) -> None:
        self.file = file
        try:
            state = json.loads(file.read_text(encoding="utf-8"))
            state |= {"post_processor": None, "truncation": None, "padding": None}
            if "dropout" in state["model"]:
                state["model"]["dropout"] = None
            self.model = Model.from_str(json.dumps(state))
        except Exception as error:  # the library raises nothing more precise
            raise UsageError(f"data.tokenizer={file} is not a tokenizer.json: {error}.") from None
        self.model.encode_special_tokens = True  # a separator that the text spells out is text
        known = self.model.get_vocab(with_added_tokens=True)
        special = [token["content"] for token in state.get("added_tokens", []) if token.get("special")]
        self.separator = self.end(known, special, end_token)
        self.mask_token = next((known[name] for name in MASKS if name in known), self.separator)
        self.vocab = max(known.values()) + 1
        self.unknown = unknown(state["model"], known)
        self.description = f"{file.name} of {self.vocab:,} tokens"

    def end(self, known: dict[str, int], special: list[str], chosen: str | None) -> int:
        """Return the id of the token that ends a text. Raise UsageError if neither the file nor the user
        names it."""
        if chosen is not None:
            if chosen not in known:
                raise UsageError(f"data.end_token={chosen} is not a token of {self.file}.")
            return known[chosen]
        likely = [name for name in special if LIKE_END.search(name.replace("▁", "_"))]
        names = [*ENDS, *likely, *(special if len(special) == 1 else [])]
        for name in names:
            if name in known:
                return known[name]
        candidates = f"its special tokens are {', '.join(special)}" if special else "it has no special tokens"
        raise UsageError(
            f"{self.file} does not say which token ends a text; {candidates}. Name one that no text holds: "
            "data.end_token=..."
        )

    def encode(self, texts: list[str]) -> list[Encoded]:
        try:
            encodings = run_in_thread(self.model.encode_batch, texts, add_special_tokens=False)
        except Exception as error:  # the library raises nothing more precise
            raise UsageError(f"{self.file} cannot encode the text: {error}.") from None
        return [self.encoded(text, encoding) for text, encoding in zip(texts, encodings, strict=True)]

    def encoded(self, text: str, encoding: Encoding) -> Encoded:
        """Return ids with sizes: a token covers all bytes after the one before it, up to its own end."""
        ids = np.array(encoding.ids, np.uint32)
        offsets = np.array(encoding.offsets, np.int64).reshape(-1, 2)  # (T, 2) characters
        letters = np.array([not letter.isspace() for letter in text], bool)
        known = offsets if self.unknown is None else offsets[ids != self.unknown]
        steps = np.zeros(len(text) + 1, np.int64)
        np.add.at(steps, known[:, 0], 1)
        np.add.at(steps, known[:, 1], -1)
        is_covered = steps.cumsum()[:-1] > 0
        ends = np.maximum.accumulate(offsets[:, 1]) if len(ids) else offsets[:, 1]
        sizes = np.diff(byte_positions(text)[ends], prepend=0).astype(np.uint32)
        return Encoded(ids, sizes, int((letters & ~is_covered).sum()))


def unknown(model: dict[str, Any], known: dict[str, int]) -> int | None:
    """Return the id of the unknown token of a model; None if it has none."""
    if model.get("unk_id") is not None:  # of Unigram
        return int(model["unk_id"])
    return known.get(model.get("unk_token") or "")


def byte_positions(text: str) -> np.ndarray:
    """Return the byte of UTF-8 at which each character begins, and the end, (T + 1,)."""
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    sizes = 1 + (codes > 0x7F).astype(np.int64) + (codes > 0x7FF) + (codes > 0xFFFF)
    return np.concatenate([[0], sizes.cumsum()])
