"""Wrong formulas are noticed: each formula of each operation, made wrong in four ways, changes some case's gradients.

Other tests compare the unchanged gradients with PyTorch and with finite differences; this file shows that the cases
distinguish right from wrong ones. It also proves that some case runs every formula.
"""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.compiler.backward import _compile_when_called
from nbautograd._engine.compiler.op import OPS, CompiledOp
from nbautograd._engine.ops.signal.maxima import maxima_gather, sliced_max_pool
from nbautograd.nn.functional.fused_attention import fused_attention
from nbautograd.nn.functional.fused_recurrent import Weights, fused
from tests.engine.ops.cases import CASES as SHARED, Case
from tests.engine.ops.cases.case import case
from tests.oracle.answers import plain
from tests.oracle.comparison import difference
from tests.oracle.ourselves import bounded


def layer(mode: str, gates: int) -> Case:
    """A recurrent layer as one node, which modules make of large ones only; others compare it with PyTorch."""

    def call(T: Any, x: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, *state: Any) -> Any:
        return fused(mode, x, Weights(w_ih, w_hh, b_ih, b_hh), state, False)[0]

    states, rows = [(2, 2)] * (1 + (mode == "LSTM")), 2 * gates
    return case(f"layer {mode}", call, (3, 2, 3), (rows, 3), (rows, 2), (rows,), (rows,), *states)


def attention() -> Case:
    """Attention as one node, which the function makes of a large one only."""

    def call(T: Any, *operands: Any) -> Any:
        return fused_attention(*operands, None, True, 0.5)

    return case("attention", call, (2, 1, 3, 2), (2, 1, 4, 2), (2, 1, 4, 3))


def sliced() -> list[Case]:
    """Max pooling without indices, which the function makes of untraced operations; and a derivative of it."""
    windows = (2, 3), (2, 3)

    def gathered(T: Any, g: Any) -> Any:
        x = nb.arange(60.0, dtype=g.dtype).reshape(2, 5, 6).sin()
        return maxima_gather(g, x, *sliced_max_pool(x, (2, 2), *windows)[1:], *windows)

    return [
        case("sliced max pool", lambda T, x: sliced_max_pool(x, (2, 2), *windows)[0], (2, 5, 6)),
        case("maxima gather", gathered, (2, 5, 6)),
    ]


OTHERS = [
    case("clamp by a low tensor", lambda T, x, y: x.clamp(min=y), (2, 3), (3,)),
    case("clamp by a high tensor", lambda T, x, y: x.clamp(max=y), (2, 3), (3,)),
    case("triangular_solve", lambda T, a, b: T.triangular_solve(b, a)[0] + b * b, (3, 3), (3, 2)),
    case("pack", lambda T, x: T.nn.utils.rnn.pack_padded_sequence(x * x, [3, 1]).data, (3, 2)),
]
CASES = [*SHARED, *OTHERS, attention(), *sliced(), layer("RNN_TANH", 1), layer("LSTM", 4), layer("GRU", 3)]
MUTATIONS = {
    "identity": "g",
    "negative": "-({})",
    "zero": "({}) * 0",
    "transposed": "mutated_by_transposing({})",
}


def mutated_by_transposing(x: Any) -> Any:
    """Rows for columns; of a vector, the other way round."""
    if x.ndim >= 2:
        return x.swapaxes(0, -1)
    return nb.flip(x, (0,)) if isinstance(x, nb.Tensor) and x.ndim else x[::-1] if x.ndim else x


def pointless(formula: str, mutation: str) -> bool:
    """Return whether the mutation does not change the formula: a gradient of 0 has no negative, an error stays one."""
    zero = "zeros_of(" in formula and "where" not in formula and "strided_scatter" not in formula
    return (zero and mutation != "identity") or formula.startswith(("not_implemented(", "refuse_derivative("))


def outcome(case: Case, *arrays: Any) -> tuple[list[Any], set[type]]:
    """The first and second derivatives of a case, and the classes of all nodes that took part."""
    inputs = [nb.tensor(a, requires_grad=True) for a in arrays]
    rng = np.random.default_rng(1)
    out = case.call(nb, *inputs)
    cotangent = nb.tensor(rng.standard_normal(tuple(out.shape)).astype(out.dtype.numpy), requires_grad=True)
    classes: set[type] = set()
    walk(out.grad_fn, classes)
    leaves = [*inputs, cotangent]
    orders = [nb.autograd.grad(out, inputs, cotangent, create_graph=True, allow_unused=True)]
    combined: Any = None
    for g in orders[0]:
        if g is not None and g.requires_grad:
            weighted = (g * nb.tensor(rng.standard_normal(tuple(g.shape)))).sum()
            combined = weighted if combined is None else combined + weighted
    if combined is not None:
        walk(combined.grad_fn, classes)
        orders.append(nb.autograd.grad(combined, leaves, allow_unused=True))
    return [None if g is None else g.detach().numpy(force=True) for order in orders for g in order], classes


def walk(node: Any, classes: set[type]) -> None:
    stack, seen = [node], set()
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            classes.add(type(node))
            stack += [edge for edge, _ in node.next_functions]


