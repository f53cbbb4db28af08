"""``torch.masked``, with PyTorch as the oracle."""

from __future__ import annotations

import builtins
import re
from typing import Any

import pytest

import nbautograd as nb
from tests import oracle

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors:UserWarning")

REDUCTIONS = ["sum", "prod", "mean", "amax", "amin", "argmax", "argmin", "logsumexp", "var", "std", "norm", "median"]
SCANS = ["softmax", "log_softmax", "softmin", "cumsum", "cumprod", "normalize"]
MASKS: dict[str, Any] = {
    "none": None,
    "some": [[True, False, True, True], [False, True, True, False], [True, True, True, True]],
    "a row out": [[True, False, True, True], [False, False, False, False], [True, False, False, False]],
    "a column": [[True], [False], [True]],
    "a vector": [True, False, True, True],
}
NUMBERS = [[1.5, -2.0, 3.0, 0.5], [2.0, 1.0, -1.0, 4.0], [0.25, 7.0, 0.0, -3.0]]


def call(T: Any, name: str, x: Any, dim: Any, mask: Any, **options: Any) -> Any:
    function = getattr(T.masked, name)
    mask = None if mask is None else T.tensor(mask)
    if name in ("norm", "normalize"):
        return function(x, options.pop("ord", 2.0), dim, mask=mask, **options)
    return function(x, dim, mask=mask, **options)


def check(name: str, kind: str, dim: Any, mask: Any, **options: Any) -> None:
    def program(T: Any) -> Any:
        x = T.tensor(NUMBERS, dtype=T.float64).to(getattr(T, kind))
        named = {key: getattr(T, value) if key == "dtype" else value for key, value in options.items()}
        try:
            return call(T, name, x, dim, mask, **named)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            return [type(error).__name__, str(error)]

    theirs = oracle.answer(program)
    if not isinstance(theirs, list) or name == "mean":  # do not compare which dtypes have a kernel in PyTorch
        oracle.close(program(nb), theirs)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, mask: str) -> None:
    whole = [] if name in ("argmax", "argmin", "median") else [None, (0, 1)]
    for kind in ("float64", "float32", "int64"):
        if name == "logsumexp" and kind == "int64":
            continue  # PyTorch rounds the logarithm
        for dim in (0, 1, -1, *whole):
            check(name, kind, dim, MASKS[mask])
            check(name, kind, dim, MASKS[mask], keepdim=True)
    if name not in ("median", "logsumexp"):  # PyTorch ignores it, or casts the result
        check(name, "float32", 1, MASKS[mask], dtype="float64")


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", SCANS)
def test_functions_that_keep_the_shape(name: str, mask: str) -> None:
    for kind in ("float64", "float32", "int64"):
        for dim in (0, 1, -1):
            check(name, kind, dim, MASKS[mask])
    check(name, "float32", 1, MASKS[mask], dtype="float64")


@pytest.mark.parametrize("order", [1.0, 3.0, float("inf"), float("-inf"), 0.0])
def test_norms_of_other_orders(order: float) -> None:
    check("norm", "float64", 1, MASKS["some"], ord=order)


@pytest.mark.parametrize("options", [{"unbiased": False}, {"correction": 0}, {"correction": 2}])
def test_variances(options: dict[str, Any]) -> None:
    for name in ("var", "std"):
        check(name, "float64", 1, MASKS["some"], **options)


def test_logaddexp() -> None:
    def computed(T: Any) -> Any:
        x, m = T.tensor(NUMBERS, dtype=T.float64), T.tensor(MASKS["some"])
        return T.masked.logaddexp(x, x * 2, input_mask=m, other_mask=~m)

    oracle.check(computed)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "amax", "logsumexp", "var", "norm", "softmax", "normalize"])
def test_gradients(name: str) -> None:
    def gradient(T: Any) -> Any:
        x = T.tensor(NUMBERS, dtype=T.float64, requires_grad=True)
        (call(T, name, x, 1, MASKS["some"]) ** 2).sum().backward()
        return x.grad

    oracle.check(gradient)


@pytest.mark.parametrize(
    "program",
    [
        lambda T, x: T.masked.sum(x, 5),
        lambda T, x: T.masked.sum(x, (0, 0)),
        lambda T, x: T.masked.sum(x, 1, mask=T.ones(5, dtype=T.bool)),
        lambda T, x: T.masked.sum(x, 1, mask=T.ones(1, 3, 4, dtype=T.bool)),
        lambda T, x: T.masked.mean(x.long(), 1),
    ],
)
def test_errors(program: Any) -> None:
    def said(T: Any) -> Any:
        with pytest.raises((RuntimeError, ValueError, IndexError)) as caught:
            program(T, T.tensor(NUMBERS))
        return caught.type.__name__, str(caught.value)

    kind, text = oracle.answer(said).parts
    with pytest.raises(getattr(builtins, kind), match=re.escape(text[:30])):
        program(nb, nb.tensor(NUMBERS))


def test_masked_tensors_are_refused_in_a_sentence() -> None:
    for make in (nb.masked.masked_tensor, nb.masked.as_masked_tensor, nb.masked.MaskedTensor):
        with pytest.raises(NotImplementedError, match=r"no MaskedTensor in nbautograd.*mask=mask"):
            make(nb.ones(2), nb.tensor([True, False]))
    assert not nb.masked.is_masked_tensor(nb.ones(2))
