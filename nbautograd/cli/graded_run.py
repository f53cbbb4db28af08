"""Run one submission's cells and report each check at once: the process that ``nbautograd grade`` starts.

The checks call a copy of ``nbautograd.exercises`` that the submission has not seen, and the names that the course's
cells import are imported again before each check.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

__all__: list[str] = []


def checker() -> ModuleType:
    """Return a copy of the module of exercises that no other code holds."""
    import nbautograd.exercises

    spec = importlib.util.spec_from_file_location("nbautograd._graded_exercises", nbautograd.exercises.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def limit(mebibytes: int) -> None:
    """Limit the memory of this process, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    taken, pages = 0, Path("/proc/self/statm")  # what libraries and their threads have reserved so far
    if pages.exists():
        taken = int(pages.read_text().split()[0]) * resource.getpagesize()
    size = taken + mebibytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def main() -> None:
    job = json.loads(sys.stdin.readline())
    token, cells = job["token"], job["cells"]
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)

    from IPython.core.interactiveshell import InteractiveShell

    own = checker()
    for cell in job["cells"]:
        for name in re.findall(r'check\("([\w.]+)"', cell["source"] if cell["check"] else ""):
            own.written(name, "check")  # read before the submission can change files or libraries
    shell: Any = InteractiveShell.instance()
    shell.history_manager.enabled = False
    limit(job["mebibytes"])

    def say(**fields: Any) -> None:
        report.write(f"{token} {json.dumps(fields)}\n")
        report.flush()

    for cell in cells:
        if cell["check"]:
            shell.run_cell(cell["imports"], silent=True)
            shell.user_ns.update({name: getattr(own, name) for name in own.__all__})
        result = shell.run_cell(cell["source"], store_history=True)
        if cell["check"]:
            error = result.error_before_exec or result.error_in_exec
            number = int(cell["id"].removeprefix("check-"))
            state, points = own._results.get(number, ("wrong", 1))
            say(number=number, state=state, points=points, note=f"check {number}: {error!r:.80}" if error else "")


if __name__ == "__main__":
    main()
