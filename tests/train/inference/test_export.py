"""A trained model exported to transformers: the same logits, padded or not, and the same text."""

import json
import os
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer

from conf.errors import UsageError
from tests.harm import files_of_at_most
from tests.train.conftest import call
from train.errors import explanation
from train.inference.export import export
from train.inference.hugging_face import YardstickForCausalLM
from train.load import load

TEXTS = ["def f(", "import os\nimport sys\nfrom pathlib import Path\n"]


def test_it_says_what_the_run_says(done: Path, tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    line = "extension=yarn", "extension.factor=4"
    call(f"run={done}", f"to={folder}", *line, module="train.inference.export")
    known = json.loads((folder / "config.json").read_text())["auto_map"]
    classes = run_path(str(folder / f"{known['AutoModelForCausalLM'].split('.')[0]}.py"))
    assert classes[known["AutoModelForCausalLM"].split(".")[1]] is YardstickForCausalLM
    model, expected = YardstickForCausalLM.from_pretrained(folder), load(done, "yarn", factor=4)
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    assert model.num_parameters() == sum(p.numel() for p in expected.model.parameters())
    assert "model.head.weight" not in load_file(folder / "model.safetensors")
    limits = {"max_position_embeddings"} & json.loads((folder / "config.json").read_text()).keys()
    assert not limits, "the length of rope has no end"
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    for side in ("left", "right"):
        tokenizer.padding_side = side
        batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
        assert not batch["attention_mask"].all()
        with torch.no_grad():
            logits = model(batch["input_ids"], batch["attention_mask"]).logits
        for row, mask, text in zip(logits, batch["attention_mask"].bool(), TEXTS, strict=True):
            torch.testing.assert_close(row[mask], expected.logits(text), rtol=0, atol=1e-5)
    tokenizer.padding_side = "left"
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
    ids = model.generate(
        batch["input_ids"], attention_mask=batch["attention_mask"], max_new_tokens=8, do_sample=False
    )
    for row, text in zip(ids, TEXTS, strict=True):
        end = tokenizer.eos_token
        expected_text = text + expected.generate(text, 8, temperature=0)
        assert tokenizer.decode(row).replace(end, "").startswith(expected_text.split(end)[0])


def test_it_loads_beside_modules_of_its_names(done: Path, tmp_path: Path) -> None:
    """The library imports what the code names, one after the other, in an order of its own."""
    export(done, tmp_path / "to")
    for name in ("train", "models", "data"):
        (tmp_path / f"{name}.py").write_text("")
    line = (
        "from transformers import AutoModelForCausalLM as A; A.from_pretrained('to', trust_remote_code=True)"
    )
    environment = os.environ | {"HF_HOME": str(tmp_path / "hub")}
    subprocess.run([sys.executable, "-c", line], cwd=tmp_path, env=environment, check=True)


def test_a_table_ends_where_the_method_does(learned: Path, tmp_path: Path) -> None:
    export(learned, tmp_path / "to")
    assert json.loads((tmp_path / "to/config.json").read_text())["max_position_embeddings"] == 16
    assert json.loads((tmp_path / "to/tokenizer_config.json").read_text())["model_max_length"] == 16


@pytest.mark.parametrize("place", [("architecture", "encoding"), ("parameters",)])
def test_a_class_that_conf_does_not_name_is_not_built(
    place: tuple[str, ...], done: Path, tmp_path: Path
) -> None:
    export(done, tmp_path / "to", "yarn", factor=2)
    settings = json.loads((tmp_path / "to/config.json").read_text())
    section = settings
    for key in place:
        section = section[key]
    section["_target_"] = "os.mkdir"
    (tmp_path / "to/config.json").write_text(json.dumps(settings))
    with pytest.raises(UsageError, match=r"config\.json names os\.mkdir in its"):
        YardstickForCausalLM.from_pretrained(tmp_path / "to")


def test_a_full_disk_leaves_nothing(done: Path, tmp_path: Path) -> None:
    """Each write of a file may be the one that fails, those of Rust included."""
    for size in (100, 5_000, 30_000):
        with files_of_at_most(size), pytest.raises(Exception, match=r"File too large|os error 27") as caught:
            export(done, tmp_path / "to")
        assert "File too large" in str(explanation(caught.value))
        assert list((tmp_path / "to").iterdir()) == []


def test_what_sees_the_future_is_refused(bidirectional: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="sees what comes after a token"):
        export(bidirectional, tmp_path / "to")
    assert not (tmp_path / "to").exists()
