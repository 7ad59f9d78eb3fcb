"""Loops in C over the tensors of a CPU, where PyTorch would pass over them many times.

The machine's C compiler (`CC`, else cc) compiles each file when it is first needed, and a folder of the
user's cache keeps it. Where there is no compiler, and on GPUs, callers use PyTorch's operations.
"""

import ctypes
import os
import shlex
import shutil
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

HERE = Path(__file__).parent
FLAGS = ["-O3", "-shared", "-fPIC", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"]
INSTRUCTIONS = {
    "AVX512": [
        *("-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"),
        "-mprefer-vector-width=512",
    ],
    "AVX2": ["-mavx2", "-mfma"],
}  # of PyTorch's own loops here; others have what all processors of their kind have
ELEMENTS = {torch.float32: (), torch.bfloat16: ("BFLOAT16",)}
WIDE = torch.float32
Given = Tensor | ctypes.Array | ctypes.Structure | int | float | None


class Loops:
    """The functions of one file."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library

    def __call__(self, name: str, *given: Given) -> None:
        """Tensors are passed as pointers to their numbers."""
        getattr(self.library, name)(*[passed(one) for one in given])


def passed(one: Given) -> object:
    if isinstance(one, Tensor):
        return ctypes.c_void_p(one.data_ptr())
    if isinstance(one, ctypes.Structure):
        return ctypes.byref(one)
    if one is None or isinstance(one, ctypes.Array):
        return one
    return ctypes.c_int64(one) if isinstance(one, int) else ctypes.c_float(one)


def loops(name: str, element: Tensor | torch.dtype, *wide: Tensor, **sizes: int) -> Loops | None:
    """Those of `name`.c for numbers of the type of `element` beside others, `wide`, in float32; None if they
    do not fit these tensors or this machine."""
    given, dtype = ((element,), element.dtype) if isinstance(element, Tensor) else ((), element)
    if torch.compiler.is_compiling() or forward_ad._current_level >= 0:  # they know no tangents
        return None
    if not all(x.is_cpu and type(x) in (Tensor, nn.Parameter) for x in (*given, *wide)):
        return None
    if any(x.dtype is not WIDE for x in wide) or any(x.is_neg() for x in (*given, *wide)):
        return None
    return loops_of(name, dtype, **sizes)


def loops_of(name: str, dtype: torch.dtype, **sizes: int) -> Loops | None:
    """Those of `name`.c for numbers of this type on a CPU, whatever calls them."""
    if dtype not in ELEMENTS:
        return None
    defines = ELEMENTS[dtype] + tuple(f"{key.upper()}={size}" for key, size in sizes.items())
    return compiled(name, defines, os.environ.get("CC", "cc"))


def missing() -> bool:
    """Whether PyTorch's operations do everything here, for want of a C compiler."""
    return loops("norm", WIDE) is None


def integers(*values: int) -> ctypes.Array:
    return (ctypes.c_int64 * len(values))(*values)


def dense(x: Tensor) -> Tensor:
    """With the numbers of a row side by side, and those that it has: PyTorch may put a sign off."""
    x = x.resolve_neg()
    return x if x.stride(-1) == 1 else x.contiguous()


def strides(x: Tensor) -> ctypes.Array:
    """Of all dimensions but the last, in numbers."""
    return integers(*x.stride()[:-1])


def pointers(rows: Tensor) -> ctypes.Array:
    """To the first number of each row."""
    return (ctypes.c_void_p * len(rows))(*[row.data_ptr() for row in rows])


@cache
def compiled(name: str, defines: tuple[str, ...], compiler: str) -> Loops | None:
    try:
        program, *options = shlex.split(compiler) or [""]
    except ValueError:  # a quote that is not closed
        return None
    executable = shutil.which(program)
    if executable is None:
        return None
    options += FLAGS + INSTRUCTIONS.get(torch.backends.cpu.get_cpu_capability(), [])
    command = [executable, *options, *(f"-D{define}" for define in defines)]
    sources = [file.read_text() for file in (*sorted(HERE.glob("*.h")), HERE / f"{name}.c")]
    made_of = "\0".join([*command, str(os.stat(executable).st_mtime_ns), *sources])
    kept = f"{name}-{digest(made_of.encode())}"
    try:
        for file in folder().glob(f"{kept}-*.so"):
            if file.stem == f"{kept}-{digest(file.read_bytes())}":  # half of a library would end the process
                return Loops(ctypes.CDLL(str(file)))
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder()) as scratch:
            made = Path(scratch, "made.so")
            for threads in (["-fopenmp"], []):  # which not every compiler has
                whole = [*command, *threads, str(HERE / f"{name}.c"), "-lm", "-o", str(made)]
                if subprocess.run(whole, capture_output=True, timeout=60).returncode == 0:
                    file = made.replace(folder() / f"{kept}-{digest(made.read_bytes())}.so")
                    return Loops(ctypes.CDLL(str(file)))
    except (OSError, RuntimeError, subprocess.SubprocessError):  # no room, no home, no end
        pass
    return None


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


def folder() -> Path:
    """Where compiled files are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "yardstick"
