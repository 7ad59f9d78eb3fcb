"""SLURM's commands on one machine, as far as submitit calls them: an array starts at once, and `scontrol
requeue` runs a job's script again."""

from pathlib import Path

SBATCH = """#!/usr/bin/env python3
import os, re, subprocess, sys
text = open(sys.argv[1]).read()
open("{folder}/batch.sh", "w").write(text)
count = re.search(r"--array=0-([0-9]+)", text)
tasks = re.search(r"--ntasks-per-node=([0-9]+)", text)[1]
run = "while bash {folder}/batch.sh; rm {folder}/again-$SLURM_ARRAY_TASK_ID 2>/dev/null; do :; done"
for n in range(1 + int(count[1])):
    own = dict(SLURM_JOB_ID=str(70 + n), SLURM_ARRAY_JOB_ID="7", SLURM_ARRAY_TASK_ID=str(n))
    own |= dict(SLURM_NTASKS=tasks, SLURM_JOB_NUM_NODES="1", SLURM_NODEID="0", SLURM_JOB_NODELIST="localhost")
    subprocess.Popen(["bash", "-c", run], env=os.environ | own, stdout=-3, stderr=-3)
print("Submitted batch job 7")
"""
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do
  case $1 in --output|--error) log=${2//%A/7}; log=${log//%a/$SLURM_ARRAY_TASK_ID}; shift;; esac
  shift
done
mkdir -p $(dirname $log)
for n in $(seq 0 $((SLURM_NTASKS - 1))); do
  SLURM_PROCID=$n SLURM_LOCALID=$n "$@" >> ${log//%t/$n} 2>&1 &
done
wait
true
"""
SCONTROL = """#!/bin/bash
touch {folder}/again-$(($2 - 70))
"""
SACCT = """#!/bin/bash
echo "JobID|State|NodeList"; echo "7_0|RUNNING|localhost"; echo "7_1|RUNNING|localhost"
"""
SCANCEL = """#!/bin/bash
echo "$@" >> {folder}/cancelled
"""


def install(folder: Path) -> Path:
    """Return the folder with the commands, for PATH; `batch.sh` in it is the last submitted script."""
    commands = {"sbatch": SBATCH, "srun": SRUN, "scontrol": SCONTROL, "sacct": SACCT, "scancel": SCANCEL}
    for name, text in commands.items():
        (folder / name).write_text(text.replace("{folder}", str(folder)))
        (folder / name).chmod(0o755)
    return folder
