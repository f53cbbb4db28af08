"""The properties of tensors: shape, strides, dtype, device."""

from __future__ import annotations

import math
from typing import Any, overload

from nbautograd._engine.arrays import backend, dtypes, strides as stride_tools
from nbautograd._engine.arrays.device import device
from nbautograd._engine.arrays.memory_format import layout, strided
from nbautograd._engine.arrays.size import Size, dimension, of_integers
from nbautograd._names.docstrings.methods import of_tensors


@of_tensors
class TensorProperties:
    """The base class of ``Tensor`` with its properties."""

    __slots__ = ()

    def __dir__(self: Any) -> list[str]:
        names = {*object.__dir__(self)} - {"volatile"}
        return sorted(names if self.is_cuda else names - {"__cuda_array_interface__"})

    @property
    def shape(self: Any) -> Size:
        """The shape, as a :class:`Size`."""
        return of_integers(Size, self._a.shape)

    @property
    def dtype(self: Any) -> dtypes.dtype:
        """The element type."""
        return dtypes.of(self._a.dtype)

    @property
    def device(self: Any) -> device:
        """The device of the tensor."""
        return backend.device_of(self._a)

    @property
    def layout(self: Any) -> layout:
        """The layout of the elements: always ``torch.strided``."""
        return strided

    @property
    def ndim(self: Any) -> int:
        """The number of dimensions."""
        return int(self._a.ndim)

    @property
    def itemsize(self: Any) -> int:
        """Bytes per element."""
        return int(self._a.dtype.itemsize)

    @property
    def nbytes(self: Any) -> int:
        """Bytes of all elements."""
        return int(self._a.nbytes)

    @property
    def is_cuda(self: Any) -> bool:
        """True if the tensor is on a CUDA device."""
        return self.device.type == "cuda"  # type: ignore[no-any-return]

    @property
    def is_cpu(self: Any) -> bool:
        """True if the tensor is on the CPU."""
        return self.device.type == "cpu"  # type: ignore[no-any-return]

    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self: Any, dim: int | None = None) -> Any:
        """Return the shape, or the length of one dimension.

        :param dim: the dimension, counted from the end if negative; None for all.
        :returns: a ``torch.Size``, or an integer.
        :raises IndexError: ``dim`` is out of range.

        >>> torch.ones(2, 3).size(), torch.ones(2, 3).size(-1)
        (torch.Size([2, 3]), 3)
        """
        return self.shape if dim is None else self._a.shape[dimension(dim, self._a.ndim)]

    def dim(self: Any) -> int:
        """Return the number of dimensions.

        :returns: an integer.

        >>> torch.ones(2, 3).dim()
        2
        """
        return int(self._a.ndim)

    ndimension = dim

    def numel(self: Any) -> int:
        """Return the number of elements.

        :returns: an integer.

        >>> torch.ones(2, 3).numel()
        6
        """
        return math.prod(self._a.shape)

    nelement = numel

    def element_size(self: Any) -> int:
        """Return the bytes per element.

        :returns: an integer.

        >>> torch.ones(2).element_size()
        4
        """
        return self.itemsize  # type: ignore[no-any-return]

    def is_floating_point(self: Any) -> bool:
        """Return whether the dtype is floating.

        :returns: a Python bool.

        >>> torch.tensor(1.0).is_floating_point(), torch.tensor(1).is_floating_point()
        (True, False)
        """
        return self.dtype.is_floating_point  # type: ignore[no-any-return]

    def is_complex(self: Any) -> bool:
        """Return whether the dtype is complex.

        :returns: a Python bool.

        >>> torch.tensor(1j).is_complex()
        True
        """
        return self.dtype.is_complex  # type: ignore[no-any-return]

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self: Any, dim: int | None = None) -> Any:
        """Return the strides, counted in elements; or the stride of one dimension.

        :param dim: the dimension, counted from the end if negative; None for all.
        :returns: a tuple of integers, or an integer.
        :raises IndexError: ``dim`` is out of range.

        >>> torch.ones(2, 3).stride(), torch.ones(2, 3).stride(0)
        ((3, 1), 3)
        """
        strides = stride_tools.strides_of(self._a)
        return strides if dim is None else strides[dimension(dim, self._a.ndim)]

    def is_contiguous(self: Any) -> bool:
        """Return whether the elements are in row-major order in memory, without gaps.

        :returns: a Python bool.

        >>> torch.ones(2, 3).t().is_contiguous()
        False
        """
        return bool(self._a.flags.c_contiguous)

    def data_ptr(self: Any) -> int:
        """Return the address of the first element.

        :returns: an integer.

        >>> x = torch.ones(2)
        >>> x.data_ptr() == x.view(2, 1).data_ptr()
        True
        """
        return backend.of(self._a).address(self._shared_array())

    def _is_view(self: Any) -> bool:
        """Return whether the tensor is a view of another one."""
        return self._view is not None

    @property
    def _base(self: Any) -> Any:
        """The tensor that this is a view of."""
        return None if self._view is None else self._view.base

    def _drop_tangents(self: Any) -> None:
        """Drop the tangents of forward mode; replaced by ``autograd/forward_ad.py``."""

    def _tangent(self: Any) -> Any:
        """Return the tangent at the innermost level of forward mode; replaced by ``autograd/forward_ad.py``."""
        return None
