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


def _copies(name: str, view: Callable[..., Any]) -> Any:
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
    return composite(method=name == "narrow_copy", out=True)(copy)


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


_VIEWS: dict[str, Callable[..., Any]] = {"expand": _expand, "permute": _permute, "slice": _slice, "view": _view_as}
_VIEWS |= {"alias": lambda input: input, "detach": lambda input: input.detach()}
_AS_THEY_ARE = (
    as_strided, view_as_complex, view_as_real, joining.unbind, shapes.squeeze, shapes.unsqueeze, split.split,
    slicing.diagonal, slicing.narrow, slicing.select, slicing.unfold, split.split_with_sizes, transpose.t,
    transpose.transpose,
)  # fmt: skip
for _name, _view in {**_VIEWS, **{view.__name__: view for view in _AS_THEY_ARE}}.items():
    globals()[f"{_name}_copy"] = _copies(f"{_name}_copy", _view)
_view_as.__qualname__ = "view_copy"
