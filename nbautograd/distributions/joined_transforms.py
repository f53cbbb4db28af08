"""Transforms of parts of a tensor along a dimension."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.joining import cat, stack
from nbautograd.distributions import constraints
from nbautograd.distributions.transform_base import Transform
from nbautograd.distributions.utils import _sum_rightmost, attribute, formula

__all__ = ["CatTransform", "StackTransform"]


class _Joined(Transform):
    """Base of several transforms, each for a part along ``dim``."""

    _unit = "length"
    _join: Callable[..., Tensor]
    _cut: Callable[[Tensor], Sequence[Tensor]]
    bijective: bool = attribute(lambda t: all(part.bijective for part in t.transforms), "True if all transforms are.")
    _call = formula(lambda t, x: t._joined(t.transforms, x, "x"))
    _inverse = formula(lambda t, y: t._joined([transform.inv for transform in t.transforms], y, "y"))

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(transform, Transform) for transform in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [transform.with_cache(cache_size) for transform in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _size(self) -> int:
        """Return the required size of a tensor along ``dim``."""
        return len(self.transforms)

    def _parts(self, z: Tensor, name: str, what: str = "tensor") -> Sequence[Tensor]:
        """Return the parts of a tensor, one for each transform."""
        if not -z.dim() <= self.dim < z.dim():
            raise AssertionError(f"dim {self.dim} out of range for {what} with {z.dim()} dimensions")
        if z.shape[self.dim] != self._size():
            size = z.shape[self.dim]
            raise AssertionError(f"{name}.size({self.dim}) = {size} must equal {self._unit} {self._size()}")
        return self._cut(z)

    def _log_abs_dets(self, x: Tensor, y: Tensor) -> list[Tensor]:
        triples = zip(self.transforms, self._parts(x, "x", "x"), self._parts(y, "y", "y"), strict=True)
        return [transform.log_abs_det_jacobian(*pair) for transform, *pair in triples]

    def _joined(self, transforms: Sequence[Transform], z: Tensor, name: str) -> Tensor:
        parts = zip(transforms, self._parts(z, name), strict=True)
        return self._join([transform(part) for transform, part in parts], dim=self.dim)


class CatTransform(_Joined):
    """Transforms of slices of the given lengths along ``dim``.

    :param tseq: the transforms.
    :param dim: the dimension.
    :param lengths: the lengths of the slices, by default 1 each.

    >>> parts = [torch.distributions.ExpTransform(), torch.distributions.identity_transform]
    >>> torch.distributions.CatTransform(parts, lengths=[1, 2])(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    _arguments = ("transforms", "dim", "lengths")
    _join = staticmethod(cat)
    _cut = formula(lambda t, z: z.split(t.lengths, t.dim))
    event_dim: int = attribute(
        lambda t: max(part.event_dim for part in t.transforms),
        "The largest number of event dimensions of the transforms.",
    )
    length: int = attribute(lambda t: sum(t.lengths), "The sum of the lengths.")

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    def _size(self) -> int:
        return self.length

    def _log_abs_det(self, x: Tensor, y: Tensor) -> Tensor:
        dets = self._log_abs_dets(x, y)
        pairs = zip(dets, self.transforms, strict=True)
        dets = [_sum_rightmost(det, self.event_dim - transform.event_dim) for det, transform in pairs]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return cat(dets, dim=dim) if dim < 0 else functools.reduce(operator.add, dets)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The transforms' constraints, concatenated."""
        return constraints.cat([transform.domain for transform in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The transforms' constraints, concatenated."""
        return constraints.cat([transform.codomain for transform in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """Transforms of the tensors stacked along ``dim``.

    :param tseq: the transforms.
    :param dim: the dimension.

    >>> parts = [torch.distributions.ExpTransform(), torch.distributions.identity_transform]
    >>> torch.distributions.StackTransform(parts, dim=1)(torch.zeros(3, 2))[0]
    tensor([1., 0.])
    """

    _arguments = ("transforms", "dim")
    _unit = "len(transforms)"
    _join = staticmethod(stack)
    _cut = formula(lambda t, z: z.unbind(t.dim))
    _log_abs_det = formula(lambda t, x, y: stack(t._log_abs_dets(x, y), dim=t.dim))

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The transforms' constraints, stacked."""
        return constraints.stack([transform.domain for transform in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The transforms' constraints, stacked."""
        return constraints.stack([transform.codomain for transform in self.transforms], self.dim)
