"""The shape of a tensor, and arguments that specify shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import Any, SupportsIndex, overload

from nbautograd.errors import kind_of

MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1
Int = Any
Ints = Any
"""The annotations of an int, or of several, whose default is None, which raises if it is given."""


class Size(tuple[int, ...]):
    """A shape: a tuple of ints that prints as PyTorch's does.

    :param sizes: the ints, of any iterable.
    :raises TypeError: an item is no integer.

    >>> import nbautograd as torch
    >>> torch.ones(2, 3).shape
    torch.Size([2, 3])
    >>> torch.Size([2, 3]).numel()
    6
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = (), /) -> Size:
        found = tuple(sizes)
        for i, n in enumerate(found):
            if n.__class__ is not int and not hasattr(n, "__index__"):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item {i} is {type(n).__name__!r})")
        return tuple.__new__(cls, map(index, found))

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        return math.prod(self)

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...
    def __getitem__(self, key: SupportsIndex | slice) -> int | Size:
        item = tuple.__getitem__(self, key)
        return Size(item) if isinstance(item, tuple) else item

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: tuple[int, ...]) -> Size:
        return Size(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, other: SupportsIndex) -> Size:
        return Size(tuple.__mul__(self, other))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)


of_integers = tuple.__new__
"""Called with ``Size`` and integers, it looks at none."""


def as_int(value: Any, what: str) -> int:
    """Return an integer argument; 0-d integer tensors are accepted.

    :raises TypeError: ``value`` is not an integer (bools and floats are not).
    :raises ValueError: it has more than 64 bits.
    """
    number = value
    if value.__class__ is not int:
        try:
            number = int(value.__index__())
        except (AttributeError, TypeError):
            number = None
        if number is None or isinstance(value, bool):
            raise TypeError(f"{what} must be int, not {kind_of(value)}")
    if MIN_INT64 <= number <= MAX_INT64:
        return number  # type: ignore[no-any-return]
    raise ValueError(f"Overflow when unpacking long long: {what}={number}")


def sizes(arguments: Iterable[Any], what: str = "size", needed_by: Any = None) -> tuple[int, ...]:
    """Return the ints given one by one or as one sequence: ``view(2, 3)`` or ``view((2, 3))``.

    :raises TypeError: nothing is given, although a function needs it.

    >>> sizes((2, 3)), sizes(([2, 3],)), sizes(())
    ((2, 3), (2, 3), ())
    """
    items = tuple(arguments)
    if needed_by and not items:
        raise TypeError(f"{needed_by}() missing 1 required positional argument: {what!r}")
    if len(items) == 1 and isinstance(items[0], (tuple, list)):
        items = tuple(items[0])
    for n in items:
        if n.__class__ is not int:  # only the first one must not be a bool
            return tuple([1 * n if i and n.__class__ is bool else as_int(n, what) for i, n in enumerate(items)])
    return items


def by_name(given: Any, what: str, others: tuple[Any, ...] = ()) -> tuple[Any]:
    """Return what is given by name alone, as arguments; it must not be one integer."""
    if others:
        raise TypeError(f"got multiple values for argument '{what}'")
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"argument '{what}' must be tuple of ints, not {kind_of(given)}")
    return (given,)


def new_shape(arguments: Iterable[Any], what: str) -> tuple[int, ...]:
    """Return the shape of a new tensor.

    :raises TypeError: nothing is given, or something else than integers.
    :raises RuntimeError: a size is negative.
    """
    shape = tuple(arguments)
    if not shape:
        raise TypeError(f"{what}() missing 1 required positional argument: 'size'")
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    for n in shape:
        if n.__class__ is not int:
            as_int(0 if n.__class__ is bool else n, f"{what}(): argument 'size'")
            shape = sizes(shape, f"{what}(): argument 'size'")
            break
    if shape and min(shape) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)} in {what}()")
    return shape


def dimension(dim: Any, ndim: int) -> int:
    """Return ``dim`` counted from the front; a 0-d tensor counts as 1-d.

    :raises IndexError: ``dim`` is out of range.
    :raises TypeError: it is no integer, such as a vector of one.

    >>> dimension(-1, 3)
    2
    """
    if dim.__class__ is int and 0 <= dim < ndim:
        return dim
    if getattr(dim, "ndim", 0):
        raise TypeError(f"dim must be int, not {kind_of(dim)} of one dimension or more")
    d = as_int(dim, "dim")
    n = ndim or 1
    if not -n <= d < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    return d % n


def dimensions(dim: Any, ndim: int) -> tuple[int, ...]:
    """Return the dimensions of a reduction, counted from the front; None and () mean all.

    :raises IndexError: a dimension is out of range.
    :raises RuntimeError: a dimension is named twice.
    """
    if dim is None:
        return tuple(range(ndim))
    if isinstance(dim, (tuple, list)):
        if not dim:
            return tuple(range(ndim))
        dims = tuple(dimension(d, ndim) for d in dim)
        for d in dims:
            if dims.count(d) > 1:
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        return dims if ndim else ()
    if getattr(dim, "ndim", 0):
        dim = as_int(dim, "dim")  # one dimension may be a vector, where several are allowed
    return (dimension(dim, ndim),) if ndim else (dimension(dim, 0),)[:0]


Size.__module__ = "nbautograd"  # pickles refer to it by this name
