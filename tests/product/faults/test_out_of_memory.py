"""Memory that runs out, at every allocation in turn: a MemoryError, and gradients and modes as before or as after."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import nbautograd as nb
from tests import needs

ROOT = Path(nb.__file__).parent.parent

STEP = """
import sys
import numpy as np
import nbautograd as nb

w, b = nb.ones({n}, {n}, requires_grad=True), nb.zeros({n}, requires_grad=True)
data = nb.arange(2.0 * {n}).reshape(2, {n})

def step():
    loss = ((nb.relu(data @ w + b) - 1) ** 2).mean()
    loss.backward()

def grads():
    return [None if p.grad is None else p.grad.sum().item() for p in (w, b)]

step()
after = grads()
seen = {{"failed": 0, "between": [], "modes": [], "others": []}}

def attempt(k, limit, free):
    w.grad = b.grad = None
    try:
        limit(k)
        try:
            step()
        finally:
            free()
    except MemoryError:
        seen["failed"] += 1
    except SystemError as error:  # NumPy forgets to set its exception in some places
        assert "without" in str(error) and "exception" in str(error), error
        seen["failed"] += 1
    if grads() not in ([None, None], after):
        seen["between"].append((k, grads()))
    if not nb.is_grad_enabled():
        seen["modes"].append(k)
"""


def run(code: str) -> list[str]:
    """Return the output of the code in a process of its own, which runs out of memory.

    With one thread: OpenBLAS ends the process if it finds no memory for several threads. The GNU C library returns
    freed memory at once: arrays in memory that it kept would not meet the limit.
    """
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    fixed = {"MALLOC_MMAP_THRESHOLD_": str(128 << 10)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, env=os.environ | one | fixed)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split("\n")


def test_every_allocation_of_python_fails_once() -> None:
    pytest.importorskip("_testcapi", reason="this Python came without its own tests")
    code = f"""{STEP.format(n=3)}
import _testcapi

from tests import needs
k = 0
while k < 3000 and (k < 10 or seen["failed"] + 40 > k):
    k += 1
    attempt(k, lambda k: _testcapi.set_nomemory(k, k + 1), _testcapi.remove_mem_hooks)
step()
print(seen["failed"] > 50, seen["between"], seen["modes"])
"""
    assert run(code)[0] == "True [] []"


def test_every_large_array_fails_once() -> None:
    """Real arrays against a real limit of the process's memory, which grows from attempt to attempt."""
    needs.package("resource")
    code = f"""{STEP.format(n=1200)}
import gc
import resource
SIZE = 1200 * 1200 * 4

def used():
    return int(open("/proc/self/statm").read().split()[0]) * 4096

def limit(k):
    gc.collect()
    resource.setrlimit(resource.RLIMIT_AS, (used() + k * SIZE // 2, -1))

def free():
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))

for k in range(12):
    attempt(k, limit, free)
step()
print(0 < seen["failed"] < 12, seen["between"], seen["modes"])
"""
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not say how much memory a process uses")
    assert run(code)[0] == "True [] []"
