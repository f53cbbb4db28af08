"""Strides and storage: ``as_strided``, ``resize_``, ``set_``; in-place view methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import methodcaller
from types import SimpleNamespace
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, strides as stride_tools, version_counter
from nbautograd._engine.arrays.memory_format import contiguous_format, preserve_format
from nbautograd._engine.arrays.size import sizes
from nbautograd._engine.arrays.strides import Geometry, restride
from nbautograd._engine.compiler.op import NATIVE, OPS, alias, composite, no_method
from nbautograd._engine.core import views
from nbautograd._engine.core.batched import BatchedTensor
from nbautograd._engine.core.dispatch_mode import followers
from nbautograd._engine.core.exchanged_data import exchange
from nbautograd._engine.core.grad_mode import is_grad_enabled, is_inference_mode_enabled
from nbautograd._engine.core.hooks import keep_shape
from nbautograd._engine.core.inplace import check_call, check_history, tell_change
from nbautograd._engine.core.node import LEAF
from nbautograd._engine.core.storage import TypedStorage, UntypedStorage
from nbautograd._engine.core.tensor import Tensor, new
from nbautograd._engine.ops._internal import not_implemented  # noqa: F401 - used in a formula
from nbautograd._engine.ops.queries import check_tensors, method_of_tensor
from nbautograd._engine.ops.shape import shape as shapes, transpose
from nbautograd._engine.ops.shape.slicing import as_strided_in
from nbautograd.errors import AutogradError, InplaceError, kind_of, name_operation

# -- any strides -----------------------------------------------------------------------------------------------------


@composite()
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """Return a view of the tensor's storage with the given size and strides; elements may overlap.

    :param size: the shape.
    :param stride: the stride of each dimension, in elements.
    :param storage_offset: the index of the first element in the storage; by default that of ``input``.
    :raises RuntimeError: an element would be outside the storage, or a stride is negative.

    >>> torch.arange(4).as_strided((3, 2), (1, 1))
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    shape, strides = sizes((tuple(size),), "size"), sizes((tuple(stride),), "stride")
    if len(shape) != len(strides):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(strides)} for {list(shape)}")
    home = stride_tools.of(input._a)
    offset = home.offset if storage_offset is None else int(storage_offset)
    check_inside(input._a, Geometry(shape, strides, offset))
    return as_strided_in(input, shape, strides, offset, home)


def check_inside(a: Any, wanted: Geometry) -> None:
    """Check that a strided view is inside the storage of ``a``."""
    if min(wanted.strides, default=0) < 0:
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(wanted.strides)}"
        )
    if wanted.offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {wanted.offset}")
    if min(wanted.shape, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(wanted.shape)}: {list(wanted.shape)}")
    have = stride_tools.length_of(a)
    if wanted.end() > have and 0 not in wanted.shape:
        raise RuntimeError(
            f"setStorage: sizes {list(wanted.shape)}, strides {list(wanted.strides)}, storage offset {wanted.offset}, "
            f"and itemsize {a.itemsize} requiring a storage size of {wanted.end() * a.itemsize} are out of bounds for "
            f"storage of size {have * a.itemsize}"
        )


# -- in place --------------------------------------------------------------------------------------------------------


def _name_in_place(name: str) -> str:
    """Return the name of a node as PyTorch writes it in place: ``TBackward1`` for ``t_``."""
    return f"{name[:-1]}{int(name[-1]) + (3 if name.startswith('SqueezeBackward') else 1)}"


