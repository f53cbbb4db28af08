"""Promotion and broadcasting of operands to one dtype, shape and device, and their inverse for gradients."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.strides import copied
from nbautograd._engine.arrays.summation import upcast_half
from nbautograd._engine.compiler.argument_errors import public_name
from nbautograd._engine.compiler.schema import NATIVE, OPS, TILED, UNSUPPORTED, OpSchema
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd.errors import DeviceError, DtypeError, ShapeError, UnsupportedDtypeError

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)

_constants: dict[Any, Any] = {}


def number_like(value: Any, cls: type, array: Any) -> Any:
    """Return a number as a cached 0-d array or scalar of the other's dtype; None if that needs promotion."""
    if value.__class__ is not float and value.__class__ is not int:
        return None
    key = (value or repr(value), array.dtype.char if cls is np.ndarray else cls)  # 0.0 equals -0.0
    constant = _constants.get(key)
    if constant is None:
        dtype = array.dtype
        if (dtype is F32 or dtype is F64) and (cls is np.ndarray or isinstance(array, np.generic)):
            return _new_constant(value, cls, dtype, key)
    return constant


def _new_constant(value: Any, cls: type, dtype: np.dtype[Any], key: Any) -> Any:
    """Return a constant, and cache it."""
    if value.__class__ is int and not -(2**63) <= value < 2**64:
        raise OverflowError(f"int too big to convert: {value}")
    with backend.quiet():
        constant = np.asarray(value, dtype) if cls is np.ndarray else dtype.type(value)
    if abs(constant) == math.inf != abs(value):
        return None  # some functions reject it
    if value == value:  # not nan, which equals nothing
        if len(_constants) > 1000:
            _constants.clear()
        if cls is np.ndarray:
            constant.flags.writeable = False  # it is cached, and users can reach it through a node's saved tensors
        _constants[key] = constant
    return constant


def unbroadcast_specs(*arrays: Any) -> tuple[Any, ...] | None:
    """Return the (shape, dtype, device) to which each gradient is brought back, for arrays of different shapes; or
    None.

    A device of None is the gradient's own.
    """
    shape = functools.reduce(broadcast_shapes, [a.shape for a in arrays])
    specs = tuple([(a.shape, a.dtype, None) if a.shape != shape else None for a in arrays])
    return specs if any(specs) else None


@functools.lru_cache(maxsize=1024)
def unbroadcast_spec(first: tuple[int, ...], second: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return this for two arrays of different shapes and one dtype."""
    shape = broadcast_shapes(first, second)
    return None if first == shape else (first, dtype, None), None if second == shape else (second, dtype, None)


@functools.lru_cache(maxsize=1024)
def broadcast_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that both broadcast to; raise ShapeError if they do not."""
    n = max(len(a), len(b))
    left, right = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    shape = [1] * n
    for d in reversed(range(n)):  # the last mismatch is named, as by PyTorch
        m, k = left[d], right[d]
        if m != k and m != 1 and k != 1:
            raise ShapeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({k}) at non-singleton dimension {d} "
                f"(their shapes are {list(a)} and {list(b)})"
            )
        shape[d] = k if m == 1 else m
    return tuple(shape)


