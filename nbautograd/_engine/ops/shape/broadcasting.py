"""Broadcasting: ``expand``, ``broadcast_to``, ``broadcast_tensors``, ``broadcast_shapes``, ``atleast_1d``, ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.arrays.strides import restride, strides_of
from nbautograd._engine.compiler.op import OPS, VIEW, alias, composite, op, with_argument_errors
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.shape import reshape, unsqueeze
from nbautograd._names.docstrings import described
from nbautograd.errors import ShapeError, kind_of

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes", "broadcast_tensors", "broadcast_to"]


@op(symbol="expand", kind=VIEW, input="sum_to(g, input.shape)")
def expand(input: Tensor, *size: int) -> Tensor:
    """Return a view with dimensions of size 1 expanded to a larger size, and new dimensions in front.

    :param size: the new shape; -1 keeps a size.
    :raises RuntimeError: a size other than 1 would change, or there are too few sizes.

    >>> torch.tensor([[1], [2]]).expand(-1, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    have = input.shape
    if size == have:
        return input[...]
    shape = expanded(have, size)
    strides, extra = strides_of(input), len(shape) - len(have)
    results: list[int] = []
    for d in range(len(shape) - 1, -1, -1):
        n = have[d - extra] if d >= extra else 1
        step = strides[d - extra] if d >= extra else shape[d + 1] * results[-1] if results else 1
        results.append(step if n == shape[d] else 0)
    return restride(input, shape, tuple(results[::-1]))


temporarily_expanded = OPS["expand"].temporary_view
"""``expand`` for a single use inside an operation."""


def expanded(have: tuple[int, ...], want: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of ``expand``'s result, with -1 replaced."""
    extra = len(want) - len(have)
    if extra < 0:
        raise ShapeError(
            f"expand(the tensor of shape {list(have)}, size={list(want)}): the number of sizes provided "
            f"({len(want)}) must be greater or equal to the number of dimensions in the tensor ({len(have)})"
        )
    shape = tuple(have[d - extra] if n == -1 and d >= extra else n for d, n in enumerate(want))
    for d, n in enumerate(shape):
        if n < 0:
            raise ShapeError(
                f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {d}"
            )
        if d >= extra and have[d - extra] not in (1, n):
            raise ShapeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have[d - extra]}) at "
                f"non-singleton dimension {d}.  Target sizes: {list(want)}.  Tensor sizes: {list(have)}"
            )
    return shape


@composite()
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """Return a view of the tensor broadcast to ``size``.

    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(input, size)


alias(broadcast_to=expand)


@composite()
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Return a view of the tensor expanded to the shape of ``other``.

    >>> torch.ones(1).expand_as(torch.zeros(2))
    tensor([1., 1.])
    """
    return expand(input, other._a.shape)


@described
def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """Return the shape to which tensors of the given shapes broadcast.

    :raises RuntimeError: they do not broadcast.
    :raises ValueError: a size is negative.

    >>> torch.broadcast_shapes((2,), (3, 1), 1)
    torch.Size([3, 2])
    """
    results: list[int] = []  # from the last dimension
    for given in shapes:
        if not isinstance(given, (int, tuple, list, str, type(None))):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {given}")
        shape = (given,) if isinstance(given, int) else tuple(given or ())
        results += [1] * (len(shape) - len(results))
        for i, n in enumerate(reversed(shape)):
            if n != 1 and results[i] not in (1, n):
                raise ShapeError(
                    f"broadcast_shapes(): Attempting to broadcast a dimension of length {n} at {-1 - i}, where "
                    f"another shape has {results[i]}: {', '.join(map(str, shapes))}"
                )
            if n < 0:
                raise ValueError(f"Attempting to broadcast a dimension with negative length: {n} in {shape}")
            results[i] = n if results[i] == 1 else results[i]
    return Size(reversed(results))


@with_argument_errors
@described
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Return the tensors broadcast to a common shape: views, or a tensor itself where it has that shape.

    :raises RuntimeError: they do not broadcast.

    >>> torch.broadcast_tensors(torch.tensor([1, 2]), torch.tensor([[3]]))
    (tensor([[1, 2]]), tensor([[3, 3]]))
    """
    operands = several(tensors)
    shape = joint_shape([t._a.shape for t in operands])
    return tuple(t if t._a.shape == shape else expand(t, *shape) for t in operands)


def joint_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the common shape to which shapes broadcast."""
    results: list[int] = []
    for number, shape in enumerate(shapes):
        results = [1] * (len(shape) - len(results)) + results
        for i in range(1, len(shape) + 1):
            if shape[-i] != 1 and results[-i] not in (1, shape[-i]):
                raise ShapeError(
                    f"The size of tensor a ({results[-i]}) must match the size of tensor b ({shape[-i]}) at "
                    f"non-singleton dimension {len(results) - i} (tensor {number} of shapes {list(map(list, shapes))})"
                )
            results[-i] = shape[-i] if results[-i] == 1 else results[-i]
    return tuple(results)


def several(tensors: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Return the tensors of ``*tensors``, which may be one sequence."""
    operands = tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    for i, t in enumerate(operands):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {kind_of(t)}")
    return operands


def _atleast(one: Any) -> Any:
    """Extend a function of one tensor to several, for which it returns a tuple."""

    def public(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return one(tensors[0])
        return tuple(one(t) for t in several(tensors))

    public.__name__ = public.__qualname__ = one.__name__
    public.__doc__, public.__module__ = one.__doc__, one.__module__
    return described(public)


@_atleast
def atleast_1d(t: Tensor) -> Tensor:
    """Return a view of the tensor, or of each of several, with at least one dimension.

    >>> torch.atleast_1d(torch.tensor(1))
    tensor([1])
    """
    return reshape(t, 1) if t._a.ndim == 0 else t


@_atleast
def atleast_2d(t: Tensor) -> Tensor:
    """Return a view of the tensor, or of each of several, with at least two dimensions; a vector becomes a row.

    >>> torch.atleast_2d(torch.tensor([1, 2]))
    tensor([[1, 2]])
    """
    return reshape(t, 1, 1) if t._a.ndim == 0 else unsqueeze(t, 0) if t._a.ndim == 1 else t


@_atleast
def atleast_3d(t: Tensor) -> Tensor:
    """Return a view of the tensor, or of several, with at least three dimensions; a matrix gets a last one of size 1.

    >>> torch.atleast_3d(torch.tensor([1, 2])).shape
    torch.Size([1, 2, 1])
    """
    n = t._a.ndim
    if n == 0:
        return reshape(t, 1, 1, 1)
    return unsqueeze(unsqueeze(t, 0), -1) if n == 1 else unsqueeze(t, -1) if n == 2 else t
