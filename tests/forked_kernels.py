"""Kernels that are forked from a process which has imported already what each of them needs first.

To start a kernel and to import this package takes most of the time that a notebook of the course takes. Outside of
Linux, where a fork is not safe everywhere, kernels start as usual. Other tests start kernels as Jupyter does.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

__all__ = ["forked_kernels"]

LAUNCHER = "ipykernel_launcher"
LAUNCH = "jupyter_client.provisioning.local_provisioner.launch_kernel"
FIRST = (
    "ipykernel.kernelapp", "ipykernel.debugger", "IPython.core.completerlib", "IPython.core.debugger",
    "IPython.core.oinspect", "IPython.extensions.storemagic", "psutil", "sqlite3", "tornado.platform.asyncio",
    "ipywidgets", "anywidget", "nbautograd.viz", "nbautograd.viz.notebook.magics", "nbautograd.viz.program",
)  # fmt: skip
"""The modules that are imported before a fork."""
LARGEST = 1_000_000  # bytes of a command and its environment


class Forked:
    """A forked kernel: as much of a ``Popen`` as Jupyter uses. The kernel's end of ``line`` closes when it ends."""

    stdin = stdout = stderr = None

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self.pid = int(line.recv(32))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self.line], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self.line.recv(1)
            self.line.close()
            self.returncode = 0
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def _parent() -> socket.socket:
    """Start the process that forks kernels, once; it ends when this end of its line closes, with this process."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "tests.forked_kernels", str(its.fileno())]
    process = subprocess.Popen(command, cwd=root, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL)
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _launch(command: list[str], **options: Any) -> Forked:
    """Replace Jupyter's function that starts a kernel's process."""
    assert command[1:3] == ["-m", LAUNCHER]
    ours, its = socket.socketpair()
    asked = {"arguments": command[3:], "env": options["env"], "cwd": options["cwd"]}
    socket.send_fds(_parent(), [json.dumps(asked).encode()], [its.fileno()])
    its.close()
    return Forked(ours)


@contextmanager
def forked_kernels() -> Iterator[None]:
    """A block in which the kernels that this process starts are forked, where that is safe."""
    if sys.platform != "linux":
        yield
        return
    with mock.patch(LAUNCH, _launch):
        yield


# -- the process that forks ----------------------------------------------------------------------


def _become_kernel(arguments: list[str], env: dict[str, str], cwd: str) -> NoReturn:
    """Run the kernel in this process as its launcher does, with nothing of the process that it was forked from."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    os.close(nowhere)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = [LAUNCHER, *arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]  # it ends when that process has
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance()
    sys.exit()


def main(asked: socket.socket) -> None:
    """Fork a kernel for each message, until the other end closes."""
    del sys.path[0]  # the folder of the project: kernels have another one
    for name in FIRST:
        __import__(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system forgets those that end
    while True:
        message, lines, _, _ = socket.recv_fds(asked, LARGEST, 1)
        if not message:
            return
        if os.fork() == 0:
            asked.close()
            line = socket.socket(fileno=lines[0])
            os.setsid()  # first: who is told of the process asks for its group
            line.send(str(os.getpid()).encode())
            line.detach()  # open until this process ends
            _become_kernel(**json.loads(message))
        os.close(lines[0])


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
