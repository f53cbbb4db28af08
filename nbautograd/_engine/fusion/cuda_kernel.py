"""Fused kernels on a CUDA device: an elementwise expression, or a sum of one, is one launch instead of one per step.

The source comes from ``lower_to_cuda``; CuPy compiles it when a kernel first runs on a device, for its dtypes, and
handles broadcasting and strides. CuPy's own functions compute everything that cannot be lowered or is a single step.
``arrays/backend.py`` passes CuPy in.

Its speed has not been measured, for lack of a device.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, summation
from nbautograd._engine.arrays.summation import is_half
from nbautograd._engine.fusion.cuda_source import NUMBER, OPTIONS, CudaProgram, c_type, lower_to_cuda
from nbautograd._engine.fusion.kernel import ElementwiseKernel
from nbautograd._engine.fusion.symbolic import NeedsValue, NotFusable

MAX_VARIANTS = 16
"""Maximum number of compiled variants of an expression whose code depends on the value of a number."""
SUM_THREADS = 1 << 16
"""They share the sum of all elements; the library sums their partial sums."""
MIN_SUMS = 64
"""They occupy a device; fewer, of several operands, are computed first and then summed."""
_LOCK = threading.Lock()
_UNKNOWN = object()
_BY_VALUE = object()
"""A marker for expressions whose kernels depend on the values of numbers."""


class Launcher:
    """A compiled kernel, and the operands it takes: numbers that are part of its code are left out."""

    __slots__ = ("is_row_major", "kernel", "takes")

    def __init__(self, kernel: Any, kinds: list[Any], is_row_major: bool = False) -> None:
        self.kernel, self.is_row_major = kernel, is_row_major
        self.takes = [not isinstance(kind, tuple) for kind in kinds]

    def operands(self, values: tuple[Any, ...]) -> list[Any]:
        """Return the arguments of the kernel."""
        return [value for value, taken in zip(values, self.takes, strict=True) if taken]


def compute(kernel: ElementwiseKernel, values: tuple[Any, ...], library: Any, fit: Any = None) -> Any:
    """Return the result of ``kernel`` for ``values``: arrays on a device, which are broadcast, and numbers.

    :param library: the library that compiles kernels: CuPy.
    :param fit: for a gradient, (shape, ...) before broadcasting: the result is summed to that shape.
    """
    if fit is not None:
        shape = _shape_of(values)
        if fit[0] != shape:
            total = _sum(kernel, values, library, summation.broadcast_axes(shape, fit[0]), True)
            if total is not None:
                return total.reshape(fit[0])
    launcher = _launcher(kernel, values, library, _elementwise_launcher)
    if launcher is None:
        return _eager(kernel, values)
    operands = launcher.operands(values)
    first = operands[0]
    one = getattr(first, "ndim", 0) > 1 and len(launcher.kernel.out_params) == 1 and not launcher.is_row_major
    if one and not first.flags.c_contiguous and _shape_of(operands) == first.shape:
        kind = np.dtype(launcher.kernel.out_params[0].dtype)  # the result has the memory order of the operand
        return launcher.kernel(*operands, np.empty_like(first, dtype=kind))
    return launcher.kernel(*operands)


def sum_of(function: Callable[..., Any], operands: tuple[Any, ...], library: Any, axes: Any, keepdims: bool) -> Any:
    """Sum the values of ``function`` for each element over ``axes``; None if a kernel is not faster."""
    return _sum(_kernel_of(function, len(operands)), operands, library, axes, keepdims)


@functools.cache
def _kernel_of(function: Callable[..., Any], count: int) -> ElementwiseKernel:
    return ElementwiseKernel(function, None, 0, [f"v{i}" for i in range(count)])


def _sum(kernel: ElementwiseKernel, values: tuple[Any, ...], library: Any, axes: Any, keepdims: bool) -> Any:
    """Return the sum of the kernel's result over ``axes``; None if it must be computed first and then summed."""
    shape = _shape_of(values)
    axes = tuple(range(len(shape))) if axes is None else axes
    size, left = math.prod(shape), math.prod(n for d, n in enumerate(shape) if d not in axes)
    if not size or not axes:
        return None
    arrays = [value for value in values if hasattr(value, "dtype")]
    if left == 1 and all(a.shape == shape for a in arrays):
        total = _total(kernel, values, library, arrays[0])
        return None if total is None else total.reshape((1,) * (len(shape) if keepdims else len(shape) - len(axes)))
    if len(arrays) > 1 and left < MIN_SUMS:
        return None
    launcher = _launcher(kernel, values, library, _sum_launcher)
    return None if launcher is None else launcher.kernel(*launcher.operands(values), axis=axes, keepdims=keepdims)


