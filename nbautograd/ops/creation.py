"""Making tensors: from data, filled, in ranges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd import backend, dtypes
from nbautograd.declare import op
from nbautograd.device import as_device, device
from nbautograd.errors import AutogradError
from nbautograd.inplace import into, resize_into
from nbautograd.node import LEAF
from nbautograd.size import as_int, new_shape
from nbautograd.tensor import Tensor, wrap

__all__ = [
    "arange",
    "as_tensor",
    "asarray",
    "empty",
    "empty_like",
    "empty_strided",
    "eye",
    "from_numpy",
    "full",
    "full_like",
    "layout",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "strided",
    "tensor",
    "zeros",
    "zeros_like",
]


Number = int | float | complex | bool
Device = device | str | int | None


class layout:  # noqa: N801 - PyTorch's name
    """How elements are stored; only ``strided`` exists here."""

    def __repr__(self) -> str:
        return "torch.strided"


strided = layout()


def check_options(name: str, dtype: Any, layout: Any = None, pin_memory: bool = False) -> None:
    """Make sure that the options are ones that are supported: what PyTorch has and we have not is never ignored."""
    if dtype is not None and not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"{name}(): only layout=torch.strided is supported, got {layout!r}")
    if pin_memory:
        raise RuntimeError(f"{name}(): pin_memory=True is not supported: there is no pinned memory without CUDA")


def finish(array: Any, requires_grad: bool = False) -> Tensor:
    """The new tensor of an array; 0-d arrays on the CPU become scalars."""
    if array.__class__ is np.ndarray and array.ndim == 0:
        array = array[()]
    if not requires_grad:
        return wrap(array)
    if array.dtype.kind not in "fc":
        raise AutogradError(
            f"Only Tensors of floating point and complex dtype can require gradients, and this one is of dtype "
            f"{dtypes.of(array.dtype)!r}"
        )
    return wrap(array, LEAF)


# -- from data -------------------------------------------------------------------------------------------------------


def _values(data: Any, dtype: dtypes.dtype | None) -> np.ndarray[Any, Any]:
    """Nested sequences, numbers and arrays as an array in its dtype.

    :raises ValueError: the sequences are ragged.
    :raises TypeError: an element is no number.
    """
    if isinstance(data, (np.ndarray, np.generic)):
        dtypes.of(data.dtype)  # refuses strings, objects, dates
        return np.array(data, None if dtype is None else dtype.numpy)
    if isinstance(data, (list, tuple, range)):
        _check_nested(data)
        data = _plain(data)
    elif isinstance(data, (str, bytes)) or not isinstance(data, (int, float, complex)):
        if not hasattr(data, "__array__") and not hasattr(data, "__len__"):
            raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
        if isinstance(data, (str, bytes)):
            raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if dtype is not None:
        return np.array(data, dtype.numpy)
    found = np.array(data)
    if found.dtype.kind == "f" and not _has_typed(data):
        return found.astype(dtypes.get_default_dtype().numpy)
    if found.dtype.kind == "c" and not _has_typed(data):
        return found.astype(dtypes.get_default_dtype().to_complex().numpy)
    if found.dtype.kind in "iu" and not _has_typed(data):
        return found.astype(np.int64)
    if found.size == 0 and not _has_typed(data):
        return found.astype(dtypes.get_default_dtype().numpy)
    dtypes.of(found.dtype)
    return found


def _has_typed(data: Any) -> bool:
    """Whether the first element carries a dtype of its own (a NumPy scalar or array)."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, float)


def _check_nested(data: Any) -> None:
    """Make sure that nested sequences have equal lengths and hold numbers only."""
    level, dim = [data], 0
    while level and any(_is_sequence(item) for item in level):
        length = next(len(item) for item in level if _is_sequence(item))
        for item in level:
            if not _is_sequence(item):
                raise TypeError(
                    f"not a sequence: an element at dim {dim} is {type(item).__name__} where others are sequences"
                )
            if len(item) != length:
                raise ValueError(f"expected sequence of length {length} at dim {dim} (got {len(item)})")
        level = [inner for item in level for inner in item]
        dim += 1
    for item in level:
        if not isinstance(item, (int, float, complex, np.generic, Tensor)) and not hasattr(item, "__array__"):
            raise TypeError(f"new(): invalid data type '{type(item).__name__}'")


