"""The rules of shapes of NumPy's functions, for arrays without memory.

Where NumPy goes through operands element by element, it is asked itself: a *twin* of an operand has at most two
elements along each dimension, the same dtype, and its dimensions in the same order in memory. The twins' result has the
dtype, the order and the errors of the whole; only the lengths have to be put in. Functions without a rule are computed
on arrays of the full shape, if these are small.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays.meta import RULES, Ints, MetaArray, bare, blank, shown

MAX_SIZE = 1 << 20
"""Elements that a function without a rule is computed for."""


def order_of(shape: Ints, strides: Ints) -> list[int]:
    """Return the dimensions by falling strides; of the same stride, one of a single element is the inner one."""
    return sorted(range(len(shape)), key=lambda d: (-abs(strides[d]), shape[d] == 1))


def ordered(shape: Ints, order: list[int], dtype: Any) -> MetaArray:
    """Return an array without gaps whose dimensions have this order in memory, outermost first."""
    steps, step = [0] * len(shape), np.dtype(dtype).itemsize
    for d in reversed(order):
        steps[d] = step
        step *= shape[d] or 1
    return MetaArray(bare(shape, dtype, tuple(steps)))


def twin(value: Any) -> Any:
    """Return a small array in place of one; anything else unchanged, lists of arrays item by item."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(twin, value)) if not hasattr(value, "_fields") else value
    if isinstance(value, MetaArray):
        value = value._v
    elif not isinstance(value, np.ndarray) or not value.ndim:
        return value
    short = tuple(min(n, 2) for n in value.shape)
    order = order_of(value.shape, value.strides)
    stored = [1 if not value.strides[d] else short[d] for d in order]
    made = np.ones(stored, value.dtype).transpose(np.argsort(order))
    return made if made.shape == short else np.broadcast_to(made, short)


def shape_of(value: Any) -> Ints:
    """Return the shape of an operand; a number has none."""
    return getattr(value, "shape", None) or np.shape(value if isinstance(value, (list, tuple)) else 0)


def grown(result: Any, shape: Ints) -> Any:
    """Return an array of this shape with the dtype and order of the twins' result."""
    if isinstance(result, (tuple, list)):
        return type(result)(grown(part, shape) for part in result)
    array = np.asarray(result)
    if 0 in shape:
        return blank(shape, array.dtype)
    return ordered(tuple(shape), order_of(shape, array.strides), array.dtype)


def like(a: MetaArray, dtype: Any, order: str = "C") -> MetaArray:
    """Return a new array like ``a``, row-major or in its order (K)."""
    inner = a._v.flags.f_contiguous and not a._v.flags.c_contiguous
    if order == "C" or order == "A" and not inner or not a.ndim:
        return blank(a.shape, dtype)
    return ordered(a.shape, order_of(a.shape, a.strides), dtype)


def broadcast(*values: Any) -> Ints:
    """Return the common shape of operands; raise ValueError if they do not broadcast."""
    shapes = [shape_of(value) for value in values]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        texts = " ".join(map(str, shapes))
        raise ValueError(f"operands could not be broadcast together with shapes {texts} ") from None


