"""Turn off unneeded features that slow down every process: a plugin of pytest that is loaded first.

Formats of addresses: nbformat checks notebooks by jsonschema, which builds a grammar of addresses in four scripts when
it is imported (3 s); notebooks have no such field, and jsonschema does without the package where it is missing. Servers
and other processes that tests start find an empty one on their path.

Constants of our sources: hypothesis reads all loaded modules for numbers and texts to try (3 s). Which are loaded
depends on the tests that ran before, so the examples of a test would not be the same each time.

Waiting threads: OpenBLAS and OpenMP let a second thread spin for 0.1 s after each start and each product, in hundreds
of processes. Here such threads sleep at once, unless the variables are set; how many compute, and what, stays the same.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # as if it were not installed
WITHOUT = str(Path(__file__).with_name("without"))
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # 2**4 turns, the fewest
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
if WITHOUT not in (_path := os.environ.get("PYTHONPATH", "")).split(os.pathsep):
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [WITHOUT, _path]))


def pytest_configure(config: pytest.Config) -> None:
    """Leave the sources out of hypothesis' examples."""
    providers = importlib.import_module("hypothesis.internal.conjecture.providers")
    if hasattr(providers, "is_local_module_file"):  # a private name: without it the examples vary a little
        providers.is_local_module_file = lambda path: False
