"""Cached settings: composing them takes a tenth of a second, and many tests need the same ones."""

from functools import cache

from models.registry import read
from train.config import compose
from train.config.schema import Config
from train.config.sections import EncodingConfig

composed = cache(compose.compose_config)


def with_encoding(config: Config, name: str) -> Config:
    """Return the settings with another encoding, without composing again."""
    settings = EncodingConfig.of({"share": True, "ssmax": False} | read("encoding", name))
    return config.model_copy(update={"encoding": settings})
