"""Text -> token ids: byte-level BPE trained here, plain bytes, or any tokenizer.json."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer as Model
from tokenizers import decoders, models, pre_tokenizers, trainers

from conf.errors import UsageError

END = "<|endoftext|>"
ENDS = (END, "<|end_of_text|>", "</s>", "<eos>", "[SEP]")  # its names in other tokenizers
SAMPLE = 32.0  # megabytes of training text that a BPE is trained on


class Bytes:
    """Every byte of UTF-8 is a token; 0, which text does not hold, separates documents."""

    vocab, separator, description = 256, 0, "bytes"

    def encode(self, texts: list[str]) -> list[np.ndarray]:
        return [np.frombuffer(text.encode(), np.uint8) for text in texts]

    def save(self, folder: Path) -> None:
        """There is nothing to keep."""


class Trained:
    """A model of the `tokenizers` library."""

    def __init__(self, model: Model, description: str) -> None:
        model.encode_special_tokens = True  # a separator that the text spells out is text
        model.no_truncation()
        model.no_padding()
        known = model.get_vocab(with_added_tokens=True)
        self.model = model
        self.vocab = max(known.values()) + 1
        self.separator = next((known[end] for end in ENDS if end in known), 0)
        self.description = f"{description} of {self.vocab:,} tokens"

    def encode(self, texts: list[str]) -> list[np.ndarray]:
        encodings = self.model.encode_batch_fast(texts, add_special_tokens=False)
        return [np.array(encoding.ids, np.uint32) for encoding in encodings]

    def save(self, folder: Path) -> None:
        (folder / "tokenizer.json").write_text(self.model.to_str(), encoding="utf-8")


Tokenizer = Bytes | Trained
"""`vocab`: every id is below it; `separator`: the id after each document."""


def make(choice: str, vocab: int, texts: Iterable[str]) -> Tokenizer:
    """The tokenizer that `data.tokenizer` names, trained on `texts` if it is `bpe`."""
    if choice == "bytes":
        if vocab < Bytes.vocab:
            raise UsageError(f"model.vocab={vocab} is too small for data.tokenizer=bytes: it needs 256.")
        return Bytes()
    if choice == "bpe":
        return train(vocab, texts)
    try:
        tokenizer = Trained(Model.from_file(str(Path(choice).expanduser())), Path(choice).name)
    except Exception as error:  # the library raises nothing more precise
        raise UsageError(f"data.tokenizer={choice} is not a tokenizer.json: {error}.") from None
    if tokenizer.vocab > vocab:
        raise UsageError(
            f"model.vocab={vocab} is too small for {choice}, which has {tokenizer.vocab} tokens: "
            f"set model.vocab={tokenizer.vocab}."
        )
    return tokenizer


def train(vocab: int, texts: Iterable[str]) -> Tokenizer:
    """Byte-level BPE (Radford et al., 2019): starts with all bytes, so that every text has an encoding."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    if vocab <= len(alphabet):
        raise UsageError(f"model.vocab={vocab} is too small for data.tokenizer=bpe: it needs at least 257.")
    model = Model(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    model.train_from_iterator(texts, trainer)
    return Trained(model, "byte-level BPE")