def _in_place(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Declare the in-place method of a view operation, such as ``t_``: the tensor becomes the view."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_tensors(name, input=self)
        check_call(check_history, self, name, function, args, kwargs)
        if isinstance(self, BatchedTensor):  # the samples belong to a view and share its memory
            view: Any = function(self, *args, **kwargs)
            self.value, self.bdim = view.value, view.bdim
            return self
        self._shared_array()
        before = new(Tensor)  # not wrap(), which would mark its memory in inference mode
        before._a, before._fn, before._view = self._a, self._fn, self._view
        result = function(before, *args, **kwargs)
        if followers:
            tell_change(name, self, methodcaller(name, *args, **kwargs))
        if self._view is None:
            fix_views(self, result._a)
        else:
            for view in views.views_of(self._view.base):
                if view._view.parent is self:  # it stays a view of the former tensor
                    view._view.parent = before
            obstacle = self._view.obstacle
            self._view = result._view
            self._view.obstacle = obstacle
        self._a = result._a
        if result._fn is not None and self._fn is not LEAF and is_grad_enabled() and not is_inference_mode_enabled():
            self._fn = result._fn
            cls = self._fn.__class__
            self._fn.__class__ = shapes.renamed(cls, _name_in_place(cls.__name__))
            views.move_retained(self, before._fn, self._fn)
            version_counter.record_write(self._a)
            views.outdate_views(self if self._view is None else self._view.base, self)
        else:
            keep_shape(before)
            views.record_unrecorded_write(self)
        return self

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place version of ``{name[:-1]}``: this tensor becomes the view."
    setattr(Tensor, name, method)
    return method


def fix_views(base: Tensor, array: Any) -> None:
    """Turn the views of ``base`` into as_strided views of the storage before ``base`` gets the layout of ``array``."""
    home = stride_tools.of(array)
    for view in views.views_of(base):
        how, parent = view._view, view._view.parent
        while parent._view is not None and parent._view.__class__ is not views.DualView:
            parent = parent._view.parent
        arguments = (*stride_tools.of(view._a), home if parent is base else stride_tools.of(parent._a))
        fixed = views.View(parent, OPS["as_strided_in"].body, as_strided_in, arguments)
        view._view = views.DualView(fixed, how.level) if how.__class__ is views.DualView else fixed
        view._view.obstacle = how.obstacle


_OF_DIMS = (transpose.t, transpose.transpose, transpose.swapaxes, transpose.swapdims)
for _view in (*_OF_DIMS, shapes.squeeze, shapes.unsqueeze, as_strided):
    _in_place(f"{_view.__name__}_", _view)
as_strided_ = Tensor.as_strided_


@method_of_tensor("resize_", "resize_")
def _resize(self: Tensor, *sizes_: Any, size: Any = None, memory_format: Any = contiguous_format) -> Tensor:
    """Resize the tensor in place, row-major; the storage grows if it is too small.

    The contents of the storage are kept; new elements are uninitialized. If the storage grew, other tensors that shared
    it keep the old one.

    :param sizes_: the lengths of the dimensions: integers, or one sequence of them.
    :param size: the lengths, by keyword.
    :param memory_format: the order of the dimensions in memory; by default row-major.
    :returns: the tensor itself.
    :raises RuntimeError: the tensor requires grad.

    >>> torch.arange(6).resize_(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    shape = sizes(sizes_ if size is None else (size,), "size", "resize_")
    _check_resize(self, shape, memory_format)
    a = self._shared_array()
    if a.shape == shape and memory_format is contiguous_format:
        return self
    if self.is_inference() and not is_inference_mode_enabled():
        raise InplaceError("resize_(): Inplace update to inference tensor outside InferenceMode: clone() it first")
    strides = stride_tools.strides_for(SimpleNamespace(shape=shape, ndim=len(shape)), memory_format, "resize_")
    home, have = stride_tools.of(a), stride_tools.length_of(a)
    needed = Geometry(shape, strides, home.offset).end()
    if needed > have:
        try:
            memory = backend.module(self.device).empty((needed,), a.dtype)
        except (MemoryError, ValueError) as error:
            name_operation(error, "resize_")
            raise
        memory[:have] = restride(a, (have,), (1,), -home.offset)
        a = restride(memory, (0,), (1,), home.offset)
    self._a = restride(a, shape, strides)
    version_counter.record_write(self._a)
    return self


def _check_resize(self: Tensor, shape: tuple[int, ...], memory_format: Any) -> None:
    """Check that ``resize_`` can give a tensor this shape and this memory format."""
    if self.requires_grad and not self.is_inference() and not is_inference_mode_enabled():
        raise AutogradError("cannot resize variables that require grad")
    if followers:
        tell_change("resize_", self)
    if min(shape, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    if memory_format is preserve_format:
        raise RuntimeError("resize_(): Unsupported memory format torch.preserve_format")


def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Resize the tensor in place to the shape of another tensor.

    :param input: the tensor.
    :param the_template: the tensor with the new shape.
    :param memory_format: as for ``resize_``.
    :raises RuntimeError: the tensor requires grad.
    :raises TypeError: ``the_template`` is not a tensor.

    >>> import nbautograd as torch
    >>> torch.arange(6).resize_as_(torch.ones(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    check_tensors("resize_as_", input=input, the_template=the_template)
    shape = the_template._a.shape
    if memory_format is preserve_format:
        input.resize_(shape)
        input._a = restride(input._a, shape, stride_tools.dense(shape, stride_tools.strides_of(the_template._a)))
        return input
    return input.resize_(shape, memory_format=memory_format or contiguous_format)


alias(resize_as_=resize_as_)


@no_method(node="NotImplemented", symbol="set", half=NATIVE, input="not_implemented('set_')")
def _with_storage_of(input: Tensor) -> Tensor:
    """Return the tensor: its node stands for a change of storage, without a derivative."""
    return input


def _share(t: Tensor, array: Any, recorded: Tensor) -> Tensor:
    exchange(t, version_counter.continued(array, t._a, True))
    version_counter.record_write(t._a)
    if recorded._fn is not None and is_grad_enabled():
        t._fn = _with_storage_of(recorded)._fn
    return t


@method_of_tensor("set_", "set_")
def _set(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Make this tensor share the storage of another tensor, or a storage; without ``source`` it becomes empty.

    :param source: a tensor or a storage.
    :param storage_offset: with ``size``: the index of the first element in the storage.
    :param stride: by default row-major.
    :param size: the new shape.
    :returns: the tensor itself.
    :raises RuntimeError: ``source`` has another dtype, is too small, or the tensor is a leaf that requires grad.

    >>> torch.empty(0).set_(torch.ones(4).untyped_storage(), 1, (2,), (1,))
    tensor([1., 1.])
    """
    if not isinstance(source, (Tensor, UntypedStorage, TypedStorage, type(None))):
        raise TypeError(f"set_(): argument 'source' must be Tensor or storage, not {kind_of(source)}")
    check_history(self, "set_")
    if followers:
        tell_change("set_", self)
    if source is None:
        a = np.zeros_like(self._a, shape=(0,))
    elif isinstance(source, Tensor):
        if source.dtype is not self.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {source.dtype!r} to a tensor of type {self.dtype!r}: set_() needs the "
                "same dtype"
            )
        a = source._shared_array()
    else:
        a = source.array(self._a.dtype)
        size = (a.shape[0],) if size is None else size
    if source is not None and size is not None:
        shape = tuple(size)
        strides = tuple(stride) if stride is not None else stride_tools.contiguous(shape)
        check_inside(a, Geometry(shape, strides, storage_offset))
        a = restride(a, shape, strides, storage_offset - stride_tools.offset_of(a))
    return _share(self, a, source if getattr(source, "requires_grad", False) else self)


