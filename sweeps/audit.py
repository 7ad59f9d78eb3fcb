"""The audit of a checkpoint: what its positions mean, and by measurement what longer context is worth to it.

yardstick audit config.json [--json]
yardstick audit model=<folder, Hub name or .gguf file> [settings of yardstick evaluate]

The first reads a file alone. The second evaluates the checkpoint at 1/16 to 8 times its context, under
extensions and both fair controls, and asks for what stands far back; its first line is the answer.
"""

import sys
from collections.abc import Sequence

import numpy as np
import pandas as pd

from conf.choices import content, files
from sweeps import command
from sweeps.gain import GAINS, LOSES, method_gains
from sweeps.numbers import MISSING, number, times, to_markdown, with_interval
from sweeps.read_tables import read_tables
from sweeps.results import load_sweep
from sweeps.statistics import estimate
from sweeps.table import Table, rows_where
from train.public import audit as static
from train.results.protocols import KEY_TOKENS
from train.results.rows import ANSWERS, DEPTH
from train.results.run_folder import write_whole

DEFAULTS = (
    "evaluation.ladder=[0.0625,0.125,0.25,0.5,1,2,4,8]",
    "evaluation.extensions=[crop,window,pi,ntk,yarn,self_extend,dual_chunk]",
    "evaluation.protocols=[same_tokens,key_tokens]",
    "evaluation.retrieval=needle",
)
COST = ("evaluation.extensions=[]", "evaluation.protocols=[same_tokens]", "evaluation.retrieval=null")
DRAWS = 2000  # of documents, for the interval of a length


def losses_by_length(table: Table, extension: str = "none") -> pd.DataFrame:
    """Return the losses of a checkpoint under an extension, by length, seed (rows) and document (columns)."""
    sample = rows_where(table.sample("same_tokens", "loss"), extension=extension)
    return sample.dropna().droplevel("method").sort_index()


def effective_length(table: Table) -> tuple[int, int, int]:
    """Return the length with the lowest loss, and its 95 % interval over documents, by resampling them."""
    every = losses_by_length(table)
    values, weights = every.to_numpy(), table.windows[every.columns].to_numpy()
    draws = np.random.default_rng(0).integers(len(weights), size=(DRAWS, len(weights)))
    means = (values * weights)[:, draws].sum(-1) / weights[draws].sum(-1)  # (lengths, DRAWS)
    lengths = every.index.get_level_values("length").to_numpy()
    low, high = np.quantile(lengths[means.argmin(0)], [0.025, 0.975], method="nearest")
    return int(lengths[(values @ weights).argmin()]), int(low), int(high)


def first_harm(table: Table, best: int) -> int | None:
    """Return the first length beyond the best one whose loss is higher, with an interval above zero."""
    every = losses_by_length(table)
    longer = every[every.index.get_level_values("length") > best]
    harm = estimate(longer - every.loc[best].to_numpy(), table.windows)
    return next((int(length) for length in harm.index[harm["low"] > 0]), None)


def recommended(table: Table) -> dict[int, pd.Series]:
    """Return the extension with the largest gain over the fair controls at each longer length."""
    found = method_gains(table).droplevel("method")
    return {
        int(n): part.loc[part["value"].idxmax()].rename(str(part["value"].idxmax()[0]))
        for n, part in found.groupby(level="length")
    }


def first_line(table: Table) -> str:
    """Return the first line of the page."""
    best, low, high = effective_length(table)
    harm = first_harm(table, best)
    longest, _ = losses_by_length(table).index[-1]
    where = f"it hurts from {harm:,}" if harm else f"it does not hurt up to {longest:,}"
    parts = [f"{times(n, table.trained)}: {advice(row)}" for n, row in recommended(table).items()]
    first = f"More context lowers the loss up to {best:,} tokens [{low:,}, {high:,}]; {where}."
    return " ".join([first, *([f"{'; '.join(parts)}."] if parts else [])])


def advice(row: pd.Series) -> str:
    """Return what to use at a length, in words."""
    name = "no extension" if row.name == "none" else str(row.name)
    gain = with_interval(row)
    if row["verdict"] == GAINS:
        return f"use {name}, gain {gain}"
    verdict = "loses" if row["verdict"] == LOSES else "gains nothing for certain"
    return f"even the best ({name}, {gain}) {verdict}, so keep to {row['over'].partition(' ')[0]}"


def length_table(table: Table) -> str:
    """Return the loss at each length, its change from the length before, and the loss of key tokens."""
    every = losses_by_length(table)
    steps = estimate(every.diff().iloc[1:], table.windows)
    rows = [[f"{n:,}", number(float(value))] for n, value in estimate(every, table.windows)["value"].items()]
    changes = ["", *(with_interval(row) for _, row in steps.iterrows())]
    of_keys = rows_where(table.value(KEY_TOKENS, "loss"), extension="none").droplevel("method")
    keys = ["" if np.isnan(value) else number(value) for value in of_keys.reindex(every.index)]
    cells = [[*row, text, key] for row, text, key in zip(rows, changes, keys, strict=True)]
    return to_markdown(["tokens", "loss", "change", "loss of key tokens"], cells)


