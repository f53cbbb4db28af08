"""The rules of shapes of NumPy's functions by name, for arrays without memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.arrays.meta import MetaArray, blank, shown
from nbautograd._engine.arrays.meta_shapes import (
    broadcast,
    grown,
    like,
    named,
    products,
    reduced,
    reject,
    rule,
    run,
    shape_of,
    small,
    written,
)


@rule(
    "broadcast_to broadcast_arrays diagonal expand_dims flip flipud fliplr moveaxis rollaxis rot90 split array_split "
    "hsplit vsplit dsplit atleast_1d atleast_2d atleast_3d squeeze swapaxes transpose matrix_transpose "
    "sliding_window_view"
)
def views(function: Any, args: Any, kwargs: Any) -> Any:
    """Return NumPy's views, which read nothing."""
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
    """Answer from the shape and the dtype."""
    return function(args[0]._v, *args[1:], **kwargs)


@rule("real imag")
def parts(function: Any, args: Any, kwargs: Any) -> Any:
    """Return the real or the imaginary part."""
    return getattr(args[0], function.__name__)


@rule("result_type can_cast")
def kinds(function: Any, args: Any, kwargs: Any) -> Any:
    """Return the dtype of a result."""
    return function(*(a.dtype if isinstance(a, MetaArray) else a for a in args), **kwargs)


@rule("may_share_memory shares_memory")
def together(function: Any, args: Any, kwargs: Any) -> Any:
    """Return whether two arrays would share memory."""
    first, second = (getattr(a, "base", None) or a for a in args[:2])
    return first is second


@rule("copyto putmask place put put_along_axis fill_diagonal")
def nothing(function: Any, args: Any, kwargs: Any) -> None:
    """Do nothing, for functions that only write."""


@rule("reshape")
def reshape(function: Any, args: Any, kwargs: Any) -> Any:
    """Return a view, or a new array."""
    given = named(function, args, kwargs)
    wanted = given.get("shape", given.get("newshape"))
    return args[0].reshape(wanted if isinstance(wanted, (tuple, list)) else (wanted,))


@rule("ravel")
def ravel(function: Any, args: Any, kwargs: Any) -> Any:
    """Return a view, or a new array."""
    return args[0].reshape((-1,))


@rule("sum prod mean max min amax amin any all std var argmax argmin nansum nanmean count_nonzero median ptp")
def reductions(function: Any, args: Any, kwargs: Any) -> Any:
    """Return an array without the reduced dimensions."""
    given = named(function, args, kwargs)
    axis, out = given.get("axis"), given.pop("out", None)
    result = grown(run(function, (), given), reduced(args[0].shape, axis, given.get("keepdims")))
    result.truth = function is np.all
    return written(result, out)


@rule(
    "where clip isclose nan_to_num angle sinc i0 round around real_if_close copysign isin isneginf isposinf roll sort "
    "triu tril nancumsum gradient unwrap partition argpartition argsort"
)
def elementwise(function: Any, args: Any, kwargs: Any) -> Any:
    """Return an array of the operands' common shape."""
    name = function.__name__
    out = kwargs.pop("out", None)
    if name == "where" and len(args) == 1:
        return reject(function, args, kwargs)
    operands = args if name in ("where", "clip", "isclose", "copysign") else args[:1]
    if name in ("partition", "argpartition"):  # the place lies outside of the twin
        args, kwargs = (args[0], 0), {key: value for key, value in kwargs.items() if key != "kth"}
    shape = broadcast(*(value for value in operands if value is not None))
    if name in ("sort", "argsort", "partition", "argpartition") and (*args[1:2], kwargs.get("axis", 0))[0] is None:
        shape = (math.prod(shape),)
    return written(grown(run(function, args, kwargs), shape), out)


@rule("cumsum cumprod")
def scans(function: Any, args: Any, kwargs: Any) -> Any:
    """Return an array of the operand's shape, or of its size."""
    given = named(function, args, kwargs)
    out = given.pop("out", None)
    shape = args[0].shape if given.get("axis") is not None else (args[0].size,)
    return written(grown(run(function, (), given), shape), out)


@rule("zeros_like ones_like empty_like full_like")
def alike(function: Any, args: Any, kwargs: Any) -> Any:
    """Return a new array like another."""
    given = named(function, args, kwargs)
    a = args[0]
    kind, shape, order = given.get("dtype") or a.dtype, given.get("shape"), given.get("order", "K")
    return blank(shape, kind) if shape is not None else like(a, kind, order)


