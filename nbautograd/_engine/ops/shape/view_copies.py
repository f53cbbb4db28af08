"""Views as copies: ``view_copy``, ``select_copy`` and the like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.memory_format import contiguous_format
from nbautograd._engine.compiler.op import composite
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.elementwise.complex import view_as_complex, view_as_real
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.shape import joining, shape as shapes, slicing, split, transpose
from nbautograd._engine.ops.shape.as_strided import as_strided
from nbautograd._engine.ops.shape.broadcasting import expand

__all__ = [
    "alias_copy",
    "as_strided_copy",
    "detach_copy",
    "diagonal_copy",
    "expand_copy",
    "narrow_copy",
    "permute_copy",
    "select_copy",
    "slice_copy",
    "split_copy",
    "split_with_sizes_copy",
    "squeeze_copy",
    "t_copy",
    "transpose_copy",
    "unbind_copy",
    "unfold_copy",
    "unsqueeze_copy",
    "view_as_complex_copy",
    "view_as_real_copy",
    "view_copy",
]


def _copies(name: str, view: Callable[..., Any], method: bool = False) -> Any:
    """Declare ``name``: the result of ``view`` as a copy."""

    def copy(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        check_tensors(name, input=input)
        result = view(input, *args, **kwargs)
        if isinstance(result, tuple):
            return tuple(shapes.clone(part, memory_format=contiguous_format) for part in result)
        return shapes.clone(result, memory_format=contiguous_format)

    copy.__name__ = copy.__qualname__ = name
    if view.__annotations__:
        copy.__wrapped__ = view  # whose arguments are checked
    copy.__doc__ = f"The result of ``{name.removesuffix('_copy')}`` as a copy, not a view."
    return composite(method=method, out=True)(copy)


def _slice(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return slicing.slice_(input, shapes.dimension(dim, input._a.ndim), start, end, step)


def _view_as(input: Tensor, size: Any = None, *, dtype: dtypes.dtype | None = None) -> Tensor:
    if isinstance(size, (tuple, list)):
        return input.reshape(size)  # which copies if no such view exists
    if size is dtype is None:
        raise TypeError("view_copy(): argument 'size' must be tuple of ints, not NoneType")
    return input.view(dtype=dtype if size is None else size)


def _expand(input: Tensor, size: Sequence[int], *, implicit: bool = False) -> Tensor:
    return expand(input, size)


def _permute(input: Tensor, dims: Sequence[int]) -> Tensor:
    return transpose.permute(input, dims)


def _alias(input: Tensor) -> Tensor:
    if input.is_contiguous():
        return shapes.view(input, *input._a.shape)
    return transpose.permute(input, *range(input.ndim))


alias_copy = _copies("alias_copy", lambda input: input)
as_strided_copy = _copies("as_strided_copy", as_strided)
detach_copy = _copies("detach_copy", lambda input: input.detach())
diagonal_copy = _copies("diagonal_copy", slicing.diagonal)
expand_copy = _copies("expand_copy", _expand)
narrow_copy = _copies("narrow_copy", slicing.narrow, method=True)
permute_copy = _copies("permute_copy", _permute)
select_copy = _copies("select_copy", slicing.select)
slice_copy = _copies("slice_copy", _slice)
split_copy = _copies("split_copy", split.split)
split_with_sizes_copy = _copies("split_with_sizes_copy", split.split_with_sizes)
squeeze_copy = _copies("squeeze_copy", shapes.squeeze)
t_copy = _copies("t_copy", transpose.t)
transpose_copy = _copies("transpose_copy", transpose.transpose)
unbind_copy = _copies("unbind_copy", joining.unbind)
unfold_copy = _copies("unfold_copy", slicing.unfold)
unsqueeze_copy = _copies("unsqueeze_copy", shapes.unsqueeze)
view_as_complex_copy = _copies("view_as_complex_copy", view_as_complex)
view_as_real_copy = _copies("view_as_real_copy", view_as_real)
view_copy = _copies("view_copy", _view_as)
_view_as.__qualname__ = "view_copy"
