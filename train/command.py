"""A command line that reads a file of `conf/`: mistakes in one sentence, whatever they interrupt."""

import os
from collections.abc import Callable

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from train.sentences import sentences
from train.settings import CONF, register


def command(name: str, run: Callable[[DictConfig, list[str]], None]) -> None:
    """Run on `conf/<name>.yaml`, told as well which settings the user has given."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors come here, to be said in one sentence
    register()
    problems: list[Exception] = []

    def main(config: DictConfig) -> None:
        try:
            run(config, [given.partition("=")[0] for given in HydraConfig.get().overrides.task])
        except Exception as error:  # Hydra would print it in its own way
            problems.append(error)

    with sentences():
        hydra.main(version_base="1.3", config_path=str(CONF), config_name=name)(main)()
        for problem in problems:
            raise problem