@cache
def outcomes() -> dict[str, tuple[Any, set[type]]]:
    """For all cases, the derivatives and the classes."""
    with quiet():
        return {case.name: derivatives_and_classes(case) for case in CASES}


def derivatives_and_classes(case: Case) -> tuple[Any, set[type]]:
    derivatives, classes = outcome(case, *case.arrays())
    return plain(derivatives), classes


@contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@cache
def with_bounds(name: str) -> Any:
    """The derivatives of a case, with bounds, which takes several runs of it by right formulas."""
    (case,) = (case for case in CASES if case.name == name)
    with quiet():
        return bounded(lambda *arrays: outcome(case, *arrays)[0], tuple(case.arrays()), outcomes()[name][0])


@contextmanager
def mutated(op: CompiledOp, name: str, formula: str) -> Iterator[None]:
    """Within the block, the operation has another formula, which the nodes of all its variants compute."""
    right, nodes = op.formulas, dict(op._nodes)
    scope, helper = op.body.__globals__, mutated_by_transposing.__name__
    assert helper not in scope
    scope[helper] = mutated_by_transposing
    own = {node: {which: node.__dict__[which] for which in VJPS if which in node.__dict__} for node in nodes.values()}
    needs = op.saves()
    op.formulas = {**right, name: formula}
    saved = sorted(set().union(*needs.values())) if needs else []
    for variant, node in nodes.items():
        if own[node]:
            for recorded in (False, True):
                _compile_when_called(node, op, saved, recorded, variant)
    try:
        with mock.patch.dict(linecache.cache):  # the wrong code has the file name of the right one
            yield
    finally:
        op.formulas = right
        for node, functions in own.items():
            for which, function in functions.items():
                setattr(node, which, function)
        del scope[helper]
        assert op._nodes == nodes, "a node that was compiled in between keeps the wrong formula"


VJPS = ("vjp", "vjp_graph")


CONSTANT = ("zeros_of(", "sum_to(zeros_of(", "cast_back(sum_to(zeros_of(", "not_implemented(", "refuse_derivative(")
"""The beginnings of formulas that declare that there is no gradient."""
THIRD_ORDER = {"embedding_masked", "lay_out", "pad_more", "resample"}
"""Operations that occur only in second derivatives, so that their own formulas run from the third on."""
RANDOM = {"_sample_dirichlet", "_standard_gamma"}
"""Operations whose results are random; ``tests/networks/distributions`` compares their gradients."""
DIFFERENTIABLE = [
    name
    for name, op in OPS.items()
    if name not in THIRD_ORDER | RANDOM and not all(formula.startswith(CONSTANT) for formula in op.formulas.values())
]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_wrong_formulas_are_noticed(name):
    op, found = OPS[name], outcomes()
    classes = set(op._nodes.values())
    users = [case for case in CASES if classes & found[case.name][1]]
    users.sort(key=lambda case: len(found[case.name][1]))  # short programs run fast, and hide nothing
    assert users, f"no case in tests/engine/ops/cases runs the derivative of {name}"
    survivors = []
    for argument, formula in op.formulas.items():
        for mutation, pattern in MUTATIONS.items():
            wrong = pattern.format(formula)
            if wrong == formula or pointless(formula, mutation) or (name, argument, mutation) in EQUIVALENT:
                continue
            if op.lists and mutation != "identity":
                wrong = f"[{pattern.format('part')} for part in {formula}]"
            if not is_noticed(op, argument, wrong, users):
                survivors.append((argument, mutation))
    assert survivors == []


def is_noticed(op: CompiledOp, argument: str, wrong: str, users: list[Case]) -> bool:
    """Return whether the result of a case changes with a formula, by more than rounding does."""
    waiting = iter(users)
    while True:
        with mutated(op, argument, wrong):
            case, found = next(filter(None, map(changed, waiting)), (None, None))
        if case is None or found is None:
            return case is not None
        if difference(found, with_bounds(case.name)) is not None:
            return True


def changed(case: Case) -> tuple[Case, Any] | None:
    """Return a case with its derivatives, None if it raises, where these are not the known ones to the last bit."""
    try:
        with quiet():
            found = plain(outcome(case, *case.arrays())[0])
    except Exception:
        return case, None
    return None if difference(found, outcomes()[case.name][0], exact=True) is None else (case, found)


EQUIVALENT = {
    ("cast", "input", "identity"),  # the engine also casts gradients to their tensors' dtypes
    ("cast_back", "input", "identity"),
    ("real", "input", "identity"),
    ("_prelu", "weight", "transposed"),  # of shape (1, channels, 1)
    ("cholesky", "input", "transposed"),  # a symmetric gradient
    ("nextafter", "input", "identity"),  # differs for equal inputs: test_registry.py draws those
    ("clamped", "input", "identity"),  # differs below exp(-100): test_functional.py
    ("fill", "value", "transposed"),  # of a number
    ("masked_fill", "value", "transposed"),
    ("index_fill", "value", "transposed"),
}
"""Mutations that change nothing."""
