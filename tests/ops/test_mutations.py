"""Wrong formulas are noticed: each formula of each operation, made wrong in four ways, changes some case's gradients.

The unchanged gradients are what the other tests compare with PyTorch and with finite differences; here it is shown
that the cases are able to tell right from wrong. It is also the proof that every formula is run by some case.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.declare import OPS, Declaration
from tests.ops.cases import CASES, Case

MUTATIONS = {
    "identity": "g",
    "negative": "-({})",
    "zero": "({}) * 0",
    "transposed": "({}).swapaxes(0, -1)",
}


def outcome(case: Case) -> tuple[list[Any], set[type]]:
    """The gradients of a case, those of a sum of them, and the classes of all nodes that took part."""
    inputs = [nb.tensor(a, requires_grad=True) for a in case.arrays()]
    rng = np.random.default_rng(1)
    out = case.call(nb, *inputs)
    cotangent = nb.tensor(rng.standard_normal(tuple(out.shape)).astype(out.dtype.numpy))
    classes: set[type] = set()
    walk(out.grad_fn, classes)
    first = nb.autograd.grad(out, inputs, cotangent, create_graph=True, allow_unused=True)
    combined: Any = None
    for g in first:
        if g is not None and g.requires_grad:
            weighted = (g * nb.tensor(rng.standard_normal(tuple(g.shape)))).sum()
            combined = weighted if combined is None else combined + weighted
    second: Any = [None] * len(inputs)
    if combined is not None:
        walk(combined.grad_fn, classes)
        second = nb.autograd.grad(combined, inputs, allow_unused=True)
    return [None if g is None else g.detach().numpy(force=True) for g in (*first, *second)], classes


def walk(node: Any, classes: set[type]) -> None:
    stack, seen = [node], set()
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            classes.add(type(node))
            stack += [edge for edge, _ in node.next_functions]


@cache
def outcomes() -> dict[str, tuple[list[Any], set[type]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: outcome(case) for case in CASES}


@contextmanager
def mutated(op: Declaration, name: str, formula: str) -> Iterator[None]:
    """Within the block, the operation has another formula."""
    right = op.formulas
    op.formulas = {**right, name: formula}
    recompile(op)
    try:
        yield
    finally:
        op.formulas = right
        recompile(op)


def recompile(op: Declaration) -> None:
    op._codes.clear()
    op._halves.clear()
    op._nodes.clear()
    op.compile()


def same(a: list[Any], b: list[Any]) -> bool:
    return all(
        (x is None and y is None)
        or (x is not None and y is not None and x.shape == y.shape and np.allclose(x, y, 1e-6, 1e-8, equal_nan=True))
        for x, y in zip(a, b, strict=True)
    )


DIFFERENTIABLE = [name for name, op in OPS.items() if op.formulas]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_wrong_formulas_are_noticed(name):
    op = OPS[name]
    classes = set(op._nodes.values())
    users = [case for case in CASES if classes & outcomes()[case.name][1]]
    assert users, f"no case in tests/ops/cases runs the derivative of {name}"
    survivors = []
    for argument, formula in op.formulas.items():
        for mutation, pattern in MUTATIONS.items():
            wrong = pattern.format(formula)
            if wrong == formula or (name, argument, mutation) in EQUIVALENT:
                continue
            if op.lists and mutation != "identity":
                wrong = f"[{pattern.format('part')} for part in {formula}]"
            with mutated(op, argument, wrong):
                if not any(noticed(case) for case in users):
                    survivors.append((argument, mutation))
    assert survivors == []


def noticed(case: Case) -> bool:
    """Whether a case comes out otherwise than it did."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return not same(outcome(case)[0], outcomes()[case.name][0])
    except Exception:
        return True


EQUIVALENT: set[tuple[str, str, str]] = set()
"""Mutations that change nothing, such as the negative of a gradient that is 0."""
