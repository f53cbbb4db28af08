"""What every test finds loaded, how tests are handed out to several processes, and what a run says in the end."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from typing import Any

import pytest

# PyTorch chooses kernels by the processor, and with them the last bits of its random numbers. So chosen, the oracle is
# the same on every processor that has AVX2. The variable is read when PyTorch is first imported.
os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx2")

from nbautograd import late
from tests import needs

late.load()  # tests walk through all that is declared


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``-n``: every test by itself, but a notebook as a whole, as each of its cells needs those before it."""
    from xdist.scheduler import LoadScopeScheduling

    class ByNotebook(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if file.endswith(".ipynb") else nodeid

    return ByNotebook(config, log)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """In one line, what was skipped for lack of what."""
    tests, files, hows = Counter[str](), defaultdict[str, set[str]](set), {}
    for report in terminalreporter.stats.get("skipped", []):
        match = needs.REASON.search(report.longrepr[2]) if isinstance(report.longrepr, tuple) else None
        if match is None:
            continue
        name, hows[match[1]] = match.groups()
        if isinstance(report, pytest.CollectReport):
            files[name].add(report.nodeid)
        else:
            tests[name] += 1
    parts = []
    for name in sorted(hows):
        counts = [f"{n} {what}" for n, what in ((tests[name], "tests"), (len(files[name]), "whole files")) if n]
        parts.append(f"{name}, {' and '.join(counts)} ({hows[name].strip()})")
    if parts:
        terminalreporter.write_line(f"skipped for lack of: {'; '.join(parts)}")
