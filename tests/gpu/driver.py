"""A GPU driver for PyTorch's CPU build, whose backward pass then accepts tensors of a GPU."""

import ctypes
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path


def load() -> None:
    """Compile and load the driver. Call this before PyTorch is imported, which looks for a driver then."""
    spec = find_spec("torch")
    assert spec is not None
    torch, source = Path(str(spec.origin)).parent, Path(__file__).with_suffix(".cpp")
    assert not list(torch.glob("lib/libtorch_cuda*")), "This needs PyTorch's build for CPUs."
    with tempfile.TemporaryDirectory() as folder:
        libraries = [f"-L{torch}/lib", f"-Wl,-rpath,{torch}/lib", "-lc10", "-ltorch_cpu"]
        flags = ["-std=c++20", "-shared", "-fPIC", f"-I{torch}/include", "-o", f"{folder}/driver.so"]
        subprocess.run([os.environ.get("CXX", "c++"), *flags, source, *libraries], check=True)
        ctypes.CDLL(f"{folder}/driver.so")


def leave(code: int = 0) -> None:
    """End this process at once with an exit code. PyTorch's own end would abort it: the driver makes PyTorch
    start a thread for the backward pass of a GPU, which may still run."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
