"""Recurrent layers as one node: next to PyTorch, and next to the same layers step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.core import tracing
from nbautograd.nn.functional import fused_recurrent
from tests import needs, oracle

KINDS = ("LSTM", "GRU", "RNN", "ReLU")


def layer(torch: Any, kind: str, *sizes: int, **options: Any) -> Any:
    """A layer of a kind, with parameters that are the same in both libraries."""
    torch.manual_seed(0)
    name, options = ("RNN", {"nonlinearity": "relu", **options}) if kind == "ReLU" else (kind, options)
    return getattr(torch.nn, name)(*sizes, **options)


def results(torch: Any, module: Any, kind: str, dtype: Any) -> list[Any]:
    """Outputs and all gradients of a loss that depends on the outputs and on the last states."""
    x = torch.randn(16, 8, 6, dtype=dtype, requires_grad=True)
    count = module.num_layers * (2 if module.bidirectional else 1)
    states = [torch.randn(count, 8, 32, dtype=dtype, requires_grad=True) for _ in range(1 + (kind == "LSTM"))]
    output, last = module(x, tuple(states) if kind == "LSTM" else states[0])
    loss = (output * output.detach().cos()).sum()
    for power, state in enumerate(last if kind == "LSTM" else (last,), 2):
        loss = loss + (state**power).sum()
    loss.backward()
    return [output, x.grad, *(s.grad for s in states), *(p.grad for p in module.parameters())]


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"bidirectional": True}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_pytorch(kind: str, options: dict[str, Any]) -> None:
    def program(T: Any, name: str) -> Any:
        dtype = getattr(T, name)
        return results(T, layer(T, kind, 6, 32, 2, **options).to(dtype), kind, dtype)

    for name in ("float64", "float32"):
        oracle.check(program, name)


def test_a_large_layer_is_one_node_and_a_traced_one_is_not() -> None:
    module, x = nb.nn.LSTM(6, 32), nb.randn(16, 8, 6)
    assert type(module(x)[0].grad_fn).__name__ == "MkldnnRnnLayerBackward0"
    assert type(module(x[:1, :1])[0].grad_fn).__name__ == "StackBackward0"
    with tracing.traced():
        assert type(module(x)[0].grad_fn).__name__ == "StackBackward0"


@pytest.mark.parametrize("kind", KINDS[:3])
def test_derivatives_of_derivatives_are_those_of_the_steps(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def derivatives(T: Any) -> list[Any]:
        module = oracle.fill(T, layer(T, kind, 3, 4, bidirectional=True).double())
        x = T.tensor(np.random.default_rng(0).normal(size=(5, 2, 3)), requires_grad=True)
        state = x[:2, :, :1] * T.ones(4, dtype=T.float64)  # which also depends on the input
        output, last = module(x, (state, state * 2) if kind == "LSTM" else state)
        loss = (output**2).sum() + (last[0] if kind == "LSTM" else last).sum()
        (g,) = T.autograd.grad(loss, x, create_graph=True)
        return [g, *T.autograd.grad((g**2).sum(), [x, *module.parameters()])]

    theirs = oracle.answer(derivatives)
    for size in (1, 1 << 30):
        monkeypatch.setattr(fused_recurrent, "MIN_SIZE", size)
        oracle.close(derivatives(nb), theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_only_some_gradients(kind: str) -> None:
    module, x = layer(nb, kind, 6, 32), nb.randn(16, 8, 6)
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    module.weight_hh_l0.requires_grad_(True)
    module(x)[1][0].sum().backward()
    assert module.weight_hh_l0.grad is not None
    assert module.weight_ih_l0.grad is None


def test_nan_goes_through() -> None:
    module, x = nb.nn.GRU(6, 32), nb.randn(16, 8, 6)
    x[3, 2] = float("nan")
    output = module(x)[0]
    assert bool(output[3:, 2].isnan().all())
    assert not bool(output[:3].isnan().any())


@pytest.mark.parametrize("size", [4, 32], ids=["small", "large"])
@pytest.mark.parametrize("kind", KINDS)
def test_autocast_computes_in_the_dtypes_of_pytorch(kind: str, size: int) -> None:
    def program(T: Any) -> Any:
        module, x = layer(T, kind, 6, size), T.randn(16, 8, 6)
        try:
            with T.autocast("cpu", dtype=T.bfloat16):
                output, last = module(x)
        except RuntimeError as error:  # PyTorch's, on processors without AVX-512
            if T is nb or "primitive descriptor" not in str(error):
                raise
            pytest.skip(needs.reason("an LSTM in bfloat16 in oneDNN"))
        output.float().sum().backward()
        tensors = [output, *(last if kind == "LSTM" else [last])]
        return [*tensors, module.weight_ih_l0.grad, module.bias_hh_l0.grad]

    oracle.check(program)


def test_the_gradient_of_the_inputs_is_computed_only_if_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    kernel = fused_recurrent.input_back
    module = nb.nn.LSTM(6, 32)
    module(nb.randn(16, 8, 6))[0].sum().backward()
    vjp = type(module(nb.randn(16, 8, 6))[0].grad_fn).vjp
    monkeypatch.setitem(vjp.__globals__, "input_back", lambda *args: calls.append(1) or kernel(*args))
    for wanted in (False, True):
        module(nb.randn(16, 8, 6, requires_grad=wanted))[0].sum().backward()
        assert len(calls) == wanted
