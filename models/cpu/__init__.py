"""Loops in C over the tensors of a CPU, for work that takes PyTorch many passes.

The C compiler of the machine (`CC`, else cc) compiles each file on first use, into a folder of the user's
cache. Without a compiler, and on GPUs, callers use PyTorch's operations.
"""

import atexit
import ctypes
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

HERE = Path(__file__).parent
FLAGS = [
    *("-O3", "-shared", "-fPIC", "-fopenmp-simd"),
    *("-fno-fast-math", "-fno-math-errno", "-fno-trapping-math"),
]
INSTRUCTIONS = {
    "AVX512": [
        *("-mavx2", "-mfma", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"),
        "-mprefer-vector-width=512",
    ],
    "AVX2": ["-mavx2", "-mfma"],
}  # of PyTorch's own loops here; others have what all processors of their kind have
ELEMENTS = {torch.float32: (), torch.bfloat16: ("BFLOAT16",)}
WIDE = torch.float32
PATIENCE = 20  # seconds for a compiler to compile a line
Argument = Tensor | ctypes.Structure | int | float


class Loops:
    """The functions of one file."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library

    def __call__(self, name: str, *arguments: Argument) -> None:
        """Call a function; tensors are passed as pointers to their numbers."""
        getattr(self.library, name)(*[as_c(argument) for argument in arguments])


def as_c(argument: Argument) -> object:
    if isinstance(argument, Tensor):
        return ctypes.c_void_p(argument.data_ptr())
    if isinstance(argument, ctypes.Structure):
        return ctypes.byref(argument)
    return ctypes.c_int64(argument) if isinstance(argument, int) else ctypes.c_float(argument)


def loops(name: str, element: Tensor | torch.dtype, *wide: Tensor, **sizes: int) -> Loops | None:
    """Return the functions of `name`.c for the type of `element`, with `wide` tensors in float32; None if
    they do not fit these tensors or this machine."""
    given, dtype = ((element,), element.dtype) if isinstance(element, Tensor) else ((), element)
    if torch.compiler.is_compiling() or forward_ad._current_level >= 0:  # they know no tangents
        return None
    if not all(x.is_cpu and type(x) in (Tensor, nn.Parameter) for x in (*given, *wide)):
        return None
    if any(x.dtype is not WIDE for x in wide) or any(x.is_neg() for x in (*given, *wide)):
        return None
    return loops_of(name, dtype, **sizes)


def loops_of(name: str, dtype: torch.dtype, **sizes: int) -> Loops | None:
    """Return the functions of `name`.c for a type of numbers on a CPU."""
    if dtype not in ELEMENTS:
        return None
    defines = ELEMENTS[dtype] + tuple(f"{key.upper()}={size}" for key, size in sizes.items())
    return load_or_compile(name, defines, os.environ.get("CC", "cc"))


def is_missing() -> bool:
    """Return whether there is no C compiler here, so that PyTorch's operations do everything."""
    return loops("norm", WIDE) is None


def dense(x: Tensor) -> Tensor:
    """Return x with contiguous rows and final signs, as PyTorch may defer a change of sign."""
    x = x.resolve_neg()
    return x if x.stride(-1) == 1 else x.contiguous()


@cache
def load_or_compile(name: str, defines: tuple[str, ...], compiler: str) -> Loops | None:
    """Return the functions of a file, compiled now or earlier; None if that fails."""
    command = commands(compiler)
    if command is None:
        return None
    probe, source = command, HERE / f"{name}.c"
    command = (*command, *INSTRUCTIONS.get(torch.backends.cpu.get_cpu_capability(), []))
    command = (*command, *(f"-D{define}" for define in defines))
    sources = [file.read_text() for file in (*sorted(HERE.glob("*.h")), source)]
    key = f"{name}-{digest(chr(0).join([*command, platform.machine(), *sources]).encode())}"
    for place in places(os.environ.get("XDG_CACHE_HOME")):
        try:
            for file in place.glob(f"{key}-*.so"):
                if file.stem == f"{key}-{digest(file.read_bytes())}" and is_private(file):  # not half of one
                    return Loops(ctypes.CDLL(str(file)))
            if not works(probe):
                return None
            with TemporaryDirectory(dir=place) as scratch:
                library = build(command, source, Path(scratch, "built.so"))
                file = library.replace(place / f"{key}-{digest(library.read_bytes())}.so")
                return Loops(ctypes.CDLL(str(file)))
        except (OSError, subprocess.SubprocessError) as error:  # no room; no programs in this folder
            reason = f"{name}.c was not compiled into {place} ({error})"
    warn(f"{reason}, so PyTorch does its work.")
    return None


def commands(compiler: str) -> tuple[str, ...] | None:
    """Return the program and the options of `CC`; None if there is no such program."""
    try:
        program, *options = shlex.split(compiler) or [""]
    except ValueError:  # a quote that is not closed
        return None
    executable = shutil.which(program)
    return None if executable is None else (executable, *options, *FLAGS)


@cache
def works(command: tuple[str, ...]) -> bool:
    """Return whether a compiler builds a library that loads; if not, print that once."""
    try:
        with TemporaryDirectory() as scratch:
            source = Path(scratch, "one.c")
            source.write_text("int one(void) { return 1; }\n")
            if ctypes.CDLL(str(build(command, source, Path(scratch, "one.so"), PATIENCE))).one() == 1:
                return True
        reason = "what it compiles is wrong"
    except (OSError, AttributeError, subprocess.SubprocessError) as error:
        reason = str(error)
    warn(f"The C compiler {command[0]} does not work ({reason}), so PyTorch does what C would do faster.")
    return False


def build(command: tuple[str, ...], source: Path, library: Path, patience: float = 60) -> Path:
    """Compile a file into a library, with threads if the compiler supports them."""
    for threads in (["-fopenmp"], []):
        whole = [*command, *threads, str(source), "-lm", "-o", str(library)]
        done = subprocess.run(whole, capture_output=True, timeout=patience, errors="replace")
        if done.returncode == 0 and library.exists():
            return library
    raise OSError(f"{done.stderr.strip().splitlines()[0] if done.stderr.strip() else 'it says nothing'}")


def warn(text: str) -> None:
    print(f"yardstick: {text}", file=sys.stderr, flush=True)


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


def places(chosen: str | None) -> Iterator[Path]:
    """Yield the folders for compiled files: one in the user's cache, then one of this process."""
    yield cache_folder(chosen)
    yield temporary()


@cache
def cache_folder(chosen: str | None) -> Path:
    """Return the folder for compiled files: in the user's cache, unless others can write to it."""
    try:
        kept = Path(chosen or Path.home() / ".cache") / "yardstick"
        kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_private(kept):
            return kept
        reason = f"{kept} is not yours alone"
    except (OSError, RuntimeError) as error:  # a home that cannot be written, a user without a name
        reason = f"there is no cache folder ({error})"
    warn(f"Compiled loops are not kept, as {reason}; each process compiles them again.")
    return temporary()


def is_private(path: Path) -> bool:
    """Return whether a file or folder belongs to this user, is no link, and is not writable by others."""
    status = path.lstat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022 and not stat.S_ISLNK(status.st_mode)


@cache
def temporary() -> Path:
    """Return a folder of this process that is deleted at its end."""
    path = tempfile.mkdtemp(prefix="yardstick-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)
