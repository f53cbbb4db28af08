"""Operations on operands of several dtypes: the dtype of the result is PyTorch's, and each gradient has its input's."""

from __future__ import annotations

from typing import Any

import pytest

import nbautograd as nb
from tests import oracle
from tests.engine.ops.cases import CASES, Case

PAIRS = [("float32", "float64"), ("float64", "float32"), ("float16", "float32")]
"""The dtype of one input, and the dtype of all others."""


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
        if not case.oracle:
            continue
        count = len(case.shapes)
        places = [(number, pair) for number in range(count) for pair in PAIRS if count > 1]

        def program(T: Any, case: Case, places: list[Any]) -> Any:
            return [outcome(T, case, *place) for place in places]

        answers = oracle.answer(program, case, places)
        for place, theirs in zip(places, answers, strict=True):
            ours = None if theirs is None else outcome(nb, case, *place)
            if ours is not None:
                compared += 1
                if ours != theirs:
                    wrong.append((case.name, *place, ours, theirs))
    assert wrong == []
    assert compared > 100


def test_a_loss_has_the_dtype_of_its_input_or_target() -> None:
    def dtypes(T: Any) -> Any:
        functional = T.nn.functional
        x = T.full((3,), 0.5, requires_grad=True)
        double = T.ones(3, dtype=T.float64)
        functional.binary_cross_entropy(x, x.detach(), double).backward()
        return (
            x.grad.dtype,
            functional.binary_cross_entropy_with_logits(x, double).dtype,
            functional.binary_cross_entropy_with_logits(double, x, double, pos_weight=double).dtype,
        )

    assert oracle.check(dtypes) == (nb.float32, nb.float64, nb.float32)
    error = oracle.check_raises(
        lambda T: T.nn.functional.binary_cross_entropy_with_logits(T.ones(3), T.ones(3, dtype=T.int64)),
        says="result type Float can't be cast to the desired output type Long",
    )
    assert isinstance(error, RuntimeError)
