"""The panels of a diagnosis: what heads do, and what RoPE's rotations were trained on."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.ticker import PercentFormatter

from sweeps.report.drawing import DASHES
from sweeps.report.methods import COLOURS
from sweeps.report.numbers import tokens
from sweeps.report.sheet import INK, RED, RULE

LABELLED = 32  # heads that have a name each
MARK = "#7FFFD4"


def entropy(axes: Axes, variant: dict[str, Any]) -> None:
    values = np.array(variant["entropy"])  # (lengths, layers, H)
    shown = axes.imshow(values.reshape(len(values), -1).T, aspect="auto", vmin=0, vmax=1, cmap="viridis")
    rows(axes, *values.shape[1:])
    axes.set_ylabel("layer.head" if values[0].size <= LABELLED else "layer", size=9, color=INK)
    scale(axes, shown)
    at_lengths(axes, variant)
    head(axes, "Entropy of attention, share of the largest")


def profile(axes: Axes, found: dict[str, Any], variant: dict[str, Any], place: int) -> None:
    """Shares of attention by distance; a line where those begin that training never showed."""
    every = np.array(variant["profile"])  # (lengths, layers, H, bins)
    ends, shape = np.array(variant["ends"]), every.shape[1:3]
    last = int(np.searchsorted(ends, max(variant["reaches"][place]), side="right")) + 1
    values = every[place].reshape(-1, len(ends))[:, :last]
    shown = axes.imshow(values, aspect="auto", norm=PowerNorm(0.5, 0, every.max()), cmap="magma")
    rows(axes, *shape)
    starts = [0, *ends.tolist()]
    ticks = [n for n in range(last) if starts[n] & (starts[n] - 1) == 0 and starts[n] != 2]
    axes.set_xticks([n - 0.5 for n in ticks], [tokens(starts[n]) for n in ticks], size=8, rotation=45)
    edge = int(np.searchsorted(starts, max(found["reaches"]) + 1))
    if edge < last:
        axes.axvline(edge - 0.5, color=MARK, linewidth=1.4)
        scale(axes, shown)
    head(axes, f"Attention by distance at length {tokens(variant['lengths'][place])}", "tokens back")


def unseen(axes: Axes, variant: dict[str, Any]) -> None:
    """By layer and length, next to the share of the keys that are so far away."""
    values, keys = np.array(variant["unseen"]).mean(-1), np.array(variant["keys"])  # (lengths, layers)
    for layer, line in enumerate(values.T):
        colour = COLOURS[layer % len(COLOURS)]
        axes.plot(line, color=colour, marker="o", markersize=3.2, label=f"layer {layer + 1}")
    axes.plot(keys.mean(-1), color=RULE, linestyle=DASHES, label="keys")
    at_lengths(axes, variant)
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(PercentFormatter(1, 0))
    axes.legend(fontsize=7.5, frameon=False, ncols=1 + len(values.T) // 8)
    plain(axes)
    head(axes, "Attention to distances never seen in training")


def turns(axes: Axes, rope: dict[str, Any]) -> None:
    """How often each pair turned within the longest distance of training."""
    turned = rope["trained"] * np.array(rope["frequencies"]) / (2 * np.pi)
    pairs = np.flatnonzero(turned)
    colours = [RED if turned[pair] < 1 else COLOURS[0] for pair in pairs]
    axes.scatter(pairs, turned[pairs], c=colours, s=22, zorder=3)
    axes.axhline(1, color=INK, linewidth=1, linestyle=DASHES)
    axes.set_yscale("log")
    plain(axes)
    never = f"{rope['unfinished']} of {rope['turning']} pairs never completed one"
    head(axes, f"Turns within {tokens(rope['trained'])} tokens: {never}", "pair of features")


def likeness(axes: Axes, rope: dict[str, Any]) -> None:
    """B(m) of Men et al. over the number of pairs, up to the longest distance that is evaluated."""
    theta, longest = np.array(rope["frequencies"]), max(rope["spans"])
    distance = np.unique(np.geomspace(1, longest, 2000).astype(int))
    axes.plot(distance, np.cos(np.outer(distance, theta)).mean(-1), color=COLOURS[0], linewidth=1.2)
    axes.axhline(0, color=INK, linewidth=1)
    axes.axvline(rope["trained"], color=RULE, linestyle=DASHES, linewidth=1)
    axes.annotate(
        "trained", (rope["trained"], 1), (4, -2), xycoords=("data", "axes fraction"),
        textcoords="offset points", size=8, color=RULE, va="top",
    )  # fmt: skip
    ticks = [2**n for n in range(0, longest.bit_length() + 1, 2) if 2**n <= longest]
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [tokens(tick) for tick in ticks], size=8)
    axes.minorticks_off()
    plain(axes)
    bound = rope["bounds"][-1]
    known = f"; for {tokens(longest)} tokens it takes {float(f'{bound:.1e}'):,.0f}" if bound else ""
    head(axes, f"Likeness B(m) that base {rope['base']:,.0f} keeps{known}", "distance m, tokens")


def rows(axes: Axes, layers: int, heads: int) -> None:
    """Names of heads, or of layers where heads are many; a line between layers."""
    if layers * heads <= LABELLED:
        names = [f"{layer + 1}.{head + 1}" for layer in range(layers) for head in range(heads)]
        axes.set_yticks(range(layers * heads), names, size=7.5)
    else:
        middles = [(layer + 0.5) * heads - 0.5 for layer in range(layers)]
        axes.set_yticks(middles, [str(layer + 1) for layer in range(layers)], size=7.5)
    for layer in range(1, layers):
        axes.axhline(layer * heads - 0.5, color="white", linewidth=1.5)


def at_lengths(axes: Axes, variant: dict[str, Any]) -> None:
    names = [tokens(length) for length in variant["lengths"]]
    axes.set_xticks(range(len(names)), names, size=8, rotation=45)
    axes.set_xlabel("evaluated length", size=9, color=INK)


def scale(axes: Axes, shown: Any) -> None:
    bar = axes.figure.colorbar(shown, ax=axes, shrink=0.8, format=PercentFormatter(1, 0))
    bar.ax.tick_params(labelsize=7.5)


def plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color="#EEEEEE", linewidth=0.8)
    axes.set_axisbelow(True)


def head(axes: Axes, title: str, x: str = "") -> None:
    axes.set_title(title, size=9.5, loc="left", color=INK)
    if x:
        axes.set_xlabel(x, size=9, color=INK)