@functools.lru_cache(maxsize=1024)
def broadcasts_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return whether one shape broadcasts to the other."""
    try:
        return broadcast_shapes(shape, target) == target
    except ShapeError:
        return False


def promote(op: OpSchema, values: tuple[Any, ...], diverts: bool = False) -> tuple[Any, ...]:
    """Return the arrays of ``values`` in one dtype on one device; how to undo that for gradients; and the node's class.

    :param diverts: if True, raise ``OnDevice``.
    :raises UnsupportedDtypeError: the operation is not defined for the dtype.
    :raises HalfPrecision: the operation is computed in float32 instead.
    :raises OnDevice: the operation is computed by a kernel of the device.
    """
    alike = _alike(op, values) if op.takes_floats else None
    if alike is not None:
        return (*alike, unbroadcast_specs(*alike), op.node("real") if op.formulas else None)
    arrays, kinds, device = _operands(op, values)
    variant = "real"
    if diverts and device.type != "cpu" and backend.kernels(device) is not None:
        if not op.is_one_step or any(kind in dtypes.HALVES for kind, _ in kinds):
            raise OnDevice
        variant = TILED
    result = _result_dtype(op, kinds)
    variant = "complex" if result.is_complex else variant
    return _promoted(op, values, arrays, result, device, variant)


def _promoted(
    op: OpSchema, values: tuple[Any, ...], arrays: list[Any], result: dtypes.dtype, device: Any, variant: str
) -> tuple[Any, ...]:
    """Return the arrays in the dtype ``result``; how to undo that; and the node's class."""
    cast = [
        _cast(op, a, isinstance(v, Tensor), a.dtype if name in op.masks else result.numpy, device)
        for name, a, v in zip(op.tensors, arrays, values, strict=True)
    ]
    input_meta: list[Any] = list(unbroadcast_specs(*cast) or [None] * len(cast))
    for i, a in enumerate(arrays):
        if isinstance(values[i], Tensor):
            own_device = backend.device_of(a)
            if a.dtype != result.numpy or input_meta[i] is not None or own_device != device:
                input_meta[i] = (a.shape, a.dtype, None if own_device == device else own_device)
    node_class = op.node(variant) if op.formulas else None
    return (*cast, tuple(input_meta) if any(input_meta) else None, node_class)


def _operands(op: OpSchema, values: tuple[Any, ...]) -> tuple[list[Any], list[tuple[dtypes.dtype, int]], Any]:
    """Return arrays and numbers unchanged; their dtypes and categories, for promotion; and the device to compute on."""
    arrays: list[Any] = []
    kinds: list[tuple[dtypes.dtype, int]] = []
    device = None
    of_dimensions = False  # True if the device is that of a tensor with dimensions, which others follow
    for name, value in zip(op.tensors, values, strict=True):
        if isinstance(value, Tensor):
            a = value._a
            if name not in op.masks:
                kinds.append((dtypes.of(a.dtype), 2 if a.ndim else 1))
            if device is None or a.ndim and not of_dimensions:
                device, of_dimensions = backend.device_of(a), bool(a.ndim)
        else:
            a = value
            kinds.append((dtypes.of_number(value), 0))
        arrays.append(a)
    if device is None:
        raise TypeError("at least one argument must be a Tensor")
    return arrays, kinds, device


_OF_BOOLS = {
    "sub": "Subtraction, the `-` operator, with {} is not supported. ",
    "rsub": "Subtraction, the `-` operator, with {} is not supported. ",
    "neg": "Negation, the `-` operator, on {} is not supported. ",
}


def _unsupported(op: OpSchema, kind: dtypes.dtype, accepts: str, kinds: list[tuple[dtypes.dtype, int]]) -> DtypeError:
    """Return the error of an operation that is not defined for a dtype; for ``-`` on bools, with the alternative."""
    text = _OF_BOOLS.get(public_name(op), "")
    if kind.rank or not text:
        return UnsupportedDtypeError(public_name(op), kind, accepts)
    if len(kinds) > 1 and not any(other.rank for other, _ in kinds):
        return DtypeError(text.format("two bool tensors") + "Use the `^` or `logical_xor()` operator instead.")
    hint = "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
    return DtypeError(text.format("a bool tensor") + hint)


def _result_dtype(op: OpSchema, kinds: list[tuple[dtypes.dtype, int]]) -> dtypes.dtype:
    """Return the dtype to compute in, if the operation accepts it."""
    for kind, _ in kinds:
        if "bifc"[kind.rank] not in op.accepts_each:
            raise _unsupported(op, kind, op.accepts_each, kinds)
    result = dtypes.result_dtype(kinds)
    if "bifc"[result.rank] not in op.accepts:
        raise _unsupported(op, result, op.accepts, kinds)
    if op.floating:
        result = _floating(result)
    if result in dtypes.HALVES and op.half_policy != NATIVE:
        if op.half_policy == UNSUPPORTED:
            raise UnsupportedDtypeError(public_name(op), result, op.accepts)
        raise HalfPrecision
    return result


