"""The base of all text: from documents to token ids in a cache."""

import logging
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conf.errors import UsageError
from data.cache import build_once
from data.code import ROOT, code_digest, foreign_code
from data.digest import of_content, of_json
from data.text.documents import Documents
from data.text.prepared import Prepared

if TYPE_CHECKING:
    from data.text.tokens import Text  # imports torch, which the name of a run does without

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Corpus(Documents):
    """Documents that become a `Text`."""

    def open(self, vocab: int, cache: Path) -> "Text":
        """Return the token ids from the cache, building them first if they are missing."""
        from data.text.tokens import Text

        key = self.key(vocab)
        folder = cache / f"{self.name}-{key}"

        def fill(empty: Path) -> dict[str, Any]:
            from data.text.prepare import prepare  # the tokenizers, which a warm cache does without

            prepared = prepare(self, vocab, empty)
            if self.key(vocab) != key:
                raise UsageError(f"data={self.name} changed while it was read ({self.origin()}): run again.")
            return asdict(prepared)

        prepared = Prepared(**build_once(folder, fill))
        if prepared.warning:
            log.warning("%s", prepared.warning)
        return Text(folder, prepared, self.repeat)

    def key(self, vocab: int) -> str:
        """Return twelve hex digits that change with everything on which the token ids depend."""
        kind, settings = type(self), {k: v for k, v in self.identity().items() if k != "repeat"}
        code = code_digest(
            ROOT / "data/text", *foreign_code({"_target_": f"{kind.__module__}.{kind.__name__}"})
        )
        parts = [version("tokenizers"), code, kind.__name__, settings, vocab]
        return of_json(parts)[:12]

    def identity(self) -> dict[str, Any]:
        """Return the settings, with a digest of its content in place of each file or package."""
        settings = asdict(self) | self.contents()
        if self.tokenizer not in ("bpe", "bytes"):
            file = Path(self.tokenizer).expanduser()
            if not file.is_file():
                raise UsageError(
                    f"data.tokenizer={self.tokenizer} is neither bpe nor bytes nor an existing "
                    "tokenizer.json."
                )
            settings["tokenizer"] = of_content(file)
        return settings
