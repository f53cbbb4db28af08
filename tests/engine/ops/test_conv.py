"""Convolutions of every shape, in one part and in many, against PyTorch: values and derivatives, first and second."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.ops.signal import conv
from tests import oracle

SIZES = [(1, (11,)), (2, (5, 26)), (3, (3, 4, 5))]


def numbers(rng, shape):
    """Numbers whose products and sums are exact in float64, though not in float32: so their files are small."""
    return rng.integers(-40, 41, shape).astype(np.float64)


def outcome(library, name, arrays, options):
    """The result, its gradients, and the gradients of their squares."""
    x, weight, bias = (library.tensor(a, requires_grad=True) for a in arrays)
    y = getattr(library.nn.functional, name)(x, weight, bias, **options)
    weights = (library.arange(y.numel(), dtype=library.float64) * 37 % 81 - 40).reshape(y.shape)
    first = library.autograd.grad((y * weights).sum(), (x, weight, bias), create_graph=True)
    second = library.autograd.grad((first[0] ** 2).sum() + (first[1] ** 2).sum(), (x, weight), allow_unused=True)
    zeros = [library.zeros_like(x), library.zeros_like(weight)]
    second = [zero if g is None else g for g, zero in zip(second, zeros, strict=True)]
    return [t.detach() for t in (y, *first, *second)]


@pytest.mark.parametrize("cached", [conv.COLUMNS_SIZE, 300])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("n", "size"), SIZES)
def test_agrees_with_torch(
    n: int, size: tuple[int, ...], transposed: bool, cached: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conv, "COLUMNS_SIZE", cached)
    name = f"conv{'_transpose' * transposed}{n}d"
    rng = np.random.default_rng(0)
    steps = [(1, 1), (2, 1), (1, 2)]
    for kernel, (stride, dilation), padding, groups in itertools.product((1, 3), steps, (0, 2), (1, 2)):
        shape = (4, 6 // groups) if transposed else (6, 4 // groups)
        if not transposed and any(m + 2 * padding < dilation * (kernel - 1) + 1 for m in size):
            continue
        if transposed and any((m - 1) * stride + dilation * (kernel - 1) + 1 <= 2 * padding for m in size):
            continue
        arrays = [numbers(rng, s) for s in ((2, 4, *size), (*shape, *(kernel,) * n), (6,))]
        options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        if transposed:
            options["output_padding"] = max(stride, dilation) - 1
        ours = oracle.check(outcome, name, arrays, options)
        assert ours[0].numpy().flags.c_contiguous


def test_a_batch_is_never_columns_as_a_whole() -> None:
    x = nb.ones(64, 16, 32, 32, requires_grad=True)
    weight = nb.ones(16, 16, 3, 3, requires_grad=True)
    g = nb.ones(64, 16, 32, 32)
    nb.nn.functional.conv2d(x, weight, padding=1).backward(g)
    tracemalloc.start()
    try:
        nb.nn.functional.conv2d(x, weight, padding=1).backward(g)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 9 * 4 * x.numel()


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_transposed_in_phases(ndim: int) -> None:
    """With equal and different phases, with rows outside all windows, groups and padding."""
    random = np.random.default_rng(0)
    taken = 0
    for stride, size, padding, extra, groups in itertools.product((2, 3), (1, 2, 3, 4, 6), (0, 1, 2), (0, 1), (1, 2)):
        x = numbers(random, (2, 4, *(3, 4, 2)[:ndim]))
        w = numbers(random, (4, 8 if size % stride else 3, *(size,) * ndim))
        b = numbers(random, w.shape[1] * groups)
        if min(stride * (n - 1) + size - 2 * padding + extra for n in x.shape[2:]) < 1:
            continue

        def program(T, arrays, *options):
            operands = [T.tensor(a, requires_grad=True) for a in arrays]
            y = getattr(T.nn.functional, f"conv_transpose{ndim}d")(*operands, *options)
            y.square().sum().backward()
            return [y, *(t.grad for t in operands)]

        oracle.check(program, (x, w, b), stride, padding, extra, groups)
        taken += 1
    assert taken > 20
