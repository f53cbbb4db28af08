"""Filled tensors: ``zeros``, ``ones``, ``full``, ``eye``, ...; and filling in place: ``fill_``, ``zero_``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, strides as stride_tools
from nbautograd._engine.arrays.device import as_device
from nbautograd._engine.arrays.memory_format import contiguous_format, memory_format, preserve_format, sparse_coo
from nbautograd._engine.arrays.size import as_int, by_name, dimension, new_shape
from nbautograd._engine.arrays.sparse import SparseArray
from nbautograd._engine.compiler.op import NATIVE, broadcast_shapes, check_option, op
from nbautograd._engine.core.batched import BatchedTensor, batched
from nbautograd._engine.core.inplace import resize_into
from nbautograd._engine.core.overrides import offer, overloaded, subclasses
from nbautograd._engine.core.sparse import SparseTensor, wrapped
from nbautograd._engine.core.tensor import Tensor, array_of, wrap_known  # noqa: F401 - a formula names array_of
from nbautograd._engine.ops.creation.from_data import (
    Device,
    check_options,
    creation,
    filler,
    finish,
    item,
    number_in,
    tensor,
)
from nbautograd._engine.ops.creation.ranges import check_dtype_of_out, written
from nbautograd._engine.ops.queries import Number, check_tensors, example
from nbautograd._names.docstrings import described
from nbautograd.errors import ShapeError, kind_of

__all__ = [
    "empty", "empty_like", "empty_permuted", "empty_strided", "eye", "fill", "fill_", "full", "full_like", "ones",
    "ones_like", "scalar_tensor", "zero_", "zeros", "zeros_like",
]  # fmt: skip


# -- filled ----------------------------------------------------------------------------------------------------------


def _filled(
    name: str, fill: Callable[[Any, tuple[int, ...], Any], Any], doc: str, shown: str = ""
) -> Callable[..., Tensor]:
    def make(
        *size: Any, out: Tensor | None = None, dtype: dtypes.dtype | None = None, layout: Any = None,
        device: Device = None, requires_grad: bool = False, pin_memory: bool = False, **named: Any,
    ) -> Tensor:  # fmt: skip
        if named:
            if "size" in named:
                size = by_name(named.pop("size"), "size")
            if name == "empty" and "memory_format" in named:
                order = named.pop("memory_format")
                if order is preserve_format:
                    raise RuntimeError(
                        "empty(): memory format torch.preserve_format is only supported for a given tensor"
                    )
                result = make(*size, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
                return finish(_ordered(result._a, result._a.shape, order, result._a.dtype, name), requires_grad)
            for key in named:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        if layout is sparse_coo:
            return _sparse_zeros(name, new_shape(size, name), dtype, device).requires_grad_(requires_grad)
        if dtype is not None or layout is not None or pin_memory:
            dtype = check_options(name, dtype, layout, pin_memory)
        shape = new_shape(size, name)
        if out is not None:
            return written(_fill_out(name, out, shape, fill, dtype), requires_grad)
        kind = (dtype or dtypes.get_default_dtype()).numpy
        return finish(fill(backend.module(as_device(device)), shape, kind), requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = doc
    return creation(example(shown)(make) if shown else make)


def _sparse_zeros(name: str, shape: tuple[int, ...], dtype: Any, device: Device) -> Any:
    """Return a sparse tensor without values."""
    if name not in ("zeros", "empty"):
        raise RuntimeError("full(...) is not implemented for sparse layout")
    xp, kind = backend.module(as_device(device)), dtypes.as_dtype(dtype) or dtypes.get_default_dtype()
    return wrapped(SparseArray(xp.zeros((len(shape), 0), np.int64), xp.zeros((0,), kind.numpy), tuple(shape), True))


def _ordered(like: Any, shape: tuple[int, ...], order: memory_format | None, dtype: Any, name: str) -> Any:
    """Return an uninitialized array on the device of ``like`` in a memory format; by default in that of ``like``."""
    return stride_tools.empty(like, shape, stride_tools.strides_for(like, order, name), dtype)


def _fill_out(name: str, out: Tensor, shape: tuple[int, ...], fill: Any, dtype: dtypes.dtype | None) -> Tensor:
    """Write the filled array into ``out=``, which is resized without a warning and keeps its dtype."""
    check_tensors(name, out=out)
    check_dtype_of_out(name, dtype, out)
    return resize_into(out, wrap_known(fill(backend.module(out.device), shape, out._a.dtype)), name)


zeros = _filled(
    "zeros",
    lambda xp, shape, dtype: xp.zeros(shape, dtype),
    "Return a tensor of zeros: ``zeros(2, 3)`` or ``zeros((2, 3))``.",
    "zeros(2, dtype=torch.int64) -> [0, 0]",
)
ones = _filled(
    "ones",
    lambda xp, shape, dtype: xp.ones(shape, dtype),
    """Return a tensor of ones: ``ones(2, 3)`` or ``ones((2, 3))``.

    >>> torch.ones(2, 2, requires_grad=True)
    tensor([[1., 1.],
            [1., 1.]], requires_grad=True)
    """,
)
empty = _filled(
    "empty",
    lambda xp, shape, dtype: xp.empty(shape, dtype),
    "Return an uninitialized tensor, with arbitrary values.",
    "empty(2, 3).shape -> torch.Size([2, 3])",
)


@creation
@example("full((2, 3), 3.141592) -> [[3.1416, 3.1416, 3.1416], [3.1416, 3.1416, 3.1416]]")
def full(
    size: Any, fill_value: Number, *, out: Tensor | None = None, dtype: dtypes.dtype | None = None, layout: Any = None,
    device: Device = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return a tensor of shape ``size`` filled with ``fill_value``, by default of the value's dtype."""
    dtype = check_options("full", dtype, layout, pin_memory)
    value = item("full", fill_value)
    shape = new_shape((check_option("full", "size", size, "Sequence[int]", 0),), "full")

    def fill(xp: Any, shape: tuple[int, ...], kind: Any) -> Any:
        with backend.quiet():
            return xp.full(shape, number_in(value, dtypes.of(kind), "full", math.prod(shape) == 1), kind)

    if out is not None:
        return _fill_out("full", out, shape, fill, dtype).requires_grad_(requires_grad)
    kind = (dtype or dtypes.of_number(value)).numpy
    return finish(fill(backend.module(as_device(device)), shape, kind), requires_grad)


