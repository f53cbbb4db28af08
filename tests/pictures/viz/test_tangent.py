"""The curve of a function with its tangent: what ``.grad`` says is drawn, right or wrong."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import nbautograd as torch
from nbautograd import viz


def paths(picture: Any) -> list[str]:
    """Return where the lines go: the curve, then the straight ones."""
    assert ElementTree.fromstring(picture.svg).tag.endswith("svg")
    return [d for d in re.findall(r'<path d="(M[^"]*)"', picture.svg) if "L" in d]


def ends(path: str) -> list[tuple[float, ...]]:
    return [tuple(map(float, place.split())) for place in (path[1:].split("L")[0], path.split("L")[-1])]


@pytest.mark.parametrize("at", [-1.0, 0.0, 2.0])
def test_the_line_touches_the_curve_where_the_gradient_is_right(at: float) -> None:
    def f(x: Any) -> Any:
        return x * x * x - x

    w = torch.tensor(at, requires_grad=True)
    f(w).backward()
    picture = viz.tangent(f, w, low=at - 0.5, high=at + 0.5)
    assert picture.label.startswith(f"w = {at:.4g}, ")
    curve, line = paths(picture)
    heights = np.array([tuple(map(float, place.split())) for place in curve[1:].split("L")])
    (x0, y0), (x1, y1) = ends(line)
    off = heights[:, 1] - (y0 + (heights[:, 0] - x0) * (y1 - y0) / (x1 - x0))
    middle = len(off) // 2
    assert abs(off[middle]) < 0.2 and abs(off[middle + 3] - off[middle - 3]) < 1


@pytest.mark.parametrize(("at", "slope"), [(1.0, 5.0), (2.9, -40.0), (0.5, 1e6)])
def test_a_line_that_leaves_the_picture_keeps_its_slope(at: float, slope: float) -> None:
    """It is cut where it leaves, at both ends, and still goes through its point."""
    picture = viz.tangent(lambda w: (2 + w) * (w + 1), (at, slope), low=-4, high=3)
    (x, y) = map(float, re.findall(r'r="5.5" cx="([\d.]+)" cy="([\d.]+)"', picture.svg)[0])
    (x0, y0), (x1, y1) = ends(paths(picture)[1])
    assert abs((x - x0) * (y1 - y0) - (y - y0) * (x1 - x0)) < 0.2 * math.hypot(x1 - x0, y1 - y0)
    assert all(0 <= place <= 640 for place in (x0, x1)) and all(0 <= place <= 260 for place in (y0, y1))


def test_a_gradient_of_two_passes_is_no_tangent() -> None:
    w = torch.tensor([1.0], requires_grad=True)
    for _ in range(2):
        (w * w).backward()
    assert "slope 4" in repr(viz.tangent(lambda w: w * w, w))


def test_steps_leave_traces_and_one_point_walks() -> None:
    picture = viz.tangent(lambda p: (p - 3) ** 2, (0, -6), (0.6, -4.8), (1.08, -3.84), name="p")
    assert repr(picture).splitlines()[0] == "2 steps: p from 0 to 1.08, height 3.6864, slope -3.84"
    assert len(repr(picture).splitlines()) == 4
    assert picture.svg.count("<animate") == 3 and "prefers-reduced-motion" in picture.svg
    assert picture.svg.count('opacity="0.55"') == 3
    assert picture.low < 0 and picture.high > 1.08


def test_it_is_shown_and_saved_in_both_themes_and_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = viz.tangent(lambda p: p * p, (1, 2))
    assert picture._repr_mimebundle_()["text/html"].startswith('<img alt="x = 1, height 1, slope 2"')
    monkeypatch.setattr(viz.settings, "language", "中文")
    monkeypatch.setattr(viz.settings, "theme", "dark")
    assert picture.label == "x = 1，高度 1，斜率 2"
    assert "color-scheme" not in picture._repr_mimebundle_()["text/html"]
    for kind in (".svg", ".html", ".txt"):
        assert picture.save(tmp_path / f"p{kind}").stat().st_size > 10


def test_numbers_that_are_none_are_left_out() -> None:
    picture = viz.tangent(lambda p: math.nan if p > 1 else 1 / p if p else math.inf, (0.5, math.nan), low=0, high=2)
    assert "nan" not in "".join(paths(picture))


@pytest.mark.parametrize(
    ("points", "limits", "error", "words"),
    [
        ((), {}, ValueError, "at least one point"),
        ((torch.tensor(1.0, requires_grad=True),), {}, TypeError, r"run backward\(\) first"),
        ((3.0,), {}, TypeError, "got float"),
        (((1, 2),), {"low": 1, "high": 1}, ValueError, "low must be less than high"),
        (((torch.ones(2), 2),), {}, TypeError, "functions of one number"),
    ],
)
def test_what_is_no_point_is_told(points: Any, limits: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        viz.tangent(lambda p: p, *points, **limits)
