"""Compare any two methods, extensions, runs or folders on the seeds and documents that they share.

yardstick compare alibi rope at=8x                           methods of outputs/sweeps/encodings
yardstick compare rope+yarn rope+ntk in=outputs/sweeps/mine  extensions, of another sweep
yardstick compare "rope base=500" rope in=outputs/sweeps/a   a method with a setting, in quotes
yardstick compare outputs/runs/a outputs/runs/b              runs; of two folders, every method that both have
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Column
from rich.table import Table as Grid

from conf.errors import UsageError, no_choice
from sweeps import command, is_option
from sweeps.comparison import Comparison, find_method, plain_value, unit
from sweeps.numbers import list_text, number, plural, signed, times, with_interval
from sweeps.read_tables import SEEDS_ONLY, read_tables
from sweeps.results import load_readable
from sweeps.statistics import FEWEST_DOCUMENTS, SIGNIFICANT, comparable_p, estimate, holm, interval
from sweeps.table import HIGHER_IS_BETTER, Table, variant_name
from train.results.rows import ANSWERS

USAGE = (
    "Write: yardstick compare alibi rope at=8x, or two folders; in= names the folder of a sweep. "
    "Write an option once."
)
OPTIONS = {"at": "", "in": "outputs/sweeps/encodings", "metric": "loss", "protocol": ""}
WIDE = 200  # characters of a line in a file, which has no width of its own
OF_TEXT = ("loss", "bits_per_byte")  # metrics; the others are of answers


def read_side(text: str, options: dict[str, str]) -> tuple[Table, dict[str, pd.DataFrame]]:
    """Return what an argument names: a folder, or a method of the sweep in=, such as rope or rope+yarn. These
    are its table, and the scores of its methods by length, seed (rows) and document."""
    if not (is_folder := Path(text).is_dir()) and "/" in text:
        raise UsageError(f"There is no folder {text}.")
    folder = Path(text if is_folder else options["in"])
    place = options["protocol"], options["metric"]
    tables = [t for t in read_tables(load_readable(folder)) if t.has(*place)]
    if len(tables) != 1:
        why = "differ in data or training length" if tables else f"have no {options['metric']} by document"
        raise UsageError(f"The runs in {folder} {why}: name another folder, metric= or protocol=.")
    sample = tables[0].sample(*place)
    variants = {variant_name(*key): key for key in sample.index.droplevel(["length", "seed"]).unique()}
    chosen = [name for name, (_, extension) in variants.items() if extension == "none"]
    if not is_folder:
        method, _, extension = (part.strip() for part in text.partition("+"))
        chosen = [variant_name(str(find_method(method, tables[0].members)), extension or "none")]
        if chosen[0] not in variants:
            known = list_text(sorted(variants), 60)
            raise UsageError(f"There is no '{text}' in {folder}; there are: {known}.")
    return tables[0], {name: sample.loc[variants[name]] for name in chosen}


def pairs(
    first: dict[str, pd.DataFrame], other: dict[str, pd.DataFrame]
) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield the name and the scores of each pair; of two folders, the methods that both have."""
    if len(first) == len(other) == 1:
        ((a, scores),), ((b, others),) = first.items(), other.items()
        less = f"({b})" if " " in b else b
        yield f"{a} − {less}" if a != b else a, scores, others
        return
    for name, scores in first.items():
        if match := find_method(name, other):
            yield name, scores, other[match]


def paired_difference(first: pd.DataFrame, other: pd.DataFrame, windows: pd.Series) -> pd.DataFrame:
    """Return first minus other by length: value, low, high, p, seeds, first and other, the means of both, and
    by_seed, the difference of each.

    Both have scores by length, seed (rows) and document (columns). What only one of them has does not count.
    """
    difference = (first - other).dropna(axis=1, how="all").dropna()
    difference = difference[difference.columns.intersection(windows.index.union([-1]))]
    if difference.empty:
        raise UsageError("They have no seed, no length or no documents in common: evaluate the same ones.")
    weights = windows.reindex(difference.columns).fillna(1.0)
    by_seed = (difference * weights).sum(axis=1) / weights.sum()
    means = {
        name: estimate(part.loc[difference.index, difference.columns], windows)["value"]
        for name, part in (("first", first), ("other", other))
    }
    found = estimate(difference, windows).assign(**means)
    return found.assign(by_seed=by_seed.groupby(level="length").agg(list))


