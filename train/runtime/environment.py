"""The settings of a process that trains, made by entry points before torch is imported."""

import atexit
import gc
import logging
import os
import sys
import tempfile
import warnings


def set_environment() -> None:
    """Set how OpenMP waits, how memory is paged and how often garbage is looked for, unless the user has."""
    # OpenMP's threads wait by spinning: with other work on the same cores that is ten times slower. Asleep at
    # once, two would be slower than one, as waking takes longer than a small product
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # both are read when torch is imported
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # tens of microseconds
    # Of 4 KiB each, the pages of large tensors take a tenth of a step to find; Linux has huge ones
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # read at the first tensor
    # Importing Lightning makes 400,000 objects that stay; to look for garbage among them takes seconds
    gc.set_threshold(10_000)
    atexit.register(gc.freeze)
    if not os.access(os.path.expanduser("~"), os.W_OK):  # a container: W&B and `datasets` write there
        os.environ["HOME"] = tempfile.mkdtemp(prefix="home-")


def quiet() -> None:
    """Silence Lightning's tips and intended warnings, but show this project's messages."""
    for name in ("train", "data"):
        messages = logging.getLogger(name)
        if not messages.hasHandlers():  # Hydra has set none up
            messages.addHandler(logging.StreamHandler(sys.stdout))
            messages.setLevel(logging.INFO)
    for name in ("lightning.pytorch", "lightning.fabric", "lightning"):
        logging.getLogger(name).setLevel(logging.ERROR)
    logging.getLogger("lightning.pytorch.profilers").setLevel(logging.INFO)  # of trainer.profiler
    warnings.filterwarnings("ignore", module="lightning")
    warnings.filterwarnings("ignore", message=".*is not a supported tensor core.*")
    warnings.filterwarnings("ignore", message="find_unused_parameters=True was specified.*")
