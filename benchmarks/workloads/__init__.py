"""Define the compared workloads, with the programs that compute the same in each library.

A program does the whole of its work when it is called and gives its results, which are compared before anything is
timed. nbautograd and PyTorch run the very same code; the others are written as their users would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

Program = Callable[[], Sequence[Any]]
Maker = Callable[[], Program]  # prepares data and imports its library: ImportError skips it

SAME = {"nbautograd": "nbautograd", "PyTorch": "torch"}  # libraries that run the same code


@dataclass(frozen=True)
class Workload:
    """A row of the table. ``goals`` holds, by library, the ratio of times to stay at or below."""

    key: str
    title: str
    makers: dict[str, Maker]
    goals: dict[str, float] = field(default_factory=dict)
    repeats: int = 1  # calls per timing, so that each takes milliseconds
    tolerance: float = 2e-4  # relative: float32 through several operations


def makers(same: Callable[[Any], Program], **others: Maker) -> dict[str, Maker]:
    """The makers of all libraries: ``same`` for those that run the same code, the rest by name."""
    found: dict[str, Maker] = {
        name: (lambda module=module: same(import_module(module))) for name, module in SAME.items()
    }
    titles = {"hips": "HIPS autograd", "mygrad": "MyGrad", "tinygrad": "tinygrad", "numpy": "NumPy by hand"}
    return found | {titles[name]: maker for name, maker in others.items()}


def recorded(of: Callable[[Any, Callable[[Any, tuple[Any, ...]], Any]], Program]) -> dict[str, Maker]:
    """The makers of recorded or compiled functions: ours, traced, and PyTorch's, compiled.

    :param of: creates the program from the library and a transform of a function and its examples.
    """

    def traced() -> Program:
        library = import_module("nbautograd")
        return of(library, library.jit.trace)

    def compiled() -> Program:
        library = import_module("torch")
        return of(library, lambda function, examples: library.compile(function))

    return {"traced": traced, "torch.compile": compiled}


def every() -> list[Workload]:
    """All workloads, in the table's order."""
    groups = [import_module(f"workloads.{name}") for name in ("small", "perceptron", "arrays")]
    return sorted((workload for group in groups for workload in group.WORKLOADS), key=lambda workload: workload.key)
