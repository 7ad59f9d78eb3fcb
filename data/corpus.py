"""The base of all text: from documents to token ids in a cache."""

from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from conf.errors import UsageError
from data import VERSION
from data.cache import cached
from data.digest import of_file, of_json
from data.documents import Documents
from data.text import Prepared, Text


@dataclass(frozen=True, kw_only=True)
class Corpus(Documents):
    """Documents that become a `Text`."""

    def open(self, vocab: int, cache: Path) -> Text:
        """The token ids, from the cache or built into it."""
        folder = cache / f"{self.name}-{self.key(vocab)}"

        def fill(empty: Path) -> dict[str, Any]:
            from data.build import build  # the tokenizers, which a warm cache does without

            return asdict(build(self, vocab, empty))

        return Text(folder, Prepared(**cached(folder, fill)), self.repeat)

    def key(self, vocab: int) -> str:
        """Twelve hex digits that change with anything that the cached ids depend on."""
        tokenizer = self.tokenizer if self.tokenizer in ("bpe", "bytes") else of_tokenizer(self.tokenizer)
        versions = [VERSION, version("tokenizers")]
        own = {key: value for key, value in asdict(self).items() if key != "repeat"}  # changes no ids
        parts = [versions, type(self).__name__, own, vocab, tokenizer, self.stamp()]
        return of_json(parts)[:12]


def of_tokenizer(tokenizer: str) -> str:
    """The digest of a tokenizer's file."""
    file = Path(tokenizer).expanduser()
    if not file.is_file():
        raise UsageError(
            f"data.tokenizer={tokenizer} is neither bpe nor bytes nor an existing tokenizer.json."
        )
    return of_file(file)
