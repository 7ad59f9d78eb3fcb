"""The base of all text: from documents to token ids in a cache."""

import logging
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from conf.errors import UsageError
from data.cache import Record, build_once
from data.digest import ROOT, code_digest, foreign_code, of_content, of_json
from data.text.documents import Documents

if TYPE_CHECKING:
    from data.text.tokens import Text  # imports torch, which the name of a run does without

log = logging.getLogger(__name__)
LARGEST = 1 << 30  # vocabulary


@dataclass(frozen=True, kw_only=True)
class Corpus(Documents):
    """Documents that become a `Text`."""

    def open(self, vocab: int, cache: Path) -> "Text":
        """Return the token ids from the cache, building them first if they are missing."""
        from data.text.tokens import Prepared, Text

        key = self.key(vocab)

        def fill(folder: Path) -> Record:
            from data.text.prepare import prepare_corpus  # the tokenizers, which a warm cache does without

            prepared = prepare_corpus(self, vocab, folder)
            if self.key(vocab) != key:
                raise UsageError(f"data={self.name} changed while it was read ({self.origin()}): run again.")
            return asdict(prepared)

        folder = cache / f"{self.name}-{key}"
        prepared = Prepared(**build_once(folder, fill))
        if prepared.warning:
            log.warning("%s", prepared.warning)
        return Text(folder, prepared, self.repeat)

    def key(self, vocab: int) -> str:
        """Return twelve hex digits that change with everything on which the token ids depend."""
        settings = {k: v for k, v in self.identity().items() if k != "repeat"}
        code = code_digest(ROOT / "data/text", *foreign_code(settings))
        return of_json([version("tokenizers"), code, settings, vocab])[:12]

    def vocabulary(self) -> int | None:
        from data.text.tokenizer import tokenizer_of

        return (
            None if self.tokenizer == "bpe" else tokenizer_of(self.tokenizer, LARGEST, self.end_token).vocab
        )

    def identity(self) -> dict[str, object]:
        settings = super().identity() | self.contents()
        if self.tokenizer not in ("bpe", "bytes"):
            file = Path(self.tokenizer).expanduser()
            if not file.is_file():
                raise UsageError(
                    f"data.tokenizer={self.tokenizer} is neither bpe nor bytes nor an existing "
                    "tokenizer.json."
                )
            settings["tokenizer"] = of_content(file)
        return settings
