"""Share the parts of tinygrad's programs.

tinygrad only records the expression, and computes on request: it joins operations into kernels, compiles them with a C
compiler, and runs them. Every program therefore ends with `computed`.

As a user would: programs that run repeatedly on data of one shape, c to j, use ``TinyJit`` as in tinygrad's own
examples, and a call replays the kernels without reading the expression again. The others, a, a1 and b, measure the
building of an expression, and build it at every call; compiled kernels are cached.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from typing import Any

from workloads import Program


@cache
def library() -> Any:
    """tinygrad, on the CPU; ImportError, which leaves it out, without clang, the one compiler that it takes."""
    os.environ["DEV"] = "CPU"  # not a GPU, even if it finds one
    import tinygrad

    compiler = shutil.which(os.environ.get("CC", "clang"))
    if compiler is None or "clang" not in subprocess.check_output([compiler, "--version"], text=True):
        raise ImportError("it compiles with clang, which is not installed, or not what CC names")
    return tinygrad


def computed(*results: Any) -> tuple[Any, ...]:
    """The results, after everything that they need was computed."""
    tinygrad = library()
    tinygrad.Tensor.realize(*results)
    tinygrad.Device[tinygrad.Device.DEFAULT].synchronize()
    return results


def replayed(function: Callable[..., tuple[Any, ...]], *inputs: Any) -> Program:
    """The function of these inputs under TinyJit: its first call computes, the second records, later ones replay."""
    tinygrad = library()
    jitted = tinygrad.TinyJit(function)
    device = tinygrad.Device[tinygrad.Device.DEFAULT]

    def program() -> tuple[Any, ...]:
        results = jitted(*inputs)
        device.synchronize()
        return results

    for _ in range(3):  # so that the compared and timed run is a replay
        program()
    return program
