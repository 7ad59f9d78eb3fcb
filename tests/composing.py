"""Settings, composed once for all tests that ask for the same: each takes a tenth of a second."""

from functools import cache

from models.registry import read
from train.config import compose
from train.config.schema import Config
from train.config.sections import EncodingConfig

composed = cache(compose.compose_config)


def with_encoding(config: Config, name: str) -> Config:
    """The settings with those of another encoding, which need not be composed."""
    settings = EncodingConfig.of({"share": True, "ssmax": False} | read("encoding", name))
    return config.model_copy(update={"encoding": settings})
