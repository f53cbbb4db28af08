"""Complex numbers and their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes, precise
from nbautograd._engine.arrays.strides import row_major
from nbautograd._engine.compiler.op import POINTWISE, VIEW, composite, elementwise, no_method
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops._internal import complex_array, ratio, under_node  # noqa: F401 - formulas name one
from nbautograd._engine.ops.queries import Number, check_tensors, example
from nbautograd._engine.ops.shape.slicing import select
from nbautograd._names.docstrings import described
from nbautograd.errors import SCALAR_TYPES, DtypeError

__all__ = [
    "angle", "complex", "conj", "conj_physical", "imag", "real", "resolve_conj", "resolve_neg", "view_as_complex",
    "view_as_real",
]  # fmt: skip


# -- conjugates ------------------------------------------------------------------------------------------------------


@no_method(symbol="conj", kind=POINTWISE, name="conj", input="conj(g)")
def _conj(input: Tensor) -> Tensor:
    """Return the complex conjugate."""
    return np.conjugate(input) if input.dtype.kind == "c" else input.copy()


@described
@example("conj([1+2j]) -> [1.-2.j]")
def conj(input: Tensor) -> Tensor:
    """Return the complex conjugate; a real tensor is returned itself.

    It is computed eagerly: PyTorch's result is a lazy conjugate view, this one has its own memory.
    """
    check_tensors("conj", input=input)
    return _conj(input) if input._a.dtype.kind == "c" else input


Tensor.conj = conj


_conj_physical = under_node(_conj, "ConjPhysicalBackward0", "_conj_physical")


@composite(inplace_method=True, out=True)
@example("conj_physical([1+2j]) -> [1.-2.j]")
def conj_physical(input: Tensor) -> Tensor:
    """Return the complex conjugate as a copy; a real tensor is returned itself."""
    return _conj_physical(input) if input.is_complex() else input


@composite()
@example("resolve_conj([1+2j].conj()) -> [1.-2.j]")
def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor itself: it has no lazy conjugate views to materialize."""
    return input


@composite()
@example("resolve_neg(-[1.]) -> [-1.]")
def resolve_neg(input: Tensor) -> Tensor:
    """Return the tensor itself: it has no lazy negative views to materialize."""
    return input


# -- parts -----------------------------------------------------------------------------------------------------------


@no_method(symbol="Im", name="imag", input="cast_back(g * 1j, input.dtype)")
def _imag(input: Tensor) -> Tensor:
    """Return the imaginary part as a copy, for formulas, like ``real`` in ops/shape/shape.py."""
    return input.imag.copy()


@no_method(symbol="ℂ→ℝ²", kind=VIEW, input="complex_of_pairs(g)")
@example("view_as_real([1+2j]) -> [[1., 2.]]")
def view_as_real(input: Tensor) -> Tensor:
    """Return a real view of a complex tensor: a new last dimension of size 2 holds real and imaginary parts.

    :raises RuntimeError: the dtype is not complex.
    """
    if input.dtype.kind != "c":
        raise DtypeError(f"view_as_real is only supported for complex tensors, but got {dtypes.of(input.dtype)!r}")
    return input[..., None].view(input.real.dtype)


@no_method(symbol="ℝ²→ℂ", kind=VIEW, input="view_as_real(g)")
@example("view_as_complex([[1., 2.]]) -> [1.+2.j]")
def view_as_complex(input: Tensor) -> Tensor:
    """Return a complex view of a real tensor whose last dimension of size 2 holds real and imaginary parts.

    :param input: float32 or float64, shape (..., 2), the last dimension of stride 1.
    :raises RuntimeError: the dtype, the last dimension or its stride does not match.
    """
    kind = dtypes.of(input.dtype)
    if kind not in (dtypes.float32, dtypes.float64):
        raise DtypeError(
            f"view_as_complex is only supported for float and double tensors, but got a tensor of scalar type: "
            f"{dtypes.scalar_type(kind)}"
        )
    if not input.ndim:
        raise RuntimeError("view_as_complex(): Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError(
            f"view_as_complex(): Tensor must have a last dimension of size 2, but its shape is {list(input.shape)}"
        )
    if input.strides[-1] != input.itemsize:
        raise RuntimeError("view_as_complex(): Tensor must have a last dimension with stride 1")
    if any(stride % (2 * input.itemsize) for stride in input.strides[:-1]):
        raise RuntimeError("view_as_complex(): Tensor must have a stride divisible by 2 for all but last dimension")
    return input.view(kind.to_complex().numpy)[..., 0]


