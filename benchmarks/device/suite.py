"""Tests, by pytest in a step's own process, each recorded when it ends; a process that CUDA has left is replaced."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from .child import Child
from .schedule import AGAIN

ROOT = Path(__file__).parents[2]
OPTIONS = ("-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), "-c", str(ROOT / "pyproject.toml"))
ADDOPTS = "addopts=--strict-markers --strict-config -p tests.one_cpu"  # no plugins for notebooks: they may be missing


class Recorder:
    """A plugin that skips finished tests and records the outcome of each of the rest."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.outcome, self.message, self.seconds = "passed", "", 0.0

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        mine = [item for number, item in enumerate(items) if self.child.is_mine(number, item.nodeid)]
        items[:] = mine

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.outcome, self.message, self.seconds = "passed", "", 0.0
        self.child.begin(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds += report.duration
        if report.outcome == "failed" or (report.outcome == "skipped" and self.outcome == "passed"):
            self.outcome = report.outcome
            text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.message = text if report.outcome == "skipped" else text[-1500:]

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.child.end(nodeid, self.outcome, seconds=round(self.seconds, 3), message=self.message)
        if self.outcome == "failed" and not self.child.is_sound():
            sys.stdout.flush()
            os._exit(AGAIN)  # every other test would fail in this process

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome == "skipped":  # a whole file
            self.child.begin(report.nodeid)
            self.child.end(report.nodeid, "skipped", seconds=0.0, message=str(report.longrepr[2]))


def run(child: Child, mark: str, *files: str) -> None:
    """Run the tests of these files that have a mark, or all of them.

    :raises RuntimeError: they could not be collected.
    """
    if child.rehearsal and not mark:
        child.end("all", "skipped", message="needs CuPy itself, not what looks like it")
        return
    import_module("nbautograd").cuda.why_not()  # loads CuPy here, where its warnings are not errors
    os.chdir(ROOT)
    code = pytest.main([*OPTIONS, "-m", mark, "-o", ADDOPTS, *files], plugins=[Recorder(child)])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"pytest ended with {code!r}; the log says why")
