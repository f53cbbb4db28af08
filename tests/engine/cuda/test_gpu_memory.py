"""On a GPU: out of memory in any phase of a step, memory that is freed again, and the counts of both."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import needs
from tests.engine.cuda.on_device import host, real

needs.cuda_device()
pytestmark = [pytest.mark.cuda, real]
BIG = 1 << 24  # floats of 64 MiB


@contextmanager
def limited(megabytes: int) -> Iterator[None]:
    """Limit the memory to this much more than the used part."""
    import cupy

    gc.collect()
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    before = pool.get_limit()
    pool.set_limit(size=pool.total_bytes() + megabytes * 2**20)
    try:
        yield
    finally:
        pool.set_limit(size=before)


def test_in_the_forward_pass() -> None:
    x = nb.ones(BIG, device="cuda", requires_grad=True)
    with limited(200), pytest.raises(nb.cuda.OutOfMemoryError, match=r"CUDA out of memory\. Tried to allocate"):
        kept = [x.exp() for _ in range(10)]
        del kept
    assert x.grad is None
    (x * 2).sum().backward()
    assert (x.grad == 2).all()


def test_in_the_backward_pass() -> None:
    """No leaf has half of its gradient."""
    x, y = (nb.full((BIG,), 0.5, device="cuda", requires_grad=True) for _ in range(2))
    z = x * y
    for _ in range(3):
        z = z.sin()
    loss = z.sum()
    with limited(80), pytest.raises(nb.cuda.OutOfMemoryError):
        loss.backward()
    assert (x.grad is None) and (y.grad is None)
    (x * y).sum().backward()
    assert (x.grad == 0.5).all() and (y.grad == 0.5).all()


def test_in_an_operation_in_place() -> None:
    x = nb.arange(float(BIG), device="cuda")
    before, version = x[:5].tolist(), x._version
    with limited(8), pytest.raises(nb.cuda.OutOfMemoryError):
        x.copy_(x.reshape(4096, -1).T.flatten())
    assert (x[:5].tolist(), x._version) == (before, version)
    x.mul_(2)
    assert x[:3].tolist() == [0.0, 2.0, 4.0]


def test_in_a_step_of_an_optimizer() -> None:
    w = nb.ones(BIG, device="cuda", requires_grad=True)
    optimizer = nb.optim.Adam([w], lr=0.1)
    w.sum().backward()
    with limited(8), pytest.raises(nb.cuda.OutOfMemoryError):
        optimizer.step()
    assert (w == 1).all()
    optimizer.step()
    assert (w < 1).all()


def test_in_moving() -> None:
    x = nb.ones(BIG)
    with limited(8):
        for move in (lambda: x.cuda(), lambda: x.to("cuda"), lambda: nb.tensor(x.numpy(), device="cuda")):
            with pytest.raises(nb.cuda.OutOfMemoryError):
                move()
    assert x.cuda().sum().item() == BIG


def test_an_error_keeps_nothing() -> None:
    """The traceback of an error that was caught and left does not hold arrays of the device."""
    x = nb.ones(BIG, device="cuda")
    gc.collect()
    before = nb.cuda.memory_allocated()
    for _ in range(3):
        with pytest.raises(RuntimeError):
            (x * 2) @ nb.ones(3, 3, device="cuda")
        gc.collect()
        assert nb.cuda.memory_allocated() == before


@pytest.mark.parametrize("name", ["exp", "backward", "views", "in place", "no_grad", "model"])
def test_loops_do_not_grow(name: str) -> None:
    x = nb.rand(256, 256).cuda().requires_grad_()
    model = nb.nn.Sequential(nb.nn.Linear(256, 64), nb.nn.ReLU(), nb.nn.LayerNorm(64), nb.nn.Linear(64, 2)).cuda()
    optimizer = nb.optim.AdamW(model.parameters())

    def step() -> None:
        if name == "exp":
            x.exp()
        elif name == "backward":
            x.grad = None
            (x @ x).softmax(1).sum().backward()
        elif name == "views":
            x.T[::2].reshape(-1)[1:].sum()
        elif name == "in place":
            (x * 1).mul_(2).add_(1)[0].zero_()
        elif name == "no_grad":
            with nb.no_grad():
                x.add_(0)
        else:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

    gc.disable()
    try:
        for _ in range(3):
            step()
        before = nb.cuda.memory_allocated()
        for _ in range(20):
            step()
        assert nb.cuda.memory_allocated() == before  # without the garbage collector's help
    finally:
        gc.enable()


def test_counts() -> None:
    gc.collect()
    before = nb.cuda.memory_allocated()
    nb.cuda.reset_peak_memory_stats()
    x = nb.zeros(BIG, device="cuda")
    assert nb.cuda.memory_allocated() - before == 4 * BIG
    del x
    assert nb.cuda.memory_allocated() == before
    assert nb.cuda.max_memory_allocated() - before == 4 * BIG
    nb.cuda.reset_peak_memory_stats()
    assert nb.cuda.max_memory_allocated() == before
    free, total = nb.cuda.mem_get_info()
    assert 0 < free < total


def test_results_are_written_over_only_where_nobody_looks() -> None:
    """Large arrays without other references are reused; others stay."""
    x = nb.ones(BIG, device="cuda")
    y = x * 2
    kept: list[Any] = [y, y[1:], y.reshape(4096, -1)]
    z = (y + 1) * 3
    assert (y == 2).all() and (z == 9).all() and kept[2].shape == (4096, BIG // 4096)
    np.testing.assert_array_equal(host(kept[1][:3]), [2, 2, 2])
