"""The id of a run depends on all that determines its result, and on nothing else."""

import os
import shutil
import sys
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from conf import choices
from conf.errors import UsageError
from data.digest import ROOT
from tests.composing import composed
from train.build import build_gpt
from train.config import run_id as cells
from train.config.compose import register
from train.config.run_id import (
    NOT_IN_TRAINING,
    data_identity,
    digests_of_code,
    finetuning_id_of,
    finetuning_keys,
    name_of,
    run_id_of,
    training_id_of,
)
from train.config.schema import Config
from train.config.sections import ExtensionConfig
from train.config.trained_run import check_model
from train.fit.checkpoints import weights_digest
from train.paths import CONF
from train.results.about import About

OWN_DATA = """
from dataclasses import dataclass
from data import Data

@dataclass
class Own(Data):
    name: str
    fill: bool

    def open(self, vocab, cache):
        raise NotImplementedError
"""
FORMULA = "class Mine:\n    def forward(self):\n        return 2\n"


def test_what_changes_the_result_changes_its_id_and_nothing_else(small: list[str]) -> None:
    plain = run_id_of(composed(*small))
    for (
        override
    ) in "seed=1 encoding=alibi encoding.base=500 extension=pi trainer.max_steps=7 batch=12".split():
        assert run_id_of(composed(*small, override)) != plain, override
    for override in "outputs=a trainer.devices=2 jobs=1 wandb.project=other trainer.threads=1".split():
        assert run_id_of(composed(*small, override)) == plain, override


def training(config: Config, corpus: str = "corpus") -> str:
    return training_id_of(config, corpus, "32-true", digests_of_code(config))


def test_a_training_is_the_same_under_any_extension_and_evaluation(small: list[str]) -> None:
    plain = training(composed(*small))
    for override in "extension=yarn evaluation.windows=9 trainer.keep=[0.5] trainer.accumulate=2".split():
        assert training(composed(*small, override)) == plain, override
    assert training(composed(*small), "another corpus") != plain


def test_three_test_sets_of_flip_flop_share_a_training_and_not_a_run() -> None:
    configs = [composed(f"data={name}") for name in ("flip_flop", "flip_flop_sparse", "flip_flop_dense")]
    assert len({training(config) for config in configs}) == 1
    assert len({run_id_of(config) for config in configs}) == 3


@pytest.mark.parametrize(
    "override", ["seed=1", "trainer.compile=true", "optimizer.clip=3", "debug=overfit", "data.held_out=0.2"]
)
def test_what_decides_the_weights_is_in_the_id_of_a_training(override: str, small: list[str]) -> None:
    assert training(composed(*small, override)) != training(composed(*small))


def test_what_is_excluded_from_an_id_exists() -> None:
    config = composed("extension=yarn")
    for key, names in NOT_IN_TRAINING.items():
        section = getattr(config, key)
        assert names is True or names <= section.model_dump().keys()


def test_a_fine_tuning_depends_on_its_weights_precision_and_code(small: list[str]) -> None:
    config = composed(*small, "extension=pi", "extension.finetune_steps=3")
    digests = digests_of_code(config)

    def tuned(weights: str = "w", precision: str = "32-true", **changed: str) -> str:
        training = training_id_of(config, "corpus", precision, digests | changed)
        return finetuning_id_of(finetuning_keys(training, {"pi": config.extension})["pi"], weights)

    ids = [tuned(), tuned(weights="v"), tuned(precision="bf16-mixed"), tuned(training="edited")]
    assert len(set(ids)) == 4


def test_the_digest_of_weights_changes_with_each_of_them(small: list[str]) -> None:
    model = build_gpt(composed(*small))
    first = weights_digest(model)
    assert weights_digest(deepcopy(model)) == first
    with torch.no_grad():
        next(iter(model.parameters())).view(-1)[0] += 1
    assert weights_digest(model) != first


def test_a_run_under_an_extension_has_a_name_of_its_own(small: list[str]) -> None:
    assert name_of(composed(*small, "encoding=rope"), "1a") == "rope-s0-1a"
    assert name_of(composed(*small, "encoding=rope", "extension=yarn"), "1a") == "rope+yarn-s0-1a"


def text_config(path: Path, small: list[str], **changes: str) -> Config:
    config = composed(*small)
    return config.model_copy(update={"data": config.data | {"path": str(path)} | changes})