def _floating(result: dtypes.dtype) -> dtypes.dtype:
    return dtypes.get_default_dtype() if result.rank < 2 else result


def _alike(op: OpSchema, values: tuple[Any, ...]) -> list[Any] | None:
    """Return the arrays of ``values`` if NumPy can use them unchanged, of one usual floating dtype; None for others."""
    arrays: list[Any] = []
    like, has_numbers = None, False
    for name, value in zip(op.tensors, values, strict=True):
        a = value._a if isinstance(value, Tensor) else None
        if a.__class__ is not np.ndarray:
            has_numbers = True
        elif name not in op.masks:
            if a.dtype is not F32 and a.dtype is not F64 or like is not None and a.dtype is not like.dtype:
                return None
            like = a
        arrays.append(a)
    if like is None:
        return None
    return _with_numbers(arrays, values, like) if has_numbers else arrays


def _with_numbers(arrays: list[Any], values: tuple[Any, ...], like: Any) -> list[Any] | None:
    for place, a in enumerate(arrays):
        if a.__class__ is not np.ndarray:
            arrays[place] = number_like(values[place], np.ndarray, like)
    return None if any(a is None for a in arrays) else arrays


class HalfPrecision(Exception):  # noqa: N818 - no error, but the way out of the fast path
    """A signal that the inputs are of half precision."""


class OnDevice(Exception):  # noqa: N818 - no error either
    """A signal that the arrays are on a device with its own kernels."""


