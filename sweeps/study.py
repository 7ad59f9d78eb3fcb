"""Tables of the study, as Markdown:  python -m sweeps.study <table> <folder> ...

gain docs/study                        the gain from longer context; several folders: a column for each
copying docs/study/copying             the gain by how far back a target could be copied from
rates docs/study docs/study/rates      the gain of each method at the learning rate that is best for it
agreement docs/study/quick docs/study  what the order of methods in one scale says of their order in the last
power docs/study seeds=5               the smallest differences that a number of seeds can detect
archive outputs/sweeps/study docs/study           add the finished runs of a sweep to an archive
unarchive docs/study outputs/sweeps/study         back to run folders; none is run again
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from conf.errors import UsageError
from sweeps import agreement, command
from sweeps.archive import pack, unpack
from sweeps.comparison import Comparison, unit
from sweeps.copying import copying_gains
from sweeps.gain import gain_samples, gains, judged_gains, over_words
from sweeps.numbers import markdown, number, plural, times, tokens, with_interval
from sweeps.rates import at_best_rates
from sweeps.report import compared
from sweeps.results import load_readable, load_sweep
from sweeps.statistics import SIGNIFICANT, interval, smallest_difference
from sweeps.table import Table, only_table

COUNTS = (2, 3, 5, 8, 12)  # of seeds


def read(folder: str) -> Table:
    """Return the losses of a folder, and print which of its runs cannot be read."""
    return only_table(load_readable(Path(folder)))


def gain_table(folders: Sequence[str], options: dict[str, str]) -> str:
    """Return the loss at the training length and the gain at each longer length; with several folders, the
    gain at `times` (4) times the training length in each, on the seeds and documents that all have."""
    tables = [read(folder) for folder in folders]
    if len(tables) > 1:
        return checkpoint_table(tables, int(options.get("times", "4")))
    (table,) = tables
    comparison = Comparison(table)
    found = plain(comparison.gains)
    lengths = sorted(found.index.unique("length"))
    losses = comparison.means.xs("none", level="extension")
    rows = []
    for name in best_first(found, comparison.halfway, comparison.names):
        home = losses.loc[(name, table.trained)]
        cells = [gain_cell(found, (name, length)) for length in lengths]
        rows.append([f"`{name}`", str(int(home["seeds"])), number(home["value"]), *cells])
    heads = ["method", "seeds", f"loss at {table.trained}", *(times(int(n), table.trained) for n in lengths)]
    return f"{markdown(heads, rows)}\n\nOver {over_words(found)}."


def checkpoint_table(tables: Sequence[Table], multiple: int) -> str:
    """Return the gain after each number of training tokens, for methods in several tables."""
    tables = sorted(tables, key=trained_tokens)
    shared = set.intersection(*map(gains_over, tables))
    samples = [gain_samples(table, shared)[0] for table in tables]
    seeds = set.intersection(*({*sample.index.unique("seed")} for sample in samples))
    documents = [n for n in samples[0].columns if all(n in sample.columns for sample in samples)]
    if not seeds or not documents:
        raise UsageError(
            "These folders have no seed or no documents in common: evaluate the same runs again."
        )
    columns = {}
    for table, sample in zip(tables, samples, strict=True):
        is_here = sample.index.get_level_values("length") == multiple * table.trained
        if not is_here.any():
            raise UsageError(f"No method was scored at {multiple} times the training length.")
        part = sample[is_here & sample.index.get_level_values("seed").isin(seeds)][documents]
        judged = plain(judged_gains(part, table.windows))
        columns[f"{trained_tokens(table) / 1e6:.1f}M tokens"] = judged.droplevel("length")
    names = best_first(
        list(columns.values())[-1], None, sorted({n for part in columns.values() for n in part.index})
    )
    rows = [
        [f"`{name}`", *(gain_cell(part, name) for part in columns.values())]
        for name in names
        if sum(name in part.index for part in columns.values()) > 1
    ]
    return f"{markdown(['method', *columns], rows)}\n\nOver {' and '.join(sorted(shared))}."


def gains_over(table: Table) -> set[str]:
    return {name for over in gain_samples(table)[1] for name in over.split(" and ")}


def copying_table(folders: Sequence[str], options: dict[str, str]) -> str:
    """Return the gain over a window at `times` (4) times the training length: of all targets, then of those
    in each range of distances; after the slash what the range adds to the whole gain."""
    table, multiple = read(folders[0]), int(options.get("times", "4"))
    length = multiple * table.trained
    parts = copying_gains(table, length, [table.trained, length])
    if not parts:
        raise UsageError(f"Nothing was evaluated under copying at {length} tokens: add it to the protocols.")
    found = plain(gains(table, ["window"]))
    rows = []
    for name in best_first(found, length, found.index.unique("method")):
        cells = []
        for part in parts.values():
            value = part.gains["value"].get(name)
            adds = "" if value is None else f" / {with_interval(value * part.share, None, None)}"
            cells.append(gain_cell(part.gains, name) + adds)
        rows.append([f"`{name}`", gain_cell(found, (name, length)), *cells])
    heads = ["method", "all targets", *(f"{label}: {part.share:.0%}" for label, part in parts.items())]
    return f"{markdown(heads, rows)}\n\nOver a sliding window of the training length alone."


def rate_table(folders: Sequence[str], options: dict[str, str]) -> str:
    """Return the rate that is best for each method, its loss at the training length and its gains there; then
    the gains at the first rate, on the same seeds and documents."""
    best, first, rates, table = at_best_rates([read(folder) for folder in folders])
    lengths = sorted(best.index.unique("length"))
    heads = ["method", "best rate", *(times(int(n), table.trained) for n in lengths)]
    heads += [f"{times(int(n), table.trained)}, first rate" for n in lengths]
    rows = [
        [f"`{name}`", rates[name], *(gain_cell(part, (name, n)) for part in (best, first) for n in lengths)]
        for name in best_first(best, lengths[0], sorted(rates))
    ]
    return markdown(heads, rows)


def agreement_table(folders: Sequence[str], options: dict[str, str]) -> str:
    """Return Kendall's tau of each scale with the last: of the gain at `times` (4) times the training length,
    among all methods and among those that gain in the last."""
    *smaller, last = [agreement.Scale(Path(folder).name, read(folder)) for folder in folders]
    if not smaller:
        raise UsageError("Name at least two scales, the one to predict last.")
    multiple = int(options.get("times", "4"))
    return markdown(agreement.HEADS, [agreement.row(scale, last, multiple) for scale in smaller])


def power_table(folders: Sequence[str], options: dict[str, str]) -> str:
    """Return the smallest difference from the reference that a number of seeds detects with 80 % power at
    5 %, Bonferroni-corrected, by length; the median over methods."""
    planned = int(options.get("seeds", "5"))
    if planned < 2:
        raise UsageError(
            f"seeds must be at least 2, not {planned}: one seed shows no variation between seeds."
        )
    return "\n\n".join(
        power_of(comparison, planned)
        for comparison in compared(load_sweep(Path(folders[0])), options.get("reference"))
    )


def power_of(comparison: Comparison, planned: int) -> str:
    """Return the table of one comparison and a sentence on the planned number of seeds."""
    names = [name for name in comparison.names if name != comparison.reference]
    if len(comparison.seeds) < 2 or not names:
        lacks = "one seed" if names else "one method"
        raise UsageError(f"There is {lacks} in {comparison.title}: power needs two seeds of two methods.")
    sample = comparison.plain
    index = [(name, n, seed) for name in names for n in comparison.lengths for seed in comparison.seeds]
    other = [(comparison.reference, n, seed) for _, n, seed in index]
    shape = len(names), len(comparison.lengths), len(comparison.seeds), sample.shape[1]
    values = (sample.reindex(index).to_numpy() - sample.reindex(other).to_numpy()).reshape(shape)
    found = interval(values, comparison.table.windows.to_numpy() if shape[-1] > 1 else None)
    needed = {
        n: np.where(found.seeds > 1, smallest_difference(found, n, len(names)), np.nan)
        for n in sorted({*COUNTS, planned})
    }
    rows = [
        [
            str(n),
            *(number(float(np.nanmedian(column))) if np.isfinite(column).any() else "–" for column in each.T),
        ]
        for n, each in needed.items()
    ]
    last = needed[planned][:, -1]
    end = f"With {plural(planned, 'seed')} at {comparison.at(comparison.longest)}: "
    if np.isfinite(last).any():
        hardest = names[int(np.nanargmax(last))]
        end += f"{number(float(np.nanmedian(last)))}, at worst {number(float(np.nanmax(last)))} ({hardest})."
    else:
        end += "no method besides the reference has two seeds there."
    head = f"{unit(comparison.metric)} under {comparison.protocol}, difference from {comparison.reference}"
    heads = ["seeds", *(tokens(n) for n in comparison.lengths)]
    return f"{markdown(heads, rows)}\n\n{head}. {end}"


def archive(folders: Sequence[str], options: dict[str, str]) -> str:
    source, target = map(Path, folders)
    return f"{pack(source, target)} runs are in {target}."


def unarchive(folders: Sequence[str], options: dict[str, str]) -> str:
    source, target = map(Path, folders)
    return f"{unpack(source, target)} runs are in {target}."


def plain(found: pd.DataFrame) -> pd.DataFrame:
    """Return the gains of methods without extension, by method and length."""
    return found.xs("none", level="extension")


def best_first(found: pd.DataFrame, length: int | None, names: Sequence[str]) -> list[str]:
    """Return names, the largest gain first, and those without a gain last."""
    values = {n: found["value"].get(n if length is None else (n, length), -np.inf) for n in names}
    return sorted(names, key=lambda name: -values[name])


def gain_cell(found: pd.DataFrame, key: object) -> str:
    """Return a gain with its interval, bold if it is separable from zero after Holm's correction."""
    if key not in found.index:
        return ""
    row = found.loc[key]
    text = with_interval(row["value"], row["low"], row["high"])
    return f"**{text}**" if row["p_holm"] < SIGNIFICANT else text


def trained_tokens(table: Table) -> int:
    """Return the number of tokens that the weights were trained on."""
    about = {key.removeprefix("settings."): value for key, value in table.runs[0].facts.items()}
    steps = round((about.get("checkpoint") or 1.0) * about["trainer.max_steps"])
    return int(steps * about["batch"] * about["model.length"])


TABLES: dict[str, tuple[int, Callable[[Sequence[str], dict[str, str]], str]]] = {  # with the fewest folders
    "gain": (1, gain_table),
    "copying": (1, copying_table),
    "rates": (1, rate_table),
    "agreement": (2, agreement_table),
    "power": (1, power_table),
    "archive": (2, archive),
    "unarchive": (2, unarchive),
}


def main() -> None:
    name, *words = sys.argv[1:] or ["--help"]
    if name in ("-h", "--help"):
        print(__doc__)
        return
    folders = [word for word in words if "=" not in word]
    if name not in TABLES or len(folders) < TABLES[name][0]:
        raise UsageError(f"Write: python -m sweeps.study {' | '.join(TABLES)}, then a folder or several.")
    print(TABLES[name][1](folders, dict(word.split("=", 1) for word in words if "=" in word)))


if __name__ == "__main__":
    command(main)
