"""Sweeps of ``out=`` whose elements share memory, or that is an operand of another shape."""

from __future__ import annotations

import itertools
from typing import Any

from tests.parity.differences.both import agrees
from tests.parity.differences.test_swept_writes import outcomes

OF_TWO = ("max", "min", "maximum", "minimum", "fmax", "add", "atan2", "pow", "eq", "heaviside", "hypot", "copysign",
          "float_power", "complex", "polar", "logical_and", "xlogy", "nextafter", "fmod")  # fmt: skip
SHAPES = (("T.ones(1)", "T.ones(3)"), ("T.ones(())", "T.ones(3)"), ("T.ones(2, 1)", "T.ones(1, 3)"),
          ("T.ones(1)", "T.ones(0)"), ("T.ones(3)", "T.ones(3)"))  # fmt: skip
SHARED = (
    *("sin(s", "lerp(s, s, 0.5", "addcmul(s, s, s", "nan_to_num(s", "round(s, decimals=1", "softmax(s, 0", "max(s, s"),
    *("take(s, i", "index_select(s, 0, i", "scatter(s, 0, i, s", "scatter_add(s, 0, i, s", "gather(s, 0, i", "abs(s"),
    *("fft.fft(c", "fft.ifft(c", "outer(s, s", "inner(s, s", "addr(T.ones(2, 2), s, s", "cat([s, s]", "sum(s, 0"),
    *("nn.functional.softplus(s", "nn.functional.softshrink(s", "ldexp(s, s", "float_power(s, s.double()"),
    *("heaviside(s, s", "clamp(s, 0, 1", "where(s > 0, s, s", "cumsum(s, 0", "mean(s, 0", "matmul(s, s"),
)


@agrees
def test_operands_of_other_shapes_as_out(torch: Any) -> Any:
    """No operand is resized."""
    programs = itertools.product(OF_TWO, SHAPES, "ab")
    texts = [f"a = {a}; b = {b} * 2; r = T.{name}(a, b, out={out})" for name, (a, b), out in programs]
    return outcomes(torch, [*texts, "a = T.ones(1); r = T.lerp(a, T.ones(3), 0.5, out=a)"])


@agrees
def test_out_whose_elements_share_memory(torch: Any) -> Any:
    """Operations that write before they resize raise; others do not."""
    made = "s = T.tensor([0.5, 1.5]); c = s.cfloat(); i = T.tensor([1, 0])"
    return outcomes(
        torch,
        (
            f"{made}; o = T.zeros((), dtype=T.{dtype}).expand({shape}); r = T.{call}, out=o)"
            for call, shape in itertools.product(SHARED, ("2", "2, 2", "2, 2, 2"))
            for dtype in ("complex64" if "fft" in call else "float64" if "float_power" in call else "float32",)
        ),
    )
