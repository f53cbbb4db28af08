"""Normalization and softmax tile by tile: next to PyTorch, for shapes that are cut in different ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.arrays import normalization, rows
from tests import oracle

NORMS: dict[str, tuple[Any, list[tuple[tuple[int, ...], tuple[int, ...]]]]] = {
    "layer_norm": (
        lambda T, x, w, b: T.nn.functional.layer_norm(x, (x.shape[1:] if x.ndim == 3 else x.shape[-1:]), w, b),
        [((70, 5), (5,)), ((33, 130), (130,)), ((7, 3, 4), (3, 4)), ((2, 5000), (5000,)), ((1, 2), (2,))],
    ),
    "group_norm": (
        lambda T, x, w, b: T.nn.functional.group_norm(x, 2, w, b),
        [((9, 4, 5, 3), (4,)), ((3, 2, 600), (2,)), ((70, 6, 2), (6,))],
    ),
    "batch_norm": (
        lambda T, x, w, b: T.nn.functional.batch_norm(x, None, None, w, b, True),
        [((9, 4, 5, 3), (4,)), ((3, 2, 20, 30), (2,)), ((70, 6), (6,)), ((2, 3, 512), (3,))],
    ),
    "instance_norm": (
        lambda T, x, w, b: T.nn.functional.instance_norm(x, None, None, w, b),
        [((9, 4, 5, 3), (4,)), ((3, 2, 600), (2,))],
    ),
}
CASES = [(name, *shapes) for name, (_, cases) in NORMS.items() for shapes in cases]


@pytest.fixture(autouse=True, params=[1 << 6, 1 << 15, 0], ids=["small tiles", "large tiles", "few rows"])
def _tiles(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MIN_SIZE", 1)
    if request.param:
        monkeypatch.setattr(normalization, "MIN_TILED_SIZE", 1)
        monkeypatch.setattr(rows, "TILE_SIZE", request.param)


@pytest.mark.parametrize("affine", [True, False], ids=["affine", "plain"])
@pytest.mark.parametrize(("name", "shape", "own"), CASES, ids=str)
def test_norms_are_those_of_pytorch(name: str, shape: tuple[int, ...], own: tuple[int, ...], affine: bool) -> None:
    def program(T: Any, dtype: str) -> Any:
        rng = np.random.default_rng(0)
        leaves = [rng.normal(size=shape) * 3 + 5, *(rng.normal(size=own) for _ in range(2))]
        leaves = [T.tensor(a, dtype=getattr(T, dtype), requires_grad=True) for a in leaves]
        x, w, b = leaves
        y = NORMS[name][0](T, x, *((w, b) if affine else (None, None)))
        (y * (y.detach() + 1).cos()).sum().backward()
        return [y, *(leaf.grad for leaf in leaves[: 3 if affine else 1])]

    for dtype in ("float64", "float32"):
        oracle.check(program, dtype)


@pytest.mark.parametrize("name", NORMS)
def test_derivatives_of_norms_are_those_of_finite_differences(name: str) -> None:
    shape, own = ((4, 4, 3), (4, 3)) if name == "layer_norm" else ((3, 4, 3), (4,))
    leaves = [nb.randn(*sizes, dtype=nb.float64, requires_grad=True) for sizes in (shape, own, own)]
    function = NORMS[name][0]
    assert nb.autograd.gradcheck(lambda *t: function(nb, *t), leaves)
    assert nb.autograd.gradgradcheck(lambda *t: function(nb, *t), leaves)


def test_rows_without_elements_are_normalized_to_none() -> None:
    def program(T: Any) -> Any:
        x = T.ones(3, 0, requires_grad=True)
        y = T.nn.functional.layer_norm(x, (0,))
        y.sum().backward()
        return y, x.grad, T.nn.functional.layer_norm(T.ones(0, 3), (3,))

    oracle.check(program)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", [(70, 5), (3, 7, 130), (2, 5000), (1, 1)], ids=str)
def test_softmax_is_that_of_pytorch(shape: tuple[int, ...], name: str) -> None:
    def program(T: Any, dtype: str, scale: int) -> Any:
        rng = np.random.default_rng(0)
        x = T.tensor(rng.normal(size=shape) * scale, dtype=getattr(T, dtype), requires_grad=True)
        y = getattr(T, name)(x, -1)
        y.backward(T.tensor(rng.normal(size=shape), dtype=getattr(T, dtype)))
        return y, x.grad

    for dtype in ("float64", "float32"):
        for scale in (1, 60):
            oracle.check(program, dtype, scale)


def test_the_logarithm_of_what_is_nearly_certain_is_exact() -> None:
    x = np.zeros((300, 70), np.float32)
    x[:, 3] = np.linspace(15, 29, 300)

    def column(T: Any) -> Any:
        return T.log_softmax(T.tensor(x), 1)[:, 3]

    found = oracle.check(column).numpy()
    exact = -np.log1p(69 * np.exp(-x[:, 3].astype(np.float64)))
    certain = np.abs(exact) < np.finfo(np.float32).eps / 4  # where a difference of numbers near 29 would be 8 units off
    assert np.abs(found - exact)[certain].max() <= np.finfo(np.float32).eps
