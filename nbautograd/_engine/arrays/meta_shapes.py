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
from types import SimpleNamespace
from typing import Any

import numpy as np

from nbautograd._engine.arrays.late_packages import late
from nbautograd._engine.arrays.meta import Ints, MetaArray, bare, blank, shown

__all__ = [
    "NAMESPACE",
    "Scipy",
    "call_function",
    "call_ufunc",
    "check_write",
    "item_of",
    "like",
    "reshaped",
    "strided",
]

MAX_SIZE = 1 << 20
"""The largest number of elements that a function without a rule is computed for."""


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
    return ordered(tuple(shape), order_of(shape, array.strides), array.dtype)


def like(a: MetaArray, dtype: Any, order: str = "C") -> MetaArray:
    """Return a new array like ``a``, row-major or in its order (K)."""
    inner = a._v.flags.f_contiguous and not a._v.flags.c_contiguous
    if order == "C" or order == "A" and not inner or not a.ndim:
        return blank(a.shape, dtype)
    return ordered(a.shape, order_of(a.shape, a.strides), dtype)


def broadcast(*values: Any) -> Ints:
    """Return the common shape of operands.

    :raises ValueError: there is none.
    """
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
    """Compute a function on arrays of the full shape.

    :raises NotImplementedError: they are large.
    """

    def filled(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return type(value)(map(filled, value))
        if not isinstance(value, MetaArray):
            return value
        if value.size > MAX_SIZE:
            name = getattr(function, "__name__", str(function))
            raise NotImplementedError(f"{name}: no shape rule for {value.size} elements on device meta")
        order = "F" if value._v.flags.f_contiguous and not value._v.flags.c_contiguous else "C"
        made = np.zeros(value.shape, value.dtype, order)
        if value.dtype.kind not in "iub":
            made[...] = np.eye(*value.shape[-2:]) if value.ndim > 1 else 1
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
        return _written(_products(ufunc, inputs, kwargs), out)
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
    return _written(result, out)


def _written(result: Any, out: Any) -> Any:
    """Return ``out=`` if it is given.

    :raises ValueError: the shape is another.
    """
    if out is None or isinstance(out, tuple) and all(o is None for o in out):
        return result
    pairs = zip(result, out, strict=True) if isinstance(out, tuple) else [(result, out)]
    for made, target in pairs:
        if target is not None and broadcast(made, target) != target.shape:
            raise ValueError(f"non-broadcastable output operand with shape {target.shape}: it takes {made.shape}")
    return out


def _products(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a ufunc with a signature: of ``matmul`` and its kin."""
    a, b = inputs[:2] if len(inputs) > 1 else (*inputs, None)
    if ufunc.__name__ not in ("matmul", "vecdot", "matvec", "vecmat") or b is None:
        return small(ufunc, inputs, kwargs)
    x, y = shape_of(a), shape_of(b)
    x_core = x[-2:] if ufunc.__name__ in ("matmul", "matvec") else x[-1:]
    y_core = y[-1:] if ufunc.__name__ in ("vecdot", "matvec") else y[-2:]
    inner = y_core[0] if len(y_core) == 1 or ufunc.__name__ != "vecdot" else y_core[-1]
    if not x or not y or x_core[-1] != inner:
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
    return FUNCTIONS.get(path.removeprefix("lib.stride_tricks.").removeprefix("lib._stride_tricks_impl."), small)(
        function, args, kwargs
    )


def named(function: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the arguments by their names."""
    return inspect.signature(function).bind(*args, **kwargs).arguments


@rule(
    "broadcast_to broadcast_arrays diagonal expand_dims flip flipud fliplr moveaxis rollaxis rot90 split array_split "
    "hsplit vsplit dsplit atleast_1d atleast_2d atleast_3d squeeze swapaxes transpose matrix_transpose "
    "sliding_window_view"
)
def views(function: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's views, which read nothing."""
    owner = next((a for a in args if isinstance(a, MetaArray)), None)

    def inside(value: Any) -> Any:
        return value._v if isinstance(value, MetaArray) else value

    def view(result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            return type(result)(map(view, result))
        return MetaArray(result, owner) if isinstance(result, np.ndarray) else result

    return view(function(*map(inside, args), **{name: inside(value) for name, value in kwargs.items()}))


@rule("shape ndim size iscomplexobj isrealobj")
def properties(function: Any, args: Any, kwargs: Any) -> Any:
    """Answers from the shape and the dtype."""
    return function(args[0]._v, *args[1:], **kwargs)


@rule("real imag")
def parts(function: Any, args: Any, kwargs: Any) -> Any:
    """The real and the imaginary part."""
    return getattr(args[0], function.__name__)


@rule("result_type can_cast")
def kinds(function: Any, args: Any, kwargs: Any) -> Any:
    """The dtype of a result."""
    return function(*(a.dtype if isinstance(a, MetaArray) else a for a in args), **kwargs)


@rule("may_share_memory shares_memory")
def together(function: Any, args: Any, kwargs: Any) -> Any:
    """Whether two arrays would share memory."""
    first, second = (getattr(a, "base", None) or a for a in args[:2])
    return first is second


@rule("copyto putmask place put put_along_axis fill_diagonal")
def nothing(function: Any, args: Any, kwargs: Any) -> None:
    """What only writes."""


@rule("reshape")
def reshape(function: Any, args: Any, kwargs: Any) -> Any:
    """A view, or a new array."""
    given = named(function, args, kwargs)
    wanted = given.get("shape", given.get("newshape"))
    return args[0].reshape(wanted if isinstance(wanted, (tuple, list)) else (wanted,))


@rule("ravel")
def ravel(function: Any, args: Any, kwargs: Any) -> Any:
    """A view, or a new array."""
    return args[0].reshape((-1,))


def reshaped(a: MetaArray, shape: Ints) -> MetaArray:
    """Return a view of another shape, or a new array if the memory does not allow it."""
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        if not rest or a.size % rest or shape.count(-1) > 1:
            raise ValueError(f"cannot reshape array of size {a.size} into shape {shape}")
        shape = tuple(a.size // rest if n == -1 else n for n in shape)
    if math.prod(shape) != a.size:
        raise ValueError(f"cannot reshape array of size {a.size} into shape {shape}")
    row_major = a._v.flags.c_contiguous
    steps = bare(shape, a.dtype).strides if row_major else _steps(a.shape, a.strides, shape)
    return blank(shape, a.dtype) if steps is None else strided(a, shape, steps, 0)


def _steps(old: Ints, strides: Ints, shape: Ints) -> Ints | None:
    """Return the strides of the same memory in another shape; None if there are none."""
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
    start = as_strided(a._v, (2,), (shift,))[1:]
    return MetaArray(as_strided(start, shape, strides), a)


@rule("sum prod mean max min amax amin any all std var argmax argmin nansum nanmean count_nonzero median ptp")
def reductions(function: Any, args: Any, kwargs: Any) -> Any:
    """What is reduced along dimensions."""
    given = named(function, args, kwargs)
    axis, out = given.get("axis"), given.pop("out", None)
    result = grown(run(function, (), given), reduced(args[0].shape, axis, given.get("keepdims")))
    result.truth = function is np.all
    return _written(result, out)


@rule(
    "where clip isclose nan_to_num angle sinc i0 round around real_if_close copysign isin isneginf isposinf roll sort "
    "triu tril nancumsum gradient unwrap partition argpartition argsort"
)
def elementwise(function: Any, args: Any, kwargs: Any) -> Any:
    """What has the common shape of its operands."""
    name = function.__name__
    out = kwargs.pop("out", None)
    if name == "where" and len(args) == 1:
        return refuse(function, args, kwargs)
    operands = args if name in ("where", "clip", "isclose", "copysign") else args[:1]
    if name in ("partition", "argpartition"):  # the place lies outside of the twin
        args, kwargs = (args[0], 0), {key: value for key, value in kwargs.items() if key != "kth"}
    shape = broadcast(*(value for value in operands if value is not None))
    if name in ("sort", "argsort", "partition", "argpartition") and (*args[1:2], kwargs.get("axis", 0))[0] is None:
        shape = (math.prod(shape),)
    return _written(grown(run(function, args, kwargs), shape), out)


@rule("cumsum cumprod")
def scans(function: Any, args: Any, kwargs: Any) -> Any:
    """What has the shape of its operand, or its size."""
    given = named(function, args, kwargs)
    out = given.pop("out", None)
    shape = args[0].shape if given.get("axis") is not None else (args[0].size,)
    return _written(grown(run(function, (), given), shape), out)


@rule("zeros_like ones_like empty_like full_like")
def alike(function: Any, args: Any, kwargs: Any) -> Any:
    """New arrays like another."""
    given = named(function, args, kwargs)
    a = args[0]
    kind, shape, order = given.get("dtype") or a.dtype, given.get("shape"), given.get("order", "K")
    return blank(shape, kind) if shape is not None else like(a, kind, order)


@rule("concatenate stack hstack vstack dstack column_stack append")
def joined(function: Any, args: Any, kwargs: Any) -> Any:
    """Several arrays as one."""
    name, out = function.__name__, kwargs.get("out")
    parts = [a if isinstance(a, MetaArray) else shown(a) for a in (args[0] if name != "append" else args[:2])]
    if name not in ("concatenate", "stack"):
        return small(function, args, kwargs)
    axis = args[1] if len(args) > 1 else kwargs.get("axis", 0)
    kind = kwargs.get("dtype") or np.result_type(*(a.dtype for a in parts))
    shapes = [a.shape for a in parts]
    if name == "stack":
        if len(set(shapes)) > 1:
            raise ValueError("all input arrays must have the same shape")
        d = axis % (len(shapes[0]) + 1)
        return _written(blank((*shapes[0][:d], len(parts), *shapes[0][d:]), kind), out)
    if axis is None:
        return _written(blank((sum(a.size for a in parts),), kind), out)
    function([np.empty(tuple(0 if d == axis % len(s) else n for d, n in enumerate(s)), bool) for s in shapes], axis)
    d = axis % len(shapes[0])
    length = sum(s[d] for s in shapes)
    return _written(blank((*shapes[0][:d], length, *shapes[0][d + 1 :]), kind), out)


@rule("take")
def take(function: Any, args: Any, kwargs: Any) -> Any:
    """Elements at indices along a dimension."""
    given = named(function, args, kwargs)
    a, axis, inner = args[0], given.get("axis"), shape_of(given["indices"])
    shape = inner if axis is None else (*a.shape[: axis % a.ndim], *inner, *a.shape[axis % a.ndim + 1 :])
    return _written(blank(shape, a.dtype), given.get("out"))


@rule("take_along_axis")
def take_along(function: Any, args: Any, kwargs: Any) -> Any:
    """Elements at indices, for each row of its own."""
    given = named(function, args, kwargs)
    a, indices, axis = given["arr"], given["indices"], given.get("axis", -1)
    if axis is None:
        return blank(indices.shape, a.dtype)
    d = axis % a.ndim
    around = [n for i, n in enumerate(a.shape) if i != d], [n for i, n in enumerate(indices.shape) if i != d]
    rest = np.broadcast_shapes(*map(tuple, around))
    return blank((*rest[:d], indices.shape[d], *rest[d:]), a.dtype)


@rule("repeat")
def repeat(function: Any, args: Any, kwargs: Any) -> Any:
    """Elements several times, each as often as the other."""
    given = named(function, args, kwargs)
    a, times, axis = given["a"], given["repeats"], given.get("axis")
    if isinstance(times, MetaArray):
        return refuse(function, args, kwargs)
    if axis is None:
        a, axis = a.reshape((-1,)), 0
    d = axis % a.ndim
    length = int(np.sum(np.broadcast_to(times, (a.shape[d],)))) if np.ndim(times) else a.shape[d] * int(times)
    return blank((*a.shape[:d], length, *a.shape[d + 1 :]), a.dtype)


@rule("tile")
def tile(function: Any, args: Any, kwargs: Any) -> Any:
    """An array beside itself."""
    given = named(function, args, kwargs)
    times = tuple(np.atleast_1d(given["reps"]).tolist())
    shape = given["A"].shape
    ndim = max(len(times), len(shape))
    times, shape = (1,) * (ndim - len(times)) + times, (1,) * (ndim - len(shape)) + shape
    return blank(tuple(n * t for n, t in zip(shape, times, strict=True)), given["A"].dtype)


@rule("searchsorted digitize")
def placed(function: Any, args: Any, kwargs: Any) -> Any:
    """Places of values in an order."""
    return blank(shape_of(args[function.__name__ == "searchsorted"]), np.int64)


@rule("dot")
def dot(function: Any, args: Any, kwargs: Any) -> Any:
    """The product of vectors and matrices."""
    a, b = args[:2]
    if shape_of(a) and shape_of(b) and max(len(shape_of(a)), len(shape_of(b))) <= 2:
        return _written(_products(np.matmul, (a, b), {}), kwargs.get("out", (*args[2:], None)[0]))
    return small(function, args, kwargs)


@rule("diff")
def diff(function: Any, args: Any, kwargs: Any) -> Any:
    """Differences of neighbors."""
    given = named(function, args, kwargs)
    a, times, axis = given["a"], given.get("n", 1), given.get("axis", -1)
    if given.keys() & {"prepend", "append"}:
        return small(function, args, kwargs)
    kind = run(function, (), {**given, "n": min(times, 1)}).dtype
    d = axis % a.ndim
    return blank((*a.shape[:d], max(a.shape[d] - times, 0), *a.shape[d + 1 :]), kind)


@rule("nonzero flatnonzero argwhere unique unique_values unique_counts unique_inverse histogram compress extract")
def refuse(function: Any, args: Any, kwargs: Any) -> Any:
    """Raise: the shape depends on values.

    :raises NotImplementedError: always.
    """
    raise NotImplementedError(
        f"aten::{function.__name__}: attempted to run this operator with Meta tensors, but the shape of its result "
        "depends on values, which these do not have"
    )


@rule("bincount")
def counted(function: Any, args: Any, kwargs: Any) -> Any:
    """Counts, as many as are asked for at least."""
    given = named(function, args, kwargs)
    if not given.get("minlength"):
        return refuse(function, args, kwargs)
    return blank((given["minlength"],), np.int64 if given.get("weights") is None else np.float64)


@rule("allclose array_equal array_equiv array2string array_repr array_str")
def valued(function: Any, args: Any, kwargs: Any) -> Any:
    """Raise: the answer depends on values.

    :raises RuntimeError: always.
    """
    args[0].item()


MATRICES = {
    "inv": "nn>nn", "cholesky": "nn>nn", "det": "nn>", "slogdet": "nn>,", "eigvals": "nn>n", "eigvalsh": "nn>n",
    "eig": "nn>n,nn", "eigh": "nn>n,nn", "qr": "mn>mk,kn", "svd": "mn>mk,k,kn", "pinv": "mn>nm",
}  # fmt: skip
"""Functions of matrices: the shapes of the matrix and of the results; k is the smaller of m and n."""


@rule(" ".join(f"linalg.{name}" for name in MATRICES))
def matrices(function: Any, args: Any, kwargs: Any) -> Any:
    """Functions of matrices, asked by a unit matrix of two rows."""
    given = named(function, args, kwargs)
    a, *rest = args
    text = MATRICES[function.__name__]
    if function.__name__ == "qr":
        text = {"complete": "mn>mm,mn", "r": "mn>kn"}.get(given.get("mode", "reduced"), text)
    elif function.__name__ == "svd":
        full, both = given.get("full_matrices", True), given.get("compute_uv", True)
        text = "mn>k" if not both else "mn>mm,k,nn" if full else text
    before, after = text.split(">")
    if a.ndim < 2 or before == "nn" and a.shape[-1] != a.shape[-2]:
        return small(function, args, kwargs)  # NumPy's error
    asked = function(np.eye(2, dtype=a.dtype), *rest, **kwargs)
    sizes = {"m": a.shape[-2], "n": a.shape[-1], "k": min(a.shape[-2:])}
    results = asked if isinstance(asked, tuple) else (asked,)
    made = [
        blank((*a.shape[:-2], *(sizes[letter] for letter in letters)), result.dtype)
        for result, letters in zip(results, after.split(","), strict=True)
    ]
    if not isinstance(asked, tuple):
        return made[0]
    return type(asked)(*made) if hasattr(asked, "_fields") else tuple(made)


@rule("linalg.solve")
def solve(function: Any, args: Any, kwargs: Any) -> Any:
    """Solutions of systems."""
    a, b = args
    if b.ndim < 2 or a.ndim < 2:
        return small(function, args, kwargs)
    product = _products(np.matmul, (a, b), {})
    return blank(product.shape, function(np.eye(2, dtype=a.dtype), np.eye(2, dtype=b.dtype)).dtype)


@rule(" ".join(f"fft.{kind}{n}" for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for n in ("", "2", "n")))
def transforms(function: Any, args: Any, kwargs: Any) -> Any:
    """Fourier transforms."""
    given = named(function, args, kwargs)
    a = next(iter(given.values()))
    name = function.__name__
    several = name[-1] in "2n"
    sizes = given.get("s" if several else "n", given.get("shape"))
    axes = given.get("axes" if several else "axis", (-2, -1) if name[-1] == "2" else None if several else -1)
    if axes is None:
        axes = range(a.ndim) if sizes is None else range(a.ndim - len(sizes), a.ndim)
    axes = [d % a.ndim for d in (axes if several else (axes,))]
    shape = list(a.shape)
    for d, n in zip(axes, [None] * len(axes) if sizes is None else sizes if several else [sizes], strict=True):
        shape[d] = shape[d] if n is None else n
    last, given_last = axes[-1], sizes is not None and (sizes[-1] if several else sizes) is not None
    bare_name = name.rstrip("2n")
    if bare_name in ("rfft", "ihfft"):
        shape[last] = shape[last] // 2 + 1
    elif bare_name in ("irfft", "hfft") and not given_last:
        shape[last] = 2 * (a.shape[last] - 1)
    single = a.dtype.char in "feFE?" and a.dtype.itemsize <= (8 if a.dtype.kind == "c" else 4) and a.dtype.kind in "fc"
    real = bare_name in ("irfft", "hfft")
    kind = ("f4" if single else "f8") if real else "c8" if single else "c16"
    return blank(tuple(shape), kind)


# -- indexing --------------------------------------------------------------------------------------------------------


def _is_advanced(item: Any) -> bool:
    return isinstance(item, (MetaArray, np.ndarray, list)) or isinstance(item, bool)


def item_of(a: MetaArray, key: Any) -> MetaArray:
    """Return the elements at an index: a view, or a new array for arrays of indices.

    :raises NotImplementedError: the index is a mask without values.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    if not any(_is_advanced(item) for item in items):
        if not any(item is Ellipsis for item in items):
            items.append(Ellipsis)  # so that NumPy makes a view even of one element
        return MetaArray(a._v[tuple(items)], a)
    found: list[Any] = []
    for item in items:
        if isinstance(item, MetaArray) and item.dtype.kind == "b":
            refuse(np.nonzero, (item,), {})
        if isinstance(item, (bool, list)):
            item = np.asarray(item)
        if isinstance(item, np.ndarray) and item.dtype.kind == "b":
            found.extend(item.nonzero() if item.ndim else [np.zeros(int(item), np.int64)])
        else:
            found.append(item)
    if not any(item is Ellipsis for item in found):
        found.append(Ellipsis)
    basic = [slice(None) if _is_advanced(item) or isinstance(item, (int, np.integer)) else item for item in found]
    view = a._v[tuple(basic)]
    missing = a.ndim - sum(item is not None and item is not Ellipsis for item in basic)
    dim, taken, shapes = 0, [], []
    for item in found:
        if _is_advanced(item) or isinstance(item, (int, np.integer)):
            taken.append(dim)
            shapes.append(np.shape(item._v) if isinstance(item, MetaArray) else np.shape(item))
            if not shapes[-1] and isinstance(item, (int, np.integer)) and not -view.shape[dim] <= item < view.shape[dim]:
                raise IndexError(f"index {item} is out of bounds for axis {dim} with size {view.shape[dim]}")
        dim += missing if item is Ellipsis else 1
    try:
        inner = np.broadcast_shapes(*shapes)
    except ValueError:
        texts = " ".join(map(str, shapes))
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {texts}") from None
    rest = [n for d, n in enumerate(view.shape) if d not in taken]
    together = taken == list(range(taken[0], taken[-1] + 1))
    first = taken[0] if together else 0
    return blank((*rest[:first], *inner, *rest[first:]), a.dtype)


def check_write(a: MetaArray, key: Any, value: Any) -> None:
    """Check that a value can be written at an index.

    :raises ValueError: the shapes do not fit.
    """
    items = key if isinstance(key, tuple) else (key,)
    if any(isinstance(item, MetaArray) and item.dtype.kind == "b" for item in items):
        return
    target, given = item_of(a, key).shape, shape_of(value)
    while len(given) > len(target) and given[0] == 1:
        given = given[1:]
    if given and np.broadcast_shapes(target, given) != target:
        raise ValueError(f"could not broadcast input array from shape {given} into shape {target}")


# -- what makes arrays -----------------------------------------------------------------------------------------------


def _arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> MetaArray:
    if stop is None:
        start, stop = 0, start
    kind = np.dtype(dtype) if dtype is not None else np.result_type(start, stop, step)
    return blank((max(math.ceil((stop - start) / step), 0),), kind)


class _Add:
    """``add``, with the method that adds at indices."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return np.add(*args, **kwargs)

    @staticmethod
    def at(array: Any, key: Any, values: Any) -> None:
        """Do nothing."""


class _Namespace:
    """What stands for the module ``numpy``."""

    ndarray = MetaArray
    add = _Add()
    lib = SimpleNamespace(
        stride_tricks=SimpleNamespace(as_strided=lambda x, shape, strides: strided(x, tuple(shape), tuple(strides), 0))
    )
    arange = staticmethod(_arange)

    @staticmethod
    def asarray(values: Any, dtype: Any = None, copy: Any = None) -> MetaArray:
        """Return an array of the shape of values on the host."""
        return shown(values, dtype)

    @staticmethod
    def array(values: Any, dtype: Any = None, copy: Any = True) -> MetaArray:
        """Return a new array of the shape of values on the host."""
        result = shown(values, dtype)
        return like(result, result.dtype, "K") if result is values else result

    ascontiguousarray = asarray

    @staticmethod
    def empty(shape: Any, dtype: Any = np.float64, order: str = "C") -> MetaArray:
        """Return a new array."""
        return blank(shape, dtype)

    zeros = ones = empty

    @staticmethod
    def full(shape: Any, fill_value: Any, dtype: Any = None) -> MetaArray:
        """Return a new array."""
        return blank(shape, np.asarray(fill_value).dtype if dtype is None else dtype)

    @staticmethod
    def eye(n: int, m: int | None = None, k: int = 0, dtype: Any = float) -> MetaArray:
        """Return a new matrix."""
        return blank((n, n if m is None else m), dtype)

    tri = eye

    @staticmethod
    def identity(n: int, dtype: Any = float) -> MetaArray:
        """Return a new square matrix."""
        return blank((n, n), dtype)

    @staticmethod
    def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> MetaArray:
        """Return a new array of one dimension."""
        return blank((num,), np.result_type(start, stop, np.float64) if dtype is None else dtype)

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        if not callable(function) or isinstance(function, type):
            return function
        return lambda *args, **kwargs: wrapped(function(*args, **kwargs))


NAMESPACE = _Namespace()


class Scipy:
    """What stands for a module of SciPy: its elementwise functions of twins, its others of small arrays."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name in ("get_lapack_funcs", "get_blas_funcs"):  # these take NumPy's arrays only
            raise AttributeError(name)
        function = getattr(late(f"scipy.{self._name}"), name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if isinstance(function, np.ufunc):
                out = kwargs.pop("out", None)
                return _written(grown(run(function, args, kwargs), broadcast(*args)), out)
            if self._name == "fft" and f"fft.{name}" in FUNCTIONS:
                return transforms(function, args, kwargs)
            return small(function, args, kwargs)

        return call
