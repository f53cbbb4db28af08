"""Sweeps of ``out=``: operands, shared memory, other dtypes and shapes, views."""

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


WRITING = (
    *("add(s, 1", "exp(s", "mm(m, m", "matmul(m, s[:2]", "addmm(m, m, m", "bmm(m[None], m[None]", "cat([s, s]"),
    *("stack([s, s]", "sum(m, 0", "cumsum(s, 0", "mean(m, 0", "amax(m, 0", "inner(m, m", "tensordot(m, m, 1"),
    *("complex(s, s", "where(s > 0, s, s", "index_select(s, 0, i", "gather(s, 0, i", "take(s, i", "tril(m"),
    *("masked_select(s, s > 0", "nonzero(s", "quantile(m, 0.5, 0", "linalg.inv(m", "linalg.vector_norm(m, 2, 0"),
    *("fft.fft(s", "fft.irfft(s", "fft.rfft(s", "fft.hfft(s", "fft.irfft2(m", "fft.hfft2(m", "fft.irfftn(m"),
    *("zeros(2, 2", "full((2, 2), 3.0", "eye(2", "arange(4", "linspace(0, 1, 4", "logspace(0, 1, 4", "range(0, 3"),
    *("special.erf(s", "nn.functional.softplus(s", "bucketize(s, s", "linalg.matrix_norm(m", "linalg.solve(m, s[:2]"),
)
MADE = "s = T.tensor([0.5, 1.5, 2.5, 3.5]); m = T.tensor([[2.0, 1.0], [0.0, 4.0]]); i = T.tensor([1, 0])"
DTYPES = ("float64", "float16", "complex64", "complex128", "int64", "bool", "float32")


@agrees
def test_dtypes_of_out(torch: Any) -> Any:
    programs = itertools.product(WRITING, DTYPES)
    return outcomes(
        torch,
        (
            f"{MADE}; o = T.empty(0, dtype=T.{dtype}); T.{call}, out=o); r = o.dtype, o.shape"
            for call, dtype in programs
            if call != "range(0, 3" or dtype.startswith("float")
        ),
    )


@agrees
def test_dtypes_of_two_outs(torch: Any) -> Any:
    calls = "max(m, 0", "min(m, 0", "median(m, 0", "nanmedian(m, 0", "sort(s", "topk(s, 2", "kthvalue(s, 2", "mode(m, 0"
    kinds = ("float32", "int64"), ("float64", "int64"), ("float32", "int32"), ("float32", "float32")
    made = f"{MADE}; o = T.empty(0, dtype=T."
    return outcomes(
        torch,
        (
            f"{made}{one}), T.empty(0, dtype=T.{two}); r = tuple(T.{call}, out=o))"
            for call, (one, two) in itertools.product(calls, kinds)
        ),
    )


RESIZED = ("b[1]", "b[:, 1]", "b[1:2]", "b[:0]", "b[29]", "b[2, 3]", "b[1, :4].reshape(2, 2)", "b[1:5, 2]")


@agrees
def test_views_that_are_resized(torch: Any) -> Any:
    """They stay in their memory if the result fits into it."""
    dtypes = {"complex(s, s": "complex64", "fft.fft(s": "complex64", "fft.rfft(s": "complex64"}
    dtypes |= dict.fromkeys(("nonzero(s", "bucketize(s, s"), "int64")
    after = "r = b[:4], b[29], o"
    return outcomes(
        torch,
        (  # the matrices of linalg are column-major there, the numbers of fft rounded in another way
            f"{MADE}; b = T.zeros(30, 5, dtype=T.{dtypes.get(call, 'float32')}); o = {view}; T.{call}, out=o); {after}"
            for call, view in itertools.product(WRITING, RESIZED)
            if not call.startswith(("fft.", "linalg.inv", "linalg.solve"))
            if not (view == "b[29]" and "range" not in call and "space" not in call)
        ),
    )


@agrees
def test_random_numbers_in_views_that_are_resized(torch: Any) -> Any:
    calls = "rand(2, 4", "randn(20", "randint(3, (8,)", "randperm(8", "bernoulli(T.full((8,), 0.5)"
    return outcomes(
        torch,
        (
            f"T.manual_seed(0); b = T.zeros(30, 5); o = {view}; T.{call}, out=o); r = b[:6], o"
            for call, view in itertools.product(calls, RESIZED[:4])
        ),
    )


@agrees
def test_ranges_need_the_same_number_of_elements(torch: Any) -> Any:
    calls = "arange(6", "range(0, 5", "linspace(0, 1, 6", "logspace(0, 1, 6"
    shapes = "(6,)", "(2, 3)", "(3, 2)", "(1, 6)", "(6, 1)", "(7,)", "(0,)", "(2, 2)"
    return outcomes(
        torch, (f"o = T.zeros{shape}; r = T.{call}, out=o), o" for call, shape in itertools.product(calls, shapes))
    )