@no_method(node="ViewAsComplexBackward0", symbol="ℝ²→ℂ", input="view_as_real(g)")
def complex_of_pairs(input: Tensor) -> Tensor:
    """Compute ``view_as_complex`` as a copy."""
    return input.copy().view(dtypes.of(input.dtype).to_complex().numpy)[..., 0]


@described
@example("real([1+2j]) -> [1.]")
def real(input: Tensor) -> Tensor:
    """Return the real part, as a view; a real tensor is returned itself."""
    check_tensors("real", input=input)
    return select(view_as_real(input), -1, 0) if input.is_complex() else input


@described
@example("imag([1+2j]) -> [2.]")
def imag(input: Tensor) -> Tensor:
    """Return the imaginary part, as a view.

    :raises RuntimeError: the tensor is not complex.
    """
    check_tensors("imag", input=input)
    if not input.is_complex():
        raise DtypeError(f"imag is not implemented for tensors with non-complex dtypes, and this is {input.dtype!r}")
    return select(view_as_real(input), -1, 1)


def _part(function: Any) -> property:
    """Return the assignable property ``x.real`` or ``x.imag``."""

    def assign(self: Tensor, value: Tensor | Number) -> None:
        part = function(self)
        part.copy_(value) if isinstance(value, Tensor) else part.fill_(value)

    return property(function, assign, doc=function.__doc__)


Tensor.real = _part(real)
Tensor.imag = _part(imag)


@elementwise(
    symbol="∠", floating=True, inplace_method=False,
    input="cast_back(ratio(g * 1j * input, input * conj(input)), input.dtype)",
)  # fmt: skip
@example("angle([1j, -1]) -> [1.5708, 3.1416]")
def angle(input: Tensor) -> Tensor:
    """Return the argument of each complex number, in radians; for real numbers π if negative, else 0."""
    if input.dtype.kind == "c":
        return row_major(precise.arctan2(input.imag, input.real))
    return np.where(input != input, input, (input < 0).astype(input.dtype) * np.pi)


# -- construction ----------------------------------------------------------------------------------------------------


def check_parts(name: str, **parts: Tensor) -> None:
    """Check that both parts have the same dtype, one with a complex counterpart."""
    check_tensors(name, **parts)
    kinds = [SCALAR_TYPES[t.dtype.name] for t in parts.values()]
    if not {*kinds} <= {"Float", "Double"}:
        raise (NotImplementedError if name == "polar" and kinds[0] == kinds[1] == "Half" else DtypeError)(
            f"{name}(): Expected both inputs to be Float or Double tensors (others have no complex dtype) "
            f"but got {kinds[0]} and {kinds[1]}"
        )
    if kinds[0] != kinds[1]:
        raise DtypeError(
            f"{name}(): Expected object of scalar type {kinds[0]} but got scalar type {kinds[1]} for second argument"
        )


@no_method(symbol="a+bi", kind=POINTWISE, accepts="f", re="real(g)", im="imag(g)")
def _complex(re: Tensor, im: Tensor) -> Tensor:
    """Build complex numbers from real and imaginary parts."""
    return complex_array(re, im)


@composite(method=False, out=True)
@example("complex([1.], [2.]) -> [1.+2.j]")
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Build complex numbers from their real and imaginary parts.

    :param real: float32 or float64, the same dtype as ``imag``; shapes are broadcast.
    :raises RuntimeError: the dtypes differ, or are not supported.
    """
    check_parts("complex", real=real, imag=imag)
    return _complex(real, imag)
