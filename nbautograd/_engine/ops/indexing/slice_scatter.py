"""Copies with the elements of a view replaced: ``select_scatter``, ``slice_scatter``, ``diagonal_scatter``, ..."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.arrays import strides as stride_tools
from nbautograd._engine.arrays.size import dimension, sizes
from nbautograd._engine.arrays.strides import Geometry, restride
from nbautograd._engine.compiler.op import NATIVE, composite, no_method, op
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.indexing.indexing import own
from nbautograd._engine.ops.queries import example
from nbautograd._engine.ops.shape.as_strided import check_inside
from nbautograd._engine.ops.shape.slicing import as_strided_back, on_diagonal, part, stretch  # noqa: F401 - formulas name some
from nbautograd.errors import warn


def _written(input: Any, view: Any, src: Any) -> Any:
    """Return a copy of ``input``, with its strides, in which ``view(copy)`` is replaced by ``src``."""
    strides = stride_tools.strides_of(input)
    if input.flags.c_contiguous or stride_tools.overlaps(input.shape, strides):
        output = own(input)
    else:
        output = stride_tools.empty(input, input.shape, strides)
        output[...] = input
    _overwrite(view(output), src)
    return output


def _overwrite(region: Any, src: Any) -> None:
    if region.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(region.shape)}"
        )
    if src.dtype.kind == "c" != region.dtype.kind:
        warn("Casting complex values to real discards the imaginary part")
        src = src.real
    region[...] = src


@op(
    symbol="select =", real_only=True, half=NATIVE,
    input="select_scatter(g, zeros_of(select(g, dim, index)), dim, index)",
    src="cast_back(select(g, dim, index), src.dtype)",
)  # fmt: skip
@example("zeros(2, 2).select_scatter(torch.ones(2), 0, 1) -> [[0., 0.], [1., 1.]]")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Return a copy of ``input`` with ``copy.select(dim, index)`` replaced by ``src``.

    :raises RuntimeError: ``src`` has another shape.
    """
    d = dimension(dim, input.ndim)
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    if not -input.shape[d] <= index < input.shape[d]:
        raise IndexError(f"select_scatter(): index {index} out of range for dimension {d} with size {input.shape[d]}")
    return _written(input, lambda a: part(a, d, index), src)


@op(
    symbol="slice =", real_only=True, out=True, half=NATIVE,
    input="slice_scatter(g, zeros_of(slice_(g, dim % input.ndim, start, end, step)), dim, start, end, step)",
    src="cast_back(slice_(g, dim % input.ndim, start, end, step), src.dtype)",
)  # fmt: skip
@example("zeros(4).slice_scatter(torch.ones(2), start=1, end=3) -> [0., 1., 1., 0.]")
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Return a copy of ``input`` with the slice ``start:end:step`` of a dimension replaced by ``src``.

    :raises RuntimeError: ``src`` has another shape.
    """
    d = dimension(dim, input.ndim)
    if not input.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError(f"slice step must be positive, got {step}")
    first, last, by = slice(start, end, step).indices(input.shape[d])
    return _written(input, lambda a: stretch(a, d, first, last, by), src)


@op(
    symbol="diagonal =",
    half=NATIVE,
    input="diagonal_scatter(g, zeros_of(diagonal(g, offset, dim1, dim2)), offset, dim1, dim2)",
    src="cast_back(diagonal(g, offset, dim1, dim2), src.dtype)",
)
@example("zeros(2, 2).diagonal_scatter(torch.ones(2)) -> [[1., 0.], [0., 1.]]")
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a copy of ``input`` with ``copy.diagonal(offset, dim1, dim2)`` replaced by ``src``.

    :raises RuntimeError: ``src`` has another shape.
    """
    return _written(input, lambda a: on_diagonal(a, offset, dim1, dim2), src)


@composite()
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Return a copy of ``input`` with ``copy.as_strided(size, stride, storage_offset)`` replaced by ``src``.

    :param stride: the strides, counted in elements.
    :param storage_offset: the index of the first element in the storage; that of ``input`` if None.
    :raises RuntimeError: ``src`` has another shape, or an element would be outside the storage.

    >>> torch.as_strided_scatter(torch.zeros(3), torch.ones(2), (2,), (2,))
    tensor([1., 0., 1.])
    """
    if 0 in input._a.strides:
        input = input.contiguous()
    home = stride_tools.of(input._a)
    shape, strides = sizes((tuple(size),), "size"), sizes((tuple(stride),), "stride")
    if len(shape) != len(strides):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(strides)} for {list(shape)}")
    view = Geometry(shape, strides, home.offset if storage_offset is None else storage_offset)
    check_inside(input._a, view)
    return strided_scatter(input, src, view, home, stride_tools.length_of(input._a))


@no_method(
    node="AsStridedScatterBackward0", symbol="strides =", half=NATIVE,
    input="strided_scatter(g, zeros_of(strided_gather(g, view, home, length)), view, home, length)",
    src="cast_back(strided_gather(g, view, home, length), src.dtype)",
)  # fmt: skip
def strided_scatter(input: Tensor, src: Tensor, view: Any, home: Any, length: int) -> Tensor:
    """Return a copy of ``input``, which has the layout ``home``, with the elements of the strided ``view`` replaced."""
    result = stride_tools.laid_out(input, home, length)
    _overwrite(restride(result, view.shape, view.strides, view.offset - home.offset), src)
    return result


@no_method(
    node="AsStridedBackward0_copy",
    symbol="strides",
    input="as_strided_back(g, home, view.shape, view.strides, view.offset)",
)
def strided_gather(input: Tensor, view: Any, home: Any, length: int) -> Tensor:
    """Return a copy of the elements of the strided ``view`` of ``input``, which has the layout ``home``."""
    result = stride_tools.laid_out(input, home, length)
    return restride(result, view.shape, view.strides, view.offset - home.offset).copy()
