"""What the diagnostics say, in plain sentences."""

from collections.abc import Iterator
from typing import Any

import numpy as np

EVEN = 0.95  # share of the largest entropy from which a head attends to all keys about alike


def sentences(found: dict[str, Any]) -> Iterator[str]:
    """Of `diagnostics.json`."""
    if found["known"]:
        yield of_results(found)
    for variant in found["variants"]:
        yield from of_attention(variant, found)
    for rope in found["rotary"]:
        yield from of_rotary(rope, found)


def of_results(found: dict[str, Any]) -> str:
    """What is to be explained."""
    metric, values = found["known"]["metric"], found["known"]["values"]
    unit = ", nats per token" if metric == "loss" else ""
    shown = [f"{value:.2f} at {size(found, length)}" for length, value in (values[0], values[-1])]
    return f"{found['encoding']}: {metric}{unit}: {', '.join(shown)}."


def of_attention(variant: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """How far and how evenly heads attend, at the training length and at the longest."""
    name = found["encoding"] + ("" if variant["extension"] == "none" else f" + {variant['extension']}")
    lengths, trained = variant["lengths"], variant["lengths"].index(found["trained_length"])
    first, last = size(found, lengths[trained]), size(found, lengths[-1])
    if lengths[-1] < found["lengths"][-1]:
        yield f"{name} is not defined past {last}."
    unseen, keys = np.array(variant["unseen"][-1]), np.mean(variant["keys"][-1])  # (layers, H)
    if keys == 0:
        yield f"{name}: at {last} no query sees a distance that it did not see in training."
    else:
        layer, head = np.unravel_index(unseen.argmax(), unseen.shape)
        most = f"layer {layer + 1}, head {head + 1} has most, {percent(unseen.max())}"
        yield (
            f"{name}: {percent(unseen.mean())} of the attention at {last} goes to distances never seen in "
            f"training, where {percent(keys)} of the keys are; {most}."
        )
    if lengths[-1] == lengths[trained]:
        return
    before, after = (np.array(variant["entropy"][n]) for n in (trained, -1))
    how = "more evenly" if after.mean() > before.mean() else "less evenly"
    even = int((after > EVEN).sum())
    yield (
        f"{name}: heads attend {how} at {last} than at {first}: the entropy of attention is "
        f"{after.mean():.2f} of the most that it can be, from {before.mean():.2f}"
        f"{f'; {even} of {after.size} heads are above {EVEN}' if even else ''}."
    )
    near, far = (half(variant["profile"][n], variant["ends"]) for n in (trained, -1))
    yield (
        f"{name}: half of the attention goes less than {near:,} tokens back at {first}, "
        f"less than {far:,} at {last}."
    )


def half(profile: list[list[list[float]]], ends: list[int]) -> int:
    """The end of the bin of distances in which the attention of all heads reaches a half."""
    total = np.array(profile).mean((0, 1)).cumsum()
    return ends[int(np.searchsorted(total, 0.5))]


def of_rotary(rope: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """Turns that training never showed, and whether the base is large enough."""
    turning, never = rope["turning"], rope["unfinished"]
    where = "" if len(rope["layers"]) == found["depth"] else f" of {layers(rope['layers'])}"
    count = f"{never} of {turning}" if never else f"None of {turning}"
    within = f"within {rope['trained']:,} tokens"
    yield f"{count} rotary pairs{where} never completed a turn in training, {within}."
    longest, bound = rope["spans"][-1], rope["bounds"][-1]
    if bound is None:
        return
    side = "below" if rope["base"] < bound else "above"
    enough = f"; it is enough for {rope['enough_for']:,}" if rope["enough_for"] < longest else ""
    yield (
        f"RoPE's base {rope['base']:,.0f} is {side} the lower bound {rough(bound)} for {longest:,} tokens "
        f"(Men et al., 2024){enough}."
    )


def size(found: dict[str, Any], length: int) -> str:
    """A length as the data count it."""
    return f"{length:,} tokens" if found["in_tokens"] else f"length {length:,}"


def layers(numbers: list[int]) -> str:
    return f"layer{'s' if len(numbers) > 1 else ''} {', '.join(str(n + 1) for n in numbers)}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.005 or share == 0 else "less than 1 %"


def rough(number: float) -> str:
    """To two digits."""
    return f"{float(f'{number:.1e}'):,.0f}"
