"""Run a real Jupyter kernel without a front end: cells in, their effects out."""

from __future__ import annotations

import json
import os
import queue
import random
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

PATIENCE = 120  # seconds without an answer until a kernel counts as dead
AGAIN = 10.0  # seconds until a running cell is interrupted again
QUICK = ["--HistoryManager.enabled=False", "--InteractiveShell.xmode=Minimal"]  # no history file, short tracebacks

MEASURE = """
def _measure():
    import ctypes, gc, json, os, sys, threading, tracemalloc
    import comm
    held = get_ipython().history_manager  # IPython keeps every cell and, since version 9, every output
    for history in ("outputs", "output_hist", "output_hist_reprs", "exceptions"):
        getattr(held, history, {}).clear()
    del held.input_hist_parsed[1:], held.input_hist_raw[1:]
    for _ in range(3):
        gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        pass
    pages = int(open("/proc/self/statm").read().split()[1]) if os.path.exists("/proc/self/statm") else 0
    children = 0
    for task in os.listdir("/proc/self/task") if os.path.exists("/proc/self/task") else ():
        children += len(open(f"/proc/self/task/{task}/children").read().split())
    from nbautograd import protocol
    from nbautograd._engine.arrays.version_counter import _histories
    return json.dumps({
        "rss": pages * 4096,
        "traced": tracemalloc.get_traced_memory()[0],
        "objects": len(gc.get_objects()),
        "comms": len(comm.get_comm_manager().comms),
        "threads": threading.active_count(),
        "children": children,
        "files": len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0,
        "histories": len(_histories),
        "observers": len(protocol.observers.get()),
        "callbacks": sum(map(len, get_ipython().events.callbacks.values())),
    })
"""


@dataclass
class Ran:
    """The result of one cell."""

    status: str
    error: str = ""
    message: str = ""
    text: str = ""
    shown: list[dict[str, Any]] = field(default_factory=list)
    comms: list[dict[str, Any]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    """The messages that brought all this, in their order."""


class Kernel:
    """One kernel, to which each cell is sent as JupyterLab sends it: under the id of its place in the notebook."""

    def __init__(self, manager: KernelManager) -> None:
        self.manager = manager
        self.client = manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(PATIENCE)
        self.count = 0

    def run(self, code: str, cell: str = "", interrupt_after: float | None = None) -> Ran:
        """Run a cell; ``interrupt_after`` so many seconds from its first printed word, interrupt it."""
        session = self.client.session
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        message = session.msg("execute_request", content, metadata={"cellId": cell or uuid.uuid4().hex})
        self.client.shell_channel.send(message)
        done = Ran("")
        # Python drops an interrupt that arrives while a destructor runs: interrupt again, as a person would.
        again = threading.Timer(AGAIN, self.manager.interrupt_kernel)
        for reply in self._answers(message["header"]["msg_id"]):
            kind, content = reply["msg_type"], reply["content"]
            done.kinds.append(kind)
            if kind == "stream":
                done.text += content["text"]
                if interrupt_after is not None:
                    time.sleep(interrupt_after)
                    self.manager.interrupt_kernel()
                    again.start()
                    interrupt_after = None
            elif kind in ("display_data", "execute_result"):
                done.shown.append(content["data"])
            elif kind.startswith("comm_"):
                done.comms.append({"kind": kind, **content})
            elif kind == "error":
                done.error, done.message = content["ename"], content["evalue"]
        again.cancel()
        reply = self.client.get_shell_msg(timeout=PATIENCE)
        while reply["parent_header"].get("msg_id") != message["header"]["msg_id"]:  # of when the kernel started
            reply = self.client.get_shell_msg(timeout=PATIENCE)
        done.status = reply["content"]["status"]
        if done.status == "error" and not done.error:  # an error of one line, without a traceback
            done.error, done.message = reply["content"]["ename"], reply["content"]["evalue"]
        self.count += 1
        return done

    def _answers(self, request: str) -> Iterator[dict[str, Any]]:
        """Yield the kernel's broadcasts for a request, until it is idle again."""
        while True:
            try:
                reply = self.client.get_iopub_msg(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError("the kernel does not answer") from None
            if reply["parent_header"].get("msg_id") != request:
                continue
            if reply["msg_type"] == "status" and reply["content"]["execution_state"] == "idle":
                return
            yield reply

    def send(self, message: str, content: dict[str, Any]) -> None:
        """Send any message on the shell channel, as a broken front end might, and wait until the kernel is idle."""
        sent = self.client.session.msg(message, content)
        self.client.shell_channel.send(sent)
        for _ in self._answers(sent["header"]["msg_id"]):
            pass

    def measure(self) -> dict[str, int]:
        """Return how much the kernel holds, once all that can be let go has been."""
        assert self.run("%reset -f").status == "ok"
        # The last traceback is kept, and its frames hold what was recorded: how much is chance. This one holds nothing.
        assert self.run("1 / 0").error == "ZeroDivisionError"
        assert self.run(MEASURE).status == "ok"
        found: dict[str, int] = json.loads(self.run("print(_measure())").text)
        return found


@contextmanager
def kernel(home: Path, env: dict[str, str] | None = None) -> Iterator[Kernel]:
    """A kernel with a home of its own and no history on disk; ended at the end."""
    manager = KernelManager(kernel_name="python3")
    folders = {"HOME": home, "IPYTHONDIR": home / "ipython", "JUPYTER_RUNTIME_DIR": home / "runtime"}
    settings = {**os.environ, **{key: str(path) for key, path in folders.items()}, **(env or {})}
    manager.start_kernel(env=settings, cwd=str(home), extra_arguments=QUICK)
    try:
        running = Kernel(manager)
        yield running
        running.client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)


def moments(seed: int) -> random.Random:
    """When to interrupt, the same in every run."""
    return random.Random(seed)
