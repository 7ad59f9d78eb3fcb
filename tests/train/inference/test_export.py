"""A trained model exported to transformers: the same logits, padded or not, and the same text."""

import json
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer

from conf.errors import UsageError
from tests.composing import composed
from tests.harm import files_of_at_most
from tests.train.conftest import call
from train.errors import explanation
from train.inference.export import export
from train.inference.hugging_face import YardstickForCausalLM
from train.load import load
from train.run import run_job

FEW = ["trainer.max_steps=2", "evaluation.windows=2"]
TEXTS = ["def f(", "import os\nimport sys\nfrom pathlib import Path\n"]


@pytest.mark.parametrize(
    ("encoding", "extension"),
    [("rope", {"extension": "yarn", "factor": 4}), ("alibi", {})],
    ids=str,
)
def test_it_says_what_the_run_says(
    encoding: str, extension: dict[str, Any], small: list[str], tmp_path: Path
) -> None:
    run, folder = tmp_path / "run", tmp_path / "exported"
    run_job(composed(*small, *FEW, f"encoding={encoding}"), run)
    chosen = [f"extension.{key}={value}" for key, value in extension.items()]
    line = " ".join(chosen).replace("extension.extension", "extension").split()
    call(f"run={run}", f"to={folder}", *line, module="train.inference.export")
    known = json.loads((folder / "config.json").read_text())["auto_map"]
    classes = run_path(str(folder / f"{known['AutoModelForCausalLM'].split('.')[0]}.py"))
    assert classes[known["AutoModelForCausalLM"].split(".")[1]] is YardstickForCausalLM
    model, expected = YardstickForCausalLM.from_pretrained(folder), load(run, **extension)
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    assert model.num_parameters() == sum(p.numel() for p in expected.model.parameters())
    assert "model.head.weight" not in load_file(folder / "model.safetensors")
    limits = {"max_position_embeddings"} & json.loads((folder / "config.json").read_text()).keys()
    assert not limits, "the lengths of rope and alibi have no end"
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


def test_a_table_ends_where_the_method_does(small: list[str], tmp_path: Path) -> None:
    run_job(composed(*small, *FEW, "encoding=learned"), tmp_path / "run")
    export(tmp_path / "run", tmp_path / "to")
    assert json.loads((tmp_path / "to/config.json").read_text())["max_position_embeddings"] == 16
    assert json.loads((tmp_path / "to/tokenizer_config.json").read_text())["model_max_length"] == 16


@pytest.mark.parametrize("place", [("architecture", "encoding"), ("parameters",)])
def test_a_class_that_conf_does_not_name_is_not_built(
    place: tuple[str, ...], small: list[str], tmp_path: Path
) -> None:
    run_job(composed(*small, *FEW), tmp_path / "run")
    export(tmp_path / "run", tmp_path / "to", "yarn", factor=2)
    settings = json.loads((tmp_path / "to/config.json").read_text())
    section = settings
    for key in place:
        section = section[key]
    section["_target_"] = "os.mkdir"
    (tmp_path / "to/config.json").write_text(json.dumps(settings))
    with pytest.raises(UsageError, match=r"config\.json names os\.mkdir in its"):
        YardstickForCausalLM.from_pretrained(tmp_path / "to")


def test_a_full_disk_leaves_nothing(small: list[str], tmp_path: Path) -> None:
    """Each write of a file may be the one that fails, those of Rust included."""
    run_job(composed(*small, *FEW), tmp_path / "run")
    for size in (100, 5_000, 30_000):
        with files_of_at_most(size), pytest.raises(Exception, match=r"File too large|os error 27") as caught:
            export(tmp_path / "run", tmp_path / "to")
        assert "File too large" in str(explanation(caught.value))
        assert list((tmp_path / "to").iterdir()) == []


def test_what_sees_the_future_is_refused(small: list[str], tmp_path: Path) -> None:
    run_job(composed(*small, *FEW, "model.causal=false", "objective=mlm"), tmp_path / "run")
    done = call(f"run={tmp_path}/run", f"to={tmp_path}/to", module="train.inference.export", check=False)
    assert (done.returncode, "sees what comes after a token" in done.stderr) == (2, True)
    assert not (tmp_path / "to").exists()
