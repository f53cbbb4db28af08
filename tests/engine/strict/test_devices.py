"""Tensors made on the strict device, moved to it and back, written in place and optimized there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.compiler.op import POINTWISE
from nbautograd._engine.compiler.schema import OPS
from nbautograd.errors import DeviceError
from tests.engine.strict.strict_array import StrictArray

from .comparison import STRICT, agree


def test_to_and_back() -> None:
    x = nb.tensor([[1.0, 2.0], [3.0, 4.0]])
    moved = x.to("strict")
    assert moved.to("strict") is moved
    assert x.to("cpu") is x
    moved.add_(1)
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert moved.cpu().tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert x.to("strict", nb.float64).dtype == nb.float64
    assert nb.zeros(2, device="strict").device == STRICT


def test_printing() -> None:
    x = nb.tensor([1.0, 2.5], device="strict", requires_grad=True)
    assert repr(x) == "tensor([1.0000, 2.5000], device='strict', requires_grad=True)"
    assert repr((x * 2).sum()) == "tensor(7., device='strict', grad_fn=<SumBackward0>)"


def test_as_python_values() -> None:
    x = nb.tensor([1, 2], device="strict")
    assert x[1].item() == 2
    assert int(x[0]) == 1
    assert [10, 20, 30][x[1]] == 30
    assert 2 in x
    assert [row.item() for row in x] == [1, 2]
    with pytest.raises(TypeError, match="cpu"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1, 2]


@pytest.mark.parametrize(
    "mix",
    [
        lambda x, y: x + y,
        lambda x, y: y * x,
        lambda x, y: x @ y,
        lambda x, y: nb.cat([x, y]),
        lambda x, y: nb.stack([y, x]),
        lambda x, y: nb.where(x > 0, x, y),
        lambda x, y: nb.lerp(x, y, 0.5),
        lambda x, y: x.add_(y),
    ],
)
def test_devices_do_not_mix(mix: Any) -> None:
    x, y = nb.ones(3), nb.ones(3, device="strict")
    with pytest.raises(DeviceError, match=r"same device.*cpu"):
        mix(x, y)


def test_zero_dimensional_cpu_tensors_mix_with_all_devices() -> None:
    x, y = nb.tensor(2.0, requires_grad=True), nb.ones(3, device="strict", requires_grad=True)
    for product in (x * y, y * x):
        assert product.device == STRICT
        x.grad = y.grad = None
        product.sum().backward()
        assert (x.grad.item(), x.grad.device) == (3.0, nb.device("cpu"))
        assert y.grad.tolist() == [2.0, 2.0, 2.0]


WRITTEN = sorted(
    name
    for name, op in OPS.items()
    if op.kind == POINTWISE and hasattr(nb.Tensor, name + "_") and len(op.tensors) == len(op.positional) <= 2
)


@pytest.mark.parametrize("name", WRITTEN)
def test_in_place(name: str) -> None:
    if "f" not in OPS[name].accepts or "f" not in OPS[name].accepts_each:
        given = np.array([[1, 3, 5], [6, 7, 9]])
    else:
        given = np.array([[0.1, 0.3, 0.5], [0.6, 0.7, 0.9]], np.float32)

    def program(place: Any, given: Any) -> Any:
        x, *others = (nb.tensor(given, device=place) for _ in OPS[name].tensors)
        view = x[0]
        result = getattr(x, name + "_")(*others)
        assert result is x
        assert x._version == view._version > 0
        assert view.device == place
        assert view._a.base is not None
        return x, view

    agree(program, given)


MAKERS = [
    lambda T, d: T.zeros(2, 3, device=d),
    lambda T, d: T.ones(2, device=d, dtype=T.int64),
    lambda T, d: T.full((2,), 3.5, device=d),
    lambda T, d: T.empty(2, 3, device=d) * 0,
    lambda T, d: T.empty_strided((2, 3), (1, 2), device=d).zero_(),
    lambda T, d: T.eye(3, 4, device=d),
    lambda T, d: T.arange(1, 7, 2, device=d),
    lambda T, d: T.arange(0, 1, 0.25, device=d),
    lambda T, d: T.linspace(0, 1, 5, device=d),
    lambda T, d: T.logspace(0, 1, 5, device=d),
    lambda T, d: T.tensor([[1, 2], [3, 4]], device=d),
    lambda T, d: T.tensor(2.5, device=d),
    lambda T, d: T.tensor([], device=d),
    lambda T, d: T.as_tensor([1.0, 2.0], device=d),
    lambda T, d: T.asarray([1.0, 2.0], device=d),
    lambda T, d: T.tril_indices(3, 3, device=d),
    lambda T, d: T.triu_indices(3, 3, device=d),
    lambda T, d: T.hann_window(5, device=d),
    lambda T, d: T.kaiser_window(5, device=d),
    lambda T, d: T.fft.fftfreq(5, device=d),
    lambda T, d: T.rand(3, device=d, generator=T.Generator().manual_seed(0)),
    lambda T, d: T.randn(3, device=d, generator=T.Generator().manual_seed(0)),
    lambda T, d: T.randint(0, 9, (3,), device=d, generator=T.Generator().manual_seed(0)),
    lambda T, d: T.randperm(5, device=d, generator=T.Generator().manual_seed(0)),
    lambda T, d: T.zeros(2, device=d).new_full((3,), 2.0),
    lambda T, d: T.zeros(2, device=d).new_tensor([1.0, 2.0]),
    lambda T, d: T.zeros_like(T.ones(2), device=d),
    lambda T, d: T.full_like(T.ones(2, device=d), 7),
]


@pytest.mark.parametrize("make", MAKERS)
def test_making(make: Any) -> None:
    ours = make(nb, "strict")
    assert ours.device == STRICT
    assert isinstance(ours._a, StrictArray)
    agree(lambda place: [make(nb, place)])


def test_the_default_device() -> None:
    with nb.device("strict"):
        assert nb.get_default_device() == STRICT
        assert nb.zeros(2).device == nb.tensor([1.0]).device == nb.arange(3).device == STRICT
        assert nb.rand(2).device == nb.nn.Linear(2, 2).weight.device == STRICT
        assert nb.zeros(2, device="cpu").is_cpu
        with nb.device("cpu"):
            assert nb.ones(2).is_cpu
        assert nb.ones(2).device == STRICT
    assert nb.ones(2).is_cpu
    nb.set_default_device("strict")
    try:
        assert nb.eye(2).device == STRICT
    finally:
        nb.set_default_device(None)
    assert nb.eye(2).is_cpu


def test_all_ways_to_move() -> None:
    x = nb.tensor([1.0, 2.0], requires_grad=True)
    other = nb.zeros(1, device="strict", dtype=nb.float64)
    for moved in (
        x.to("strict"),
        x.to(STRICT, non_blocking=True),
        x.to(device="strict"),
        x.to("strict", nb.float32, False, True),
        x.to(other),
        x.to(other, True, copy=False),
        x.to("strict", dtype=nb.float64, memory_format=nb.contiguous_format),
    ):
        assert moved.device == STRICT
        assert moved.grad_fn.name() == "ToCopyBackward0"
        assert not moved.is_leaf
    y = x.detach().to("strict").requires_grad_()
    assert y.is_leaf
    assert y.to("strict", copy=True) is not y
    assert y.cpu().cpu().is_cpu
    assert y.to("cpu:0").device == nb.device("cpu")
    module = nb.nn.Linear(2, 3).to("strict")
    assert module.weight.is_leaf
    assert module.weight.device == STRICT
    module(x.to("strict")).sum().backward()
    assert (module.weight.grad.device, x.grad.device) == (STRICT, nb.device("cpu"))
    for refused in (
        lambda: x.to("strict", 3),
        lambda: x.to("strict", device="cpu"),
        lambda: x.to(a=1),
    ):
        with pytest.raises(TypeError):
            refused()


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"]
)
def test_optimisers(name: str) -> None:
    def program(place: Any, start: Any) -> Any:
        w = nb.tensor(start, device=place, requires_grad=True)
        optimizer = getattr(nb.optim, name)([w], lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            ((w - 0.3) ** 4).sum().backward()
            optimizer.step()
        assert w.device == place
        return [w]

    agree(program, np.linspace(-1, 1, 6).reshape(2, 3))
