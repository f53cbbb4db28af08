"""End a program and its children."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that was started with ``start_new_session``, and its children; on Windows the process alone.

    >>> import sys
    >>> process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True)
    >>> end_group(process)
    >>> process.communicate()[0], process.returncode != 0
    (None, True)
    """
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # it has ended
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
