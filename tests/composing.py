"""Settings, composed once for all tests that ask for the same: each takes a tenth of a second."""

from functools import cache

from train.config import compose

composed = cache(compose.compose_config)