def _like(name: str, fill: Callable[..., Any], doc: str, shown: str) -> Callable[..., Tensor]:
    def make(
        input: Tensor, *value: Any, dtype: dtypes.dtype | None = None, layout: Any = None, device: Device = None,
        requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None, **fill_value: Any,
    ) -> Tensor:  # fmt: skip
        if (subclasses or input.__class__ is SparseTensor) and overloaded((input,)):
            options = {"dtype": dtype, "layout": layout, "device": device, "memory_format": memory_format, **fill_value}
            options |= {"requires_grad": requires_grad or None, "pin_memory": pin_memory or None}
            options = {key: option for key, option in options.items() if option is not None}
            return offer(make, (input, *value), options)
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {kind_of(input)}")
        for key in fill_value:
            if name != "full_like" or key != "fill_value":
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        dtype = check_options(name, dtype, layout, pin_memory)
        if input.__class__ is BatchedTensor:
            options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
            return batched(make(input.value, *value, **options, **fill_value), input.bdim, input.level)
        a = input._a
        place = input.device if device is None else as_device(device)
        kind = input.dtype if dtype is None else dtype
        values = [number_in(item(name, v), kind, name) for v in (*value, *fill_value.values())]
        if (a.flags.c_contiguous and memory_format is None) or memory_format is contiguous_format or a.ndim < 2:
            return finish(fill(backend.module(place), a.shape, kind.numpy, *values), requires_grad)
        like = a if place == input.device else backend.module(place).empty(())
        result = stride_tools.empty(like, a.shape, stride_tools.strides_for(a, memory_format, name), kind.numpy)
        if name != "empty_like":
            result[...] = {"zeros_like": 0, "ones_like": 1}.get(name, *values[:1] or (0,))
        return finish(result, requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = doc
    return creation(example(shown)(make))


zeros_like = _like(
    "zeros_like",
    lambda xp, shape, dtype: xp.zeros(shape, dtype),
    "Return a tensor of zeros with the shape, dtype and device of ``input``.",
    "zeros_like([[1., -1.], [1., -1.]]) -> [[0., 0.], [0., 0.]]",
)
ones_like = _like(
    "ones_like",
    lambda xp, shape, dtype: xp.ones(shape, dtype),
    "Return a tensor of ones with the shape, dtype and device of ``input``.",
    "ones_like([1, 2]) -> [1, 1]",
)
empty_like = _like(
    "empty_like",
    lambda xp, shape, dtype: xp.empty(shape, dtype),
    "Return an uninitialized tensor with the shape, dtype and device of ``input``.",
    "empty_like(torch.ones(2, 3)).shape -> torch.Size([2, 3])",
)
full_like = _like(
    "full_like",
    lambda xp, shape, dtype, value: xp.full(shape, value, dtype),
    "Return a tensor filled with ``fill_value``, with the shape, dtype and device of ``input``.",
    "full_like(torch.ones(2), 7) -> [7., 7.]",
)


def _new(name: str, make: Callable[..., Tensor]) -> None:
    def method(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, **options: Any) -> Tensor:
        place = self.device if device is None else device
        return make(*args, dtype=self.dtype if dtype is None else dtype, device=place, **options)

    method.__name__ = method.__qualname__ = f"new_{name}"
    more = {"full": ", 7", "empty_strided": ", [1]"}.get(name, "")
    method.__doc__ = f"""Call ``torch.{name}(...)`` with this tensor's dtype and device by default.

    :param args, options: the arguments of ``torch.{name}``.
    :param dtype, device: override those of this tensor.
    :returns: a tensor with the shape of the result of ``torch.{name}``.
    :raises TypeError: an argument is not supported.

    >>> import nbautograd as torch
    >>> torch.ones(1, dtype=torch.float64).new_{name}([2]{more}).dtype
    torch.float64
    """
    setattr(Tensor, f"new_{name}", method)


@creation
@example("empty_strided((2, 3), (1, 2)).stride() -> (1, 2)")
def empty_strided(
    size: Any, stride: Any, *, dtype: dtypes.dtype | None = None, layout: Any = None, device: Device = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return an uninitialized tensor with the given shape and strides, counted in elements."""
    dtype = check_options("empty_strided", dtype, layout, pin_memory)
    shape, strides = new_shape((size,), "empty_strided"), new_shape((stride,), "empty_strided")
    if len(shape) != len(strides):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(strides)})"
        )
    kind = (dtype or dtypes.get_default_dtype()).numpy
    return finish(stride_tools.empty(backend.module(as_device(device)).empty(()), shape, strides, kind), requires_grad)


@described
@example("empty_permuted((2, 3, 4), (2, 0, 1)).stride() -> (3, 1, 6)")
def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: dtypes.dtype | None = None, layout: Any = None, device: Device = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return an uninitialized dense tensor with the memory order ``physical_layout`` of dimensions, outermost first.

    :raises RuntimeError: ``physical_layout`` is not a permutation of the dimensions.
    """
    dtype = check_options("empty_permuted", dtype, layout, pin_memory)
    shape, order = new_shape((size,), "empty_permuted"), tuple(physical_layout)
    if len(shape) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; "
            f"len(size) = {len(shape)}, len(physical_layout) = {len(order)}"
        )
    if not all(0 <= d < len(shape) for d in order):
        raise RuntimeError(
            f"empty_permuted(): Dimension out of range (expected 0 to {len(shape) - 1}, but got {order})"
        )
    places = tuple(dimension(d, len(shape)) for d in order)
    if len(set(places)) != len(places):
        raise RuntimeError(f"empty_permuted(): Duplicate dim not allowed in physical_layout, got {order}")
    strides = dict(zip(places, stride_tools.contiguous(tuple(shape[d] for d in places)), strict=True))
    steps = tuple(strides[d] for d in range(len(shape)))
    return empty_strided(shape, steps, dtype=dtype, device=device, requires_grad=requires_grad)


for _name, _make in {
    "zeros": zeros, "ones": ones, "empty": empty, "full": full, "tensor": tensor, "empty_strided": empty_strided,
}.items():  # fmt: skip
    _new(_name, _make)


@described
@example("scalar_tensor(2) -> tensor(2.)")
def scalar_tensor(
    s: Number, *, dtype: dtypes.dtype | None = None, layout: Any = None, device: Device = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return a 0-d tensor with the value ``s``, by default of the default dtype.

    :raises RuntimeError: ``s`` is complex, and the dtype is not.
    """
    s = check_option("scalar_tensor", "s", s, "Number", 0)
    kind = check_options("scalar_tensor", dtype, layout, pin_memory) or dtypes.get_default_dtype()
    return full((), s, dtype=kind, layout=layout, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


@creation
@example("eye(2, 3) -> [[1., 0., 0.], [0., 1., 0.]]")
def eye(
    n: int, m: int | None = None, *, out: Tensor | None = None, dtype: dtypes.dtype | None = None, layout: Any = None,
    device: Device = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return the identity matrix: n x n, or n x m, with ones on the diagonal and zeros elsewhere.

    :raises RuntimeError: a size is negative.
    """
    dtype = check_options("eye", dtype, layout, pin_memory)
    shape = (as_int(n, "eye(): argument 'n'"), as_int(n if m is None else m, "eye(): argument 'm'"))
    for name, size in zip("nm", shape, strict=True):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")

    def fill(xp: Any, shape: tuple[int, ...], kind: Any) -> Any:
        return xp.eye(*shape, 0, kind)

    if out is not None:
        return written(_fill_out("eye", out, shape, fill, dtype), requires_grad)
    kind = (dtype or dtypes.get_default_dtype()).numpy
    return finish(fill(backend.module(as_device(device)), shape, kind), requires_grad)


# -- filling in place ------------------------------------------------------------------------------------------------


@op(
    symbol="fill",
    half=NATIVE,
    input="zeros_of(g)",
    value="cast_back(g.sum(), array_of(value).dtype)",
    inplace_method=True,
    into="input[...] = filler(value, input)",
    method=False,
)
@example("ones(2).fill_(5) -> [5., 5.]")
def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """Return a tensor like ``input`` with every element equal to ``value``."""
    value = filler(value, input)
    return np.full_like(input, value, None, "C" if 0 in input.strides else "K", shape=input.shape)


@op(symbol="0", input="zeros_of(g)", inplace_method=True, into="input[...] = 0", method=False)
@example("ones(2).zero_() -> [0., 0.]")
def zero(input: Tensor) -> Tensor:
    """Return a tensor of zeros like ``input``."""
    return np.zeros_like(input)


@op(
    node="CopyBackwards",
    symbol="copy",
    input="zeros_of(g)",
    other="cast_back(sum_to(g, other.shape), other.dtype)",
    inplace_method=True,
    into="input[...] = other",
    method=False,
)
def copy(input: Tensor, other: Tensor, non_blocking: bool = False) -> Tensor:
    """Return ``other`` broadcast to the shape of ``input`` and cast to its dtype."""
    joint = broadcast_shapes(input.shape, other.shape)
    if joint != input.shape:
        raise ShapeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(joint)}")
    value = other.real if other.dtype.kind == "c" and input.dtype.kind not in "bc" else other
    return np.broadcast_to(value, input.shape).astype(input.dtype)


fill_, zero_ = Tensor.fill_, Tensor.zero_
