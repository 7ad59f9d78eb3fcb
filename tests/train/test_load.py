"""A trained model, from its run folder alone: logits, text past the training length, and refusals."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from conf.errors import UsageError
from models.registry import encodings_under
from tests.composing import composed, run_here
from tests.train.conftest import FEW, call
from train.load import load
from train.results.about import about_run
from train.results.run_folder import write_done


def test_logits_are_those_of_the_checkpoint_under_the_extension(done: Path) -> None:
    loaded = load(done, "yarn", factor=4)
    settings = composed("extension=yarn", "extension.factor=4")
    plain = load(done).model
    plain.load_state_dict(torch.load(done / "final.ckpt", weights_only=True)["model"])
    expected = plain.under(encodings_under(settings.extension.parameters, plain.tiled))
    text = "import os\n" * 9
    ids = loaded.encode(text)
    assert len(ids) > 2 * about_run(done).trained_length
    with torch.no_grad():
        torch.testing.assert_close(loaded.logits(text), expected(ids[None])[0])
    assert not torch.equal(loaded.logits(text), load(done).logits(text))


def test_the_likeliest_text_is_generated_past_the_training_length(done: Path) -> None:
    loaded, prompt = load(done), "import "
    assert loaded.tokenizer is not None
    ids = loaded.encode(prompt).tolist()
    for _ in range(20):
        with torch.no_grad():
            ids.append(int(loaded.model(torch.tensor([ids]))[0, -1, : loaded.tokenizer.vocab].argmax()))
    text = loaded.generate(prompt, tokens=20, temperature=0)
    assert prompt + text == loaded.tokenizer.decode(ids)
    assert loaded.generate(prompt, 9, seed=1) == loaded.generate(prompt, 9, seed=1)


def test_text_on_the_command_line(done: Path) -> None:
    line = (f"run={done}", "prompt=a = b", "tokens=5", "temperature=0")
    printed = call(*line, module="train.inference.sample").stdout
    assert printed == "a = b" + load(done).generate("a = b", 5, temperature=0) + "\n"
    call(f"run={done}", "prompt=caf\udce9", "tokens=3", module="train.inference.sample")  # a byte of Latin-1
    empty = call(f"run={done}", "prompt=", module="train.inference.sample", check=False)
    assert empty.returncode == 2
    assert empty.stderr == "yardstick: The prompt is empty: give at least one token.\n"


def test_a_model_that_cannot_generate_is_refused(
    learned: Path, bidirectional: Path, small: list[str], tmp_path: Path
) -> None:
    usual = [item for item in small if not item.startswith("data")]
    run_here(composed(*usual, *FEW, "data=copy", "model.length=41"), tmp_path / "task")
    runs = {
        learned: "is defined up to 16 tokens",
        bidirectional: "sees what comes after",
        tmp_path / "task": "not trained on text",
    }
    for run, sentence in runs.items():
        with pytest.raises(UsageError, match=sentence):
            load(run).generate("import os", 40)


def test_a_tokenizer_that_shortens_texts_reads_all_of_them(done: Path, tmp_path: Path) -> None:
    """As when data are prepared: a run folder may come from another program."""
    folder = shutil.copytree(done, tmp_path / "run")
    state = json.loads((folder / "tokenizer.json").read_text())
    state["truncation"] = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    (folder / "tokenizer.json").write_text(json.dumps(state))
    write_done(folder, "01234567")
    text = "import os\n" * 9
    assert load(folder).encode(text).tolist() == load(done).encode(text).tolist()


def test_bytes_need_no_file(small: list[str], tmp_path: Path) -> None:
    run_here(composed(*small, *FEW, "data.tokenizer=bytes"), tmp_path / "run")
    loaded = load(tmp_path / "run")
    assert loaded.encode("é").tolist() == [0xC3, 0xA9]
    assert len(loaded.generate("é", 5).encode()) >= 5


def test_an_extension_that_does_not_fit_is_refused(done: Path) -> None:
    with pytest.raises(UsageError, match="does not fit RoPE; it fits"):
        load(done, "learned_interpolated")
