"""Fixtures: a corpus of a few small files, settings that train in a second, and the command line."""

import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from subprocess import CompletedProcess
from typing import TypeVar

import pytest
import torch

from models.gpt import GPT
from tests.composing import composed
from tests.processes import exit_code, run_forked, start
from train.evaluation.evaluator import Evaluator
from train.fit.processes import trainer
from train.paths import ROOT
from train.results.run_folder import DOCUMENTS, RESULTS, RUN, write_done

E = TypeVar("E", bound=Evaluator)
SMALL = """model.vocab=300 model.width=32 model.depth=2 model.heads=2 model.length=16 batch=6 trainer=cpu
    trainer.precision=32-true trainer.max_steps=6 trainer.log_every=2 trainer.checkpoint_every=2
    evaluation.ladder=[1,2,4] evaluation.windows=5 evaluation.extensions=[] wandb.mode=disabled data=files
""".split()
FEW = ["trainer.max_steps=2", "evaluation.windows=2"]
ENDLESS = ["trainer.max_steps=1000000", "trainer.log_every=4", "trainer.checkpoint_every=1000000"]
CPU = composed("trainer=cpu").trainer
FILES = "clique cluster core cuts cycles dag euler matching planarity similarity swap threshold".split()


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return texts(tmp_path_factory.mktemp("text"))


def texts(folder: Path) -> Path:
    """Return a folder with twelve Python files, long enough for the longest windows.

    They are of a package that `constraints.txt` pins, so that every Python trains on the same text.
    """
    folder.mkdir(exist_ok=True)
    package = find_spec("networkx")
    assert package is not None
    assert package.origin is not None
    for name in FILES:
        file = Path(package.origin).parent / "algorithms" / f"{name}.py"
        (folder / f"{name}.txt").write_text(file.read_text("utf-8")[:6000], "utf-8")
    return folder


@pytest.fixture(scope="session")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outputs")


@pytest.fixture(scope="session")
def small(text: Path, outputs: Path) -> list[str]:
    return [*SMALL, f"data.path={text}", f"outputs={outputs}"]


def call(*arguments: str, module: str = "train.__main__", check: bool = True) -> CompletedProcess[str]:
    """Run `yardstick ...` in a process of its own that has imported everything already."""
    done = run_forked(command, module, arguments, WANDB_MODE="disabled", PYTHONPATH=str(ROOT))
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session")
def done(small: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run, which no test changes."""
    folder = tmp_path_factory.mktemp("run") / "rope"
    call("encoding=rope", *small, "evaluation.extensions=[pi,crop]", f"hydra.run.dir={folder}")
    return folder


@pytest.fixture(scope="session")
def learned(small: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run that is defined up to 16 tokens, which no test changes."""
    folder = tmp_path_factory.mktemp("run") / "learned"
    call("encoding=learned", *small, *FEW, f"hydra.run.dir={folder}")
    return folder


@pytest.fixture(scope="session")
def bidirectional(small: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run on masked words, which no test changes."""
    folder = tmp_path_factory.mktemp("run") / "bidirectional"
    call("objective=mlm", "model.causal=false", *small, *FEW, f"hydra.run.dir={folder}")
    return folder


def command(module: str, arguments: tuple[str, ...]) -> None:
    torch.set_num_threads(1)
    os.chdir(ROOT)
    sys.argv = [module, *arguments]
    import_module(module).entry()


def on_other_processors(module: str, arguments: tuple[str, ...]) -> None:
    """Run a command where the first processor alone multiplies bfloat16."""
    from train.runtime import machine

    machine.bfloat16_by = lambda: ["pairs"] * (os.environ["SLURM_PROCID"] == "0")  # type: ignore[attr-defined]
    command(module, arguments)


TOGETHER = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20_000 + os.getpid() % 20_000)}


def srun(count: int) -> list[dict[str, str]]:
    """Return the environment of each task of a SLURM job."""
    job = TOGETHER | {"SLURM_JOB_ID": "1", "SLURM_JOB_NAME": "run", "SLURM_NODEID": "0"}
    job |= {"SLURM_NODELIST": "node", "SLURM_NTASKS": str(count), "SLURM_NTASKS_PER_NODE": str(count)}
    return [job | {"SLURM_PROCID": str(n), "SLURM_LOCALID": str(n)} for n in range(count)]


def run_tasks(
    folder: Path, environments: list[dict[str, str]], function: Callable[..., None], *more: object
) -> str:
    """Run a function in a process for each environment; return the output once all have ended well."""
    folders = [folder / f"task-{number}" for number in range(len(environments))]
    pairs = zip(folders, environments, strict=True)
    processes = [start(place, function, *more, **environment) for place, environment in pairs]
    codes = [exit_code(process) for process in processes]
    printed = "".join(file.read_text() for place in folders for file in sorted(place.iterdir()))
    assert codes == [0] * len(codes), printed
    return printed


def run_together(folder: Path, count: int, *arguments: str, module: str = "train.__main__") -> None:
    """Run `srun yardstick ...` with a number of tasks."""
    words = *arguments, f"trainer.devices={count}", "trainer.strategy=ddp", "wandb.mode=disabled"
    run_tasks(folder, srun(count), command, module, words)


def far_from_uniform(model: GPT) -> GPT:
    """Return the model with weights for which attention is far from uniform."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def validate(evaluator: E) -> E:
    """Return the evaluator after its work."""
    trainer(CPU, "32-true").validate(evaluator, verbose=False)
    return evaluator


def finished_run(folder: Path, settings: Mapping[str, object], **changed: object) -> Path:
    """Return a folder like that of a run with these settings, without weights."""
    texts = ("run", "encoding", "data", "kernel", "corpus", "commit", "versions", "corpus_description")
    about: dict[str, object] = dict.fromkeys((*texts, "command", "machine", "started", "training"), "")
    about |= {"seed": 0, "trained_length": 16, "precision": "32-true", "settings": settings, "seconds": 1.0}
    folder.mkdir(exist_ok=True)
    (folder / RUN).write_text(json.dumps(about | {"history": []} | changed))
    for name in (RESULTS, DOCUMENTS):
        (folder / name).touch()
    write_done(folder, "01234567")
    return folder


@pytest.fixture
def mistake(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that gives the message for wrong arguments: one sentence, exit code not 0, no
    traceback."""

    def said(*arguments: str, module: str = "train.__main__") -> str:
        entry = import_module(module).entry
        assert inspect.isfunction(entry)
        monkeypatch.setattr(sys, "argv", ["train", *arguments])
        with pytest.raises(SystemExit) as stopped:
            entry()
        assert stopped.value.code not in (0, None)
        error = capsys.readouterr().err.strip()
        assert "Traceback" not in error
        assert len(error.splitlines()) == 1, error
        return error

    return said
