"""Try everything on a simulated GPU: python -m tests.gpu"""

from tests.gpu.driver import load

load()

from tests.gpu.dry_run import main  # noqa: E402  # imports PyTorch

main()
