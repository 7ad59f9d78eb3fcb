"""Bad input gets one clear sentence that says what to do."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from yaml import MarkedYAMLError

from tests.train.conftest import SMALL
from train.errors import explanation
from train.paths import ROOT

Mistake = Callable[..., str]


TUNED = "extension.finetune_steps=2 extension.finetune_length=64"
MISTAKES = f"""
trainer.max_step=3 | There is no setting 'trainer.max_step'. Did you mean 'trainer.max_steps'?
+trainer.max_step=3 | Lightning refuses the settings of trainer: 
encodng=rope | Did you mean 'encoding'?
data.symbols=3 | There is no setting 'data.symbols'. It is a setting of data=bucket_sort, copy, copy_unique.
encoding=alibi encoding.base=3 | It is a setting of encoding=
data=recal | There is no data 'recal'. Did you mean 'recall'?
encoding.bse=3 | Did you mean 'encoding.base'?
logger=cvs | There is no logger 'cvs'. Did you mean 'csv'?
callbacks=early | There is no callback 'early'.
trainer.detect_anomaly=true | To add it: +trainer.detect_anomaly=...
+trainer.gradient_clip_val=1 | trainer.gradient_clip_val is set by optimizer.clip, the largest norm.
+trainer.max_time=abc | Lightning refuses the settings of trainer: `Timer(duration='abc')`
trainer.strategy=dpd | Lightning refuses the settings of trainer: You selected an invalid strategy name
methods= encoding=rope | methods= names no folder: give one, or leave it out.
+optimizer.lr=1 | multiple values for keyword argument 'lr'
optimizer._target_=os.system | should be a class of torch.optim
optimizer._target_=torch.optim.Rprop | torch.optim.Rprop has no weight decay: add optimizer.weight_decay=0.
model.vocab=auto data.tokenizer=[1] | data.tokenizer=[1] should be a valid string.
model.vocab=' | model.vocab=' should be a setting such as key=value
encoding=(rope | encoding
-m optimizer.learning_rate=interval(1e-4,1e-2) | is for a sweeper that searches: add hydra/sweeper=optuna.
seed=1,2 | 'seed=1,2' are several values: choose one, or add -m to run each.
batch=${{nothing}} | batch cannot be resolved
evaluation.lengths=[8,16 | evaluation.lengths=[8,16 should be a setting such as key=value
evaluation.lengths=[] | evaluation.lengths=[] should be 'ladder' or have at least 1 item.
evaluation.lengths=[0] | evaluation.lengths=[0] should be 'ladder' or greater than or equal to 1.
encoding=integer encoding.step=1000000 evaluation.ladder=[1,1e30] | evaluation.ladder
evaluation.protocols=[sliding_doors] | There is no protocol 'sliding_doors'. Did you mean 'sliding'?
evaluation.protocols=[key_tokens] | compares same_tokens at the training length with one below: add same_
evaluation.protocols=[same_tokens,key_tokens] | add same_tokens, and evaluation.ladder=[0.25,0.5,1,...].
evaluation.stride=17 | evaluation.stride=17 must be auto or a number of tokens from 1 to 16
evaluation.stride=half | evaluation.stride=half should be a valid integer or 'auto'.
evaluation.windows=1 evaluation.protocols=[same_tokens,replaced] | takes other text from another window
evaluation.retrieval=needle | evaluation.retrieval needs at least 47 tokens
evaluation.extensions=[pie] | There is no extension 'pie'. Did you mean 'pi'?
extension=pi extension.factor=0 | extension.factor=0 should be greater than or equal to 1 or 'auto'.
extension.finetune_steps=9 | extension.finetune_steps=9 needs an extension to train under
extension=pi extension._target_=models.extensions.ntk.NTK | add names.extension=my_extension
encoding=ropee | There is no encoding 'ropee'. Did you mean 'rope'? There are: abacus
encoding=3 | What is chosen has a name and no number
encoding=fox objective=mlm model.causal=false | causal mask
encoding.layout=diagonal | the layouts are: half, interleaved.
encoding.base=ten | encoding.base=ten should be a valid number.
encoding.base=nan | encoding.base=NaN should be a finite number.
+encoding.head_width=3 | There is no setting 'encoding.head_width'.
encoding=window_rope encoding.inner=5 | encoding.inner=5 should be a method with its parameters
encoding=scale_invariant encoding.tau=1e-7 | encoding.tau=1e-07 should be greater than or equal
encoding=randomized_rope encoding.span=5 | model.length=16 is past what encoding=randomized_rope
encoding=alibi names.encoding=rope | is not what conf/encoding/rope.yaml names, so its results need another
encoding._target_=models.encodings.nope.NoPE | its results need another name: add names.encoding=my
encoding._target_=os.system names.encoding=mine | os.system should be the dotted path of a class
encoding._target_=not_here.Mine names.encoding=mine | Name the folder that it is in: methods=
names.encoding=a/b | names.encoding=a/b should match pattern
data.path=/nowhere | /nowhere
trainer.max_steps=0 | trainer.max_steps=0 should be greater than or equal to 1.
seed=4294967296 | seed=4294967296 should be less than 4294967296.
model.width=1000000 model.heads=2 | The machine's memory is full
model.width=30 model.heads=2 | odd head width of 15
model.heads=3 | model.heads=3 does not divide model.width=32.
model.latent=8 model.qk_norm=true | excludes model.kv_heads and model.qk_norm: leave them out
model.latent=8 model.rotary=16 | must be an even number of features, fewer than the 16 of a head.
model.kernel=sdpa encoding=cope | kernel=explicit
model.kernel=flex | model.kernel=flex has gradients on CUDA alone: choose model.kernel=auto.
objective=mlm | add model.causal=false
model.causal=false | add objective=mlm
objective=mlm model.causal=false evaluation.protocols=[copying] | is for objective=clm
trainer.precision=16-mixed | needs a GPU
trainer.accelerator=mps | MPSAccelerator
batch=5 trainer=ddp | batch=5 cannot be split evenly over 2 devices and parts
sweeps=encoding | There is no sweep 'encoding'. Did you mean 'encodings'?
sweeps=encodings encoding=rope,alibi trainer.max_step=3 | There is no setting 'trainer.max_step'. Did you mean
-m encoding=glob(zzz*) | matches nothing
-m hydra/launcher=slrm | There is no hydra/launcher 'slrm'. Did you mean 'slurm'?
-m hydra/launcher=slurm hydra.launcher.partion=gpu | There is no setting 'hydra.launcher.partion'.
-m hydra/launcher=slurm | slurm cannot start: Could not detect "srun"
encoding=learned extension=crop {TUNED} | extension.finetune_length=64 is past what encoding=learned
extension=pi {TUNED} trainer.accumulate=3 | leaves 1 sequences of a step, too few for 1 processes
""".strip().splitlines()
"""Settings beside those that are right, and what is said."""


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes_are_refused(mistake: Mistake, text: Path, outputs: Path, tmp_path: Path, line: str) -> None:
    arguments, _, expected = line.partition(" | ")
    small = [*SMALL, f"data.path={text}", f"outputs={outputs}", f"hydra.run.dir={tmp_path}"]
    sentence = mistake(*small, *arguments.split())
    assert expected in sentence, sentence
    assert not (tmp_path / "DONE").exists()


@pytest.mark.parametrize("module", ["train.evaluate", "train.diagnose", "train.reproduce"])
def test_null_is_no_run_folder(module: str, mistake: Mistake) -> None:
    sentence = mistake("run=null", module=module)
    assert "is not the folder of a finished run" in sentence or "run=null should be a valid" in sentence


@pytest.mark.parametrize("path", ["null", "[]", "nowhere.draw", "os", "a..b"])
def test_what_draws_a_diagnosis_is_a_function(path: str, mistake: Mistake, tmp_path: Path) -> None:
    sentence = mistake(f"run={tmp_path}", f"pictures={path}", module="train.diagnose")
    assert sentence.endswith("Name the folder that it is in: methods=<folder>.")


def test_letters_that_a_terminal_lacks_are_replaced() -> None:
    program = "from train.errors import command_line\nwith command_line(): print('\u03b1')"
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}
    printed = subprocess.run([sys.executable, "-c", program], env=ascii_only, capture_output=True)
    assert (printed.stdout, printed.returncode) == (b"?\n", 0)


@pytest.mark.parametrize("argument", ["encoding=alibi", "encoding.base=3", "seed=1", "+data.path=x"])
def test_an_evaluation_changes_nothing_of_the_training(
    argument: str, mistake: Mistake, tmp_path: Path
) -> None:
    key = argument.lstrip("+").partition("=")[0]
    expected = f"{key} is decided by the training of the run: leave it out, or train another run."
    assert mistake(f"run={tmp_path}", argument, module="train.evaluate") == f"yardstick: {expected}"


def test_a_report_that_is_nowhere(mistake: Mistake, small: list[str], tmp_path: Path) -> None:
    """The sentence comes before the jobs, not after them."""
    folder = f"hydra.sweep.dir={tmp_path}"
    sentence = mistake(*small, "hydra.mode=MULTIRUN", "seed=0,1", folder, "report=sweeps.reprot.make")
    assert "report=sweeps.reprot.make should be the dotted path of a function" in sentence
    assert not list(tmp_path.glob("*/DONE"))


def test_a_run_that_is_not_there_leaves_nothing(
    mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sentence = mistake("run=nowhere", module="train.evaluate")
    assert sentence == "yardstick: nowhere is not the folder of a finished run: it has no DONE."
    assert not list(tmp_path.iterdir())


def test_a_folder_of_another_run(mistake: Mistake, small: list[str], tmp_path: Path) -> None:
    (tmp_path / "DONE").write_text("01234567\n")
    assert "holds the results of another run" in mistake(*small, f"hydra.run.dir={tmp_path}")


def test_a_file_that_is_not_yaml(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("family: other\nscale: 1.0: 4\n")
    with pytest.raises(MarkedYAMLError) as error:
        OmegaConf.load(tmp_path / "mine.yaml")
    assert (explanation(error.value) or "").startswith(f"{tmp_path}/mine.yaml, line 2, is not YAML: ")
