"""Run a step's process from the inside: its work, and the pipe for its reports."""

from __future__ import annotations

import json
import os
import threading
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from .journal import Journal
from .schedule import AGAIN, Step

WHOLE = "the step itself"
"""The item that failed where a step's function raises outside of its items."""


class Child:
    """The arguments of a step's function."""

    def __init__(self, step: Step, folder: Path, rehearsal: bool, pipe: int, worker: int) -> None:
        self.step, self.folder, self.rehearsal, self.pipe, self.worker = step, folder, rehearsal, pipe, worker
        self.done = set(Journal(folder, rehearsal).items(step.name))

    def is_mine(self, number: int, item: str) -> bool:
        """Return whether this process is to do the item, the ``number``-th of all."""
        return item not in self.done and number % self.step.workers == self.worker

    def tell(self, **line: Any) -> None:
        """Say something to the one who keeps the journal."""
        data = (json.dumps(line, ensure_ascii=False) + "\n").encode()
        while data:
            data = data[os.write(self.pipe, data) :]

    def begin(self, item: str) -> None:
        """An item begins."""
        self.tell(what="begun", item=item)

    def end(self, item: str, status: str, **results: Any) -> None:
        """An item has ended: ``passed``, ``failed`` or ``skipped``."""
        self.tell(what="item", item=item, status=status, **results)

    def each(self, items: dict[str, Callable[[], dict[str, Any]]]) -> None:
        """Do one after another; one that raises is recorded with its error and stops no other.

        :raises SystemExit: one failed so badly that CUDA does nothing more in this process.
        """
        for number, (item, work) in enumerate(items.items()):
            if not self.is_mine(number, item):
                continue
            self.begin(item)
            start = time.monotonic()
            try:
                results = {"status": "passed", **work()}
            except Exception as error:
                traceback.print_exc()
                results = {"status": "failed", "message": f"{type(error).__name__}: {error}"[:600]}
            self.end(item, seconds=round(time.monotonic() - start, 3), **results)
            if results["status"] == "failed" and not self.is_sound():
                raise SystemExit(AGAIN)

    def is_sound(self) -> bool:
        """Return whether CUDA still answers: after an illegal access every call fails until the process ends."""
        try:
            library = import_module("nbautograd")
            if library.cuda.is_initialized():
                library.cuda.synchronize()
        except Exception:
            return False
        return True


def run(step: Step, folder: Path, rehearsal: bool, pipe: int, worker: int) -> None:
    """Do a step in this process."""
    parent = os.getppid()
    os.set_inheritable(pipe, False)

    def follow() -> None:
        """End when the one who keeps the journal has."""
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    child = Child(step, folder, rehearsal, pipe, worker)
    module, _, name = step.function.partition(":")
    try:
        if rehearsal:
            import_module("device.stand_in").enter()
        getattr(import_module(module), name)(child, *step.arguments)
    except Exception as error:
        traceback.print_exc()
        child.end(WHOLE, "failed", message=f"{type(error).__name__}: {error}")
