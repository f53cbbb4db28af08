"""Helpers for gradients, parameters and sequences against PyTorch's."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd
from tests import oracle
from tests.networks.nn.test_modules import flat


def normal(T: Any, *shape: int, seed: int = 1, **options: Any) -> Any:
    return T.tensor(np.random.default_rng(seed).normal(size=shape).tolist(), **options)


def model(T: Any) -> Any:
    m = oracle.fill(T, T.nn.Sequential(T.nn.Linear(3, 4), T.nn.Tanh(), T.nn.Linear(4, 1)))
    (m(T.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])) ** 2).sum().backward()
    m[2].bias.grad = None
    return m


def grads(m: Any) -> list[Any]:
    return [p.grad for p in m.parameters()]


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "norm": lambda T, u, m: u.clip_grad_norm_(m.parameters(), 0.5),
    "norm of one": lambda T, u, m: u.clip_grad_norm_(m[0].weight, 0.5),
    "large norm": lambda T, u, m: u.clip_grad_norm_(m.parameters(), 1e6),
    "norm 1": lambda T, u, m: u.clip_grad_norm_(m.parameters(), 0.5, 1),
    "norm inf": lambda T, u, m: u.clip_grad_norm_(m.parameters(), 0.5, float("inf")),
    "norm of nothing": lambda T, u, m: u.clip_grad_norm_([], 0.5),
    "total": lambda T, u, m: u.get_total_norm([p.grad for p in m[0].parameters()], 3.0),
    "with norm": lambda T, u, m: u.clip_grads_with_norm_(m.parameters(), 1.0, T.tensor(4.0)),
    "value": lambda T, u, m: u.clip_grad_value_(m.parameters(), 0.1),
    "vector": lambda T, u, m: u.parameters_to_vector(m.parameters()),
    "from vector": lambda T, u, m: (u.vector_to_parameters(v := T.arange(21.0), m.parameters()), v.zero_(),
                                    list(m.parameters()))[1:],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_gradients_and_vectors(name: str) -> None:
    def program(T: Any) -> Any:
        m = model(T)
        return [*flat(CALLS[name](T, T.nn.utils, m)), *grads(m)]

    oracle.check(program)


@pytest.mark.parametrize(
    "call",
    [
        lambda T, u: u.clip_grad_norm_(nonfinite(T), 1.0, error_if_nonfinite=True),
        lambda T, u: u.vector_to_parameters([1.0], [T.ones(1)]),
        lambda T, u: u.vector_to_parameters(T.ones(1), [T.ones(2)]),
        lambda T, u: u.rnn.pack_padded_sequence(T.ones(3, 2), [1, 2]),
        lambda T, u: u.rnn.pack_padded_sequence(T.ones(3, 2), [1, 0]),
        lambda T, u: u.rnn.pack_padded_sequence(T.ones(3, 2), [1]),
        lambda T, u: u.rnn.pad_packed_sequence(u.rnn.pack_sequence([T.ones(3)]), total_length=2),
        lambda T, u: u.rnn.pad_sequence([]),
        lambda T, u: u.rnn.pad_sequence(3),
        lambda T, u: u.rnn.pad_sequence([T.ones(2)], padding_side="x"),
    ],
)
def test_misuse(call: Callable[[Any, Any], Any]) -> None:
    oracle.check_raises(lambda T: call(T, T.nn.utils))


def nonfinite(T: Any) -> Any:
    p = T.nn.Parameter(T.ones(2))
    p.grad = T.tensor([1.0, float("nan")])
    return [p]


SEQUENCES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "pack": lambda T, r, x: r.pack_padded_sequence(x, [5, 3, 1]),
    "pack unsorted": lambda T, r, x: r.pack_padded_sequence(x, T.tensor([2, 5, 4]), enforce_sorted=False),
    "batch first": lambda T, r, x: r.pack_padded_sequence(x, [3, 2, 2, 2, 1], True),
    "round": lambda T, r, x: r.pad_packed_sequence(r.pack_padded_sequence(x, [2, 5, 4], enforce_sorted=False)),
    "longer": lambda T, r, x: r.pad_packed_sequence(r.pack_padded_sequence(x, [4, 3, 1]), True, -1.0, 7),
    "pad": lambda T, r, x: r.pad_sequence([x[:2, 0], x[:, 1], x[:1, 2]], padding_value=2.0),
    "pad left": lambda T, r, x: r.pad_sequence([x[:2, 0], x[:, 1]], True, padding_side="left"),
    "sequence": lambda T, r, x: r.pack_sequence([x[:2, 0], x[:, 1], x[:1, 2]], enforce_sorted=False),
    "unpack": lambda T, r, x: r.unpack_sequence(r.pack_sequence([x[:, 0], x[:3, 1]])),
    "unpad": lambda T, r, x: r.unpad_sequence(x * 1, T.tensor([5, 2, 1])),
    "invert": lambda T, r, x: [r.invert_permutation(T.tensor([2, 0, 1])), r.invert_permutation(None)],
    "double": lambda T, r, x: r.pack_padded_sequence(x, [5, 3, 1]).float().double().to(T.float32),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name: str) -> None:
    def program(T: Any) -> Any:
        x = normal(T, 5, 3, 2, requires_grad=True)
        result = flat(SEQUENCES[name](T, T.nn.utils.rnn, x))
        parts = [y for y in result if y.requires_grad]
        if parts:
            sum((y * y).sum() for y in parts).backward()
        return result, x.grad

    oracle.check(program)


@pytest.mark.parametrize("lengths", [[5, 5, 2], [2, 5, 3], [1, 1, 1]])
@pytest.mark.parametrize(
    "text", ["RNN(2, 3, bidirectional=True)", "LSTM(2, 4, 2, bidirectional=True, proj_size=3)", "GRU(2, 3, 2)"]
)
def test_packed_sequences_through_layers(text: str, lengths: list[int]) -> None:
    def program(T: Any) -> Any:
        m = oracle.fill(T, eval(f"T.nn.{text}", {"T": T}).double())
        x = normal(T, 5, 3, 2, dtype=T.float64, requires_grad=True)
        packed = T.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        output, state = m(packed)
        values = [output.data, *flat(state)]
        sum((v * v).sum() for v in values).backward()
        first = [T.ones_like(s) for s in flat(state)]
        again = flat(m(packed, tuple(first) if len(first) > 1 else first[0])[1])
        return [type(output).__name__, *values, x.grad, *(p.grad for p in m.parameters()), *again]

    oracle.check(program)


@pytest.mark.parametrize("text", ["Linear(2, 3)", "Conv1d(2, 3, 2)", "Linear(2, 3, bias=False)"])
@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(text: str, dim: int | None) -> None:
    def program(T: Any) -> Any:
        layer = oracle.fill(T, eval(f"T.nn.{text}", {"T": T}).double())
        m = copy.deepcopy(T.nn.utils.parametrizations.weight_norm(layer, dim=dim))
        y = m(normal(T, 3, 2, 2, dtype=T.float64))
        (y * y).sum().backward()
        found = [repr(m), list(m.state_dict())]
        found += [y, *(p.grad for p in m.parameters()), *(p.clone() for p in m.parameters())]
        m.weight = T.ones_like(m.weight)
        found += [m.weight, *m.state_dict().values()]
        found.append(repr(T.nn.utils.parametrize.remove_parametrizations(layer, "weight")))
        return [*found, layer.state_dict()]

    oracle.check(program)


def test_parametrization() -> None:
    def program(T: Any) -> Any:
        class Double(T.nn.Module):
            def forward(self, x: Any) -> Any:
                return x * 2

        parametrize = T.nn.utils.parametrize
        m = T.nn.Linear(2, 2)
        T.nn.init.ones_(m.weight)
        parametrize.register_parametrization(m, "weight", Double())
        found = [m.weight.tolist(), repr(m), parametrize.is_parametrized(m, "weight"), list(m.state_dict())]
        with pytest.raises(ValueError, match="does not have a parameter"):
            parametrize.register_parametrization(m, "nothing", Double())
        with pytest.raises(ValueError, match="may not change the shape"):
            parametrize.register_parametrization(m, "bias", T.nn.Unflatten(0, (1, 2)))
        with pytest.raises(ValueError, match="does not have a parametrization on bias"):
            parametrize.remove_parametrizations(m, "bias")
        parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
        return [*found, m.weight.tolist(), repr(m), parametrize.is_parametrized(m)]

    oracle.check(program, exact=True)


def test_every_function_is_here() -> None:
    for path in ("utils", "utils.rnn"):

        def names(T: Any, path: str = path) -> Any:
            return operator.attrgetter(path)(T.nn).__all__

        ours = operator.attrgetter(path)(nbautograd.nn)
        assert {n for n in oracle.answer(names) if not hasattr(ours, n)} == set()
