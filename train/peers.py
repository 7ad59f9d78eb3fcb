"""The processes of a run, on one machine or many: where one dies, the others end with a sentence on it.

Each gives a sign of life in the store that torch.distributed met at; the first one looks after all of them,
and each that started others knows how those ended.
"""

import atexit
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import suppress
from threading import Event, Thread
from typing import Any, NoReturn

from lightning.pytorch import Callback, LightningModule, Trainer
from torch.distributed import TCPStore

from train.signals import ending

BEAT, SILENCE = 1.0, 30.0  # seconds between two signs of life, and without one
GRACE = 15.0  # seconds for a process that hangs
LOST = re.compile("gloo|nccl|connection|broken pipe|timed? ?out", re.IGNORECASE)
FAILED, LEFT = b"failed", b"left"  # the last sign of a process


class Peers(Callback):
    """Of one process, for all its trainers."""

    def __init__(self) -> None:
        self.rank, self.world = 0, 1
        self.children: list[subprocess.Popen[bytes]] = []
        self.seen: dict[int, tuple[bytes, float]] = {}  # the last sign of each process, and when it was new
        self.store: Any = None
        self.failure: str | None = None  # what happened to which process
        self.decided = Event()

    def setup(self, trainer: Trainer, module: LightningModule, stage: str) -> None:
        if trainer.world_size == 1 or self.store is not None:
            return
        self.rank, self.world = trainer.global_rank, trainer.world_size
        started = getattr(trainer.strategy.launcher, "procs", [])
        self.children = list(started)
        started.clear()  # Lightning's own observer kills this process without a word
        address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        self.store = TCPStore(*address, is_master=False, wait_for_workers=False)
        self.store.set(f"host/{self.rank}", socket.gethostname())
        self.store.set(f"sign/{self.rank}", b"0")
        trainer.strategy.barrier()
        atexit.register(self.leave, LEFT)
        Thread(target=self.watch, name="peers", daemon=True).start()

    def on_exception(self, trainer: Trainer, module: LightningModule, exception: BaseException) -> None:
        """An error of its own is told by this process; a lost connection is the fault of another."""
        if self.store is None:
            return
        is_lost = isinstance(exception, RuntimeError) and LOST.search(str(exception))
        if is_lost and self.decided.wait(SILENCE + 10):
            self.tell(exception)
        self.leave(FAILED)

    def tell(self, exception: BaseException) -> NoReturn:
        if os.environ.get("LOCAL_RANK", "0") != "0":
            raise SystemExit(1)
        raise ChildProcessError(self.failure) from exception

    def leave(self, sign: bytes) -> None:
        """What becomes of the others is no longer this process's business."""
        self.decided.set()
        with suppress(RuntimeError):
            self.store.set(f"sign/{self.rank}", sign)

    def watch(self) -> None:
        """Runs beside the training; ends this process where it hangs."""
        count = 0
        while not self.decided.wait(BEAT):
            count += 1
            try:
                self.store.set(f"sign/{self.rank}", str(count))
                self.failure = self.ended() or (self.silent() if self.rank == 0 else self.heard())
                if self.failure and self.rank == 0:
                    self.store.set("failure", self.failure)
            except RuntimeError:  # it is in the first process
                self.failure = f"Process 0 of {self.world} is gone."
            if self.failure:
                self.decided.set()
        if self.failure:
            time.sleep(GRACE)
            if os.environ.get("LOCAL_RANK", "0") == "0":
                print(f"yardstick: {self.failure}", file=sys.stderr, flush=True)
            for child in self.children:
                child.kill()
            os._exit(1)

    def ended(self) -> str | None:
        """Of the processes that this one started."""
        for child, rank in zip(self.children, range(self.rank + 1, self.world), strict=False):
            code = child.poll()
            if code:
                return f"Process {rank} of {self.world} {ending(code)}."
        return None

    def silent(self) -> str | None:
        """Of all."""
        now = time.monotonic()
        signs = self.store.multi_get([f"sign/{rank}" for rank in range(self.world)])
        for rank, sign in enumerate(signs):
            old, since = self.seen.get(rank, (b"", now))
            if sign != old:
                self.seen[rank] = sign, now
            elif sign != LEFT and now - since > SILENCE:
                return f"Process {rank} of {self.world}, on {self.host(rank)}, is gone."
            if sign == FAILED:
                return f"Process {rank} of {self.world}, on {self.host(rank)}, failed."
        return None

    def host(self, rank: int) -> str:
        return str(self.store.get(f"host/{rank}").decode())

    def heard(self) -> str | None:
        """What the first process found."""
        return self.store.get("failure").decode() if self.store.check(["failure"]) else None
