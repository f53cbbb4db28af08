"""Compare matrix products in blocks with PyTorch's, for any BLAS of this machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.arrays import blas
from nbautograd._engine.core.tracing import traced
from tests import oracle

KERNELS = {"blocks": ("SkylakeX", lambda: 1), "many threads": ("SkylakeX", lambda: 64), "others": ("Zen", lambda: 1)}


@pytest.fixture(params=[*KERNELS, None])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """OpenBLAS with kernels that do not pack, with many threads, with other kernels, and another library."""
    monkeypatch.setattr(blas, "_openblas", lambda: KERNELS.get(request.param))
    return request.param


def operands(dtype: Any, batch: int, inner: int, outer: int) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(0)
    shapes = (batch, inner), (outer, inner), (batch, outer)
    return tuple(random.standard_normal(shape).astype(dtype) for shape in shapes)  # type: ignore[return-value]


def in_blocks(x: Any, w: Any, g: Any) -> tuple[Any, ...]:
    """A layer's product, and the gradients of its operands."""
    results = tuple(blas.product(a, b) for a, b in ((x, w.T), (g, w), (g.T, x)))
    assert all(result.flags.c_contiguous for result in results)
    return results


@pytest.mark.sweep
@settings(max_examples=25)
@given(
    batch=st.integers(1, 100),
    inner=st.integers(1, 1200),
    outer=st.integers(1, 300),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_random_shapes(batch: int, inner: int, outer: int, dtype: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blas, "_openblas", lambda: KERNELS["blocks"])
        oracle.agree(in_blocks, lambda x, w, g: (x @ w.T, g @ w, g.T @ x), *operands(dtype, batch, inner, outer))


@pytest.mark.parametrize(
    "sizes", [(64, 784, 128), (4, 784, 512), (32, 9216, 30), (2, 700, 1000), (96, 400, 77), (64, 3072, 10)], ids=str
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layers_and_their_gradients(kernels: Any, sizes: tuple[int, int, int], dtype: Any) -> None:
    def program(T: Any) -> Any:
        x, w, g = map(T.tensor, operands(dtype, *sizes))
        return tuple(t.numpy() for t in (x @ w.T, g @ w, g.T @ x))

    oracle.close(in_blocks(*operands(dtype, *sizes)), oracle.answer(program))


def test_where_blocks_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    for name in ("_by_columns", "_by_rows"):
        kernel = getattr(blas, name)
        monkeypatch.setattr(blas, name, lambda *args, name=name, kernel=kernel: calls.append(name) or kernel(*args))
    for kernels, blocks in ((KERNELS["blocks"], True), (KERNELS["many threads"], False), (None, False)):
        monkeypatch.setattr(blas, "_openblas", lambda kernels=kernels: kernels)
        x, w = nb.randn(32, 784, requires_grad=True), nb.randn(100, 784, requires_grad=True)
        calls.clear()
        nb.nn.functional.linear(x, w, nb.zeros(100)).sin().sum().backward()
        assert calls == (["_by_columns", "_by_rows"] if blocks else [])
    nb.randn(512, 784) @ w.detach().t()  # a large batch
    assert not calls


def test_shapes_that_do_not_match_have_the_usual_error(kernels: Any) -> None:
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied \\(32x784 and 700x200\\)"):
        nb.randn(32, 784) @ nb.randn(200, 700).t()


def test_the_kernels_of_this_machine_are_known_or_not_asked_for() -> None:
    known = blas._openblas()
    assert known is None or known[0] and known[1]() >= 1


def test_traced_products_are_one_call_as_the_program_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_openblas", lambda: KERNELS["blocks"])
    w = nb.randn(100, 784, requires_grad=True)
    x = nb.randn(32, 784)
    with traced():
        y = nb.nn.functional.linear(x, w, nb.zeros(100)).sin().sum()
    program = viz.code(y, namespace={"x": x, "w": w}).text
    assert "x @ t" in program
    assert "large_product" not in program