def _total(kernel: ElementwiseKernel, values: tuple[Any, ...], library: Any, like: Any) -> Any:
    """Return the sum of all elements of the kernel's result, of operands as large as ``like``; None as ``_sum``."""
    launcher = _launcher(kernel, values, library, _partial_sums_launcher)
    if launcher is None:
        return None
    kind = np.dtype(launcher.kernel.out_params[0].dtype)
    partial = np.empty_like(like, dtype=kind, shape=(min(like.size, SUM_THREADS),))
    launcher.kernel(*launcher.operands(values), like.size, partial)
    total = partial.sum()
    return total if kind == like.dtype or not is_half(like.dtype) else total.astype(like.dtype)


def _shape_of(values: Iterable[Any]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(value.shape for value in values if hasattr(value, "dtype")))


def is_fusable(kernel: ElementwiseKernel, values: tuple[Any, ...], library: Any) -> bool:
    """Return whether several steps become one kernel for these operands."""
    return _launcher(kernel, values, library, _elementwise_launcher) is not None


def _eager(kernel: ElementwiseKernel, values: tuple[Any, ...]) -> Any:
    """Compute the result by the library's own functions; half precision is computed in float32."""
    halves = [value.dtype for value in values if hasattr(value, "dtype") and is_half(value.dtype)]
    with backend.quiet():
        if not halves:
            return kernel.eager(*values)
        result = kernel.eager(*map(summation.upcast_half, values))
        is_many = isinstance(result, (tuple, list))
        rounded = [a.astype(halves[0]) if a.dtype == np.float32 else a for a in (result if is_many else [result])]
    return rounded if is_many else rounded[0]


# -- compiling ---------------------------------------------------------------------------------------------------------

Maker = Callable[[ElementwiseKernel, list[Any], Any], Launcher | None]


def _launcher(kernel: ElementwiseKernel, values: tuple[Any, ...], library: Any, make: Maker) -> Launcher | None:
    """Return the compiled kernel for operands such as these, made on first use; None if not supported."""
    launcher: Any
    key: Any = (make, library, *(_kind(value, NUMBER) for value in values))
    try:
        launcher = kernel.launchers.get(key, _UNKNOWN)
    except TypeError:  # an option that cannot be hashed
        return None
    if launcher is _BY_VALUE:
        key = (make, library, *(_kind(value, None) for value in values))
        launcher = kernel.launchers.get(key, _UNKNOWN)
    if launcher is not _UNKNOWN:
        return launcher  # type: ignore[no-any-return]
    with _LOCK:
        launcher = kernel.launchers.get(key, _UNKNOWN)
        if launcher is _UNKNOWN:
            launcher = _made(kernel, key)
            if launcher is not None or len(kernel.launchers) < 4 * MAX_VARIANTS:
                kernel.launchers[key] = launcher
    return _launcher(kernel, values, library, make) if launcher is _BY_VALUE else launcher


def _made(kernel: ElementwiseKernel, key: Any) -> Any:
    """Return a new launcher, ``_BY_VALUE``, or None."""
    make, library, *kinds = key
    try:
        return make(kernel, kinds, library) if len(kernel.launchers) < MAX_VARIANTS else None
    except NeedsValue:
        return _BY_VALUE if NUMBER in kinds else None
    except NotFusable:
        return None