def promote_on_device(op: OpSchema, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Promote like ``promote`` for kernels of a device, which compute half precision in float32 themselves."""
    arrays, kinds, device = _operands(op, values)
    try:
        result = _result_dtype(op, kinds)
    except HalfPrecision:
        return _half_on_device(op, values, arrays, device)
    return _promoted(op, values, arrays, result, device, "complex" if result.is_complex else TILED)


def _half_on_device(op: OpSchema, values: tuple[Any, ...], arrays: list[Any], device: Any) -> tuple[Any, ...]:
    """Return half precision unchanged, and all other arrays in float32."""
    cast = []
    for name, a, value in zip(op.tensors, arrays, values, strict=True):
        is_tensor = isinstance(value, Tensor)
        keeps = is_tensor and (name in op.masks or dtypes.of(a.dtype) in dtypes.HALVES)
        cast.append(_cast(op, a, is_tensor, a.dtype if keeps else F32, device))
    input_meta = tuple(
        (a.shape, a.dtype, None if backend.device_of(a) == device else backend.device_of(a))
        if isinstance(value, Tensor)
        else None
        for a, value in zip(arrays, values, strict=True)
    )
    return (*cast, input_meta, op.node(TILED) if op.formulas else None)


def promote_half(op: OpSchema, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arrays in float32, then as saved; how to undo that for gradients; and the result's dtype."""
    _, kinds, _ = _operands(op, values)
    result = dtypes.result_dtype(kinds)
    if op.floating:
        result = _floating(result)
    with backend.quiet():
        values = tuple(  # integers, beside a tensor or a default dtype of half precision
            wrap_known(value._a.astype(result.numpy), value._fn)
            if isinstance(value, Tensor) and value.dtype.rank < 2 and name not in op.masks
            else value
            for name, value in zip(op.tensors, values, strict=True)
        )
    *cast, _, _ = promote(op, tuple(map(_widened, values)))
    saved = [
        value._a if isinstance(value, Tensor) and value._a.dtype == result.numpy else a
        for value, a in zip(values, cast, strict=True)
    ]
    input_meta = tuple(
        (value._a.shape, value._a.dtype, None) if isinstance(value, Tensor) else None for value in values
    )
    return (*cast, *saved, input_meta, result.numpy)


def _widened(value: Any) -> Any:
    return wrap_known(upcast_half(value._a)) if isinstance(value, Tensor) else value


ONE_DTYPE = (
    "addbmm", "addmm", "addmv", "baddbmm", "bmm", "dot", "index_add", "masked_scatter", "mm", "mv", "put",
    "scatter_add", "vdot",
)  # fmt: skip
"""Operations that need operands of one dtype; their bodies see half precision as float32."""


def widen_all(op: OpSchema, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return half-precision arrays in float32; how to undo that for gradients; and the dtype to round to."""
    inexact = [a for a in arrays if hasattr(a, "dtype") and a.dtype.kind in dtypes.INEXACT]
    given = [a.dtype for a in inexact]
    if op.name in ONE_DTYPE:
        _check_one_dtype(op, given)
    kinds = {a.dtype for a in inexact if a.ndim} or set(given)
    input_meta = tuple((a.shape, a.dtype, None) if hasattr(a, "dtype") else None for a in arrays)
    return (*map(upcast_half, arrays), input_meta, kinds.pop() if len(kinds) == 1 else F32)


def _check_one_dtype(op: OpSchema, given: list[np.dtype[Any]]) -> None:
    for dtype in given:
        if dtype != given[0]:
            raise DtypeError(
                f"{op.name}(): expected operands to have the same dtype, expected scalar type "
                f"{dtypes.scalar_type(given[0])} but found {dtypes.scalar_type(dtype)}: cast one of them with to()"
            )


def upcast_half_recorded(t: Any) -> Any:
    """Return a half-precision tensor in float32, recorded."""
    return OPS["cast"].function(t, F32) if isinstance(t, Tensor) and t.dtype in dtypes.HALVES else t


def narrow(a: Any, dtype: np.dtype[Any]) -> Any:
    """Round a float32 result to half precision."""
    return a.astype(dtype) if a.dtype == F32 else a


def _cast(op: OpSchema, a: Any, is_tensor: bool, dtype: np.dtype[Any], device: Any) -> Any:
    if not is_tensor:
        return backend.number(a, dtype, device)
    if backend.device_of(a) != device:
        if a.ndim:
            raise DeviceError(
                f"{public_name(op)}(): Expected all tensors to be on the same device, but found at least two devices, "
                f"{device} and {backend.device_of(a)}!"
            )
        a = backend.module(device).asarray(backend.fetch(a))
    if a.dtype == dtype:
        return a
    return backend.run_quietly(copied, a, dtype) if 0 in a.strides else backend.run_quietly(a.astype, dtype)


def check_devices(op: OpSchema, arrays: tuple[Any, ...]) -> None:
    """Raise if arrays of different classes are on different devices (NumPy scalars and arrays are both on the CPU)."""
    devices = {backend.device_of(a) for a in arrays if a is not None and hasattr(a, "dtype")}
    if len(devices) > 1:
        raise DeviceError(
            f"{public_name(op)}(): Expected all tensors to be on the same device, but found at least two devices, "
            f"{' and '.join(sorted(map(str, devices)))}!"
        )


def unbroadcast(g: Any, shape: tuple[int, ...], dtype: np.dtype[Any], own_device: Any) -> Any:
    """Return a gradient in the shape, dtype and device of its input."""
    if g.shape != shape:
        g = OPS["sum_to"].body(g, shape)
    if g.dtype is not dtype and g.dtype != dtype:
        g = (g.real if g.dtype.kind == "c" and dtype.kind != "c" else g).astype(dtype)
    return g if own_device is None else OPS["move"].body(g, dtype, own_device, backend.device_of(g))


def unbroadcast_recorded(g: Tensor, shape: tuple[int, ...], dtype: np.dtype[Any], own_device: Any) -> Tensor:
    """Return a gradient tensor, recorded, in the shape, dtype and device of its input."""
    if g._a.shape != shape:
        g = OPS["sum_to"].function(g, shape)
    have = g._a.dtype
    if have != dtype:
        if have.kind == "c" and dtype.kind != "c":
            g = OPS["real"].function(g)
        g = OPS["cast"].function(g, dtype)
    return g if own_device is None else OPS["move"].function(g, dtype, own_device, backend.device_of(g._a))
