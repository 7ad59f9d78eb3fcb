"""A command line that reads a file of `conf/`."""

import os
import sys
from collections.abc import Callable

import hydra
from omegaconf import DictConfig

from train.compose import check_choices, register
from train.paths import CONF


def run(name: str, main: Callable[[DictConfig], None]) -> None:
    """Call `main` with `conf/<name>.yaml` and the command line's overrides, once for each job of a sweep. Its
    first error is raised after all of them."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra would print errors in its own way
    register()
    check_choices(sys.argv[1:])
    errors: list[Exception] = []

    def caught(config: DictConfig) -> None:
        try:
            main(config)
        except Exception as error:
            errors.append(error)

    hydra.main(version_base="1.3", config_path=str(CONF), config_name=name)(caught)()
    if errors:
        raise errors[0]
