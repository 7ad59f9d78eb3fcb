"""`yardstick audit config.json`: facts and findings of configurations that are in use."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conf.errors import UsageError
from train.public.audit import Rotations, audit, text_of

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
LATENT = {
    "type": "yarn",
    "factor": 40,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
    "original_max_position_embeddings": 4096,
}
OSS = {
    "rope_type": "yarn",
    "rope_theta": 150_000.0,
    "factor": 32.0,
    "truncate": False,
    "original_max_position_embeddings": 4096,
}


def audited(folder: Path, **config: Any) -> list[Rotations]:
    file = folder / "config.json"
    file.write_text(json.dumps({"hidden_size": 4096, "num_attention_heads": 32} | config))
    return audit(file)


def texts(part: Rotations) -> str:
    return " ".join(f"{finding.text} {finding.size}" for finding in part.findings)


def test_a_plain_rope(tmp_path: Path) -> None:
    (part,) = audited(
        tmp_path, hidden_size=576, num_attention_heads=9, max_position_embeddings=8192, rope_theta=100_000
    )
    assert part.findings == ()
    assert (part.rope_type, part.base, part.pairs, part.unfinished_pairs) == ("default", 100_000, 32, 12)
    assert part.longest_retrieval == 3616
    assert text_of([part]).startswith(
        "No engine is known to read this file differently.\nThe base lets a query"
    )


def test_llama_3(tmp_path: Path) -> None:
    (part,) = audited(tmp_path, max_position_embeddings=131_072, rope_theta=500_000.0, rope_scaling=LLAMA3)
    assert (part.trained_length, part.context, part.factor) == (8192, 131_072, 8.0)
    assert part.unfinished_pairs == 29  # as counted for tests/papers: pairs 35 to 63
    assert "do not apply it" in texts(part)


@pytest.mark.parametrize(("mscale", "softmax"), [(0.707, "1.589626"), (1.0, "1.873854")])
def test_latent_attention(tmp_path: Path, mscale: float, softmax: str) -> None:
    """The published factors of DeepSeek-V2-Lite and -V3."""
    scaling = LATENT | {"mscale": mscale, "mscale_all_dim": mscale}
    (part,) = audited(
        tmp_path,
        max_position_embeddings=163_840,
        qk_rope_head_dim=64,
        qk_nope_head_dim=128,
        rope_scaling=scaling,
    )
    assert part.attention_factor == 1.0
    assert f"logits x {softmax}" in texts(part)
    assert "old name, type" in texts(part)


def test_mscale_without_latent_attention(tmp_path: Path) -> None:
    """Ministral 3: the file asks for 1, YaRN alone gives 1.2772589."""
    scaling = YARN | {
        "factor": 16.0,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "original_max_position_embeddings": 16384,
    }
    (part,) = audited(tmp_path, max_position_embeddings=262_144, rope_theta=1e6, rope_parameters=scaling)
    assert "1 in place of 1.277259" in texts(part)


def test_truncate_in_nested_parameters(tmp_path: Path) -> None:
    (part,) = audited(
        tmp_path, head_dim=64, max_position_embeddings=131_072, rope_parameters={"full_attention": OSS}
    )
    assert "one frequency is off by 76%" in texts(part)


def test_contradicting_factor(tmp_path: Path) -> None:
    (part,) = audited(tmp_path, max_position_embeddings=32_768, rope_scaling=YARN)
    assert "divided by 4 or by 1" in texts(part)
    (part,) = audited(tmp_path, max_position_embeddings=131_072, rope_scaling=YARN)
    assert part.findings == ()


def test_part_of_the_features(tmp_path: Path) -> None:
    (part,) = audited(
        tmp_path, hidden_size=512, num_attention_heads=8, max_position_embeddings=2048, rotary_pct=0.25
    )
    assert part.pairs == 8
    assert part.longest_retrieval == 2048  # the features that stand still prefer similar keys anywhere
    assert "0.000316" in texts(part)
    assert "0.133" in texts(part)


def test_divisors(tmp_path: Path) -> None:
    scaling = {
        "rope_type": "longrope",
        "long_factor": [2.0] * 64,
        "short_factor": [1.0] * 64,
        "original_max_position_embeddings": 4096,
    }
    (part,) = audited(tmp_path, max_position_embeddings=131_072, rope_scaling=scaling)
    assert part.attention_factor == pytest.approx(1.1902380714)
    assert "two sets of divisors" in texts(part)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"max_position_embeddings": 1024}, "has no rotary positions"),
        ({"rope_theta": 1e4}, "names no max_position_embeddings"),
        ({"max_position_embeddings": 64, "rope_scaling": {"rope_type": "spiral"}}, "'spiral' is unknown"),
    ],
)
def test_what_cannot_be_audited(tmp_path: Path, config: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        audited(tmp_path, **config)


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    """The exit code is 0 for a file that all engines read alike, 1 for one that they do not, 2 for none."""
    audited(tmp_path, max_position_embeddings=131_072, rope_theta=5e5, rope_scaling=LLAMA3)
    run = [sys.executable, "-m", "yardstick", "audit", str(tmp_path / "config.json")]
    found = subprocess.run([*run, "--json"], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert json.loads(found.stdout)[0]["unfinished_pairs"] == 29
    missing = subprocess.run(
        [*run[:-1], str(tmp_path / "no.json")], capture_output=True, text=True, check=False
    )
    assert missing.returncode == 2
    assert (
        missing.stderr.strip()
        == f"yardstick: {tmp_path / 'no.json'} cannot be read: No such file or directory."
    )
