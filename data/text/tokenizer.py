"""Text to token ids: byte-level BPE trained here, plain bytes, or any tokenizer.json."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Encoding, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Model

from conf.errors import UsageError

END = "<|endoftext|>"
ENDS = (END, "<|end_of_text|>", "</s>", "<eos>", "<EOD>", "[SEP]", "<｜end▁of▁sentence｜>")
MASKS = ("[MASK]", "<mask>", "<|mask|>", "<|mdm_mask|>")
LONG = re.compile(r"\S{1025}|\s{1025}")  # training takes time by the square of the longest word


class Encoded(NamedTuple):
    """The tokens of a text."""

    ids: np.ndarray  # (T,)
    sizes: np.ndarray  # (T,) bytes of the text that each token stands for
    lost: str = ""  # the characters that no token stands for


class Tokenizer:
    """The interface of the tokenizer that `data.tokenizer` names."""

    model: Model | None = None  # of the library
    vocab: int  # every id is below it
    separator: int  # the id after each document
    mask_token: int  # the id in place of a masked token; no document holds it
    description: str

    def encode(self, texts: list[str]) -> list[Encoded]:
        raise NotImplementedError

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids, special tokens included."""
        assert self.model is not None
        return str(self.model.decode(ids, skip_special_tokens=False))


class Bytes(Tokenizer):
    """Every byte of UTF-8 is a token. 0, which no text contains, separates documents and masks tokens."""

    vocab, separator, mask_token, description = 256, 0, 0, "bytes"

    def encode(self, texts: list[str]) -> list[Encoded]:
        ids = (np.frombuffer(text.encode(), np.uint8) for text in texts)
        return [Encoded(row, np.ones(len(row), np.uint32)) for row in ids]

    def decode(self, ids: list[int]) -> str:
        return bytes(ids).decode(errors="replace")


class ByteLevelBPE(Tokenizer):
    """Byte-level BPE (Radford et al., 2019). It starts with all bytes, so every text has an encoding."""

    model: Model

    def __init__(self, vocab: int, texts: Iterable[str]) -> None:
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        if vocab <= len(alphabet):
            raise UsageError(
                f"model.vocab leaves {vocab} ids for data.tokenizer=bpe, which needs 257: raise model.vocab."
            )
        self.model = Model(models.BPE())
        self.model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        self.model.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
        )
        self.model.train_from_iterator(training_texts(texts), trainer)
        self.model.encode_special_tokens = True  # a separator that the text spells out is text
        self.vocab, self.separator, self.mask_token = self.model.get_vocab_size(), 0, 0
        self.description = f"byte-level BPE of {self.vocab:,} tokens"
        tokens = sorted(self.model.get_vocab().items(), key=lambda item: item[1])
        self.sizes = np.array([len(token) for token, _ in tokens], np.uint32)  # a letter stands for a byte

    def encode(self, texts: list[str]) -> list[Encoded]:
        encodings = self.model.encode_batch_fast(texts, add_special_tokens=False)
        rows = (np.array(encoding.ids, np.uint32) for encoding in encodings)
        return [Encoded(ids, self.sizes[ids]) for ids in rows]


def training_texts(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts for training the tokenizer; one with a word of more than 1,024 letters comes in pieces."""
    for text in texts:
        size = 1024 if LONG.search(text) else len(text) or 1
        yield from (text[start : start + size] for start in range(0, len(text), size))


class TokenizerFile(Tokenizer):
    """The tokens of a tokenizer.json, without its post-processor, truncation, padding and dropout."""

    model: Model

    def __init__(self, file: Path, end_token: str | None = None) -> None:
        self.file = file
        try:
            state = json.loads(file.read_text(encoding="utf-8"))
            state |= {"post_processor": None, "truncation": None, "padding": None}
            if "dropout" in state["model"]:
                state["model"]["dropout"] = None
            self.model = Model.from_str(json.dumps(state))
        except BaseException as error:  # the library raises nothing more precise, and may panic in Rust
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise UsageError(f"data.tokenizer={file} is not a tokenizer.json: {error}.") from None
        self.model.encode_special_tokens = True  # a separator that the text spells out is text
        ids = self.model.get_vocab(with_added_tokens=True)
        special = [token["content"] for token in state.get("added_tokens", []) if token.get("special")]
        self.separator = ids[self.end(ids, special, end_token)]
        self.mask_token = next((ids[name] for name in MASKS if name in ids), self.separator)
        self.vocab = max(ids.values()) + 1
        unknown = state["model"].get("unk_id")  # of Unigram
        self.unknown = ids.get(state["model"].get("unk_token"), -1) if unknown is None else unknown
        self.description = f"{file.name} of {self.vocab:,} tokens"

    def end(self, ids: dict[str, int], special: list[str], named: str | None) -> str:
        """Return the token that ends a text. Raise UsageError if neither the file nor the user names it."""
        candidates = (named,) if named is not None else (*ENDS, *(special if len(special) == 1 else ()))
        for name in candidates:
            if name in ids:
                return name
        if named is not None:
            raise UsageError(f"data.end_token={named} is not a token of {self.file}.")
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
        """Return ids, the bytes from the end of a token to that of the next, and the text between tokens."""
        ids, spans = np.array(encoding.ids, np.int64), np.array(encoding.offsets, np.int64).reshape(-1, 2)
        is_lost = np.ones(len(text), bool)
        for first, end in spans[ids != self.unknown]:  # in characters
            is_lost[first:end] = False
        byte = np.cumsum([0, *(len(character.encode()) for character in text)])  # where each character begins
        last = np.maximum.accumulate(spans[:, 1])  # tokens may go back, as parts of one character
        sizes = np.diff(byte[last], prepend=0).astype(np.uint32)
        return Encoded(ids.astype(np.uint32), sizes, "".join(compress(text, is_lost)))


def tokenizer_of(choice: str, vocab: int, end_token: str | None, texts: Iterable[str] = ()) -> Tokenizer:
    """Return the tokenizer that `data.tokenizer` names, trained on `texts` if it is `bpe`."""
    if choice in ("bpe", "bytes") and end_token is not None:
        raise UsageError(f"data.end_token={end_token} is for a tokenizer.json: leave it out.")
    if choice == "bpe":
        return ByteLevelBPE(vocab, texts)
    tokenizer = Bytes() if choice == "bytes" else TokenizerFile(Path(choice).expanduser(), end_token)
    if tokenizer.vocab > vocab:
        raise UsageError(
            f"model.vocab leaves {vocab} ids for {choice}, which has {tokenizer.vocab}: add "
            f"{tokenizer.vocab - vocab} to model.vocab."
        )
    return tokenizer
