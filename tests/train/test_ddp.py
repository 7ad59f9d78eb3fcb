"""Several processes train as one under every launcher; if one dies, the others end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from filelock import FileLock
from torch.distributed.run import main

from tests.processes import TIMEOUT, descendants, exit_code, is_alive, start, wait_for
from tests.train import wandb_file
from tests.train.conftest import ENDLESS, ROOT, TOGETHER, call, command, on_other_processors, run_tasks, srun
from tests.train.test_run import close
from train.results.rows import read_rows

pytestmark = pytest.mark.slow
STEPS = ["trainer.max_steps=12", "encoding=t5", "batch=12", "optimizer._target_=torch.optim.SGD"]
STEPS += ["optimizer.learning_rate=0.1", "+optimizer.momentum=0.9"]  # AdamW would hide a factor on gradients
TRAINED = ("training", "loss")


def torchrun(module: str, arguments: tuple[str, ...]) -> None:
    os.chdir(ROOT)
    main(["--nproc-per-node=2", f"--master-port={TOGETHER['MASTER_PORT']}", "-m", module, *arguments])


LAUNCHES = {
    "a command on each node": (
        ["trainer.num_nodes=2"],
        [TOGETHER | {"NODE_RANK": str(rank)} for rank in range(2)],
    ),
    "srun": (["trainer.devices=4", "trainer.accumulate=3", "wandb.mode=offline"], srun(4)),
    "torchrun": (["trainer.devices=2"], [{}]),
}
"""What a user types, and the environment of each process that it becomes."""


def weights(outputs: Path) -> dict[str, torch.Tensor]:
    (file,) = outputs.glob("trained/*/final.ckpt")
    content: dict[str, torch.Tensor] = torch.load(file, weights_only=True)["model"]
    return content


@pytest.fixture(scope="module")
def alone(small: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    call(*small, *STEPS, f"outputs={folder}", f"hydra.run.dir={folder}/run")
    return folder


@pytest.mark.parametrize("launch", LAUNCHES)
def test_processes_train_as_one(alone: Path, small: list[str], tmp_path: Path, launch: str) -> None:
    chosen, environments = LAUNCHES[launch]
    arguments = (*small, *STEPS, *chosen, f"outputs={tmp_path}", f"hydra.run.dir={tmp_path}/run")
    function = torchrun if launch == "torchrun" else command
    printed = run_tasks(tmp_path, environments, function, "train.__main__", arguments)
    for name, expected in weights(alone).items():
        assert torch.allclose(weights(tmp_path)[name], expected, rtol=0, atol=1e-6), name
    close(alone / "run", tmp_path / "run", 1e-5)
    assert printed.count("Results in") == 1
    assert len(list(tmp_path.glob("*/results.jsonl"))) == 1  # W&B keeps a copy
    runs = [folder for folder in tmp_path.glob("wandb/*run-*") if not folder.is_symlink()]
    assert len(runs) == ("wandb.mode=offline" in chosen)
    for folder in runs:
        curve = wandb_file.read(folder).curve("train/step", "train/loss")
        rows = read_rows(tmp_path / "run/results.jsonl")
        (row,) = [row for row in rows if (row.protocol, row.metric) == TRAINED]
        assert [step for step, _ in curve] == list(range(2, 13, 2))
        assert curve[-1][1] == pytest.approx(row.value, abs=1e-6)


def test_all_processes_take_the_precision_of_the_first(small: list[str], tmp_path: Path) -> None:
    chosen = ["trainer.precision=auto", "trainer.devices=2", "trainer.max_steps=3"]
    arguments = (*small, *chosen, f"outputs={tmp_path}", f"hydra.run.dir={tmp_path}/run")
    run_tasks(tmp_path, srun(2), on_other_processors, "train.__main__", arguments)
    assert len(weights(tmp_path)) > 0
    assert {row.precision for row in read_rows(tmp_path / "run/results.jsonl")} == {"bf16-mixed"}


MOMENTS = {"it starts": None, "it trains": "step 20/", "it evaluates": "Evaluating at lengths"}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_process_that_dies_ends_the_others(small: list[str], tmp_path: Path, moment: str) -> None:
    """It is killed while it starts, trains, or evaluates; the others end."""
    endless = ENDLESS if moment != "it evaluates" else ["evaluation.windows=400", "evaluation.tokens=16"]
    two = ["trainer.devices=2", f"outputs={tmp_path}", f"hydra.run.dir={tmp_path}/run"]
    line = [sys.executable, "-m", "train", *small, *endless, *two]  # which Lightning starts again
    environment = os.environ | {"OMP_NUM_THREADS": "1", "WANDB_MODE": "disabled"}
    with subprocess.Popen(line, cwd=ROOT, env=environment, text=True, stdout=-1, stderr=-1) as process:

        def second() -> list[int]:
            return [pid for pid, line in descendants(process.pid).items() if "train_ddp_process_1" in line]

        wait_for(lambda: MOMENTS[moment] in process.stdout.readline() if MOMENTS[moment] else second())
        (other,) = second()
        os.kill(other, signal.SIGKILL)
        _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode not in (0, None)
    named = f"Child process with PID {other} terminated with code -9."
    assert named in errors or "yardstick: Another process of this run has ended;" in errors, errors
    assert "Traceback" not in errors
    wait_for(lambda: not is_alive(other), 20)


def test_shards_train_as_one(alone: Path, small: list[str], tmp_path: Path) -> None:
    """`trainer.strategy=fsdp` divides weights, gradients and states of the optimizer among processes."""
    chosen = ["trainer.devices=2", "trainer.strategy=fsdp", "trainer.accumulate=2", "+optimizer.fused=false"]
    arguments = (*small, *STEPS, *chosen, f"outputs={tmp_path}", f"hydra.run.dir={tmp_path}/run")
    run_tasks(tmp_path, srun(2), command, "train.__main__", arguments)
    for name, expected in weights(alone).items():
        assert torch.allclose(weights(tmp_path)[name], expected, rtol=0, atol=1e-6), name
    close(alone / "run", tmp_path / "run", 1e-5)


def test_jobs_that_share_a_training_wait_with_all_their_processes(
    alone: Path, small: list[str], tmp_path: Path
) -> None:
    """While a third one holds it, both wait; then one of them trains."""
    (trained,) = (alone / "trained").iterdir()
    folder, processes = tmp_path / "trained" / trained.name, []
    folder.mkdir(parents=True)

    def printed() -> str:
        return "".join(file.read_text() for file in tmp_path.glob("job-*/out"))

    with FileLock(folder / ".lock"):
        for job in range(2):
            more = ["trainer.devices=2", f"outputs={tmp_path}", f"hydra.run.dir={tmp_path}/{job}"]
            for task in srun(2):
                environment = task | {"MASTER_PORT": str(int(TOGETHER["MASTER_PORT"]) + 1 + job)}
                place = tmp_path / f"job-{job}-{task['SLURM_PROCID']}"
                arguments = (*small, *STEPS, *more, f"evaluation.windows={4 + job}")
                processes.append(start(place, command, "train.__main__", arguments, **environment))
        wait_for(lambda: printed().count("waiting for it") == 2)
    assert [exit_code(process) for process in processes] == [0] * 4
    assert [printed().count(text) for text in ("Results in", "waiting for it", "trained already")] == [
        2,
        2,
        1,
    ]


@pytest.mark.parametrize(
    "chosen",
    ["encoding=rope_bias extension=drop extension.finetune_steps=3", "encoding=repo trainer.max_steps=3"],
)
def test_a_parameter_without_a_gradient_is_no_error(small: list[str], tmp_path: Path, chosen: str) -> None:
    """An extension silences some; the first layers of RePo read none of theirs."""
    more = ["trainer.devices=2", f"outputs={tmp_path}", f"hydra.run.dir={tmp_path}/run"]
    arguments = (*small, *chosen.split(), *more)
    run_tasks(tmp_path, srun(2), command, "train.__main__", arguments)
