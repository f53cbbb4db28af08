"""Conversions of tensors to Python: numbers, lists, NumPy arrays, DLPack capsules."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._names.docstrings.methods import of_tensors

_VERSIONED = tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1)  # DLPack's capsules, in NumPy


@of_tensors
class TensorConversions:
    """The conversions of ``Tensor``, its base class."""

    __slots__ = ()

    def item(self: Any) -> int | float | bool:
        """Return the only element as a Python number.

        The annotation is PyTorch's: type checkers treat it as a float. A complex tensor returns a complex number.

        :returns: a Python number.
        :raises RuntimeError: the tensor does not have exactly one element.

        >>> torch.tensor([2.5]).item()
        2.5
        """
        if self.numel() != 1:
            hint = "use tolist() for all of them"
            raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar: {hint}")
        return self._a.item()  # type: ignore[no-any-return]

    def tolist(self: Any) -> Any:
        """Return the elements as Python numbers in nested lists; a 0-d tensor gives a number.

        :returns: a number, or nested lists of the tensor's shape.

        >>> torch.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        if self._a.dtype.kind == "V":  # bfloat16, whose own elements are not Python numbers
            return self._a.astype(np.float32).tolist()
        return self._a.tolist()

    def numpy(self: Any, *, force: bool = False) -> np.ndarray[Any, Any]:
        """Return the elements as a NumPy array that shares the tensor's memory.

        :param force: detach and copy to the CPU first.
        :returns: an array of the same shape.
        :raises RuntimeError: the tensor requires grad, and operations are recorded.
        :raises TypeError: the tensor is not on the CPU, or of dtype bfloat16.

        >>> t = torch.zeros(2)
        >>> t.numpy()[0] = 5
        >>> t
        tensor([5., 0.])
        """
        if self._fn is not None and not force and is_grad_enabled():
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self._a.dtype.kind == "V":
            raise TypeError("numpy(): Got unsupported ScalarType BFloat16. Use tensor.float().numpy()")
        a = self._shared_array()
        if not isinstance(a, np.ndarray) and not force:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                "memory first."
            )
        return backend.fetch(a)

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Return the elements as an array for NumPy.

        :param dtype: the dtype of the array; that of the tensor if None.
        :param copy: True: copy; False: raise if a copy is needed; None: copy if needed.
        :returns: an array of the same shape.
        :raises RuntimeError: the tensor requires grad.
        :raises TypeError: the tensor is on a CUDA device.

        >>> import numpy as np
        >>> import nbautograd as torch
        >>> np.asarray(torch.tensor([1, 2]))
        array([1, 2])
        """
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __dlpack_device__(self: Any) -> tuple[Any, int]:
        return self._shared_array().__dlpack_device__()  # type: ignore[no-any-return]

    def __dlpack__(
        self: Any, *, stream: Any = -1, max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None, copy: bool | None = None,
    ) -> Any:  # fmt: skip
        """Return a capsule through which another library can share the tensor's memory, by the DLPack protocol.

        :raises BufferError: the tensor requires grad, or has a dtype that DLPack or NumPy's implementation does not
            support.
        """
        if self._fn is not None:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        a = self._shared_array()
        asked = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
        if isinstance(a, np.ndarray):
            if stream not in (None, -1):
                raise AssertionError(f"stream should be None on cpu, got {stream!r}")
            if a.dtype.kind == "V":
                raise BufferError("Can't export tensors of dtype bfloat16: NumPy's DLPack does not support it")
            if not _VERSIONED:  # without support for devices and copies
                if copy or dl_device is not None and dl_device[0] != 1:
                    raise BufferError("copies and other devices require NumPy 2.1. Pass tensor.clone()")
                asked = {}
        if stream == -1:
            stream = None
        return a.__dlpack__(stream=stream, **{name: value for name, value in asked.items() if value is not None})

    @property
    def __cuda_array_interface__(self: Any) -> Any:
        if not self.is_cuda:
            raise AttributeError(
                "Can't get __cuda_array_interface__ on non-CUDA tensor type: "
                f"{self.type()} If CUDA data is required use tensor.cuda() to copy tensor to device memory."
            )
        if self._fn is not None:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad. Use tensor.detach()")
        return self._a.__cuda_array_interface__

    def __bool__(self: Any) -> bool:
        """Return the element as a Python bool, for ``if``.

        :returns: a bool.
        :raises RuntimeError: the tensor does not have exactly one element.

        >>> bool(torch.tensor([3])), bool(torch.tensor(0.0))
        (True, False)
        """
        if self.numel() != 1:
            count = "no values" if self.numel() == 0 else "more than one value"
            hint = f"this one has shape {list(self._a.shape)}; use .all() or .any()"
            raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous: {hint}")
        return bool(self._a.item())

    __nonzero__ = __bool__

    def _number(self: Any) -> Any:
        if self.numel() != 1:
            raise ValueError(
                f"only one element tensors can be converted to Python scalars, and this one has {self.numel()}"
            )
        return self._a.item()

    def _real_number(self: Any, kind: str) -> Any:
        value = self._number()
        if isinstance(value, complex):
            if value.imag:
                raise RuntimeError(f"value cannot be converted to type {kind} without overflow: {value} is not real")
            return value.real
        return value

    def __float__(self: Any) -> float:
        """Return the element as a Python float.

        :returns: a float.
        :raises ValueError: the tensor does not have exactly one element.
        :raises RuntimeError: the element is complex and not real.

        >>> float(torch.tensor([3]))
        3.0
        """
        return float(self._real_number("double"))

    def __int__(self: Any) -> int:
        """Return the element as a Python int, rounded towards zero.

        :returns: an int.
        :raises ValueError: the tensor does not have exactly one element.
        :raises RuntimeError: the element is complex and not real.

        >>> int(torch.tensor(-3.7))
        -3
        """
        return int(self._real_number("int64_t"))

    __long__ = __int__

    def __complex__(self: Any) -> complex:
        """Return the element as a Python complex number.

        :returns: a complex number.
        :raises ValueError: the tensor does not have exactly one element.

        >>> complex(torch.tensor(3.0))
        (3+0j)
        """
        return complex(self._number())

    def __index__(self: Any) -> int:
        """Return the element where Python requires an integer, as in a list's index.

        :returns: an int.
        :raises TypeError: the tensor does not have exactly one element, or the dtype is neither bool nor integer.

        >>> ["a", "b", "c"][torch.tensor(1)]
        'b'
        """
        if self._a.dtype.kind not in "iub" or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._a.item())

    def __len__(self: Any) -> int:
        """Return the length of the first dimension.

        :returns: an int.
        :raises TypeError: the tensor has no dimensions.

        >>> len(torch.ones(3, 2))
        3
        """
        if self._a.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return int(self._a.shape[0])
