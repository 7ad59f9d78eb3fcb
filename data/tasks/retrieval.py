"""Retrieval by models that were trained on text alone: a span recurs at the end and is to be continued."""

from dataclasses import dataclass

import torch

from conf.errors import UsageError
from data.source import Problems, Source
from data.tasks.passkey import answer_targets, at_each_depth, insert

NEEDLE, PASSAGE = "needle", "passage"
KINDS = (NEEDLE, PASSAGE)
CUE, ANSWER = 8, 8  # tokens that are repeated, and tokens that must follow
SPAN = CUE + ANSWER


@dataclass(frozen=True)
class Retrieval:
    """Held-out text that ends with the first half of a span from further up; the second half must follow.

    The span is a `passage` of the text itself, or a `needle`: a passage of another text, inserted into it.
    Some of either can be guessed without having seen it: the baseline is crop. Lengths count tokens.
    """

    text: Source
    kind: str

    def problems(self, count: int, length: int) -> Problems:
        room = length + 1 - 2 * SPAN
        if room < SPAN:
            raise UsageError(f"evaluation.retrieval needs at least {3 * SPAN - 1} tokens, not {length}.")
        group, depth = at_each_depth(count)
        windows = self.text.windows(int(group[-1]) + 1, length)
        if windows is None:
            raise UsageError("evaluation.retrieval needs data that is text: leave it out for a task.")
        window = group % len(windows.tokens)
        text, start = windows.tokens[window], (depth * room).round().long()[:, None]
        if self.kind == PASSAGE:
            body = text[:, : room + SPAN]
            span = body.gather(1, start + torch.arange(SPAN))
        else:
            span = windows.tokens[(window + 1) % len(windows.tokens), :SPAN]  # of the next text
            body = insert(text[:, :room], span, start)
        return Problems(*answer_targets(body, span, ANSWER), depth, None, windows.document[window])
