"""Try everything on a GPU that this machine does not have:  python -m tests.gpu"""

from tests.gpu.driver import load

load()

from tests.gpu.dry_run import main  # noqa: E402  # imports PyTorch

main()
