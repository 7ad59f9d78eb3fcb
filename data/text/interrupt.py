"""Long library calls that do not react to signals."""

import atexit
import os
import sys
from collections.abc import Callable
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


def run_in_thread(call: Callable[..., T], *arguments: Any, **more: Any) -> T:
    """Return the result of a call that runs in a thread, so that this thread can handle signals.

    An exception of a signal handler is raised at once; the process then ends without waiting for the call.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call(*arguments, **more))
        except BaseException as error:  # a panic in Rust is no Exception
            errors.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.1)
    except BaseException as error:
        atexit.register(leave, getattr(error, "code", 1))  # the end of the interpreter would abort the call
        raise
    if errors:
        raise errors[0]
    return results[0]


def leave(code: int) -> None:
    """End this process at once."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