@rule("concatenate stack hstack vstack dstack column_stack append")
def joined(function: Any, args: Any, kwargs: Any) -> Any:
    """Return several arrays as one."""
    name, out = function.__name__, kwargs.get("out")
    parts = [a if isinstance(a, MetaArray) else shown(a) for a in (args[0] if name != "append" else args[:2])]
    if name not in ("concatenate", "stack"):
        return small(function, args, kwargs)
    axis = args[1] if len(args) > 1 else kwargs.get("axis", 0)
    kind = kwargs.get("dtype") or np.result_type(*(a.dtype for a in parts))
    shapes = [a.shape for a in parts]
    if name == "stack":
        shape = _stacked(shapes, axis)
    elif axis is None:
        shape = (sum(a.size for a in parts),)
    else:
        shape = _concatenated(shapes, axis)
    return written(blank(shape, kind), out)


def _stacked(shapes: list[tuple[int, ...]], axis: int) -> tuple[int, ...]:
    """Return the shape of arrays of these shapes along a new dimension."""
    if len(set(shapes)) > 1:
        raise ValueError("all input arrays must have the same shape")
    d = axis % (len(shapes[0]) + 1)
    return (*shapes[0][:d], len(shapes), *shapes[0][d:])


def _concatenated(shapes: list[tuple[int, ...]], axis: int) -> tuple[int, ...]:
    """Return the shape of arrays of these shapes along one dimension; NumPy checks the others."""
    empty = [np.empty(tuple(0 if d == axis % len(s) else n for d, n in enumerate(s)), bool) for s in shapes]
    np.concatenate(empty, axis)
    d = axis % len(shapes[0])
    return (*shapes[0][:d], sum(s[d] for s in shapes), *shapes[0][d + 1 :])


@rule("take")
def take(function: Any, args: Any, kwargs: Any) -> Any:
    """Return elements at indices along a dimension."""
    given = named(function, args, kwargs)
    a, axis, inner = args[0], given.get("axis"), shape_of(given["indices"])
    shape = inner if axis is None else (*a.shape[: axis % a.ndim], *inner, *a.shape[axis % a.ndim + 1 :])
    return written(blank(shape, a.dtype), given.get("out"))


@rule("take_along_axis")
def take_along(function: Any, args: Any, kwargs: Any) -> Any:
    """Return elements at indices, for each row its own."""
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
    """Return each element several times."""
    given = named(function, args, kwargs)
    a, times, axis = given["a"], given["repeats"], given.get("axis")
    if isinstance(times, MetaArray):
        return reject(function, args, kwargs)
    if axis is None:
        a, axis = a.reshape((-1,)), 0
    d = axis % a.ndim
    length = int(np.sum(np.broadcast_to(times, (a.shape[d],)))) if np.ndim(times) else a.shape[d] * int(times)
    return blank((*a.shape[:d], length, *a.shape[d + 1 :]), a.dtype)


@rule("tile")
def tile(function: Any, args: Any, kwargs: Any) -> Any:
    """Return an array beside itself."""
    given = named(function, args, kwargs)
    times = tuple(np.atleast_1d(given["reps"]).tolist())
    shape = given["A"].shape
    ndim = max(len(times), len(shape))
    times, shape = (1,) * (ndim - len(times)) + times, (1,) * (ndim - len(shape)) + shape
    return blank(tuple(n * t for n, t in zip(shape, times, strict=True)), given["A"].dtype)


@rule("searchsorted digitize")
def placed(function: Any, args: Any, kwargs: Any) -> Any:
    """Return the positions of values in an order."""
    return blank(shape_of(args[function.__name__ == "searchsorted"]), np.int64)


@rule("dot")
def dot(function: Any, args: Any, kwargs: Any) -> Any:
    """Return the product of vectors or matrices."""
    a, b = args[:2]
    if shape_of(a) and shape_of(b) and max(len(shape_of(a)), len(shape_of(b))) <= 2:
        return written(products(np.matmul, (a, b), {}), kwargs.get("out", (*args[2:], None)[0]))
    return small(function, args, kwargs)


