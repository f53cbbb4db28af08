"""Check that the recorded and written steps of a long chain grow linearly with its length."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import nbautograd as torch
from nbautograd import viz

PACKAGE = str(Path(torch.__file__).parent)
NEAR = 2.15
"""The largest factor of steps at twice the length: a search through all nodes at each node makes it 2.4 or more."""


def steps(run: Callable[[], Any]) -> int:
    """Return the number of lines that the package runs; for a comprehension, one per element."""
    count = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def loop(length: int) -> torch.Tensor:
    w, y = torch.tensor(1.0, requires_grad=True), torch.tensor(1.0)
    for i in range(length):
        y = y * w if i % 2 else y + w
    return y


def mixed(length: int) -> torch.Tensor:
    """Operations in an order that does not repeat."""
    w, number = torch.tensor(0.5, requires_grad=True), 1
    y = w
    for _ in range(length):
        number = number * 16807 % 2147483647
        y = (y * w, y + w, y.tanh(), y.sin())[number % 4]
    return y


def animated(y: torch.Tensor) -> None:
    viz.animate(y, namespace={"y": y})


def drawn(y: torch.Tensor) -> None:
    viz.graph(y, namespace={"y": y})


def coded(y: torch.Tensor) -> None:
    viz.code(y, namespace={"y": y}, flat=True)


@pytest.mark.sweep
@pytest.mark.parametrize("chain", [loop, mixed])
@pytest.mark.parametrize(("show", "length"), [(animated, 1100), (drawn, 1100), (coded, 500)])
def test_twice_the_length_takes_twice_the_steps(
    show: Callable[[torch.Tensor], None], length: int, chain: Callable[[int], torch.Tensor]
) -> None:
    with viz.traced():
        show(chain(60))  # from here on, a file that was read once is known
        one, two = (steps(partial(show, chain(n))) for n in (length, 2 * length))
    assert two < NEAR * one
