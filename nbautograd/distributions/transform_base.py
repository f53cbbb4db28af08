"""Invertible maps of random variables, their inverses, and compositions."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import weakref
from collections.abc import Sequence
from typing import Any, ClassVar

from nbautograd._engine.arrays.size import Size
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import zeros_like
from nbautograd._names.docstrings.classes import composed
from nbautograd.distributions import constraints
from nbautograd.distributions.utils import _sum_rightmost, attribute, formula

__all__ = ["ComposeTransform", "IndependentTransform", "ReshapeTransform", "Transform", "identity_transform"]


class Transform:
    """Base of differentiable maps y = f(x) with an inverse and the logarithm of ``|det ∂y/∂x|``.

    A subclass declares ``domain``, ``codomain``, ``bijective`` and, of monotonic functions of numbers, ``sign``; it
    implements ``_call``, ``_inverse`` and ``log_abs_det_jacobian``.

    :param cache_size: 1 to remember the last pair (x, y), so that the inverse of y is x itself; otherwise 0.
    :raises ValueError: ``cache_size`` is neither 0 nor 1.

    >>> transform = torch.distributions.ExpTransform()
    >>> transform.inv(transform(torch.tensor(2.0)))
    tensor(2.)
    """

    _forward_shape = _inverse_shape = formula(lambda t, shape: shape)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        composed(cls)

    bijective: Any = False
    domain: Any
    codomain: Any
    _arguments: ClassVar[tuple[str, ...]] = ()
    """The arguments of ``__init__`` in order, for a copy with another cache size."""

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached_x_y: tuple[Any, Any] = (None, None)
        self._inv: weakref.ref[Transform] | None = None  # weak, because the inverse holds this transform
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_inv": None}

    @property
    def event_dim(self) -> Any:
        """The number of dimensions of one value, if x and y have the same.

        :raises ValueError: the numbers differ.
        """
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse: ``t.inv.inv is t``."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = self._inverted()
            self._inv = weakref.ref(inverse)
        return inverse

    def _inverted(self) -> Transform:
        return _InverseTransform(self)

    @property
    def sign(self) -> Any:
        """1 or -1: whether the function increases or decreases, of functions of numbers.

        :raises NotImplementedError: the sign is not defined.
        """
        return self._sign()

    def with_cache(self, cache_size: int = 1) -> Transform:
        """Return the transform itself if it has this cache size, otherwise a copy with it.

        :raises NotImplementedError: a subclass has an ``__init__`` with arguments.

        >>> transform = torch.distributions.ExpTransform().with_cache()
        >>> x = torch.tensor(2.0)
        >>> transform.inv(transform(x)) is x
        True
        """
        if self._cache_size == cache_size:
            return self
        owner = next(cls for cls in type(self).__mro__ if "__init__" in vars(cls))
        if "_arguments" not in vars(owner):
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        arguments: dict[str, Any] = {"cache_size": cache_size}
        return type(self)(*(getattr(self, name) for name in self._arguments), **arguments)

    # a class with __eq__ has no hash: equal transforms need not be the same
    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Tensor) -> Tensor:
        """Return f(x), and cache it if enabled."""
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is not x_old:
            y_old = self._call(x)
            self._cached_x_y = x, y_old
        return y_old

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is not y_old:
            x_old = self._inverse(y)
            self._cached_x_y = x_old, y
        return x_old

    def _missing(self, *arguments: Any) -> Any:
        raise NotImplementedError

    _sign = _call = _inverse = _log_abs_det = _missing

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the logarithm of the absolute value of the determinant of ∂y/∂x.

        :param x: the input.
        :param y: the output, ``transform(x)``.
        :raises NotImplementedError: the transform does not define it.

        >>> x = torch.tensor(3.0)
        >>> torch.distributions.ExpTransform().log_abs_det_jacobian(x, x.exp())
        tensor(3.)
        """
        return self._log_abs_det(x, y)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}()"

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """Return the output shape for an input shape.

        :raises ValueError: an input cannot have this shape.

        >>> torch.distributions.StickBreakingTransform().forward_shape((5, 3))
        (5, 4)
        """
        return self._forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """Return the input shape for an output shape.

        :raises ValueError: an output cannot have this shape.

        >>> torch.distributions.StickBreakingTransform().inverse_shape((5, 4))
        (5, 3)
        """
        return self._inverse_shape(shape)


class _InverseTransform(Transform):
    """The inverse of another transform."""

    domain = constraints.dependent_property(lambda t: t._forward.codomain, is_discrete=False)
    codomain = constraints.dependent_property(lambda t: t._forward.domain, is_discrete=False)
    bijective = attribute(lambda t: t._forward.bijective)
    _sign = formula(lambda t: t._forward.sign)
    _log_abs_det = formula(lambda t, x, y: -t._forward.log_abs_det_jacobian(y, x))
    _forward_shape = formula(lambda t, shape: t._forward.inverse_shape(shape))
    _inverse_shape = formula(lambda t, shape: t._forward.forward_shape(shape))

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._forward = transform

    @property
    def inv(self) -> Transform:
        return self._forward

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._forward.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._forward == other._forward

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._forward!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._forward._inv_call(x)


