"""Ranges: tensors of evenly spaced numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.device import as_device
from nbautograd._engine.compiler.argument_errors import check_option
from nbautograd._engine.core.inplace import resize_into
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import Device, check_options, creation, finish, number_in
from nbautograd._engine.ops.queries import check_tensors, example
from nbautograd.errors import warn

__all__ = ["arange", "linspace", "logspace", "range"]


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def _given(start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    """Return the arguments of ``arange``, of which ... was not given."""
    if end is ...:
        if start is ... or step is not ...:
            raise TypeError("arange() missing 1 required positional argument: 'end'")
        start, end = 0, start
    return 0 if start is ... else start, end, 1 if step is ... else step


def _check_step(name: str, first: Any, last: Any, step: Any) -> None:
    """Check that the step leads from the first number to the last."""
    if step == 0 or step != step:
        raise RuntimeError(f"{name}(): step must be nonzero")
    if (last - first) * step < 0:
        raise RuntimeError(
            f"{name}(): upper bound and lower bound inconsistent with step sign: {first} to {last} by {step}"
        )


def _real_numbers(name: str, start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    """Return the bounds and the step of a range as real numbers."""
    given = {"start": start, "end": end, "step": step}
    numbers = tuple(check_option(name, label, value, "Number") for label, value in given.items())
    for number in numbers:
        if isinstance(number, complex):
            raise RuntimeError(f"{name}(): value cannot be converted to type double without overflow: {number}")
    for number in numbers[:2]:
        if isinstance(number, float) and not math.isfinite(number):
            raise RuntimeError(f"{name}(): unsupported range: {numbers[0]} -> {numbers[1]}")
    return numbers


def _numbers_in(dtype: dtypes.dtype, first: Any, last: Any, by: Any) -> tuple[Any, Any, Any]:
    """Return the numbers; for a dtype of integers, as such."""
    if dtype.rank not in (1, 2):
        raise NotImplementedError(
            f'arange(): "arange_cpu" not implemented for dtype {dtype!r}: expected that of a real number'
        )
    if dtype.rank == 2:
        return first, last, by
    if by and not int(by):
        raise ValueError(f"arange(): step must be nonzero, and {by} is 0 in {dtype!r}")
    return int(first), int(last), int(by)


@creation
@example("arange(1, 2.51, 0.5) -> [1.0000, 1.5000, 2.0000, 2.5000]")
def arange(
    start: Any = ..., end: Any = ..., step: Any = ..., *, out: Tensor | None = None, dtype: dtypes.dtype | None = None,
    layout: Any = None, device: Device = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return evenly spaced numbers in [``start``, ``end``), ``step`` apart; int64 if all are ints, else the default
    dtype.

    :raises RuntimeError: the step is 0 or leads away from ``end``.
    :raises TypeError: there is no ``end``.
    """
    dtype = check_options("arange", dtype, layout, pin_memory)
    start, end, step = _given(start, end, step)
    first, last, by = _real_numbers("arange", start, end, step)
    if out is not None:
        check_tensors("arange", out=out)
    dtype = _dtype_of(dtype, out)
    exact = (first, last, by)
    if dtype is not None:
        first, last, by = _numbers_in(dtype, first, last, by)
    _check_step("arange", first, last, by)
    whole = all(isinstance(v, (int, np.integer)) for v in (first, last, by))
    kind = dtype or (dtypes.int64 if whole else dtypes.get_default_dtype())
    if kind.rank == 1:
        number_in(last, dtypes.int64, "arange")  # raises
    if kind is not dtypes.int64 and kind.rank == 1:
        length = math.ceil((exact[1] - exact[0]) / exact[2])  # PyTorch cuts the bounds only for int64
    else:
        length = math.ceil((last - first) / by)
    wide = np.int64 if kind.rank <= 1 and not isinstance(by, float) and not isinstance(first, float) else np.float64
    xp = backend.module(as_device(device))
    with backend.quiet():
        values = (xp.arange(length, dtype=wide) * wide(by) + wide(first)).astype(kind.numpy)
    return ranged("arange", values, out, requires_grad)


def check_dtype_of_out(name: str, dtype: dtypes.dtype | None, out: Tensor) -> None:
    """Check that ``dtype``, if it is given, is that of ``out``."""
    if dtype is not None and dtype is not out.dtype:
        asked, have = dtypes.scalar_type(dtype), dtypes.scalar_type(out.dtype)
        raise RuntimeError(f"{name}(): dtype {asked} does not match dtype of out parameter ({have})")


def written(out: Tensor, requires_grad: bool) -> Tensor:
    """Return ``out=`` after a creation function has written it: its flag is set, unless an operation computed it."""
    return out.requires_grad_(requires_grad or False) if out.is_leaf else out


def ranged(name: str, values: Any, out: Tensor | None, requires_grad: bool) -> Tensor:
    """Return the tensor of an array of numbers, or ``out=`` with them."""
    if out is None:
        return finish(values, requires_grad)
    return written(resize_into(out, finish(values), name), requires_grad)


