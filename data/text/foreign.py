"""Tokenizers from a tokenizer.json, of any model of the `tokenizers` library."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Encoding
from tokenizers import Tokenizer as Model

from conf.errors import UsageError
from data.text.tokenizer import END, Encoded, Tokenizer

ENDS = (END, "<|end_of_text|>", "</s>", "<eos>", "<EOD>", "[SEP]", "<｜end▁of▁sentence｜>")
MASKS = ("[MASK]", "<mask>", "<|mask|>", "<|mdm_mask|>")


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
        ids = self.model.get_vocab(with_added_tokens=True)
        special = [token["content"] for token in state.get("added_tokens", []) if token.get("special")]
        self.separator = ids[self.end(ids, special, end_token)]
        self.mask_token = next((ids[name] for name in MASKS if name in ids), self.separator)
        self.vocab = max(ids.values()) + 1
        self.unknown = unknown_id(state["model"], ids)
        self.description = f"{file.name} of {self.vocab:,} tokens"

    def end(self, ids: dict[str, int], special: list[str], chosen: str | None) -> str:
        """Return the token that ends a text. Raise UsageError if neither the file nor the user names it."""
        if chosen is not None and chosen not in ids:
            raise UsageError(f"data.end_token={chosen} is not a token of {self.file}.")
        only = special if len(special) == 1 else []
        for name in [chosen] if chosen is not None else [*ENDS, *only]:
            if name in ids:
                return name
        names = f"its special tokens are {', '.join(special)}" if special else "it has no special tokens"
        raise UsageError(
            f"{self.file} has no known token that ends a text; {names}. Name one that no text holds: "
            "data.end_token=..."
        )

    def encode(self, texts: list[str]) -> list[Encoded]:
        try:
            encodings = self.model.encode_batch(texts, add_special_tokens=False)
        except Exception as error:  # the library raises nothing more precise
            raise UsageError(f"{self.file} cannot encode the text: {error}.") from None
        return [self.encoded(text, encoding) for text, encoding in zip(texts, encodings, strict=True)]

    def encoded(self, text: str, encoding: Encoding) -> Encoded:
        spans = encoding.offsets  # (first, last + 1) character of each token
        known = [span for id, span in zip(encoding.ids, spans, strict=True) if id != self.unknown]
        lost = uncovered(text, known)
        spaces = sum(map(str.isspace, lost))
        ends = [end for _, end in spans]
        return Encoded(np.array(encoding.ids, np.uint32), bytes_up_to(text, ends), len(lost) - spaces, spaces)


def unknown_id(model: dict[str, Any], ids: dict[str, int]) -> int | None:
    """Return the id of the unknown token of a model; None if it has none."""
    if model.get("unk_id") is not None:  # of Unigram
        return int(model["unk_id"])
    return ids.get(model.get("unk_token") or "")


def uncovered(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return the characters of a text that no span covers."""
    covered = bytearray(len(text))
    for start, end in spans:
        covered[start:end] = b"\1" * (end - start)
    return [character for character, is_covered in zip(text, covered, strict=True) if not is_covered]


def bytes_up_to(text: str, ends: Sequence[int]) -> np.ndarray:
    """Return the bytes of UTF-8 from the end of one token to the end of the next, (T,)."""
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    sizes = 1 + (codes > 0x7F).astype(np.int64) + (codes > 0x7FF) + (codes > 0xFFFF)
    position = np.append(0, sizes.cumsum())  # in bytes, of each character and of the end
    last = np.maximum.accumulate(np.array(ends, np.int64))  # tokens may go back, as parts of one character
    return np.diff(position[last], prepend=0).astype(np.uint32)