def run(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function of twins without warnings."""
    with np.errstate(all="ignore"):
        return function(*map(twin, args), **{name: twin(value) for name, value in kwargs.items()})


def small(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Compute a function on arrays of the full shape; raise NotImplementedError if they are large."""

    def filled(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return type(value)(map(filled, value))
        if not isinstance(value, MetaArray):
            return value
        if value.size > MAX_SIZE:
            name = getattr(function, "__name__", str(function))
            raise NotImplementedError(f"{name}: no shape rule for {value.size} elements on device meta")
        order: Any = "F" if value._v.flags.f_contiguous and not value._v.flags.c_contiguous else "C"
        made: Any = np.zeros(value.shape, value.dtype, order)
        if value.dtype.kind not in "iub":
            made[...] = np.eye(value.shape[-2], value.shape[-1]) if value.ndim > 1 else 1
        return made

    with np.errstate(all="ignore"):
        result = function(*map(filled, args), **{name: filled(value) for name, value in kwargs.items()})
    return wrapped(result)


def wrapped(result: Any) -> Any:
    """Return results on the host as arrays without memory."""
    if isinstance(result, (np.ndarray, np.generic)):
        return shown(result)
    if isinstance(result, (tuple, list)):
        items = [wrapped(item) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return result


# -- ufuncs and reductions -------------------------------------------------------------------------------------------


def reduced(shape: Ints, axis: Any, keepdims: Any) -> Ints:
    """Return the shape without the reduced dimensions."""
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    gone = {int(d) % len(shape) for d in axes} if shape else set()
    if keepdims is True:
        return tuple(1 if d in gone else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in gone)


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a ufunc or of one of its methods."""
    out = kwargs.pop("out", None)
    out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if method == "at":
        return None
    if method == "__call__" and ufunc.signature is not None:
        return written(products(ufunc, inputs, kwargs), out)
    if method == "__call__":
        shape = broadcast(*inputs)
        result = grown(run(ufunc, inputs, kwargs), shape)
    elif method == "reduce":
        axis = inputs[1] if len(inputs) > 1 else kwargs.get("axis", 0)
        result = grown(run(ufunc.reduce, inputs, kwargs), reduced(inputs[0].shape, axis, kwargs.get("keepdims")))
        result.truth = ufunc is np.logical_and
    elif method == "accumulate":
        result = grown(run(ufunc.accumulate, inputs, kwargs), inputs[0].shape)
    elif method == "outer":
        shape = (*shape_of(inputs[0]), *shape_of(inputs[1]))
        result = grown(run(ufunc.outer, inputs, kwargs), shape)
    else:
        result = small(getattr(ufunc, method), inputs, kwargs)
    return written(result, out)


def written(result: Any, out: Any) -> Any:
    """Return ``out=`` if it is given; raise ValueError if its shape is another."""
    if out is None or isinstance(out, tuple) and all(o is None for o in out):
        return result
    pairs = zip(result, out, strict=True) if isinstance(out, tuple) else [(result, out)]
    for made, target in pairs:
        if target is not None and broadcast(made, target) != target.shape:
            raise ValueError(f"non-broadcastable output operand with shape {target.shape}: it takes {made.shape}")
    return out


CORES = {"matmul": (2, 2), "vecdot": (1, 1), "matvec": (2, 1), "vecmat": (1, 2)}
"""Number of last dimensions that a product takes of each factor; for matmul a vector has only one."""


def products(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a ufunc with a signature: of ``matmul`` and its kin."""
    if ufunc.__name__ not in CORES or len(inputs) < 2:
        return small(ufunc, inputs, kwargs)
    (a, b), (i, j) = inputs[:2], CORES[ufunc.__name__]
    x, y = shape_of(a), shape_of(b)
    x_core, y_core = x[-i:], y[-j:]
    if not x or not y or x_core[-1] != y_core[0]:
        raise ValueError(f"{ufunc.__name__}: Input operand 1 has a mismatch in its core dimension 0: {x} and {y}")
    batch = broadcast(np.broadcast_to(0, x[: -len(x_core)]), np.broadcast_to(0, y[: -len(y_core)]))
    kind = kwargs.get("dtype") or np.result_type(*(getattr(v, "dtype", v) for v in (a, b)))
    return blank((*batch, *x_core[:-1], *y_core[1:]), kind)


# -- functions -------------------------------------------------------------------------------------------------------

Rule = Callable[..., Any]
FUNCTIONS: dict[str, Rule] = {}
"""The rules, by the names of NumPy's functions, as in ``linalg.inv``."""


def rule(names: str) -> Callable[[Rule], Rule]:
    """Register a rule; it gets the function, its arguments, and those by name."""

    def register(function: Rule) -> Rule:
        FUNCTIONS.update(dict.fromkeys(names.split(), function))
        return function

    return register


def call_function(function: Any, args: Any, kwargs: Any) -> Any:
    """Return the result of one of NumPy's functions."""
    path = ".".join([*(function.__module__ or "").split(".")[1:], function.__name__])
    answer: Rule = FUNCTIONS.get(
        path.removeprefix("lib.stride_tricks.").removeprefix("lib._stride_tricks_impl."), small
    )
    return answer(function, args, kwargs)


def named(function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the arguments by their names."""
    return inspect.signature(function).bind(*args, **kwargs).arguments


@rule("nonzero flatnonzero argwhere unique unique_values unique_counts unique_inverse histogram compress extract")
def reject(function: Any, args: Any, kwargs: Any) -> Any:
    """Raise NotImplementedError: the shape depends on values."""
    raise NotImplementedError(
        f"aten::{function.__name__}: attempted to run this operator with Meta tensors, but the shape of its result "
        "depends on values, which these do not have"
    )


# -- views -----------------------------------------------------------------------------------------------------------


def reshaped(a: MetaArray, shape: Ints) -> MetaArray:
    """Return a view of another shape, or a new array if the memory does not allow it."""
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        if not rest or a.size % rest or shape.count(-1) > 1:
            raise ValueError(f"cannot reshape array of size {a.size} into shape {shape}")
        shape = tuple(a.size // rest if n == -1 else n for n in shape)
    if math.prod(shape) != a.size:
        raise ValueError(f"cannot reshape array of size {a.size} into shape {shape}")
    steps = bare(shape, a.dtype).strides if a._v.flags.c_contiguous else _steps(a.shape, a.strides, shape)
    return blank(shape, a.dtype) if steps is None else strided(a, shape, steps, 0)


def _steps(old: Ints, strides: Ints, shape: Ints) -> Ints | None:
    """Return the strides of the same memory in another shape; None if a copy is needed."""
    runs: list[list[int]] = []  # lengths and strides of the runs without gaps
    for n, s in zip(old, strides, strict=True):
        if n == 1:
            continue
        if runs and runs[-1][1] == n * s:
            runs[-1] = [runs[-1][0] * n, s]
        else:
            runs.append([n, s])
    steps: list[int] = []
    last = runs[-1][1] if runs else 1
    for n in reversed(shape):
        if n == 1:
            steps.append(last)
            continue
        if not runs or runs[-1][0] % n:
            return None
        last = runs[-1][1]
        steps.append(last)
        runs[-1] = [runs[-1][0] // n, last * n]
        last *= n
        if runs[-1][0] == 1:
            runs.pop()
    return tuple(reversed(steps))


def strided(a: MetaArray, shape: Ints, strides: Ints, shift: int) -> MetaArray:
    """Return a view at these strides, in bytes, ``shift`` bytes after the first element."""
    as_strided = np.lib.stride_tricks.as_strided
    return MetaArray(as_strided(as_strided(a._v, (2,), (shift,))[1:], shape, strides), a)


# -- indexing --------------------------------------------------------------------------------------------------------


def _is_advanced(item: Any) -> bool:
    return isinstance(item, (MetaArray, np.ndarray, list, bool))


def item_of(a: MetaArray, key: Any) -> MetaArray:
    """Return the elements at an index: a view, or a new array for arrays of indices.

    :raises NotImplementedError: the index is a mask without values.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)  # so that NumPy makes a view even of one element
    if not any(_is_advanced(item) for item in items):
        return MetaArray(a._v[tuple(items)], a)
    found = _without_masks(items)
    basic = [slice(None) if _takes(item) else item for item in found]
    view = a._v[tuple(basic)]
    missing = a.ndim - sum(item not in (None, Ellipsis) for item in basic)
    taken = _taken(found, missing, view.shape)
    inner = _joint_shape(found)
    rest = [n for d, n in enumerate(view.shape) if d not in taken]
    first = taken[0] if taken == list(range(taken[0], taken[-1] + 1)) else 0
    return blank((*rest[:first], *inner, *rest[first:]), a.dtype)


def _joint_shape(items: list[Any]) -> Ints:
    """Return the shape to which the arrays of indices are broadcast."""
    shapes = [shape_of(item) for item in items if _takes(item)]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        texts = " ".join(map(str, shapes))
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts}"
        ) from None


def _taken(items: list[Any], missing: int, shape: tuple[int, ...]) -> list[int]:
    """Return the dimensions along which an index takes elements, of which an ellipsis is ``missing``.

    :raises IndexError: a number is out of bounds.
    """
    dim, taken = 0, []
    for item in items:
        if _takes(item):
            taken.append(dim)
            if isinstance(item, (int, np.integer)) and not -shape[dim] <= item < shape[dim]:
                raise IndexError(f"index {item} is out of bounds for axis {dim} with size {shape[dim]}")
        dim += missing if item is Ellipsis else 1
    return taken


def _takes(item: Any) -> bool:
    """Return whether a part of an index takes elements along a dimension: one, or those at an array of indices."""
    return _is_advanced(item) or isinstance(item, (int, np.integer))


def _without_masks(items: list[Any]) -> list[Any]:
    """Return the parts of an index, where masks are the indices of their elements."""
    found: list[Any] = []
    for item in items:
        if isinstance(item, MetaArray) and item.dtype.kind == "b":
            reject(np.nonzero, (item,), {})
        if isinstance(item, (bool, list)):
            item = np.asarray(item)
        if isinstance(item, np.ndarray) and item.dtype.kind == "b":
            found.extend(item.nonzero() if item.ndim else [np.zeros(int(item), np.int64)])
        else:
            found.append(item)
    return found


def check_write(a: MetaArray, key: Any, value: Any) -> None:
    """Raise ValueError if the shape of a value does not fit an index."""
    items = key if isinstance(key, tuple) else (key,)
    if any(isinstance(item, MetaArray) and item.dtype.kind == "b" for item in items):
        return
    target, given = item_of(a, key).shape, shape_of(value)
    while len(given) > len(target) and given[0] == 1:
        given = given[1:]
    if given and np.broadcast_shapes(target, given) != target:
        raise ValueError(f"could not broadcast input array from shape {given} into shape {target}")


RULES.update(
    call_function=call_function, call_ufunc=call_ufunc, check_write=check_write, item_of=item_of, like=like,
    reshaped=reshaped,
)  # fmt: skip
