"""Padding of the last one, two or three dimensions."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd.nn import functional as F  # noqa: N812
from nbautograd.nn.modules.module import Module
from nbautograd.nn.modules.utils import _ntuple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """Pad the last ``n`` dimensions; ``mode`` is that of :func:`functional.pad`.

    :param padding: a number for all sides, or two for each dimension, from the last.
    """

    _n: int
    _mode: str

    def __init_subclass__(cls, n: int = 0, mode: str = "", **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if n:
            cls._n, cls._mode = n, mode

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._n)(padding)

    def _check(self, input: Tensor) -> None:
        """Check the number of dimensions of the input (circular padding only)."""

    def forward(self, input: Tensor) -> Tensor:
        """Return the padded input."""
        self._check(input)
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """Return the numbers of elements."""
        return f"{self.padding}"


class _ConstantPad(_Pad):
    """Pad with a value."""

    def __init__(self, padding: int | tuple[int, ...], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """Return the padded input."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Return the numbers of elements and the value."""
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    """Pad with zeros."""

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the numbers of elements."""
        return f"{self.padding}"


class _CircularPad(_Pad):
    """Pad with the elements from the other end."""

    def _check(self, input: Tensor) -> None:
        accepted = (self._n + 1, self._n + 2)
        if input.ndim not in accepted:
            raise ValueError(f"expected {accepted[0]}D or {accepted[1]}D input (got {input.ndim}D input)")


class CircularPad1d(_CircularPad, n=1, mode="circular"):
    """Pad the last dimension with the elements from its other end.

    >>> torch.nn.CircularPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[3., 1., 2., 3., 1.]])
    """


class CircularPad2d(_CircularPad, n=2, mode="circular"):
    """Pad the last two dimensions with the elements from their other ends.

    >>> torch.nn.CircularPad2d((1, 0, 1, 0))(torch.tensor([[[1., 2.], [3., 4.]]]))
    tensor([[[4., 3., 4.],
             [2., 1., 2.],
             [4., 3., 4.]]])
    """


class CircularPad3d(_CircularPad, n=3, mode="circular"):
    """Pad the last three dimensions with the elements from their other ends."""


class ConstantPad1d(_ConstantPad, n=1):
    """Pad the last dimension with a value.

    >>> torch.nn.ConstantPad1d((2, 0), 9.)(torch.tensor([[1., 2.]]))
    tensor([[9., 9., 1., 2.]])
    """


class ConstantPad2d(_ConstantPad, n=2):
    """Pad the last two dimensions with a value.

    >>> torch.nn.ConstantPad2d((1, 0, 0, 0), 7.)(torch.ones(1, 1, 2))
    tensor([[[7., 1., 1.]]])
    """


class ConstantPad3d(_ConstantPad, n=3):
    """Pad the last three dimensions with a value.

    >>> torch.nn.ConstantPad3d(1, 9.)(torch.ones(1, 2, 2, 2)).shape
    torch.Size([1, 4, 4, 4])
    """


class ReflectionPad1d(_Pad, n=1, mode="reflect"):
    """Pad the last dimension with its mirror image.

    >>> torch.nn.ReflectionPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[2., 1., 2., 3., 2.]])
    """


class ReflectionPad2d(_Pad, n=2, mode="reflect"):
    """Pad the last two dimensions with their mirror images.

    >>> torch.nn.ReflectionPad2d((1, 0, 1, 0))(torch.tensor([[[1., 2.], [3., 4.]]]))
    tensor([[[4., 3., 4.],
             [2., 1., 2.],
             [4., 3., 4.]]])
    """


class ReflectionPad3d(_Pad, n=3, mode="reflect"):
    """Pad the last three dimensions with their mirror images."""


class ReplicationPad1d(_Pad, n=1, mode="replicate"):
    """Pad the last dimension with the element at its edge.

    >>> torch.nn.ReplicationPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[1., 1., 2., 3., 3.]])
    """


class ReplicationPad2d(_Pad, n=2, mode="replicate"):
    """Pad the last two dimensions with the elements at their edges.

    >>> torch.nn.ReplicationPad2d((1, 0, 1, 0))(torch.tensor([[[1., 2.], [3., 4.]]]))
    tensor([[[1., 1., 2.],
             [1., 1., 2.],
             [3., 3., 4.]]])
    """


class ReplicationPad3d(_Pad, n=3, mode="replicate"):
    """Pad the last three dimensions with the elements at their edges."""


class ZeroPad1d(_ZeroPad, n=1):
    """Pad the last dimension with zeros.

    >>> torch.nn.ZeroPad1d(1)(torch.tensor([[1., 2., 3.]]))
    tensor([[0., 1., 2., 3., 0.]])
    """


class ZeroPad2d(_ZeroPad, n=2):
    """Pad the last two dimensions with zeros.

    >>> torch.nn.ZeroPad2d((1, 0, 1, 0))(torch.tensor([[[1., 2.], [3., 4.]]]))
    tensor([[[0., 0., 0.],
             [0., 1., 2.],
             [0., 3., 4.]]])
    """


class ZeroPad3d(_ZeroPad, n=3):
    """Pad the last three dimensions with zeros."""
