"""Operations on operands of several dtypes: the dtype of the result is PyTorch's, and each gradient has its input's."""

from __future__ import annotations

from typing import Any

import pytest

import nbautograd as nb
from tests import needs
from tests.ops.cases import CASES, Case

torch = needs.package("torch")
PAIRS = [("float32", "float64"), ("float64", "float32"), ("float16", "float32")]
"""The dtype of one input, and that of all others."""


def dtypes_of(library: Any, case: Case, inputs: list[Any]) -> list[str]:
    """The dtypes of the result, and of the gradients three times: asked for, recorded, and in the leaves."""
    out = case.call(library, *inputs)
    total = (out.abs() if out.is_complex() else out).sum()
    gradients = [
        *library.autograd.grad(total, inputs, allow_unused=True, retain_graph=True),
        *library.autograd.grad(total, inputs, allow_unused=True, create_graph=True),
    ]
    total.backward()
    gradients += [x.grad for x in inputs]
    return [str(out.dtype), *("" if g is None else str(g.dtype) for g in gradients)]


def outcome(library: Any, case: Case, number: int, pair: tuple[str, str]) -> Any:
    """The dtypes; None where the library does not take such operands."""
    kinds = [getattr(library, pair[i != number]) for i in range(len(case.shapes))]
    inputs = [library.tensor(a, dtype=kind, requires_grad=True) for a, kind in zip(case.arrays(), kinds, strict=True)]
    try:
        return dtypes_of(library, case, inputs)
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError):
        return None


@pytest.mark.parametrize("chunk", range(4))
@pytest.mark.filterwarnings("ignore")
def test_dtypes_of_results_and_gradients(chunk: int) -> None:
    compared, wrong = 0, []
    for case in CASES[chunk::4]:
        for number in range(len(case.shapes) if len(case.shapes) > 1 else 0):
            for pair in PAIRS:
                theirs = outcome(torch, case, number, pair) if case.oracle else None
                ours = None if theirs is None else outcome(nb, case, number, pair)
                if ours is not None:
                    compared += 1
                    if ours != theirs:
                        wrong.append((case.name, number, pair, ours, theirs))
    assert wrong == []
    assert compared > 100


def test_a_loss_has_the_dtype_of_its_input_or_target() -> None:
    for library in (nb, torch):
        functional = library.nn.functional
        x = library.full((3,), 0.5, requires_grad=True)
        double = library.ones(3, dtype=library.float64)
        functional.binary_cross_entropy(x, x.detach(), double).backward()
        assert x.grad.dtype == library.float32
        assert functional.binary_cross_entropy_with_logits(x, double).dtype == library.float64
        assert (
            functional.binary_cross_entropy_with_logits(double, x, double, pos_weight=double).dtype == library.float32
        )
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
            functional.binary_cross_entropy_with_logits(x, library.ones(3, dtype=library.int64))