@rule("diff")
def diff(function: Any, args: Any, kwargs: Any) -> Any:
    """Return the differences of neighbors."""
    given = named(function, args, kwargs)
    a, times, axis = given["a"], given.get("n", 1), given.get("axis", -1)
    if given.keys() & {"prepend", "append"}:
        return small(function, args, kwargs)
    kind = run(function, (), {**given, "n": min(times, 1)}).dtype
    d = axis % a.ndim
    return blank((*a.shape[:d], max(a.shape[d] - times, 0), *a.shape[d + 1 :]), kind)


@rule("bincount")
def counted(function: Any, args: Any, kwargs: Any) -> Any:
    """Return counts, as many as are asked for at least."""
    given = named(function, args, kwargs)
    if not given.get("minlength"):
        return reject(function, args, kwargs)
    return blank((given["minlength"],), np.int64 if given.get("weights") is None else np.float64)


@rule("allclose array_equal array_equiv array2string array_repr array_str")
def valued(function: Any, args: Any, kwargs: Any) -> Any:
    """Raise RuntimeError: the answer depends on values."""
    args[0].item()


MATRICES = {
    "inv": "nn>nn", "cholesky": "nn>nn", "det": "nn>", "slogdet": "nn>,", "eigvals": "nn>n", "eigvalsh": "nn>n",
    "eig": "nn>n,nn", "eigh": "nn>n,nn", "qr": "mn>mk,kn", "svd": "mn>mk,k,kn", "pinv": "mn>nm",
}  # fmt: skip
"""Functions of matrices: the shapes of the matrix and of the results; k is the smaller of m and n."""
QR = {"complete": "mn>mm,mn", "r": "mn>kn"}
SVD = {(True, True): "mn>mm,k,nn", (True, False): "mn>k", (False, False): "mn>k"}
"""The shapes with options: by ``mode`` of ``qr``, and by ``full_matrices`` and ``compute_uv`` of ``svd``."""


@rule(" ".join(f"linalg.{name}" for name in MATRICES))
def matrices(function: Any, args: Any, kwargs: Any) -> Any:
    """Return functions of matrices, with the dtypes of those of a unit matrix."""
    given = named(function, args, kwargs)
    a, *rest = args
    text = MATRICES[function.__name__]
    if function.__name__ == "qr":
        text = QR.get(given.get("mode", "reduced"), text)
    elif function.__name__ == "svd":
        text = SVD.get((given.get("full_matrices", True), given.get("compute_uv", True)), text)
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
    """Return the solutions of systems."""
    a, b = args
    if b.ndim < 2 or a.ndim < 2:
        return small(function, args, kwargs)
    product = products(np.matmul, (a, b), {})
    return blank(product.shape, function(np.eye(2, dtype=a.dtype), np.eye(2, dtype=b.dtype)).dtype)


@rule(" ".join(f"fft.{kind}{n}" for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for n in ("", "2", "n")))
def transforms(function: Any, args: Any, kwargs: Any) -> Any:
    """Return Fourier transforms."""
    given = named(function, args, kwargs)
    a = next(iter(given.values()))
    name = function.__name__
    sizes, axes = _sizes_and_axes(name, given, a.ndim)
    shape = list(a.shape)
    for d, n in zip(axes, sizes, strict=True):
        shape[d] = shape[d] if n is None else n
    last, given_last = axes[-1], sizes[-1] is not None
    bare_name = name.rstrip("2n")
    if bare_name in ("rfft", "ihfft"):
        shape[last] = shape[last] // 2 + 1
    elif bare_name in ("irfft", "hfft") and not given_last:
        shape[last] = 2 * (a.shape[last] - 1)
    size = 4 if a.dtype.char in "efF" else 8
    return blank(tuple(shape), f"f{size}" if bare_name in ("irfft", "hfft") else f"c{2 * size}")


def _sizes_and_axes(name: str, given: dict[str, Any], ndim: int) -> tuple[Any, list[int]]:
    """Return the sizes of a Fourier transform, None for those of the array, and its dimensions."""
    if name[-1] not in "2n":
        return [given.get("n", given.get("shape"))], [given.get("axis", -1) % ndim]
    sizes = given.get("s", given.get("shape"))
    axes = given.get("axes", (-2, -1) if name[-1] == "2" else None)
    if axes is None:
        axes = range(0 if sizes is None else ndim - len(sizes), ndim)
    axes = [d % ndim for d in axes]
    return [None] * len(axes) if sizes is None else sizes, axes
