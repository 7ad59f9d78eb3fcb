"""Loops in C over the tensors of a CPU.

The C compiler of the machine (`CC`, else cc) compiles each file on first use, into a folder of the user's
cache. Without a compiler, and on GPUs, callers use PyTorch's operations.
"""

import ctypes
import os
import platform
import shlex
import stat
import subprocess
import sys
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

HERE = Path(__file__).parent
FLAGS = [
    *("-O3", "-shared", "-fPIC", "-fopenmp-simd"),
    *("-fno-fast-math", "-fno-math-errno", "-fno-trapping-math"),
]
AVX512 = "-mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512"
INSTRUCTIONS = {"AVX512": AVX512.split(), "AVX2": ["-mavx2", "-mfma"]}  # of PyTorch's own loops here
ELEMENTS = {torch.float32: (), torch.bfloat16: ("BFLOAT16",)}
PATIENCE = 60  # seconds for a compiler to compile a file


class Loops:
    """The functions of one file."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library

    def __call__(self, name: str, parameters: ctypes.Structure) -> None:
        getattr(self.library, name)(ctypes.byref(parameters))


def loops(name: str, x: Tensor, *defines: str) -> Loops | None:
    """Return the functions of `name`.c for the type of x; None if x, or this machine, does not fit them."""
    if torch.compiler.is_compiling() or forward_ad._current_level >= 0:  # they know no tangents
        return None
    is_plain = x.is_cpu and type(x) in (Tensor, nn.Parameter)
    return loops_of(name, x.dtype, *defines) if is_plain else None


def loops_of(name: str, dtype: torch.dtype, *defines: str) -> Loops | None:
    """Return the functions of `name`.c for a type of numbers on a CPU; None if this machine lacks them."""
    if dtype not in ELEMENTS:
        return None
    return load_or_compile(name, (*ELEMENTS[dtype], *defines), os.environ.get("CC", "cc"))


def lacks_compiler() -> bool:
    """Return whether there is no C compiler here, so that PyTorch's operations do everything."""
    return loops_of("attention", torch.float32) is None


def dense(x: Tensor) -> Tensor:
    """Return x with contiguous rows and final signs, as PyTorch may defer a change of sign."""
    x = x.resolve_neg()
    return x if x.stride(-1) == 1 else x.contiguous()


@cache
def load_or_compile(name: str, defines: tuple[str, ...], compiler: str) -> Loops | None:
    """Return the functions of a file, compiled now or earlier; None, with a warning, if that fails."""
    try:
        command = [*shlex.split(compiler), *FLAGS, *(f"-D{define}" for define in defines)]
        command += INSTRUCTIONS.get(torch.backends.cpu.get_cpu_capability(), [])
        library = folder() / f"{name}-{fingerprint(name, command)}.so"
        if not library.exists():
            compile_file(command, HERE / f"{name}.c", library)
        return Loops(ctypes.CDLL(str(library)))
    except FileNotFoundError:  # there is no compiler
        return None
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as error:
        warn(f"The C compiler {compiler} is not used ({error}), so PyTorch does what C would do faster.")
        return None


def fingerprint(name: str, command: list[str]) -> str:
    """Return what names a compiled file: its sources, how it is compiled, and the kind of machine."""
    sources = [file.read_text("utf-8") for file in (*sorted(HERE.glob("*.h")), HERE / f"{name}.c")]
    return sha256("\0".join([*command, platform.machine(), *sources]).encode()).hexdigest()[:16]


def folder() -> Path:
    """Return the folder for compiled files. Raise OSError unless it is this user's alone."""
    return private(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "yardstick")


def private(path: Path) -> Path:
    """Return a folder, made if it is missing. Raise OSError unless it is this user's alone."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = path.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022 or stat.S_ISLNK(status.st_mode):
        raise OSError(f"{path} is not yours alone: chmod go-w it, or remove it")
    return path


def compile_file(command: list[str], source: Path, library: Path) -> None:
    """Compile a file, with threads if the compiler supports them; `library` is there whole or not at all."""
    with tempfile.TemporaryDirectory(dir=library.parent) as scratch:
        built = Path(scratch, library.name)
        for threads in (["-fopenmp"], []):
            whole = [*command, *threads, str(source), "-lm", "-o", str(built)]
            done = subprocess.run(whole, capture_output=True, timeout=PATIENCE, errors="replace")
            if done.returncode == 0:
                ctypes.CDLL(str(built))  # raises OSError unless it loads
                built.replace(library)
                return
    raise OSError((done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0])


@cache
def warn(text: str) -> None:
    """Print a warning once."""
    print(f"yardstick: {text}", file=sys.stderr, flush=True)