def _widened(constraint: Any, event_dim: int) -> Any:
    """Return a constraint for values with more dimensions, over which it must hold."""
    extra = event_dim - constraint.event_dim
    if extra < 0:
        raise AssertionError(f"event_dim {event_dim} must be >= {constraint.event_dim}, that of {constraint!r}")
    return constraints.independent(constraint, extra) if extra else constraint


class ComposeTransform(Transform):
    """Several transforms in sequence.

    :param parts: the transforms, in the order of application.
    :param cache_size: the cache size of the composition and of its parts.

    >>> parts = [torch.distributions.ExpTransform(), torch.distributions.AffineTransform(1.0, 2.0)]
    >>> torch.distributions.ComposeTransform(parts)(torch.tensor(0.0))
    tensor(3.)
    """

    _arguments = ("parts",)
    _sign = formula(lambda t: math.prod(part.sign for part in t.parts))
    bijective: bool = attribute(lambda t: all(part.bijective for part in t.parts), "True if all parts are.")

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts
        self._forward: Transform | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The domain of the first part, with the dimensions that the parts need."""
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim += part.domain.event_dim - part.codomain.event_dim
            event_dim = max(event_dim, part.domain.event_dim)
        return _widened(self.parts[0].domain, event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """The codomain of the last part, with the dimensions that the parts need."""
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim += part.codomain.event_dim - part.domain.event_dim
            event_dim = max(event_dim, part.codomain.event_dim)
        return _widened(self.parts[-1].codomain, event_dim)

    @property
    def inv(self) -> Transform:
        """The inverses of the parts, in the opposite order."""
        return super().inv if self._forward is None else self._forward

    def _inverted(self) -> Transform:
        inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
        inverse._forward = self
        return inverse

    def __call__(self, x: Tensor) -> Tensor:
        """Apply all parts in order."""
        return functools.reduce(lambda value, part: part(value), self.parts, x)

    def _log_abs_det(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return zeros_like(x)
        terms = []
        event_dim = self.domain.event_dim
        values = list(itertools.accumulate(self.parts[:-1], lambda value, part: part(value), initial=x))
        for part, before, after in zip(self.parts, values, [*values[1:], y], strict=True):
            terms.append(_sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def _forward_shape(self, shape: Any) -> Any:
        return functools.reduce(lambda value, part: part.forward_shape(value), self.parts, shape)

    def _inverse_shape(self, shape: Any) -> Any:
        return functools.reduce(lambda value, part: part.inverse_shape(value), reversed(self.parts), shape)

    def __repr__(self) -> str:
        parts = ",\n    ".join(map(repr, self.parts))
        return f"{self.__class__.__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Another transform, whose values have ``reinterpreted_batch_ndims`` more dimensions.

    >>> transform = torch.distributions.IndependentTransform(torch.distributions.ExpTransform(), 1)
    >>> x = torch.ones(3)
    >>> transform.log_abs_det_jacobian(x, transform(x))
    tensor(3.)
    """

    _arguments = ("base_transform", "reinterpreted_batch_ndims")
    _sign = formula(lambda t: t.base_transform.sign)
    _forward_shape = formula(lambda t, shape: t.base_transform.forward_shape(shape))
    _inverse_shape = formula(lambda t, shape: t.base_transform.inverse_shape(shape))
    bijective: bool = attribute(lambda t: bool(t.base_transform.bijective), "True if the base is.")

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The base's constraint, over more dimensions."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """The base's constraint, over more dimensions."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def _log_abs_det(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """A reshape of the rightmost dimensions; its Jacobian has determinant 1.

    :param in_shape: the shape of one input.
    :param out_shape: the shape of one output.
    :raises ValueError: the numbers of elements differ.

    >>> torch.distributions.ReshapeTransform((2, 3), (6,))(torch.ones(5, 2, 3)).shape
    torch.Size([5, 6])
    """

    bijective = True
    _arguments = ("in_shape", "out_shape")
    _call = formula(lambda t, x: x.reshape(t._batch(x, t.in_shape) + t.out_shape))
    _inverse = formula(lambda t, y: y.reshape(t._batch(y, t.out_shape) + t.in_shape))
    _log_abs_det = formula(lambda t, x, y: x.new_zeros(t._batch(x, t.in_shape)))
    _forward_shape = formula(lambda t, shape: t._reshaped(shape, t.in_shape, t.out_shape))
    _inverse_shape = formula(lambda t, shape: t._reshaped(shape, t.out_shape, t.in_shape))
    _batch = formula(lambda t, x, shape: x.shape[: x.dim() - len(shape)])

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Real numbers in the shape of an input."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Real numbers in the shape of an output."""
        return constraints.independent(constraints.real, len(self.out_shape))

    @staticmethod
    def _reshaped(shape: Any, old: Size, new: Size) -> Any:
        if len(shape) < len(old):
            raise ValueError("Too few dimensions on input")
        cut = len(shape) - len(old)
        if shape[cut:] != old:
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return shape[:cut] + new
