"""The sentences of a diagnosis."""

from collections.abc import Iterator

import numpy as np

from train.diagnostics.records import Diagnosis, Heads, Rotation, RunResults

UNIFORM = 0.95  # share of the largest entropy from which a head attends to all keys about alike


def sentences(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield sentences that explain the curve of a run."""
    if diagnosis.known:
        yield results_sentence(diagnosis.known, diagnosis)
    for heads in diagnosis.variants:
        yield from of_heads(heads, diagnosis)
    for rotation in diagnosis.rotary:
        yield from of_rotation(rotation, diagnosis)


def results_sentence(known: RunResults, diagnosis: Diagnosis) -> str:
    """Return a sentence on the results that need an explanation."""
    unit = ", nats per token" if known.metric == "loss" else ""
    ends = known.values[0], known.values[-1]
    values = [f"{value:.2f} at {size_text(diagnosis, length)}" for length, value in ends]
    return f"{diagnosis.encoding}: {known.metric}{unit}: {', '.join(values)}."


def of_heads(heads: Heads, diagnosis: Diagnosis) -> Iterator[str]:
    """Yield sentences on how far and how evenly heads attend, at the training length and at the longest."""
    name = diagnosis.encoding + ("" if heads.extension == "none" else f" + {heads.extension}")
    trained = heads.lengths.index(diagnosis.trained_length)
    first, last = size_text(diagnosis, heads.lengths[trained]), size_text(diagnosis, heads.lengths[-1])
    if heads.lengths[-1] < diagnosis.lengths[-1]:
        yield f"{name} is not defined past {last}."
    unseen, keys = np.array(heads.unseen[-1]), np.mean(heads.keys[-1])  # (layers, H)
    if keys == 0:
        yield f"{name}: at {last} no query sees a distance that it did not see in training."
    else:
        layer, head = np.unravel_index(unseen.argmax(), unseen.shape)
        yield (
            f"{name}: {percent(unseen.mean())} of the attention at {last} goes to distances never seen in "
            f"training, where {percent(float(keys))} of the keys are; layer {layer + 1}, head {head + 1} has "
            f"the largest share, {percent(unseen.max())}."
        )
    if heads.lengths[-1] == heads.lengths[trained]:
        return
    before, after = np.array(heads.entropy[trained]), np.array(heads.entropy[-1])
    comparison = "more evenly" if after.mean() > before.mean() else "less evenly"
    uniform = int((after > UNIFORM).sum())
    yield (
        f"{name}: heads attend {comparison} at {last} than at {first}: the entropy of attention is "
        f"{after.mean():.2f} of its maximum, from {before.mean():.2f}"
        f"{f'; {uniform} of {after.size} heads are above {UNIFORM}' if uniform else ''}."
    )
    near, far = (half_sentence(heads.profile[n], heads.ends) for n in (trained, -1))
    yield (
        f"{name}: half of the attention goes less than {near:,} tokens back at {first}, "
        f"less than {far:,} at {last}."
    )


def half_sentence(profile: list[list[list[float]]], ends: list[int]) -> int:
    """Return the end of the distance bin at which the attention of all heads adds up to a half."""
    total = np.array(profile).mean((0, 1)).cumsum()
    return ends[int(np.searchsorted(total, 0.5))]


def of_rotation(rotation: Rotation, diagnosis: Diagnosis) -> Iterator[str]:
    """Yield sentences on angles that training never used, and on whether the base is large enough."""
    where = "" if len(rotation.layers) == diagnosis.depth else f" of {layers_text(rotation.layers)}"
    count = f"{rotation.unfinished or 'None'} of {rotation.rotating} rotary pairs{where}"
    yield f"{count} never completed a rotation in training, within {rotation.trained:,} tokens."
    longest, bound = rotation.spans[-1], rotation.bounds[-1]
    if bound is None:
        return
    side = "below" if rotation.base < bound else "above"
    enough = f"; it is enough for {rotation.enough_for:,}" if rotation.enough_for < longest else ""
    yield (
        f"RoPE's base {rotation.base:,.0f} is {side} the lower bound {two_digits(bound)} "
        f"for {longest:,} tokens (Men et al., 2024){enough}."
    )


def size_text(diagnosis: Diagnosis, length: int) -> str:
    """Return a length in the unit of the data."""
    return f"{length:,} tokens" if diagnosis.in_tokens else f"length {length:,}"


def layers_text(numbers: list[int]) -> str:
    return f"layer{'s' if len(numbers) > 1 else ''} {', '.join(str(n + 1) for n in numbers)}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.005 or share == 0 else "less than 1 %"


def two_digits(number: float) -> str:
    """Round to two digits."""
    return f"{float(f'{number:.1e}'):,.0f}"
