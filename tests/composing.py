"""Cached settings: composing them takes a tenth of a second, and many tests need the same ones."""

from functools import cache
from pathlib import Path

from models.registry import read
from train.config import compose
from train.config.run_id import run_id_of
from train.config.schema import Config
from train.config.sections import EncodingConfig
from train.run import run_job

composed = cache(compose.compose_config)


def with_encoding(config: Config, name: str) -> Config:
    """Return the settings with another encoding, without composing again."""
    settings = EncodingConfig.of({"share": True, "ssmax": False} | read("encoding", name))
    return config.model_copy(update={"encoding": settings})


def run_here(config: Config, folder: Path) -> None:
    """Do a run in this process."""
    run_job(config, folder, run_id_of(config))
