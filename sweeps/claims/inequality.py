"""The inequalities of claims, as text: `t5@2 < t5@1 < t5@16`, `xpos+window@8 - rope@8 < -0.1`.

A term is a loss, an accuracy or another metric at a multiple of the training length:

    rope@4                        loss under the protocol of the claim
    rope[base=500]@4              trained with this setting instead of the default one
    rope+yarn[factor=8]@4         under an extension
    t5@4:nonoverlapping           under another protocol
    bam@32:needle                 the share of correct answers; `:needle.exact_match` is another metric

Terms may be added, subtracted and multiplied: `0.5*rope@4 - 0.5*rope@1`.
"""

import re
from dataclasses import dataclass, replace

from conf.errors import UsageError

PROBLEMS = ("answers", "needle", "passage", "depth_")  # protocols that score answers
PATTERN = re.compile(
    r"(?:(?P<factor>[\d.]+)\*)?(?P<encoding>[a-z][a-z0-9_]*(?:\[[^\]]+\])?)"
    r"(?:\+(?P<extension>[a-z0-9_+]+(?:\[[^\]]+\])?))?@(?P<times>[\d.]+)"
    r"(?::(?P<protocol>depth_[\d.]{4}|\w+)(?:\.(?P<metric>\w+))?)?"
)


@dataclass(frozen=True)
class Term:
    """The measurement of a method at a multiple of its training length."""

    encoding: str  # with the settings that are not the default ones: rope[base=500]
    extension: str
    times: float
    protocol: str  # empty: that of the claim
    metric: str


Terms = dict[Term, float]


@dataclass(frozen=True)
class Inequality:
    """The statement that a sum of terms is below or above a bound."""

    text: str
    terms: Terms
    bound: float
    is_below: bool

    def under(self, protocol: str) -> "Inequality":
        """Return the inequality with this protocol in every term that names none."""
        terms = {replace(term, protocol=term.protocol or protocol): f for term, f in self.terms.items()}
        return replace(self, terms=terms)


def read_inequalities(text: str) -> list[Inequality]:
    """Return one inequality for each sign of a line. Raise UsageError if it cannot be read."""
    pieces = re.split(r" ([<>]) ", text)
    if len(pieces) < 3:
        raise UsageError(f"'{text}' has no < or > between blanks: write it as rope@4 > rope@1.")
    return [read_inequality(*pieces[n : n + 3]) for n in range(0, len(pieces) - 2, 2)]


def read_inequality(left: str, sign: str, right: str) -> Inequality:
    """Return the inequality with all terms on its left side and the number on its right side."""
    text = f"{left} {sign} {right}"
    (terms, number), (others, bound) = read_sum(left, text), read_sum(right, text)
    if not terms:  # -0.1 < x is x > -0.1
        return replace(read_inequality(right, "<>"[sign == "<"], left), text=text)
    for term, factor in others.items():
        terms[term] = terms.get(term, 0.0) - factor
    return Inequality(text, terms, bound - number, sign == "<")


def read_sum(text: str, whole: str) -> tuple[Terms, float]:
    """Return the terms of a sum with their factors, and its constant."""
    terms: Terms = {}
    number, sign = 0.0, 1.0
    for word in text.split():
        if word in "+-":
            sign = 1.0 if word == "+" else -1.0
        elif match := PATTERN.fullmatch(word):
            protocol = match["protocol"] or ""
            metric = match["metric"] or ("accuracy" if protocol.startswith(PROBLEMS) else "loss")
            extension, times = match["extension"] or "none", float(match["times"])
            term = Term(match["encoding"], extension, times, protocol, metric)
            terms[term] = terms.get(term, 0.0) + sign * float(match["factor"] or 1)
        elif re.fullmatch(r"-?\d*\.?\d+", word):
            number += sign * float(word)
        else:
            raise UsageError(f"'{word}' in '{whole}' is no term: write rope@4, rope+yarn@4 or t5@4:sliding.")
    return terms, number