def cost(table: Table, extension: str) -> str:
    """Return by how much an extension raises the loss at the context of the checkpoint."""
    rise = losses_by_length(table, extension) - losses_by_length(table)
    return with_interval(estimate(rise, table.windows).loc[table.trained])


def cost_table(table: Table) -> str:
    """Return the cost of each extension at the context of the checkpoint, and its gain at longer lengths. An
    extension whose factor follows the length changes nothing at the context."""
    found = method_gains(table).droplevel("method")
    lengths = sorted(found.index.unique("length"))
    rows = []
    for name in map(str, found.index.unique("extension")):
        gains = [with_interval(found.loc[(name, n)]) for n in lengths]
        rows.append([name, MISSING if follows_length(table, name) else cost(table, name), *gains])
    heads = ["extension", f"cost at {table.trained:,}", *(f"gain at {n:,}" for n in lengths)]
    return to_markdown(heads, rows)


def follows_length(table: Table, extension: str) -> bool:
    """Return whether the factor of an extension was the evaluated length over the context."""
    facts = table.runs[0].facts
    if extension == facts["settings.names.extension"]:
        return facts.get("settings.extension.factor") == "auto"
    return extension in files("extension") and content("extension", extension).get("factor") == "auto"


def fixed_costs(table: Table, words: Sequence[str]) -> list[str]:
    """Evaluate each recommended extension whose factor follows the length once more at the context, with the
    factor of its target, which a server has at every length; return its cost in sentences."""
    from train.public.evaluate import evaluate_checkpoint, public_config

    sentences = []
    words = [word for word in words if not word.lstrip("+~").startswith("extension")]
    for n, row in recommended(table).items():
        name, factor = str(row.name), n / table.trained
        if row["verdict"] == GAINS and follows_length(table, name):
            fixed = f"extension={name}", f"extension.factor={factor:g}"
            at_context = f"evaluation.lengths=[{table.trained}]", *COST
            folder = evaluate_checkpoint(public_config([*words, *fixed, *at_context]))
            found = cost(table_of_text(read_tables(load_sweep(folder))), name)
            sentences.append(f"{name} with a fixed factor of {factor:g} costs {found} at {table.trained:,}.")
    return sentences


def table_of_text(tables: Sequence[Table]) -> Table:
    """Return the losses among the tables of an evaluation."""
    return next(table for table in tables if not table.is_answers)


def retrieval_table(table: Table) -> str:
    """Return the share of right tokens by length and depth, then by extension."""
    values = table.values.xs("accuracy", level="metric").droplevel(["method", "seed"]).unstack("length")
    rows = []
    for (extension, protocol), row in values.iterrows():
        if protocol == ANSWERS or extension == "none":
            place = "" if protocol == ANSWERS else f", depth {protocol.removeprefix(DEPTH)}"
            rows.append([f"{extension}{place}", *(number(value, 2) for value in row)])
    return to_markdown(["", *(f"{n:,}" for n in values.columns)], rows)


def audit_page(tables: Sequence[Table], fixed: Sequence[str]) -> str:
    """Return the measured part of the page, from the tables of an evaluation and what `fixed_costs` found."""
    text = table_of_text(tables)
    name = text.runs[0].encoding
    documents = f"{len(text.windows)} documents of {text.data}; 95 % intervals over documents."
    parts = [
        f"{name}: {first_line(text)}", documents,
        "Loss of the same last tokens, nats, with more context before them:", length_table(text),
        "A gain is the loss under the better of a sliding window and a sliding crop of the context of the "
        "checkpoint, minus the loss with everything. A cost is the rise of the loss at that context; where "
        "it is missing, the factor follows the length and is 1 there.",
        cost_table(text), *fixed,
    ]  # fmt: skip
    for table in tables:
        if table.is_answers:
            parts += ["Share of the tokens of a span that are named when its beginning recurs:"]
            parts += [retrieval_table(table)]
    return "\n\n".join(parts)


def main() -> int:
    words = sys.argv[1:]
    if not any(word.startswith("model=") for word in words):
        return static.main(words)
    from train.public.checkpoint import configuration  # transformers takes seconds to import
    from train.public.evaluate import evaluate_checkpoint, public_config

    config = public_config([*DEFAULTS, *words])
    folder = evaluate_checkpoint(config)
    tables = read_tables(load_sweep(folder))
    fixed = fixed_costs(table_of_text(tables), [*DEFAULTS, *words])
    facts = static.rotations_of_all(configuration(config.checkpoint))
    text = f"{audit_page(tables, fixed)}\n\n{static.text_of(facts)}"
    write_whole(folder / "audit.md", text + "\n")
    print(f"\n{text}\n\n{folder / 'audit.md'}")
    return 0


if __name__ == "__main__":
    command(main)
