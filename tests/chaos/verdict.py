"""What must be true after a case: the same command line ends well, with the rows of an undisturbed run."""

import re
import shutil
from pathlib import Path
from typing import NamedTuple

from tests.chaos.case import Case
from tests.chaos.scenarios import Ended
from train.reproduce import by_key, compare_rows
from train.results.rows import OUT_OF_MEMORY, read_rows

ADVICE = re.compile(r"delete (\S+) and run again")
CLOSE = 1e-6  # of a training that was resumed


class Verdict(NamedTuple):
    """Whether a case was survived, after what advice, and if not what is wrong."""

    wrong: str = ""
    advised: bool = False
    codes: tuple[int | None, ...] = ()  # of what was disturbed, and of the same line again
    said: str = ""  # by both


def verdict(case: Case, disturbed: list[Ended], killed: bool) -> Verdict:
    wrong = [fault for ended in disturbed for fault in ill_said(ended)]
    left = case.place.orphans()
    if left:
        wrong.append(f"processes {left} outlive the disturbed run")
    if not killed:
        wrong += [f"{file.name} is left in the temporary folder" for file in case.place.temporary.glob("*")]
    if disturbed and not any(one.code for one in disturbed):
        wrong += different(case)  # what ended well is right, whatever happened
    again, advised = repeated(case)
    if again.code != 0:
        wrong.append(f"the same command ends with {again.code}: {again.said[-1500:]}")
    wrong += [*ill_said(again), *different(case), *left_over(case.place.outputs)]
    ended = [*disturbed, again]
    said = "".join(one.said for one in ended)
    return Verdict("\n".join(dict.fromkeys(wrong)), advised, tuple(one.code for one in ended), said)


def repeated(case: Case) -> tuple[Ended, bool]:
    """All lines of the scenario again; where one says what to delete, that is deleted first, once."""
    ended = carried_out(case)
    found = ADVICE.search(ended.said)
    if not ended.code or not found:
        return ended, False
    shutil.rmtree(case.place.folder / found[1])
    return carried_out(case), True


def carried_out(case: Case) -> Ended:
    """All lines, or up to the first that does not end well."""
    for number in range(len(case.lines)):
        ended = case.place.end(case.place.begin(case.lines, number))
        if ended.code != 0:
            break
    return ended


def ill_said(ended: Ended) -> list[str]:
    if ended.code is None:
        return [f"it hangs: {ended.said[-1500:]}"]
    return [f"a traceback: {ended.said[-3000:]}"] if "Traceback" in ended.said else []


def different(case: Case) -> list[str]:
    """Rows that are not those of an undisturbed run."""
    wrong = []
    for file in sorted(case.of.outputs.rglob("results.jsonl")):
        name = file.relative_to(case.of.outputs)
        found = case.place.outputs / name
        if not found.exists():
            wrong.append(f"there are no rows in {name.parent}")
            continue
        try:
            expected, rows = by_key(read_rows(file)), by_key(read_rows(found))
        except ValueError as error:
            wrong.append(str(error))
            continue
        if any(row.metric == OUT_OF_MEMORY for row in rows.values()):  # what else there is, is right
            rows = {key: row for key, row in rows.items() if row.value is not None and key in expected}
            expected = {key: row for key, row in expected.items() if key in rows}
        against = compare_rows(expected.values(), rows.values(), [])
        if against.unpaired or any(one.absolute > CLOSE for one in against.differences):
            wrong.append(f"{name} is different: {' '.join(against.sentences())}")
    return wrong


def left_over(folder: Path) -> list[str]:
    return [f"{file} is left" for file in folder.rglob("*") if ".part" in file.name]
