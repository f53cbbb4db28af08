"""Check that errors of shapes, dtypes and dimensions begin with the name of the called operation."""

from __future__ import annotations

import re
import warnings

import pytest

import nbautograd as nb
from nbautograd.errors import INPUT_ERRORS, UnsupportedDtypeError
from tests.engine.ops import (
    test_errors_functional,
    test_errors_pointwise,
    test_errors_reduction,
    test_errors_shape,
    test_errors_special,
)

F = nb.nn.functional
MISUSE = [
    *(call for _, call in test_errors_shape.CALLS),
    *(call for _, call, _ in test_errors_pointwise.REFUSED),
    *(
        call
        for module in (test_errors_reduction, test_errors_special, test_errors_functional)
        for call, _ in module.CALLS.values()
    ),
    lambda T: T.ones(2, 3) @ T.ones(2, 3),
    lambda T: T.ones(3).masked_fill(T.ones(4) > 0, 1),
    lambda T: T.ones(3).masked_fill_(T.ones(4) > 0, 1),
    lambda T: T.ones(3).half().add(T.ones(4)),
    lambda T: T.ones(3).add_(T.ones(4)),
    lambda T: T.ones(3).add_(T.ones(2, 3)),
    lambda T: T.arange(3).add_(1.5),
    lambda T: T.ones(3).copy_(T.ones(4)),
    lambda T: T.mul(T.ones(3), 1j, out=T.ones(3)),
    lambda T: T.ones(3).sum(4),
    lambda T: T.bmm(T.ones(3), T.ones(3)),
    lambda T: T.nn.functional.linear(T.ones(2, 3), T.ones(3, 2)),
    lambda T: T.ones(2, 3).index_select(0, T.ones(2)),
    lambda T: T.ones(2, 3).gather(0, T.ones(2, dtype=T.int64)),
]
INDEXING = re.compile(
    r"index -?\d|too many indices|The shape of the mask|only integers, slices|tensors used as|shape mis|value cannot"
)
"""The messages of ``x[key]`` and ``x[key] = value``, which have no name."""


def operation(message: str) -> str | None:
    """The callable whose name a message begins with, or has with parentheses."""
    first = re.match(r'"?(?:(?:torch|linalg|fft|special)[._])?(\w+)', message)
    anywhere = re.search(r"(\w+)\(\)", message)  # for example "... negative dimension -1: [-1] in zeros()"
    names = [match[1].removeprefix("fft_") for match in (first, anywhere) if match]
    homes = (nb, nb.Tensor, F, nb.linalg, nb.fft, nb.special, nb.signal.windows)
    names = ["grid_sample" if name == "grid_sampler" else name for name in names]  # as PyTorch calls it
    return next((name for name in names if any(callable(getattr(home, name, None)) for home in homes)), None)


@pytest.mark.parametrize("call", MISUSE)
def test_the_operation_is_named(call) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = (nb, F)[: call.__code__.co_argcount]
        with pytest.raises(Exception) as caught:
            call(*arguments)
    message = str(caught.value)
    if type(caught.value) in (*INPUT_ERRORS, UnsupportedDtypeError) and not INDEXING.match(message):
        assert operation(message), message


@pytest.mark.parametrize(
    ("call", "beginning"),
    [
        (lambda: nb.ones(2, 3) @ nb.ones(2, 3), "mm(): mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
        (lambda: nb.ones(3).add_(nb.ones(4)), "add_(): The size of tensor a (3) must match the size of tensor b (4)"),
        (lambda: nb.ones(3).half() * nb.ones(4), "mul(): The size of tensor a (3) must match"),
        (lambda: nb.cat([nb.ones(2, 3), nb.ones(2)]), "cat(): Tensors must have same number of dimensions"),
        (lambda: nb.stack([nb.ones(2), nb.ones(3)]), "stack expects each tensor to be equal size"),
        (lambda: F.linear(nb.ones(2, 3), nb.ones(3, 2)), "linear(): mat1 and mat2 shapes cannot be multiplied"),
    ],
)
def test_it_comes_once_and_before_the_words_of_pytorch(call, beginning: str) -> None:
    """Of nested operations the outermost is named; messages with a name are not changed."""
    with pytest.raises(RuntimeError, match=f"^{re.escape(beginning)}"):
        call()


def test_errors_keep_their_type_and_traceback() -> None:
    with pytest.raises(nb.errors.ShapeError) as caught:
        nb.ones(2, 3).mm(nb.ones(2, 3))
    assert caught.value.__cause__ is None
    assert caught.traceback[-1].name == "check_mm"