def compare(arguments: Sequence[str]) -> tuple[Grid, str]:
    """Return the table and the sentence of a comparison."""
    given = dict(word.split("=", 1) for word in arguments if is_option(word))
    names = [word for word in arguments if not is_option(word)]
    if unknown := next(iter(given.keys() - OPTIONS.keys()), None):
        raise UsageError(no_choice("option", unknown, OPTIONS))
    if len(names) != 2 or len(given) + 2 < len(arguments):
        raise UsageError(USAGE)
    options = OPTIONS | given
    options["protocol"] = options["protocol"] or ("same_tokens" if options["metric"] in OF_TEXT else ANSWERS)
    tables, samples = zip(*(read_side(name, options) for name in names), strict=True)
    if len({table.targets for table in tables}) > 1:
        lack = "held-out text, training length or longest length, so their scores are of other tokens"
        raise UsageError(f"They differ in {lack}.")
    windows, trained = tables[0].windows, tables[0].trained
    windows = windows[windows == tables[1].windows.reindex(windows.index)]
    every = {name: paired_difference(first, other, windows) for name, first, other in pairs(*samples)}
    if not every:
        raise UsageError(f"{names[0]} and {names[1]} have no method in common.")
    found = at_lengths(pd.concat(every, names=["pair"]), options["at"], trained)
    if len(every) > 1:
        found["p"] = comparable_p(found).groupby(found.index.get_level_values("length")).transform(holm)
    notes = {note for table in tables for note in table.notes if note.endswith(SEEDS_ONLY)}
    lost = "".join(f"\n{note}" for note in sorted(notes))
    heads = ["length", *names, "difference [95 %]", "p (Holm)" if len(every) > 1 else "p", "by seed"]
    columns = [Column("pair"), *(Column(head, justify="right") for head in heads)]
    grid = Grid(*columns, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for (name, length), row in found.iterrows():
        ends, p = with_interval(row), row["p"]
        seeds = ", ".join(signed(value) for value in row["by_seed"])
        cells = [f"{length:,} ({times(int(length), trained)})", number(row["first"]), number(row["other"])]
        grid.add_row(str(name), *cells, ends, "< 0.001" if p < 0.001 else number(p), seeds)
    if len(every) > 1:
        better = found["p"] < SIGNIFICANT
        counted = f"{int(better.sum())} of {plural(len(found), 'line')} are separable from zero"
        return grid, f"{scope_of(options, found.iloc[-1])}. {counted}.{lost}"
    return grid, conclusion(found.iloc[-1], names, options) + lost


def at_lengths(found: pd.DataFrame, at: str, trained: int) -> pd.DataFrame:
    """Return the rows at one length (8x, or 512 tokens), or all of them without one."""
    if not at:
        return found
    try:
        length = float(at.removesuffix("x")) * (trained if at.endswith("x") else 1)
    except ValueError:
        raise UsageError(f"at={at} is no length: write at=8x, or at=512 for tokens.") from None
    lengths = found.index.unique("length")
    if length not in lengths:
        known = list_text([times(int(n), trained) for n in lengths], 9)
        raise UsageError(f"They share no scores at {at}; they share: {known}.")
    return found[found.index.get_level_values("length") == length]


def scope_of(options: dict[str, str], row: "pd.Series[Any]") -> str:
    """Return what was compared, and what its interval is over."""
    is_enough = {"seeds": row["seeds"] > 1, "documents": row["documents"] >= FEWEST_DOCUMENTS}
    over = " and ".join(name for name, enough in is_enough.items() if enough) or "one score"
    return f"{unit(options['metric'])}, under {options['protocol']}; paired over {over}"


def conclusion(row: "pd.Series[Any]", names: Sequence[str], options: dict[str, str]) -> str:
    """Return what one comparison shows."""
    scope = scope_of(options, row)
    if not pd.notna(row["p"]):
        return f"{scope}. There is no interval: it needs two seeds or five documents."
    is_first = (row["value"] < 0) != (options["metric"] in HIGHER_IS_BETTER)
    found = f"At the last line {names[0 if is_first else 1]} is better."
    found = found if row["p"] < SIGNIFICANT else "The last line is not separable from zero."
    luck = " With one seed, another training may differ." if row["seeds"] == 1 else ""
    has_crop = any(name.partition("+")[2].strip() == "crop" for name in names)
    is_early = has_crop and options["protocol"] == "same_tokens"
    fair = " Early tokens raise the loss of a crop: protocol=sliding has a crop without." if is_early else ""
    return f"{scope}. {found}{luck}{fair}"


def all_pairs(comparison: Comparison) -> dict[str, object]:
    """Return the paired differences of any two variants at every length, for a page: names, lengths, means by
    length and seed, and for each pair (n, m > n) value, half the interval and p at each length."""
    lengths, seeds = comparison.lengths, comparison.seeds
    variants = list(comparison.sample.index.droplevel(["length", "seed"]).unique())
    order = {name: place for place, name in enumerate(comparison.names)}
    variants.sort(key=lambda variant: (order.get(variant[0], len(order)), variant[1] != "none", variant[1]))
    index = [(*v, length, seed) for v in variants for length in lengths for seed in seeds]
    shape = len(variants), len(lengths), len(seeds), comparison.sample.shape[1]
    values = comparison.sample.reindex(index).to_numpy().reshape(shape)
    weights = comparison.table.windows.to_numpy() if shape[-1] > 1 else np.ones(1)
    by_seed, found = values @ weights / weights.sum(), []
    for n in range(len(variants) - 1):
        differences = interval(values[n] - values[n + 1 :], weights)
        half = (differences.high - differences.low) / 2
        stacked = np.stack([differences.value, half, differences.p], axis=-1)  # (V - n - 1, T, 3)
        found += [[[plain_value(float(f"{x:.3g}")) for x in row] for row in each] for each in stacked]
    return {
        "names": [variant_name(*variant) for variant in variants],
        "lengths": [f"{length:,} ({times(length, comparison.trained)})" for length in lengths],
        "means": [[[plain_value(x) for x in row] for row in each] for each in by_seed.tolist()],
        "pairs": found,
    }


def main() -> None:
    if not (words := sys.argv[1:]):
        print(__doc__)
        return
    width = None if sys.stdout.isatty() else WIDE
    for part in compare(words):
        Console(highlight=False, width=width).print(part)


if __name__ == "__main__":
    command(main)
