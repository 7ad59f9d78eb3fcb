"""Bad input: one clear sentence each, that says what to do."""

from pathlib import Path

import pytest

from tests.train.conftest import SMALL


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["trainer.max_step=3"], "There is no setting 'trainer.max_step'. Did you mean 'trainer.max_steps'?"),
        (
            ["+trainer.max_step=3"],
            "There is no setting 'trainer.max_step'. Did you mean 'trainer.max_steps'?",
        ),
        (["sed=3"], "Did you mean 'seed'?"),
        (["encoding=ropee"], "There is no encoding 'ropee'. Did you mean 'rope'? There are: alibi"),
        (["extension=yarm"], "There is no extension 'yarm'. Did you mean 'yarn'?"),
        (["sweeps=encoding"], "There is no sweeps 'encoding'. Did you mean 'encodings'?"),
        (["encodng=rope"], "Did you mean 'encoding'?"),
        (["encoding.bse=3"], "Did you mean 'encoding.base'?"),
        (["trainer.max_steps=many"], "trainer.max_steps=many must be a whole number, such as"),
        (["trainer.max_steps=0"], "trainer.max_steps=0 must be at least 1."),
        (["optimizer.learning_rate=fast"], "must be a number"),
        (["seed=-1"], "seed=-1 must not be negative."),
        (["model.heads=3"], "model.heads=3 does not divide model.width=32."),
        (["model.width=30", "model.heads=2"], "odd head width of 15"),
        (["model.norm=batch"], "the choices are: rms, layer."),
        (["trainer.precision=fp8"], "the choices are: auto, 32-true"),
        (["trainer.precision=16-mixed"], "needs a GPU"),
        (
            ["evaluation.protocols=[sliding_doors]"],
            "There is no protocol 'sliding_doors'; there are: same_tokens",
        ),
        (["evaluation.stride=0"], "evaluation.stride=0 must be auto or a number of tokens from 1 to 16"),
        (["evaluation.stride=17"], "evaluation.stride=17 must be auto or a number of tokens from 1 to 16"),
        (["evaluation.last=20"], "evaluation.last=20 must be auto or a number of tokens from 1 to 16"),
        (["evaluation.stride=half"], "evaluation.stride=half must be auto or a number of tokens"),
        (["evaluation.protocols=sliding"], "evaluation.protocols must be a list, such as [same_tokens,"),
        (["evaluation.extensions=[pie]"], "There is no extension 'pie'. Did you mean 'pi'?"),
        (["evaluation.lengths=[0]"], "must be a list of numbers of tokens"),
        (["encoding=alibi", "extension=yarn"], "does not fit ALiBi; it fits: "),
        (["encoding=alibi", "evaluation.extensions=[pi]"], "does not fit ALiBi; it fits: "),
        (["encoding.layout=diagonal"], "the layouts are: half, interleaved."),
        (["objective=mlm"], "add model.causal=false"),
        (["model.causal=false"], "add objective=mlm"),
        (["batch=5", "trainer=ddp"], "batch=5 cannot be split evenly over 2 devices and parts"),
        (["data.path=/nowhere"], "/nowhere"),
        (["evaluation.lengths=[500000]"], "evaluation.lengths"),
        (["encoding=(rope"], "encoding"),
    ],
)
def test_mistakes_are_said(mistake, text: Path, outputs: Path, tmp_path: Path, arguments, expected) -> None:
    path = [] if any(a.startswith("data.path") for a in arguments) else [f"data.path={text}"]
    said = mistake(*SMALL, *path, f"outputs={outputs}", f"hydra.run.dir={tmp_path}", *arguments)
    assert expected in said, said
    assert not (tmp_path / "DONE").exists()


def test_a_run_folder_that_is_none(mistake, tmp_path: Path) -> None:
    assert "has no DONE" in mistake(f"run={tmp_path}", module="train.evaluate")


def test_a_folder_of_another_run(mistake, small: list[str], tmp_path: Path) -> None:
    (tmp_path / "DONE").write_text("01234567\n")
    assert "holds the results of another run" in mistake(*small, f"hydra.run.dir={tmp_path}")


def test_an_empty_folder_of_text(mistake, outputs: Path, tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    said = mistake(
        *SMALL, f"data.path={tmp_path / 'text'}", f"outputs={outputs}", f"hydra.run.dir={tmp_path}/run"
    )
    assert "text" in said


def test_damaged_results(mistake, small: list[str], tmp_path: Path) -> None:
    from tests.train.test_settings import settings_of
    from train.settings import cell

    (tmp_path / "results.jsonl").write_text('{"run": \n{}\n')
    (tmp_path / "DONE").write_text(cell(settings_of(small)) + "\n")
    assert "damaged at line 1" in mistake(*small, f"hydra.run.dir={tmp_path}")