def _kind(value: Any, number: Any) -> Any:
    """Return an operand's part of the key: an array's dtype, an option's value; for numbers ``number``.

    :param number: the value that represents numbers; None to use their values.
    """
    if hasattr(value, "dtype"):
        return value.dtype
    if value.__class__ is float:
        return (float, repr(value)) if number is None else number  # 0.0 equals -0.0
    return (value.__class__, value)


def _lowered(kernel: ElementwiseKernel, kinds: list[Any], rounds: bool = True) -> CudaProgram:
    """Return the program of a kernel for the kinds of a key."""
    values = [(float(kind[1]) if kind[0] is float else kind[1]) if isinstance(kind, tuple) else kind for kind in kinds]
    return lower_to_cuda(kernel.eager, kernel.names, values, rounds)


def _elementwise_launcher(kernel: ElementwiseKernel, kinds: list[Any], library: Any) -> Launcher | None:
    program = _lowered(kernel, kinds)
    if program.steps < 2:
        return None  # use the library's own function
    return Launcher(elementwise_kernel(program, library), kinds, program.is_row_major)


def _sum_launcher(kernel: ElementwiseKernel, kinds: list[Any], library: Any) -> Launcher | None:
    program = _lowered(kernel, kinds, rounds=False)
    dtype = next(kind for kind in kinds if isinstance(kind, np.dtype))
    if program.is_many or dtype.kind not in "fV" or not program.steps:
        return None
    return Launcher(sum_kernel(program, dtype, library), kinds)


def _partial_sums_launcher(kernel: ElementwiseKernel, kinds: list[Any], library: Any) -> Launcher | None:
    program = _lowered(kernel, kinds, rounds=False)
    if program.is_many or program.out_params[0][0].kind != "f" or not program.steps:
        return None
    return Launcher(partial_sums_kernel(program, library), kinds)


def params(parameters: list[tuple[np.dtype[Any], str]]) -> str:
    """Return parameters in CuPy's format.

    >>> params([(np.dtype("f4"), "g_in"), (np.dtype("?"), "condition_in")])
    'float32 g_in, bool condition_in'
    """
    return ", ".join(f"{dtype.name} {name}" for dtype, name in parameters)


def elementwise_kernel(program: CudaProgram, library: Any) -> Any:
    """Return a program as a kernel over arrays that are broadcast."""
    given, made = params(program.in_params), params(program.out_params)
    return library.ElementwiseKernel(
        given, made, program.operation, "nbautograd_elementwise", options=OPTIONS, preamble=program.preamble
    )


def sum_kernel(program: CudaProgram, dtype: np.dtype[Any], library: Any) -> Any:
    """Return the sum of a program's result along some axes, in the result's dtype, rounded to ``dtype`` at the end."""
    return library.ReductionKernel(
        params(program.in_params),
        params([(dtype, "sum_out")]),
        f"nbautograd_element({', '.join(name for _, name in program.in_params)})",
        "a + b",
        f"sum_out = {c_type(dtype)}(a)",
        "0",
        "nbautograd_sum",
        reduce_type=c_type(program.out_params[0][0]),
        preamble=program.device_function("nbautograd_element"),
        options=OPTIONS,
    )


def partial_sums_kernel(program: CudaProgram, library: Any) -> Any:
    """Return a kernel that sums a program's result over shares of all elements, one per element of the output array."""
    numbers = program.numbers
    parameters = [f"{'' if name in numbers else 'raw '}{kind.name} {name}" for kind, name in program.in_params]
    arguments = ", ".join(name if name in numbers else f"{name}[at]" for _, name in program.in_params)
    kind = program.out_params[0][0]
    return library.ElementwiseKernel(
        ", ".join([*parameters, "int64 length"]),
        params([(kind, "partial_out")]),
        f"{c_type(kind)} total = 0;\nfor (ptrdiff_t at = i; at < length; at += _ind.size()) total += "
        f"nbautograd_element({arguments});\npartial_out = total;",
        "nbautograd_elementwise",
        options=OPTIONS,
        preamble=program.device_function("nbautograd_element"),
    )
