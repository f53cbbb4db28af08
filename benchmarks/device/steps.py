"""The steps, the most useful first: a run that is cut short has these."""

from __future__ import annotations

from pathlib import Path

from .rows import GROUPS
from .schedule import Step

TESTS = Path(__file__).parents[2] / "tests" / "engine" / "cuda"
LAST = ("test_gpu_operations", "test_gpu_against_pytorch")
"""Tables of all operations: they take longest, and so come last."""
SHARED = (*LAST, "test_gpu_values", "test_gpu_autograd")
"""Hundreds of kernels are compiled: several processes share the tests."""
GUESSED = {"memory-bound": 60, "products": 50, "networks": 90, "chains": 45, "launches": 25, "models": 90}


WITH_CUPY = ("tests/engine/cuda/test_views_of_cupy.py", "tests/engine/test_cupy_names.py")
"""Tests that take the real CuPy and no device: few machines have it."""


def tests(name: str) -> Step:
    """The tests of a file."""
    file = f"tests/engine/cuda/{name}.py"
    title, seconds, workers = f"pytest -m cuda {file}", 240 if name in LAST else 40, 6 if name in SHARED else 1
    return Step(f"tests: {name[9:]}", title, "device.suite:run", ("cuda", file), seconds, 75, workers)


def every() -> list[Step]:
    """All steps."""
    files = sorted(path.stem for path in TESTS.glob("test_gpu_*.py"))
    short = [name for name in files if name not in LAST]
    return [
        Step("facts", "which machine this is, and what it lacks", "device.facts:run", (), 20, 60),
        *(tests(name) for name in short),
        Step("tests: CuPy's own arrays", " ".join(WITH_CUPY), "device.suite:run", ("", *WITH_CUPY), 30, 75),
        Step("notebook", "the course's notebook about CUDA", "device.notebook:run", (), 45, 180),
        *(
            Step(
                f"speed: {group}", f"{len(rows)} rows next to PyTorch", "device.speed:run", (group,), GUESSED[group], 60
            )
            for group, rows in GROUPS.items()
        ),
        *(tests(name) for name in files if name in LAST),
    ]
