"""Test numbers that a dtype cannot hold, in place of a factor, a bound or a filling: they raise where PyTorch's do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from tests.parity.differences.both import agrees

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda T, x, v: T.add(x, x, alpha=v),
    "add_": lambda T, x, v: x.add_(x, alpha=v),
    "sub": lambda T, x, v: T.sub(x, x, alpha=v),
    "rsub": lambda T, x, v: T.rsub(x, x, alpha=v),
    "clamp_min": lambda T, x, v: T.clamp_min(x, v),
    "clamp_max": lambda T, x, v: x.clamp_max_(v),
    "full": lambda T, x, v: T.full((2,), v, out=x),
    "fill_": lambda T, x, v: x.fill_(v),
    "lerp": lambda T, x, v: x.lerp(x, v),
    "pad": lambda T, x, v: T.nn.functional.pad(x, (1, 1), value=v),
}
IN_FLOAT32 = ("add", "add_", "lerp", "rsub", "sub")
"""The calls that compute float16 in float32, whose factor is not compared with float16 here."""
DTYPES = ["float16", "bfloat16", "float32", "float64"]
KINDS = (RuntimeError, ValueError, OverflowError)
NUMBERS = [1e300, -1e300, 1e39, 70000.0, 65504.0, -65504.0, 2.5, math.inf, -math.inf, math.nan]


def tried(call: Callable[[], Any]) -> Any:
    """The result of a call, or its exception."""
    try:
        return call().double()
    except KINDS as error:
        return next(kind.__name__ for kind in KINDS if isinstance(error, kind))


@agrees
def test_numbers(torch: Any) -> Any:
    return [
        [name, dtype, str(v), tried(lambda c=call, d=dtype, v=v: c(torch, torch.ones(2, dtype=getattr(torch, d)), v))]
        for (name, call), dtype, v in itertools.product(CALLS.items(), DTYPES, NUMBERS)
        if not (dtype == "float16" and name in IN_FLOAT32)
    ]


@agrees(says="value cannot be converted to type float without overflow")
def test_the_words(torch: Any) -> Any:
    return torch.ones(2).add(torch.ones(2), alpha=1e300)


@agrees
def test_integers_and_complex_numbers(torch: Any) -> Any:
    fill = [torch.int8, torch.uint8, torch.int64, torch.bool]
    numbers = [300, -300, 2.7, -1, 2**40, 1j, True]
    return [
        [
            str(dtype).removeprefix("torch."),
            str(v),
            tried(lambda d=dtype, v=v: torch.full((2,), v, out=torch.empty(2, dtype=d))),
        ]
        for dtype, v in itertools.product(fill, numbers)
    ] + [
        [str(v), tried(lambda v=v: torch.clamp_min(torch.tensor([1, 2], dtype=torch.int8), v))]
        for v in (300, -300, 100, -1)
    ]


LONG: dict[str, Callable[[Any, Any], Any]] = {
    "arange": lambda T, x: T.arange(2**63),
    "arange of floats": lambda T, x: T.arange(0, 1e19, 1e18, dtype=T.int64),
    "linspace": lambda T, x: T.linspace(0, 1, 2**63),
    "logspace": lambda T, x: T.logspace(0, 1, 2**63),
    "eye": lambda T, x: T.eye(2, 2**63),
    "randperm": lambda T, x: T.randperm(2**63),
    "hann_window": lambda T, x: T.hann_window(2**63),
    "one_hot": lambda T, x: T.nn.functional.one_hot(T.tensor([0]), 2**63),
    "sum": lambda T, x: x.sum(2**63),
    "cumsum": lambda T, x: x.cumsum(-(2**63) - 1),
    "select": lambda T, x: x.select(0, 2**63),
    "chunk": lambda T, x: x.chunk(2**63),
    "fft": lambda T, x: T.fft.fft(x, 2**63),
    "multiplied": lambda T, x: x * 2**64,
    "compared": lambda T, x: x < 2**70,
    "added": lambda T, x: x.add_(2**64),
    "filled": lambda T, x: x.fill_(2**64),
    "the longest": lambda T, x: x * (2**64 - 1) + 2**63,
}


@agrees
def test_integers_of_more_than_64_bits(torch: Any) -> Any:
    """They raise; cut to 64 bits, a size of 2**63 was a tensor without elements."""
    return [[name, tried(lambda call=call: call(torch, torch.ones(3)))] for name, call in LONG.items()]