# -- storage ---------------------------------------------------------------------------------------------------------


@composite()
def storage_offset(input: Tensor) -> int:
    """Return the index of the first element in the storage.

    >>> torch.arange(5)[2:].storage_offset()
    2
    """
    return stride_tools.offset_of(input._a)


@composite()
def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Return whether two tensors have the same storage, offset, shape and strides.

    >>> x = torch.ones(2)
    >>> x.is_set_to(x.view(2)), x.is_set_to(torch.ones(2))
    (True, False)
    """
    a, b = input._shared_array(), tensor._shared_array()
    return (
        a.dtype == b.dtype and stride_tools.of(a) == stride_tools.of(b) and stride_tools.root(a) is stride_tools.root(b)
    )


@composite()
def untyped_storage(input: Tensor) -> UntypedStorage:
    """Return the tensor's storage, as bytes.

    >>> torch.ones(5)[2:].untyped_storage().nbytes()
    20
    """
    return UntypedStorage(input._shared_array())


@method_of_tensor("storage", "storage")
def _storage(self: Tensor) -> TypedStorage:
    """Return the tensor's storage, as elements of its dtype.

    :returns: a typed storage, of all elements of the memory.

    >>> torch.arange(5)[2:].storage().tolist()
    [0, 1, 2, 3, 4]
    """
    return TypedStorage(self._shared_array())


Tensor.storage_type = lambda self: TypedStorage
