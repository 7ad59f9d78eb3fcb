"""Retrieval by models that were trained on text alone: a span recurs at the end and is to be continued."""

from dataclasses import dataclass

import torch

from data.passkey import DEPTHS, inserted
from data.source import Problems, Source

NEEDLE, PASSAGE = "needle", "passage"
KINDS = (NEEDLE, PASSAGE)
CUE, ANSWER = 8, 8  # tokens that are repeated, and tokens that must follow
SPAN = CUE + ANSWER


@dataclass(frozen=True)
class Retrieval:
    """Held-out text that ends with the beginning of a span that it has at some depth; the rest must follow.

    The span is a `passage` of the text itself, or a `needle`, a passage of another text put into it. Parts of
    either can be guessed without having seen it: the baseline is crop. Lengths count tokens.
    """

    text: Source
    kind: str

    def problems(self, count: int, length: int) -> Problems:
        """Every text and needle at each depth in turn, so that depths differ in nothing else."""
        room, groups = length + 1 - 2 * SPAN, -(-count // len(DEPTHS))
        if room < SPAN:
            raise ValueError(f"evaluation.retrieval needs {3 * SPAN - 1} tokens at least, not {length}.")
        windows = self.text.windows(groups, length)
        if windows is None:
            raise ValueError("evaluation.retrieval is for data that is text: leave it out.")
        row = torch.arange(count)
        group, depth = row // len(DEPTHS), torch.tensor(DEPTHS)[row % len(DEPTHS)]
        window = group % len(windows.tokens)
        text, start = windows.tokens[window], (depth * room).round().long()[:, None]
        if self.kind == PASSAGE:
            body = text[:, : room + SPAN]
            span = body.gather(1, start + torch.arange(SPAN))
        else:
            span = windows.tokens[(window + 1) % len(windows.tokens), :SPAN]  # of the next text
            body = inserted(text[:, :room], span, start)
        whole = torch.cat([body, span], 1)
        mask = torch.zeros(count, length, dtype=torch.bool)
        mask[:, -ANSWER:] = True
        tokens, targets = whole[:, :-1].contiguous(), whole[:, 1:].contiguous()
        return Problems(tokens, targets, mask, depth, None, windows.document[window])
