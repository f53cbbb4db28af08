"""Run steps as processes with time limits: record each result at once, and skip steps that hang or die.

A step's process reports each item's start and end through a pipe. If an item exceeds its time, the process is killed;
then, or if it dies by itself, the item is recorded, and a new process continues with the rest. A step that raises stops
no other. When a part's time is over, running work is stopped and continues in the next part.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .journal import REHEARSAL, Journal

COMMAND = Path(__file__).parents[1] / "on_device.py"
AGAIN = 75  # a process' exit status: CUDA is broken in it, and another process should continue
RESTARTS = 30  # of a step's process, in a part
START = 60.0  # seconds: a process loads PyTorch and CuPy before its first output


@dataclass(frozen=True)
class Step:
    """A piece of work for a process of its own: the function ``module:name``, called with a `Child`."""

    name: str
    title: str
    function: str
    arguments: tuple[Any, ...] = ()
    seconds: float = 60.0  # its estimated time; parts are planned by it
    limit: float = 120.0  # limit of an item's time before it counts as hanging
    workers: int = 1  # number of processes that share its items


@dataclass
class Worker:
    """A process of a step, and its current item."""

    process: Any
    pipe: int
    index: int
    buffer: bytes = b""
    item: str | None = None
    since: float = field(default_factory=time.monotonic)
    killed: bool = False


class Runner:
    """Runs steps one after another until a deadline."""

    def __init__(self, journal: Journal, deadline: float, module: str, limit: float | None = None) -> None:
        self.journal, self.deadline, self.module, self.limit = journal, deadline, module, limit
        self.log = journal.folder / "log.txt"

    def say(self, text: str) -> None:
        """On the screen and in the log, with the time."""
        line = f"{time.strftime('%H:%M:%S')} {text}"
        print(line, flush=True)
        self.journal.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def run(self, steps: Sequence[Step]) -> list[str]:
        """Run the steps that are not over yet and fit; return the names of the others."""
        mark = f" ({REHEARSAL})" if self.journal.rehearsal else ""
        total = self.deadline - time.monotonic()
        minimum = min(15.0, 0.1 * total)  # a shorter rest is not worth a process
        self.say(f"{len(steps)} steps, {total:.0f} s{mark}")
        for step in steps:
            if self.journal.is_over(step.name):
                continue
            left = self.deadline - time.monotonic()
            # a step with items can stop between them; the rest must fit as a whole
            if left < (minimum if step.limit < step.seconds else min(step.seconds, step.limit)):
                self.say(f"{step.name}: left for the next part ({left:.0f} s are left)")
                continue
            self.step(step)
        return [step.name for step in steps if not self.journal.is_over(step.name)]

    def step(self, step: Step) -> None:
        """Run one step, in as many processes after each other as it takes."""
        self.say(f"{step.name}: {step.title}")
        start = time.monotonic()
        self.settle(step)
        status, problem = "", ""
        for _ in range(RESTARTS):
            before = len(self.journal.lines)
            codes = self.round(step)
            if None in codes:
                status = "partial"
                break
            if not any(codes):
                status = "done"
                break
            problem = f"exit status {', '.join(str(code) for code in codes if code)}"
            if not any(line["what"] == "item" for line in self.journal.lines[before:]):
                status = "died"  # before its first item: it will fail again
                break
        status = status or "died"
        if status == "done" and any(x["status"] not in ("passed", "skipped") for x in self.items(step)):
            status = "failed"
        seconds = round(time.monotonic() - start, 1)
        self.journal.add(
            what="step", step=step.name, status=status, seconds=seconds, problem=problem if status == "died" else "",
            time=time.strftime("%Y-%m-%d %H:%M:%S"),
        )  # fmt: skip
        self.say(f"{step.name}: {status} after {seconds:.0f} s; {self.counts(step)}")

    def items(self, step: Step) -> list[dict[str, Any]]:
        """Return the facts about the step's items."""
        return list(self.journal.items(step.name).values())

    def counts(self, step: Step) -> str:
        """Return how many of the step's items ended how."""
        kinds = [item["status"] for item in self.items(step)]
        return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)) or "nothing recorded"

    def settle(self, step: Step) -> None:
        """Of items that were under way when an earlier run was killed: a second time is enough."""
        for item, times in self.journal.open_items(step.name).items():
            if times > 1:
                self.end(step, item, "died", "the whole run ended in it, twice")

    def end(self, step: Step, item: str, status: str, message: str) -> None:
        """Record an item whose process cannot do it."""
        self.journal.add(what="item", step=step.name, item=item, status=status, message=message)
        self.say(f"{step.name}: {item}: {status}: {message}")

    def round(self, step: Step) -> list[int | None]:
        """Run the step's processes once; their exit statuses, None for those that the deadline stopped."""
        workers = [self.started(step, index) for index in range(step.workers)]
        codes: dict[int, int | None] = {}
        with selectors.DefaultSelector() as selector:
            for worker in workers:
                selector.register(worker.pipe, selectors.EVENT_READ, worker)
            try:
                while selector.get_map():
                    gone = [worker for worker in workers if worker.process.poll() is not None]
                    ready = {key.fd for key, _ in selector.select(0.2)}
                    for worker in workers:
                        said = worker.pipe in ready and self.heard(step, worker)
                        # closed; or its process has ended, and a child keeps the pipe open
                        if worker.index not in codes and not said and (worker.pipe in ready or worker in gone):
                            selector.unregister(worker.pipe)
                            codes[worker.index] = self.ended(step, worker)
                    self.watch(step, workers)
            finally:
                for worker in workers:  # an interrupt: end all child processes
                    kill(worker.process)
                    if worker.index not in codes:
                        worker.process.wait()
                        os.close(worker.pipe)
        return [codes[worker.index] for worker in workers]

    def started(self, step: Step, index: int) -> Worker:
        """A process for the step."""
        reading, writing = os.pipe()
        command = [sys.executable, str(COMMAND), "--out", str(self.journal.folder), "--child", step.name]
        command += ["--steps", self.module]
        command += ["--pipe", str(writing), "--worker", str(index)] + ["--rehearse"] * self.journal.rehearsal
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[writing], start_new_session=True
            )  # fmt: skip
        os.close(writing)
        return Worker(process, reading, index)

    def heard(self, step: Step, worker: Worker) -> bool:
        """Write down the reports of a process; return False when it has closed its pipe."""
        data = os.read(worker.pipe, 1 << 16)
        *lines, worker.buffer = (worker.buffer + data).split(b"\n")
        for text in lines:
            line = json.loads(text)
            self.journal.add(**line, step=step.name)
            worker.item, worker.since = line["item"] if line["what"] == "begun" else None, time.monotonic()
        return bool(data)

    def watch(self, step: Step, workers: list[Worker]) -> None:
        """Kill processes that exceed their time, and all of them when the part's time is over."""
        now = time.monotonic()
        for worker in workers:
            limit = self.limit or step.limit
            allowed = limit if worker.item is not None else max(limit, START)
            if worker.process.poll() is None and (now > self.deadline or now - worker.since > allowed):
                worker.killed = True
                kill(worker.process)

    def ended(self, step: Step, worker: Worker) -> int | None:
        """See how a process ended, and record the item that it leaves."""
        os.close(worker.pipe)
        worker.pipe = -1
        code: int = worker.process.wait()
        if worker.killed and time.monotonic() > self.deadline:
            if worker.item is not None:
                self.journal.add(what="left", step=step.name, item=worker.item)
            return None
        if worker.killed and worker.item is None:
            self.say(f"{step.name}: its process was killed for saying nothing")
        elif worker.killed:
            self.end(step, worker.item or "", "hung", f"killed after {self.limit or step.limit:.0f} s")
        elif code and worker.item is not None:
            how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            self.end(step, worker.item, "died", f"its process ended with {how}")
        return code


def kill(process: Any) -> None:
    """End a process that was started here and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def parts(steps: Sequence[Step], seconds: float) -> list[list[Step]]:
    """The steps in their order, as many in each part as are thought to fit; longer ones span several."""
    found: list[list[Step]] = [[]]
    left = seconds
    for step in steps:
        if found[-1] and step.seconds > left:
            found.append([])
            left = seconds
        found[-1].append(step)
        left -= step.seconds
    return found
