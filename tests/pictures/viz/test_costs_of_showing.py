"""Count the cost of a shown pass: calls inside of the package; layouts and classes, made once; copies of arrays."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core.tracing import traced
from nbautograd.viz.notebook import arranging
from tests import needs

ROOT = Path(__file__).parents[3]
PACKAGE = os.path.dirname(nb.__file__) + os.sep
MAX_CALLS, MAX_MOVES, MAX_FILES = 2_856, 938, 59
"""Of a pass of three operations that has been shown before, on Python 3.11; moves are calls from one file into another.
The limits only fall."""


def shown(a: Any, b: Any) -> Any:
    with traced():
        y = (a * b + a).sum()
    animation = viz.animate(y, namespace={"a": a, "b": b, "y": y})
    animation._repr_mimebundle_()
    return animation


def costs_of_a_shown_pass() -> tuple[int, int, int]:
    """Return the numbers of calls, of moves, and of files of the package for a pass that has been shown before."""
    a, b = nb.tensor([1.0, 2.0], requires_grad=True), nb.tensor([3.0, 4.0], requires_grad=True)
    for _ in range(2):
        shown(a, b)
    calls, moves, files = 0, 0, set()

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls, moves
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(PACKAGE):
            calls += 1
            files.add(file)
            caller = frame.f_back.f_code.co_filename if frame.f_back is not None else ""
            moves += caller != file and caller.startswith(PACKAGE)

    gc.disable()
    sys.setprofile(count)
    shown(a, b)
    sys.setprofile(None)
    return calls, moves, len(files)


def test_a_shown_pass_makes_few_calls() -> None:
    """In a process of its own: what other tests have loaded and left takes part in it."""
    code = f"from {__name__} import costs_of_a_shown_pass; print(*costs_of_a_shown_pass())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    calls, moves, files = map(int, done.stdout.split())
    assert 0 < calls <= MAX_CALLS and 0 < moves <= MAX_MOVES and 0 < files <= MAX_FILES


@pytest.fixture
def no_known_loops() -> Iterator[None]:
    arranging._known_loop.cache_clear()
    yield
    arranging._known_loop.cache_clear()


def test_the_grid_of_a_loop_is_laid_out_once_for_equal_passes(no_known_loops: None) -> None:
    def loop() -> Any:
        w, h = nb.tensor([0.5, 0.25], requires_grad=True), nb.ones(2)
        with traced():
            for _ in range(5):
                h = (h * w).tanh()
            y = h.sum()
        return viz.animate(y, namespace={"w": w, "h": h, "y": y})

    first = loop().data()
    made = arranging._known_loop.cache_info().misses
    assert made and loop().data()["svgs"] == first["svgs"]
    assert arranging._known_loop.cache_info().misses == made


def test_widgets_share_one_class() -> None:
    needs.package("anywidget")
    a, b = nb.tensor([1.0, 2.0], requires_grad=True), nb.tensor([3.0, 4.0], requires_grad=True)
    one, other = shown(a, b).widget, shown(a, b).widget
    assert type(one) is type(other)
    assert one.traits().keys() == other.traits().keys() and one.model_id != other.model_id


def test_a_picture_leaves_a_single_number_as_it_is() -> None:
    w = nb.tensor(2.0, requires_grad=True)
    y = w * w
    assert isinstance(y._a, np.generic)
    viz.animate(y, namespace={"w": w, "y": y}).data()
    assert isinstance(y._a, np.generic)
