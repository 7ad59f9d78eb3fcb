"""Train one model short and evaluate it long:  python -m train encoding=alibi

With a file of sweeps/ it is many:  python -m train sweeps=encodings
"""

import os
import sys
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from train.jobs import Jobs
from train.sentences import logged, sentences
from train.settings import CONF, plain, register


def entry() -> None:
    """The command line."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # errors come here, to be said in one sentence
    register()
    jobs = Jobs()
    problems: list[BaseException] = []

    def main(config: DictConfig) -> None:
        folder = Path(HydraConfig.get().runtime.output_dir)
        if HydraConfig.get().mode == RunMode.MULTIRUN:
            jobs.add(
                plain(config), list(HydraConfig.get().overrides.task), folder, HydraConfig.get().launcher
            )
            return
        from train.run import job  # torch and lightning: not for the parent of a sweep

        try:
            with logged(folder):
                job(plain(config), folder)
        except Exception as error:  # Hydra would print it in its own way
            problems.append(error)

    with sentences():
        hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")(main)()
        for problem in problems:
            raise problem
        failed = jobs.finish()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    entry()