def _dtype_of(dtype: dtypes.dtype | None, out: Tensor | None) -> dtypes.dtype | None:
    """The dtype that is asked for, or else that of ``out``."""
    return out.dtype if dtype is None and isinstance(out, Tensor) else dtype


def _ends(name: str, start: Any, end: Any, steps: int, dtype: dtypes.dtype | None) -> tuple[Any, Any, np.dtype[Any]]:
    """Return the ends of a range as numbers, and the NumPy dtype of the result."""
    if steps < 0:
        raise RuntimeError(f"{name}(): number of steps must be non-negative")
    for what, value in (("start", start), ("end", end)):
        check_option(name, what, value, "Number | Tensor")
        if isinstance(value, Tensor) and value._a.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {what} with {value._a.ndim} "
                "dimension(s)."
            )
    ends = [_number(value) for value in (start, end)]
    is_complex = any(isinstance(value, complex) for value in ends)
    kind = dtype or (dtypes.get_default_dtype().to_complex() if is_complex else dtypes.get_default_dtype())
    if kind.rank == 0:
        raise NotImplementedError(f"{name}(): \"{name}_cpu\" not implemented for 'Bool': expected a number's dtype")
    if is_complex and not kind.is_complex:
        raise RuntimeError(f"{name}(): inferred dtype complex can't be safely cast to {kind!r}")
    return number_in(ends[0], kind, name), number_in(ends[1], kind, name), kind.numpy


@backend.quiet()
def _even(first: float, last: float, n: int, kind: np.dtype[Any], xp: Any) -> Any:
    """Return ``n`` evenly spaced values in the arithmetic of ``kind``, computed from both ends, as in PyTorch."""
    if n == 1:
        return xp.full((1,), first, kind)
    arithmetic = kind if kind.kind in "fc" else np.dtype(np.float64)
    step = (last - first) / max(n - 1, 1)
    if arithmetic.kind == "f":
        step = arithmetic.type(step)
    index = xp.arange(n).astype(arithmetic)
    low = arithmetic.type(first) + step * index
    high = arithmetic.type(last) - step * (arithmetic.type(n - 1) - index)
    return xp.where(xp.arange(n) < n // 2, low, high).astype(kind)


@creation
@example("linspace(3, 10, steps=5) -> [ 3.0000,  4.7500,  6.5000,  8.2500, 10.0000]")
def linspace(
    start: Any, end: Any, steps: int, *, out: Tensor | None = None, dtype: dtypes.dtype | None = None,
    layout: Any = None, device: Device = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return ``steps`` evenly spaced numbers from ``start`` to ``end``, both included.

    :raises RuntimeError: ``steps`` is negative.
    """
    dtype = _dtype_of(check_options("linspace", dtype, layout, pin_memory), out)
    xp = backend.module(as_device(device))
    first, last, kind = _ends("linspace", start, end, steps, dtype)
    return ranged("linspace", _even(first, last, steps, kind, xp), out, requires_grad)


@creation
@example("logspace(start=0.1, end=1.0, steps=5) -> [ 1.2589,  2.1135,  3.5481,  5.9566, 10.0000]")
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, out: Tensor | None = None,
    dtype: dtypes.dtype | None = None, layout: Any = None, device: Device = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return ``steps`` logarithmically spaced numbers: ``base`` to the powers ``linspace(start, end, steps)``.

    :raises RuntimeError: ``steps`` is negative.
    """
    dtype = _dtype_of(check_options("logspace", dtype, layout, pin_memory), out)
    xp = backend.module(as_device(device))
    first, last, kind = _ends("logspace", start, end, steps, dtype)
    wide = np.dtype(np.complex128 if kind.kind == "c" else np.float64)
    exponents = _even(first, last, steps, wide, xp)
    with backend.quiet():
        values = (float(base) ** exponents).astype(kind)
    return ranged("logspace", values, out, requires_grad)


@creation
def range(
    start: Any, end: Any = None, step: Any = 1, *, out: Tensor | None = None, dtype: dtypes.dtype | None = None,
    layout: Any = None, device: Device = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return evenly spaced numbers in [``start``, ``end``], both included; deprecated as in PyTorch: use ``arange``."""
    warn(
        "torch.range is deprecated because its end is part of the range, unlike that of Python's range. Instead, use "
        "torch.arange, which produces values in [start, end)."
    )
    dtype = check_options("range", dtype, layout)
    if end is None:
        start, end = 0, start
    first, last, by = _real_numbers("range", start, end, step)
    _check_step("range", first, last, by)
    kind = (dtype or dtypes.get_default_dtype()).numpy
    xp = backend.module(as_device(device))
    by = by if kind.kind == "i" else float(by)
    values = (xp.arange(int((last - first) / by + 1)) * by + first).astype(kind)
    return ranged("range", values, out, requires_grad)