@pytest.mark.parametrize("name", ["corpus.txt", "corpus[v1].txt"])
def test_changed_text_is_another_run_even_at_the_same_size_and_time(
    name: str, small: list[str], tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_text("one " * 99)
    before, time = run_id_of(text_config(file, small)), file.stat().st_mtime_ns
    file.write_text("two " * 99)
    os.utime(file, ns=(time, time))
    assert run_id_of(text_config(file, small)) != before


def test_the_same_text_elsewhere_is_the_same_run(
    small: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "a.txt").write_text("one " * 99)
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    monkeypatch.setenv("HOME", str(tmp_path))
    places = (tmp_path / "here", tmp_path / "there", Path("~/here"), tmp_path / "here" / "*.txt")
    assert len({run_id_of(text_config(place, small)) for place in places}) == 1
    (tmp_path / "there" / "a.txt").rename(tmp_path / "there" / "b.txt")  # names decide what is held out
    assert run_id_of(text_config(tmp_path / "there", small)) != run_id_of(
        text_config(tmp_path / "here", small)
    )


def test_another_tokenizer_of_the_same_name_is_another_run(small: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one " * 99)
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_text('{"a": 1}')
    before = run_id_of(text_config(tmp_path / "a.txt", small, tokenizer=str(tokenizer)))
    tokenizer.write_text('{"a": 2}')
    assert run_id_of(text_config(tmp_path / "a.txt", small, tokenizer=str(tokenizer))) != before


def test_text_inside_other_data_counts(small: list[str], tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    hay = {"_target_": "data.text.files.Files", "name": "files", "path": str(file)}
    config = composed(*small)
    hidden = {"_target_": "data.tasks.passkey.Passkey", "text": hay}
    config = config.model_copy(update={"data": hidden})
    ids = set()
    for text in ("one", "two"):
        file.write_text(text)
        ids.add(str(data_identity(config)))
    assert len(ids) == 2


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of an encoding on Python's path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # of other tests
    (tmp_path / "mine.py").write_text(FORMULA)
    return tmp_path / "mine.py"


def test_an_edited_method_is_another_run_and_another_training(mine: Path, small: list[str]) -> None:
    config = composed(*small, "encoding=alibi", "encoding._target_=mine.Mine", "names.encoding=mine")
    other = composed(*small)
    before, unrelated = (run_id_of(config), training(config)), run_id_of(other)
    mine.write_text(FORMULA.replace("2", "3"))
    assert all(old != new for old, new in zip(before, (run_id_of(config), training(config)), strict=True))
    assert run_id_of(other) == unrelated


def test_an_edited_callback_is_another_training(mine: Path, small: list[str]) -> None:
    """It may average weights, or change gradients."""
    config = composed(*small).model_copy(update={"callbacks": {"mine": {"_target_": "mine.Mine"}}})
    before = training(config)
    mine.write_text(FORMULA.replace("2", "3"))
    assert training(config) != before


def test_a_setting_of_ones_own_data_counts_though_ours_have_one_of_its_name_for_tests(
    mine: Path, small: list[str]
) -> None:
    (mine.parent / "own_data.py").write_text(OWN_DATA)
    every = [{"_target_": "own_data.Own", "fill": fill} for fill in (False, True)]
    configs = [composed(*small).model_copy(update={"data": settings}) for settings in every]
    assert len({training(config) for config in configs}) == 2


def test_an_edited_extension_is_another_run_of_the_same_training(mine: Path, small: list[str]) -> None:
    settings = ExtensionConfig.of({"_target_": "mine.Mine", "finetune_steps": 2})
    config = composed(*small).model_copy(update={"extension": settings})
    tuned = "trained", {"mine": settings}
    before, trained = (run_id_of(config), finetuning_keys(*tuned)), training(config)
    mine.write_text(FORMULA.replace("2", "3"))
    after = run_id_of(config), finetuning_keys(*tuned)
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert training(config) == trained


def test_extensions_that_are_listed_count_as_their_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: list[str]
) -> None:
    config = composed(*small, "evaluation.extensions=[pi]")
    before = run_id_of(config)
    monkeypatch.setattr(choices, "files", lambda group: {"pi": tmp_path / "pi.yaml"})
    text = (CONF / "extension/pi.yaml").read_text()
    (tmp_path / "pi.yaml").write_text(text)
    assert run_id_of(config) == before
    (tmp_path / "pi.yaml").write_text(f"{text}\nseed: 3\n")
    assert run_id_of(config) != before


def test_an_edit_of_shared_code_is_another_run(
    small: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = composed(*small)
    before = digests_of_code(config)
    root = tmp_path / "copy"
    for folder in ("models", "data", "train"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(cells, "ROOT", root)
    assert digests_of_code(config) == before
    for file, part in (
        ("models/ops/rotary.py", "model"),
        (next((root / "models").rglob("*.c")).relative_to(root).as_posix(), "model"),
        ("train/fit/optimizer.py", "training"),
        ("train/build.py", "training"),  # the seeds of the weights
        ("train/context.py", "training"),
        ("data/text/split.py", "data"),
        ("train/evaluation/text.py", "evaluation"),
    ):
        edited, known = root / file, digests_of_code(config)
        edited.write_text(f"{edited.read_text()}\nint edited;\n" if file.endswith(".c") else "edited = 1\n")
        assert digests_of_code(config)[part] != known[part]


def test_a_trained_model_is_evaluated_by_the_code_that_trained_it(mine: Path, small: list[str]) -> None:
    config = composed(*small, "encoding=alibi", "encoding._target_=mine.Mine", "names.encoding=mine")
    about = About.model_construct(settings=config.model_dump(mode="json"), code=digests_of_code(config))
    check_model(about, Path("run"))
    mine.write_text(f'"""A docstring."""\n{FORMULA}')
    check_model(about, Path("run"))
    mine.write_text(FORMULA.replace("2", "3"))
    with pytest.raises(UsageError, match=r"encoding=mine, .* edited since run was trained: undo that, or"):
        check_model(about, Path("run"))


def test_only_folders_of_conf_are_groups() -> None:
    """A folder of the project with a setting's name, such as outputs/, would hide that setting."""
    register()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        found = GlobalHydra.instance().config_loader().list_groups("")
    groups = {folder.name for folder in CONF.iterdir() if any(folder.glob("*.yaml"))}
    assert set(found) - {"hydra"} == groups | {"sweeps"}
