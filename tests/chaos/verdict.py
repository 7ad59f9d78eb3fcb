"""The conditions after a case: the same command line ends well, with the rows of an undisturbed run."""

import re
import shutil
from typing import NamedTuple

from tests.chaos.kinds import Case
from tests.chaos.scenarios import Ended
from train.reproduce import by_key, compare_rows
from train.results.rows import OUT_OF_MEMORY, read_rows

ADVICE = re.compile(r"delete (\S+) and run again")
CLOSE = 1e-6  # of a training that was resumed


class Verdict(NamedTuple):
    """The fault of a case, if any, and whether a sentence named a file to delete first."""

    wrong: str = ""
    was_advised: bool = False
    was_stopped: bool = False


def judge(case: Case, disturbed: list[Ended], killed: bool) -> Verdict:
    wrong = [fault for end in disturbed for fault in faults_of_message(end)]
    left = case.place.orphans()
    if left:
        wrong.append(f"processes {left} outlive the disturbed run")
    if not killed:
        wrong += [f"{file.name} is left in the temporary folder" for file in case.place.temporary.glob("*")]
    was_stopped = any(end.code for end in disturbed)
    if disturbed and not was_stopped:
        wrong += changed_rows(case)  # what ended well is right, whatever happened
    again = repeat_scenario(case)
    advice = ADVICE.search(again.said) if again.code else None
    if advice:
        shutil.rmtree(case.place.folder / advice[1])
        again = repeat_scenario(case)
    if again.code != 0:
        wrong.append(f"the same command ends with {again.code}: {again.said[-1500:]}")
    wrong += [*faults_of_message(again), *changed_rows(case)]
    wrong += [f"{file} is left" for file in case.place.outputs.rglob("*") if ".part" in file.name]
    return Verdict("\n".join(dict.fromkeys(wrong)), advice is not None, was_stopped)


def repeat_scenario(case: Case) -> Ended:
    """Run all command lines of the scenario again, up to the first that fails."""
    for number in range(1, 1 + len(case.lines)):
        end = case.place.end(case.place.begin(case.lines[:number]))
        if end.code != 0:
            break
    return end


def faults_of_message(end: Ended) -> list[str]:
    if end.code is None:
        return [f"it hangs: {end.said[-1500:]}"]
    return [f"a traceback: {end.said[-3000:]}"] if "Traceback" in end.said else []


def changed_rows(case: Case) -> list[str]:
    """Return the rows that differ from those of an undisturbed run."""
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
        if against.unpaired or any(size > CLOSE for size, _ in against.differences.values()):
            wrong.append(f"{name} is different: {' '.join(against.sentences())}")
    return wrong
