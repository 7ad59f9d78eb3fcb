"""Decide claims of the literature: python -m sweeps.claims [e1 q4 ...]

Without names, compute all verdicts from the rows in docs/study and write docs/claims.md and docs/claims.json.
With names, print their verdicts; --run first trains what the claims lack, and archives its rows in
docs/study/claims.
"""

import argparse
import shlex
import subprocess
import sys

from conf.errors import UsageError
from sweeps import command
from sweeps.archive import pack
from sweeps.claims.claim import load_claims, trainings
from sweeps.claims.evidence import STUDY, load_settings
from sweeps.claims.page import claims_json, claims_page
from sweeps.claims.verdict import decide
from train.paths import ROOT
from train.results.about import commit
from train.results.run_folder import write_whole

PAGE, DATA = ROOT / "docs/claims.md", ROOT / "docs/claims.json"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m sweeps.claims", description=__doc__)
    parser.add_argument("claims", nargs="*", help="such as e1; none: all")
    parser.add_argument("--run", action="store_true", help="train what is missing")
    options = parser.parse_args()
    claims = load_claims(options.claims)
    if options.run:
        if not options.claims:
            raise UsageError("RUN=true needs CLAIM=<id>: training for all claims at once takes hours.")
        train_missing({name for claim in claims.values() for name in claim.trains})
    settings = load_settings()
    judgements = {id: decide(claim, settings) for id, claim in claims.items()}
    if options.claims:
        print(claims_json(judgements), end="")
        return
    write_whole(PAGE, claims_page(judgements, settings))
    write_whole(DATA, claims_json(judgements))
    print(f"{len(judgements)} claims: {PAGE.relative_to(ROOT)} and {DATA.relative_to(ROOT)}.")


def train_missing(names: set[str]) -> None:
    """Run trainings and archive their rows. A training is archived once all its runs have ended, and then not
    repeated; an interrupted one resumes. Raise UsageError if code is not committed."""
    if commit().endswith("+"):
        raise UsageError("Commit your changes first: docs/study holds rows of committed code alone.")
    for name in sorted(name for name in names if not (STUDY / "claims" / name).is_dir()):
        folder = ROOT / "outputs/sweeps/claims" / name
        line = f"--multirun {trainings()[name].arguments} report=null hydra.sweep.dir={folder}"
        if subprocess.run([sys.executable, "-m", "train", *shlex.split(line)], cwd=ROOT).returncode:
            raise UsageError(f"Not all runs of '{name}' have ended: the same command goes on with them.")
        pack(folder, STUDY / "claims" / name)


if __name__ == "__main__":
    command(main)
