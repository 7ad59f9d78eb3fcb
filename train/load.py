"""A trained model for use from Python, at any length and under any extension:

from yardstick import load

model = load("outputs/runs/rope-s0-1a2b3c4d", extension="yarn", factor=8)
print(model.generate("def ", tokens=200, temperature=0.8))
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from conf.errors import UsageError
from data.text.documents import clean
from data.text.tokenizer import Bytes, Tokenizer, TokenizerFile
from models.cache import Cache
from models.gpt import GPT
from train.build import build_gpt, extend_gpt
from train.config.schema import Config
from train.config.trained_run import check_model, trained_run
from train.fit.checkpoints import restore


@dataclass(frozen=True)
class TrainedModel:
    """A GPT with its text; `model` alone maps ids (B, T) to logits (B, T, vocab)."""

    model: GPT
    tokenizer: Tokenizer | None  # None: its data are no text
    config: Config

    def encode(self, text: str) -> Tensor:
        """Return token ids (T,). Raise UsageError if the model was not trained on text."""
        if self.tokenizer is None:
            raise UsageError("This model was not trained on text: give ids (B, T) to its `model`.")
        return torch.from_numpy(self.tokenizer.encode([clean(text)])[0].ids.astype(np.int64))

    @torch.no_grad()
    def logits(self, text: str) -> Tensor:
        """Return the logits of the token after each token, (T, vocab) float32."""
        result: Tensor = self.model(self.encode(text)[None])[0]
        return result.float()

    @torch.no_grad()
    def generate(self, prompt: str, tokens: int = 100, temperature: float = 1.0, seed: int = 0) -> str:
        """Return a number of tokens of text after a prompt, the likeliest ones if `temperature` is 0.

        Tokens are read once if the encoding allows it (`is_cacheable`). Raise UsageError if the model cannot
        generate, or is not defined for that length.
        """
        ids, model = self.encode(prompt), self.model
        if not len(ids):
            raise UsageError("The prompt is empty: give at least one token.")
        if not model.causal:
            raise UsageError("This model sees what comes after a token, so it cannot generate.")
        if model.limit is not None and model.context is None and len(ids) + tokens - 1 > model.limit:
            raise UsageError(
                f"This model is defined up to {model.limit} tokens: ask for fewer, or an extension."
            )
        vocab = self.tokenizer.vocab if self.tokenizer else None
        start, draw, cache = len(ids), torch.Generator().manual_seed(seed), Cache(len(model.blocks))
        for _ in range(tokens):
            if model.is_cacheable:
                hidden = model.continue_text(ids[None], cache)  # (1, N, C)
            else:
                hidden = model.hidden(ids[None], first=len(ids) - 1)  # (1, 1, C)
            scores = model.head(hidden[:, -1:])[0, 0, :vocab].float()
            if temperature == 0:
                following = scores.argmax()[None]
            else:
                following = torch.multinomial((scores / temperature).softmax(-1), 1, generator=draw)
            ids = torch.cat([ids, following])
        assert self.tokenizer is not None
        return self.tokenizer.decode(ids[start:].tolist())


def load(folder: str | Path, extension: str = "none", **parameters: Any) -> TrainedModel:
    """Return the model of a finished run, under an extension with these parameters.

    Raise UsageError if the folder is not that of a finished run, its code has changed since, or the extension
    does not fit or needs training first.
    """
    folder = Path(folder)
    about = trained_run(folder)
    config = Config.of(about.settings)
    check_model(about, folder)
    model = build_gpt(config)
    restore(folder / "final.ckpt", model, about.training)
    model = extend_gpt(model, extension, parameters, config.seed)
    return TrainedModel(model.eval(), tokenizer_in(folder, config), config)


def tokenizer_in(folder: Path, config: Config) -> Tokenizer | None:
    """Return the tokenizer of the run's text; None if it was not trained on text."""
    file = folder / "tokenizer.json"
    if file.is_file():
        return TokenizerFile(file, config.data.get("end_token"))
    return Bytes() if config.data.get("tokenizer") == "bytes" else None