def _is_sequence(item: Any) -> bool:
    return (
        isinstance(item, (list, tuple, range))
        or isinstance(item, np.ndarray)
        and item.ndim > 0
        or (isinstance(item, Tensor) and item._a.ndim > 0)
    )


def _plain(data: Any) -> Any:
    """Nested sequences with tensors replaced by their values."""
    if isinstance(data, Tensor):
        return backend.fetch(data._a)
    return [_plain(item) for item in data] if isinstance(data, (list, tuple)) else data


def tensor(
    data: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of ``data``: a number, nested lists, a NumPy array, or a tensor.

    :param dtype: by default float32 (see ``set_default_dtype``) for Python floats, int64 for ints, bool for bools, and
        the dtype of an array.
    :param device: where it is to live.
    :param requires_grad: whether operations on it are recorded.
    :raises ValueError: nested lists of unlike lengths.
    :raises TypeError: an element is no number.

    >>> import nbautograd as torch
    >>> torch.tensor([[1., -1.], [1., -1.]])
    tensor([[ 1., -1.],
            [ 1., -1.]])
    """
    check_options("tensor", dtype, None, pin_memory)
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        place = data.device if device is None else as_device(device)
        values = data._a if dtype is None else data._a.astype(dtype.numpy)
        return finish(backend.module(place).array(values), requires_grad)
    return finish(backend.module(as_device(device)).asarray(_values(data, dtype)), requires_grad)


def as_tensor(data: Any, dtype: dtypes.dtype | None = None, device: Device = None) -> Tensor:
    """A tensor of ``data``, sharing its memory where it is an array or tensor of that dtype on that device.

    >>> import nbautograd as torch
    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
    check_options("as_tensor", dtype)
    if isinstance(data, Tensor):
        return data.to(device=data.device if device is None else device, dtype=data.dtype if dtype is None else dtype)
    if (
        isinstance(data, np.ndarray)
        and (dtype is None or dtype.numpy == data.dtype)
        and as_device(device).type == "cpu"
    ):
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


def asarray(
    data: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of ``data``, sharing its memory unless ``copy`` is true.

    >>> import nbautograd as torch
    >>> torch.asarray([1., 2.])
    tensor([1., 2.])
    """
    found = (
        tensor(data, dtype=dtype, device=device)
        if copy and not isinstance(data, Tensor)
        else as_tensor(data, dtype, device)
    )
    if copy and isinstance(data, Tensor):
        found = found.clone()
    return found.detach().requires_grad_() if requires_grad else found


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares the memory of a NumPy array.

    :raises TypeError: it is no NumPy array, or of a dtype that tensors do not have.

    >>> import nbautograd as torch
    >>> import numpy as np
    >>> torch.from_numpy(np.array([1., 2.]))
    tensor([1., 2.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtypes.of(ndarray.dtype)
    if any(stride < 0 for stride in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "supported: make a copy of it, such as array.copy(), first."
        )
    return wrap(ndarray.view(np.ndarray))


# -- filled ----------------------------------------------------------------------------------------------------------


def _filled(name: str, fill: Callable[[Any, tuple[int, ...], Any], Any], doc: str) -> Callable[..., Tensor]:
    def make(
        *size: Any,
        out: Tensor | None = None,
        dtype: dtypes.dtype | None = None,
        layout: Any = None,
        device: Device = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **named: Any,
    ) -> Tensor:
        if named:
            if "size" in named:
                size = (named.pop("size"),)
            for key in named:
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        if dtype is not None or layout is not None or pin_memory:
            check_options(name, dtype, layout, pin_memory)
        shape = new_shape(size, name)
        if out is not None:
            return _fill_out(name, out, shape, fill, dtype)
        kind = (dtype or dtypes.get_default_dtype()).numpy
        xp = np if device is None else backend.module(as_device(device))
        return finish(fill(xp, shape, kind), requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = doc
    return make


def _fill_out(name: str, out: Tensor, shape: tuple[int, ...], fill: Any, dtype: dtypes.dtype | None) -> Tensor:
    """``out=`` of a filling function: resized without a warning, its dtype kept."""
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(f"{name}(): dtype {dtype!r} does not match dtype of out parameter ({out.dtype!r})")
    made = wrap(fill(backend.module(out.device), shape, out._a.dtype))
    if out._a.shape != shape:
        out._a = made._a
        return out
    return resize_into(out, made, name)


zeros = _filled(
    "zeros",
    lambda xp, shape, dtype: xp.zeros(shape, dtype),
    """A tensor of zeros: ``zeros(2, 3)`` or ``zeros((2, 3))``.

    >>> import nbautograd as torch
    >>> torch.zeros(2, dtype=torch.int64)
    tensor([0, 0])
    """,
)
ones = _filled(
    "ones",
    lambda xp, shape, dtype: xp.ones(shape, dtype),
    """A tensor of ones: ``ones(2, 3)`` or ``ones((2, 3))``.

    >>> import nbautograd as torch
    >>> torch.ones(2, 2, requires_grad=True)
    tensor([[1., 1.],
            [1., 1.]], requires_grad=True)
    """,
)
empty = _filled(
    "empty",
    lambda xp, shape, dtype: xp.empty(shape, dtype),
    """An uninitialised tensor: its values are whatever was in memory.

    >>> import nbautograd as torch
    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """,
)


def full(
    size: Any,
    fill_value: Number,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor filled with one value, in the value's dtype by default.

    >>> import nbautograd as torch
    >>> torch.full((2, 3), 3.141592)
    tensor([[3.1416, 3.1416, 3.1416],
            [3.1416, 3.1416, 3.1416]])
    """
    check_options("full", dtype, layout)
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    shape = new_shape((size,), "full")
    if out is not None:
        return _fill_out("full", out, shape, lambda xp, s, d: xp.full(s, value, d), dtype)
    kind = (dtype or dtypes.of_number(value)).numpy
    return finish(backend.module(as_device(device)).full(shape, value, kind), requires_grad)


def _like(name: str, fill: Callable[..., Any], doc: str) -> Callable[..., Tensor]:
    def make(
        input: Tensor,
        *value: Any,
        dtype: dtypes.dtype | None = None,
        layout: Any = None,
        device: Device = None,
        requires_grad: bool = False,
        memory_format: Any = None,
        **fill_value: Any,
    ) -> Tensor:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        for key in fill_value:
            if name != "full_like" or key != "fill_value":
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        if memory_format is not None:
            raise NotImplementedError(f"{name}(): memory_format is not supported, got {memory_format!r}")
        check_options(name, dtype, layout)
        place = input.device if device is None else as_device(device)
        kind = input._a.dtype if dtype is None else dtype.numpy
        return finish(fill(backend.module(place), input._a.shape, kind, *value, *fill_value.values()), requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = doc
    return make


zeros_like = _like(
    "zeros_like",
    lambda xp, shape, dtype: xp.zeros(shape, dtype),
    """Zeros in the shape, dtype and device of ``input``.

    >>> import nbautograd as torch
    >>> torch.zeros_like(torch.tensor([[1., -1.], [1., -1.]]))
    tensor([[0., 0.],
            [0., 0.]])
    """,
)
ones_like = _like(
    "ones_like",
    lambda xp, shape, dtype: xp.ones(shape, dtype),
    """Ones in the shape, dtype and device of ``input``.

    >>> import nbautograd as torch
    >>> torch.ones_like(torch.tensor([1, 2]))
    tensor([1, 1])
    """,
)
empty_like = _like(
    "empty_like",
    lambda xp, shape, dtype: xp.empty(shape, dtype),
    """An uninitialised tensor in the shape, dtype and device of ``input``.

    >>> import nbautograd as torch
    >>> torch.empty_like(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """,
)
full_like = _like(
    "full_like",
    lambda xp, shape, dtype, value: xp.full(shape, value, dtype),
    """``full_like(input, fill_value)``: one value in the shape, dtype and device of ``input``.

    >>> import nbautograd as torch
    >>> torch.full_like(torch.ones(2), 7)
    tensor([7., 7.])
    """,
)


def _new(name: str, make: Callable[..., Tensor]) -> None:
    def method(self: Tensor, *args: Any, dtype: Any = None, device: Any = None, **options: Any) -> Tensor:
        return make(*args, dtype=dtype or self.dtype, device=device or self.device, **options)

    method.__name__ = method.__qualname__ = f"new_{name}"
    method.__doc__ = f"``torch.{name}(...)`` in this tensor's dtype and on its device."
    setattr(Tensor, f"new_{name}", method)


for _name, _make in {"zeros": zeros, "ones": ones, "empty": empty, "full": full, "tensor": tensor}.items():
    _new(_name, _make)


def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """An uninitialised tensor whose elements lie in memory at the given strides, counted in elements.

    >>> import nbautograd as torch
    >>> torch.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    check_options("empty_strided", dtype, layout)
    shape, strides = new_shape((size,), "empty_strided"), new_shape((stride,), "empty_strided")
    if len(shape) != len(strides):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(strides)} for {list(shape)}")
    kind = (dtype or dtypes.get_default_dtype()).numpy
    span = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if math.prod(shape) else 0
    xp = backend.module(as_device(device))
    view = xp.lib.stride_tricks.as_strided(xp.empty(span, kind), shape, tuple(s * kind.itemsize for s in strides))
    return finish(view, requires_grad)


def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal, n x n or n x m.

    :raises RuntimeError: a size is negative.

    >>> import nbautograd as torch
    >>> torch.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    check_options("eye", dtype, layout)
    for label, value in (("n", n), ("m", n if m is None else m)):
        if as_int(value, f"eye(): argument '{label}'") < 0:
            raise RuntimeError(f"{label} must be greater or equal to 0, got {value}")
    shape = (n, n if m is None else m)

    def fill(xp: Any, shape: tuple[int, ...], kind: Any) -> Any:
        return xp.eye(shape[0], shape[1], 0, kind)

    if out is not None:
        return _fill_out("eye", out, shape, fill, dtype)
    kind = (dtype or dtypes.get_default_dtype()).numpy
    return finish(fill(backend.module(as_device(device)), shape, kind), requires_grad)


# -- ranges ----------------------------------------------------------------------------------------------------------


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from ``start`` (0) up to, but without, ``end``: int64 if all are ints, otherwise the default float.

    :raises RuntimeError: the step is 0 or leads away from ``end``.

    >>> import nbautograd as torch
    >>> torch.arange(1, 2.51, 0.5)
    tensor([1.0000, 1.5000, 2.0000, 2.5000])
    """
    check_options("arange", dtype, layout)
    if end is None:
        start, end = 0, start
    first, last, by = _number(start), _number(end), _number(step)
    for value in (first, last):
        if isinstance(value, float) and not math.isfinite(value):
            raise RuntimeError(f"unsupported range: {first} -> {last}")
    if by == 0:
        raise RuntimeError("step must be nonzero")
    if (last - first) * by < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    kind = dtype or (
        dtypes.int64 if all(isinstance(v, (int, np.integer)) for v in (first, last, by)) else dtypes.get_default_dtype()
    )
    length = math.ceil((last - first) / by)
    wide = np.int64 if kind.rank <= 1 and not isinstance(by, float) and not isinstance(first, float) else np.float64
    xp = backend.module(as_device(device))
    values = (xp.arange(length, dtype=wide) * wide(by) + wide(first)).astype(kind.numpy)
    return _ranged("arange", values, out, requires_grad)


def _ranged(name: str, values: Any, out: Tensor | None, requires_grad: bool) -> Tensor:
    made = finish(values, requires_grad)
    return into(out, made, name)


def _steps(steps: Any) -> int:
    if as_int(steps, "steps") < 0:
        raise RuntimeError("number of steps must be non-negative")
    return int(steps)


def _even(first: float, last: float, n: int, kind: np.dtype[Any], xp: Any) -> Any:
    """N evenly spaced values, counted from the nearer end, in the arithmetic of ``kind``."""
    if n == 1:
        return xp.full((1,), first, kind)
    arithmetic = kind if kind.kind in "fc" else np.dtype(np.float64)
    step = arithmetic.type((last - first) / max(n - 1, 1)) if arithmetic.kind == "f" else (last - first) / max(n - 1, 1)
    index = xp.arange(n).astype(arithmetic)
    low = arithmetic.type(first) + step * index
    high = arithmetic.type(last) - step * (arithmetic.type(n - 1) - index)
    return xp.where(xp.arange(n) < n // 2, low, high).astype(kind)


def linspace(
    start: Any,
    end: Any,
    steps: int = 100,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included.

    :raises RuntimeError: ``steps`` is negative.

    >>> import nbautograd as torch
    >>> torch.linspace(3, 10, steps=5)
    tensor([ 3.0000,  4.7500,  6.5000,  8.2500, 10.0000])
    """
    check_options("linspace", dtype, layout)
    kind = (dtype or dtypes.get_default_dtype()).numpy
    values = _even(_number(start), _number(end), _steps(steps), kind, backend.module(as_device(device)))
    return _ranged("linspace", values, out, requires_grad)


def logspace(
    start: Any,
    end: Any,
    steps: int = 100,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """``base`` to the power of ``steps`` evenly spaced numbers from ``start`` to ``end``.

    :raises RuntimeError: ``steps`` is negative.

    >>> import nbautograd as torch
    >>> torch.logspace(start=0.1, end=1.0, steps=5)
    tensor([ 1.2589,  2.1135,  3.5481,  5.9566, 10.0000])
    """
    check_options("logspace", dtype, layout)
    kind = (dtype or dtypes.get_default_dtype()).numpy
    xp = backend.module(as_device(device))
    exponents = _even(_number(start), _number(end), _steps(steps), np.dtype(np.float64), xp)
    return _ranged("logspace", (float(base) ** exponents).astype(kind), out, requires_grad)


# -- writing a value -------------------------------------------------------------------------------------------------


@op(node="FillBackward0", symbol="fill", input="zeros_of(g)", value="g.sum()", inplace_method=True, method=False)
def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """One value in the shape and dtype of ``input``.

    >>> import nbautograd as torch
    >>> torch.ones(2).fill_(5)
    tensor([5., 5.])
    """
    return np.full_like(input, value, shape=input.shape)


@op(node="ZeroBackward0", symbol="0", input="zeros_of(g)", inplace_method=True, method=False)
def zero(input: Tensor) -> Tensor:
    """Zeros in the shape and dtype of ``input``.

    >>> import nbautograd as torch
    >>> torch.ones(2).zero_()
    tensor([0., 0.])
    """
    return np.zeros_like(input)


@op(
    node="CopyBackwards",
    symbol="copy",
    input="zeros_of(g)",
    src="cast_back(sum_to(g, src.shape), src.dtype)",
    inplace_method=True,
    method=False,
)
def copy(input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """The values of ``src`` broadcast to the shape of ``input`` and cast to its dtype."""
    value = src.real if src.dtype.kind == "c" and input.dtype.kind != "c" else src
    return np.broadcast_to(value, input.shape).astype(input.dtype)
