"""Queries for PyTorch's kinds of tensors, on tensors that are always dense and on a CPU or a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.strides import root
from nbautograd._names.docstrings.methods import of_tensors
from nbautograd.errors import warn


def _never(what: str) -> Any:
    return property(lambda self: False, doc=f"True if the tensor {what}; always False here.")


def _part(name: str, expected: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{name} expected {expected} tensor layout but got Strided")

    method.__name__ = name
    method.__doc__ = f"""Raise: only tensors of {expected} layout have this part.

    :param args, kwargs: anything.
    :returns: never.
    :raises RuntimeError: always.

    >>> torch.ones(2).{name}()
    Traceback (most recent call last):
    RuntimeError: {name} expected {expected} tensor layout but got Strided
    """
    return method


@of_tensors
class TensorKinds:
    """Queries of ``Tensor`` with a constant answer here, and old, rarely used methods."""

    __slots__ = ()

    is_sparse: bool = _never("is sparse (COO)")
    is_sparse_csr: bool = _never("is sparse (CSR)")
    is_mkldnn: bool = _never("has MKL-DNN's layout")
    is_quantized: bool = _never("is quantized")
    is_nested: bool = _never("is nested")
    is_mps: bool = _never("is on an Apple GPU")
    is_xpu: bool = _never("is on an Intel GPU")
    is_xla: bool = _never("is on an XLA device")
    is_mtia: bool = _never("is on a Meta accelerator")
    is_maia: bool = _never("is on a Microsoft accelerator")
    is_ipu: bool = _never("is on a Graphcore processor")
    is_vulkan: bool = _never("is on a Vulkan device")

    if not TYPE_CHECKING:  # so that type checkers report ``x.max().values``
        coalesce = _part("coalesce", "sparse coordinate")
        is_coalesced = _part("is_coalesced", "sparse coordinate")
        indices = _part("indices", "sparse coordinate")
        values = _part("values", "sparse")
        crow_indices = _part("crow_indices", "sparse row compressed")
        col_indices = _part("col_indices", "sparse row compressed")
        ccol_indices = _part("ccol_indices", "sparse column compressed")
        row_indices = _part("row_indices", "sparse column compressed")

    @property
    def is_meta(self: Any) -> bool:
        """True if the tensor is on the device ``meta``, where it has a shape and a dtype and no memory."""
        return self.device.type == "meta"  # type: ignore[no-any-return]

    def _volatile(self: Any, value: Any = None) -> Any:
        """False, with a warning: ``no_grad`` has replaced it."""
        warn("volatile was removed (Variable.volatile is always False). Use torch.no_grad() instead")
        return False

    volatile = property(_volatile, _volatile, _volatile)

    @property
    def _backward_hooks(self: Any) -> Any:
        """The hooks of the tensor by id, or None."""
        hooks = self._hooks if self.is_leaf else self._fn.hooks
        return hooks and hooks.tensor or None

    @_backward_hooks.deleter
    def _backward_hooks(self: Any) -> None:
        raise RuntimeError("Deletion of _backwards_hooks not allowed!")

    @property
    def _grad_fn(self: Any) -> Any:
        """The node whose output the tensor is; None can be assigned, which detaches the tensor."""
        return self.grad_fn

    @_grad_fn.setter
    def _grad_fn(self: Any, value: Any) -> None:
        if value is not None:
            raise RuntimeError("_grad_fn can be only set to None")
        self.detach_()

    @_grad_fn.deleter
    def _grad_fn(self: Any) -> None:
        raise RuntimeError("Deletion of _grad_fn not allowed. Detach tensor instead!")

    @property
    def name(self: Any) -> None:
        """None: tensors have no names."""

    @property
    def grad_dtype(self: Any) -> dtypes.dtype:
        """The dtype of the gradient of a leaf, which is that of the tensor."""
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return self.dtype  # type: ignore[no-any-return]

    def is_distributed(self: Any) -> bool:
        """Return False: tensors are never distributed over processes."""
        return False

    def is_shared(self: Any) -> bool:
        """Return whether other processes may share the memory; True for CUDA devices and files, as in PyTorch.

        :returns: a Python bool.

        >>> torch.ones(2).is_shared()
        False
        """
        from nbautograd._engine.arrays.mapped_file import mapped_file

        return self.is_cuda or mapped_file(root(self._a)) is not None

    def share_memory_(self: Any) -> NoReturn:
        """Raise: processes do not share memory.

        :raises NotImplementedError: always.
        """
        raise NotImplementedError(
            "share_memory_(): nbautograd shares no memory between processes; a DataLoader's workers send copies"
        )

    def dense_dim(self: Any) -> int:
        """Return the number of dense dimensions: all.

        :returns: an integer.

        >>> torch.ones(2, 3).dense_dim()
        2
        """
        return self.ndim  # type: ignore[no-any-return]

    def sparse_dim(self: Any) -> int:
        """Return the number of sparse dimensions: 0.

        :returns: an integer.

        >>> torch.ones(2, 3).sparse_dim()
        0
        """
        return 0

    def dim_order(self: Any, *, ambiguity_check: Any = False) -> tuple[int, ...]:
        """Return the dimensions in their order in memory, outermost first.

        :raises RuntimeError: several orders are possible, and ``ambiguity_check`` is True.

        >>> torch.empty(2, 3, 5, 7).to(memory_format=torch.channels_last).dim_order()
        (0, 2, 3, 1)
        """
        strides = self.stride()
        if ambiguity_check is True and len({*strides}) < len(strides):
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats: "
                f"its shape is {list(self.shape)}, its strides are {strides}"
            )
        return tuple(sorted(range(self.ndim), key=lambda d: -strides[d]))

    def to_dense(self: Any, dtype: dtypes.dtype | None = None, *, masked_grad: bool | None = None) -> Any:
        """Return the tensor itself, which is dense, or cast to a dtype.

        :param dtype: the dtype of the result; that of the tensor if None.
        :param masked_grad: has no effect.
        :returns: a tensor of the same shape.
        :raises TypeError: ``to`` does not accept ``dtype``.

        >>> torch.tensor([1, 2]).to_dense(torch.float32)
        tensor([1., 2.])
        """
        return self if dtype is None else self.to(dtype)

    def dequantize(self: Any) -> Any:
        """Return the values as a float32 tensor; a tensor that is not quantized is cast.

        >>> torch.tensor([1, 2]).dequantize()
        tensor([1., 2.])
        """
        return self.to(dtypes.float32)
