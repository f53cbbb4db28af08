"""Trace every operation of the cases: results and gradients equal eager's, bit for bit, also for other values."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import nbautograd as torch
from tests.engine.ops.cases import CASES, Case
from tests.parity.jit.comparing import copies, same, silently

CHUNKS = 12
REFUSED = {"F.rrelu training": "it seeds the generator"}
"""Cases for which a trace raises, and why."""


def leaves_of(case: Case, factor: float = 1.0) -> list[Any]:
    return [
        torch.tensor(np.asarray(a) * np.float32(factor), dtype=torch.float32, requires_grad=True) for a in case.arrays()
    ]


def result_of(function: Any, leaves: list[Any]) -> tuple[list[Any], list[Any]]:
    """The tensors in a result, and the gradients of the leaves."""
    torch.manual_seed(0)
    result = function(*leaves)
    tensors = [t for t in torch.utils._pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
    differentiable = [t for t in tensors if t.requires_grad]
    if differentiable:
        torch.stack([(t * t).abs().sum() if t.is_complex() else (t * t).sum() for t in differentiable]).sum().backward()
    return tensors, [leaf.grad for leaf in leaves]


def wrong_case(case: Case, counts: dict[str, int]) -> str:
    """Return the error of a case; nothing if it is right."""
    leaves = leaves_of(case, 0.875)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected, gradients = result_of(lambda *x: case.call(torch, *x), copies(leaves))
        except Exception:  # a case for float64 only, or with values that may not change
            return ""
        try:
            traced = silently(lambda *x: case.call(torch, *x), *leaves_of(case), strict=False)
        except Exception as error:
            return "" if case.name in REFUSED else f"{case}: {type(error).__name__}: {error!s:.150}"
        try:
            own, own_gradients = result_of(traced, copies(leaves))
        except RuntimeError as error:
            return "" if "the shape depends on values" in str(error) else f"{case}: {error!s:.150}"
    counts["right"] += 1
    try:
        for a, b in zip([*expected, *gradients], [*own, *own_gradients], strict=True):
            same(a, b)
    except (AssertionError, ValueError):
        return f"{case}: other numbers"
    return ""


@pytest.mark.sweep
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_all_operations(chunk: int) -> None:
    counts = {"right": 0}
    wrong = [name for case in CASES[chunk::CHUNKS] if (name := wrong_case(case, counts))]
    assert wrong == []
    assert counts["right"] > 50
