"""Text to token ids: byte-level BPE trained here, plain bytes, or any tokenizer.json."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer as Model
from tokenizers import decoders, models, pre_tokenizers, trainers

from data.source import VocabularyTooSmallError

END = "<|endoftext|>"
SAMPLE = 32.0  # megabytes of training text that a BPE is trained on
LONG = re.compile(r"\S{1025}|\s{1025}")  # training takes time by the square of the longest word


class Encoded(NamedTuple):
    """The tokens of a text."""

    ids: np.ndarray  # (T,)
    sizes: np.ndarray  # (T,) bytes of the text that each token stands for
    lost: int = 0  # characters that no token stands for, white space apart
    lost_spaces: int = 0  # characters of white space that no token stands for


class Tokenizer:
    """The interface of the tokenizer that `data.tokenizer` names."""

    model: Model | None = None  # of the library
    vocab: int  # every id is below it
    separator: int  # the id after each document
    mask_token: int  # the id in place of a masked token; no document holds it
    description: str

    def encode(self, texts: list[str]) -> list[Encoded]:
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Write tokenizer.json, if there is one."""
        if self.model is not None:
            (folder / "tokenizer.json").write_text(self.model.to_str(), encoding="utf-8")


class Bytes(Tokenizer):
    """Every byte of UTF-8 is a token. 0, which no text contains, separates documents and masks tokens."""

    vocab, separator, mask_token, description = 256, 0, 0, "bytes"

    def encode(self, texts: list[str]) -> list[Encoded]:
        ids = (np.frombuffer(text.encode(), np.uint8) for text in texts)
        return [Encoded(row, np.ones(len(row), np.uint32)) for row in ids]


class ByteLevelBPE(Tokenizer):
    """Byte-level BPE (Radford et al., 2019). It starts with all bytes, so every text has an encoding."""

    model: Model

    def __init__(self, vocab: int, texts: Iterable[str]) -> None:
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        if vocab <= len(alphabet):
            raise VocabularyTooSmallError(
                f"model.vocab={vocab} is too small for data.tokenizer=bpe: it needs at least 257."
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
        if LONG.search(text):
            yield from (text[start : start + 1024] for start in range(0, len(text), 1024))
        else:
            yield text
