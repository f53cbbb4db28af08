"""The tensor: an array, and the node of the tape whose output it is.

The two fields that every operation writes, ``_a`` and ``_fn``, are slots. Rarer fields are stored in the instance's
``__dict__``, with defaults on the class, so that a tensor without them has no extra cost.

``_a`` is an array, or a NumPy scalar where a 0-d tensor on the CPU has not been shared or written to yet (arithmetic on
scalars takes half the time; ``_shared_array`` makes it an array). ``_fn`` is None, ``LEAF`` (of a leaf with gradient),
or the ``Node`` or ``OutputEdge`` whose output the tensor is. Shape, dtype and the like are in
``core/tensor_properties.py``, conversions in ``core/tensor_conversions.py``; most methods are attached by the
operations' declarations in ``ops/``.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, raw_memory, version_counter
from nbautograd._engine.arrays.device import as_device
from nbautograd._engine.arrays.reference_count import HELD_ONCE, getrefcount
from nbautograd._engine.core import exchanged_data
from nbautograd._engine.core.grad_mode import is_inference_mode_enabled
from nbautograd._engine.core.hooks import Hooks, LeafHooks, RemovableHandle, warn_of_hooks
from nbautograd._engine.core.node import LEAF, OutputEdge, UnrecordedView
from nbautograd._engine.core.tensor_conversions import TensorConversions
from nbautograd._engine.core.tensor_kinds import TensorKinds
from nbautograd._engine.core.tensor_properties import TensorProperties
from nbautograd._names.docstrings.methods import describe_methods
from nbautograd.errors import SCALAR_TYPES, AutogradError, kind_of, warn

new = object.__new__


if TYPE_CHECKING:  # attributes from the operations' declarations, written by docs/stubs.py
    from nbautograd._engine.core._tensor_methods import TensorMethods as _Methods
else:
    _Methods = object


class _Fields(_Methods):
    __slots__ = ("_a", "_fn")
    _a: Any
    _fn: Any


_fn_of, _set_fn = _Fields._fn.__get__, _Fields._fn.__set__  # the slot itself, if a class in between has a property


@describe_methods
class Tensor(TensorProperties, TensorKinds, TensorConversions, _Fields):
    """An n-dimensional array that can record operations on it.

    ``Tensor(2, 3)`` is an uninitialized float tensor of that shape and ``Tensor([1, 2])`` a float tensor of those
    values; use :func:`nbautograd.tensor` instead, which keeps the type of its data.

    >>> import nbautograd as torch
    >>> torch.Tensor([1, 2])
    tensor([1., 2.])
    """

    __slots__ = ("__dict__", "__weakref__")
    __array_priority__ = 1000  # so that NumPy calls Tensor.__rmul__ for ``array * tensor``

    _seq = 0  # the engine's sequence number: a leaf is older than every node, and comes last in topological order
    _relays = False  # as Node._relays: the engine does not run a leaf
    _view: Any = None  # set if the tensor is a view of another's memory: see core/views.py
    _views: Any = None  # set if others are views of its memory
    _detached = False  # True if it was detached from an inference tensor: then it counts writes
    _grad: Tensor | None = None
    _hooks: Hooks | None = None
    _sparse: Any = None  # the elements of a sparse tensor: see core/sparse.py
    _printed_as = "tensor"
    _results_are_plain = False  # True if operations on a subclass return plain tensors
    _data_since = 0  # when its array was last exchanged: see core/exchanged_data.py

    __torch_function__: ClassVar[Any]  # by core/overrides.py, as the next
    _make_subclass: ClassVar[Any]
    _alias: Callable[[], Tensor]  # attached by ops/indexing/indexing.py
    _construct: Callable[..., Tensor]  # attached by ops/creation/legacy_tensor_types.py

    def __new__(cls, *data: Any, **options: Any) -> Any:
        """Create an uninitialized tensor, one of values, or an alias of a tensor."""
        alias = len(data) == 1 and isinstance(data[0], Tensor)
        source = data[0].detach() if alias else cls._construct(None, data, options)
        self = new(cls)
        self._a, self._fn = source._shared_array(), None
        return self

    def __init__(self, *data: Any, **options: Any) -> None:
        """Do nothing; subclasses may have an ``__init__`` with their own arguments."""

    # -- its memory ----------------------------------------------------------------------------------------------------

    @property
    def _version(self) -> int:
        """Number of in-place writes to the tensor's memory."""
        if version_counter.is_inference(self._a) and not self._detached:
            raise AutogradError("Inference tensors do not track version counter.")
        return version_counter.version_of(self._a)

    def is_inference(self) -> bool:
        """Return whether the tensor was created in inference mode."""
        return version_counter.is_inference(self._a)

    def _shared_array(self) -> Any:
        """Return the array itself, never a scalar: it can be shared with a view or written to."""
        a = self._a
        if isinstance(a, np.generic):
            a = self._a = version_counter.alias(a)
        return a

    @property
    def data(self) -> Tensor:
        """A tensor of the same memory without history; autograd does not notice writes through it."""
        if version_counter.is_inference(self._a):
            return self.detach()
        if not self._a.ndim:
            exchanged_data.expect_hidden_writes()
        return wrap(version_counter.unshared(self._shared_array()))

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {kind_of(value)}")
        kinds = self._a.__class__, value._a.__class__
        if kinds[0] is not kinds[1] and backend.is_bare(self._a) != backend.is_bare(value._a):
            raise RuntimeError(
                "Attempted to call variable.set_data(tensor), but `variable` and `tensor` have incompatible tensor "
                f"type: they are on {self.device} and {value.device}. Create a new tensor instead"
            )
        if self.requires_grad and value._a.dtype.kind not in dtypes.INEXACT:
            words = "data set to a tensor that requires gradients must be floating point or complex dtype"
            raise AutogradError(f"{words}, and this one is of dtype {value.dtype!r}")
        if version_counter.is_inference(self._a) and not version_counter.is_inference(value._a):
            raise AutogradError("Inference tensors do not track version counter: only another one can be their data.")
        former = self._a
        shared = getattr(former, "base", None) is not None or getrefcount(former) > HELD_ONCE  # with views of it
        exchanged_data.exchange(self, version_counter.continued(value._shared_array().view(), former, shared))

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def detach(self) -> Tensor:
        """Return a tensor of the same memory without history; autograd notices in-place writes to either."""
        detached = wrap(self._shared_array().view())
        if version_counter.is_inference(self._a) and not is_inference_mode_enabled():
            detached._detached = True
        return detached

    def detach_(self) -> Tensor:
        """Detach the tensor itself from its history."""
        if self.is_inference() or is_inference_mode_enabled():
            return self
        if self._view is not None:
            raise AutogradError("Can't detach views in-place. Use detach() instead")
        self._fn = None
        self._drop_tangents()
        return self

    # -- its place in the graph --------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """True if operations on this tensor are recorded."""
        return self._fn is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise AutogradError(f"requires_grad must be a bool, not {kind_of(value)}")
        if value:
            if self._a.dtype.kind not in dtypes.INEXACT:
                raise AutogradError(
                    "only Tensors of floating point and complex dtype can require gradients, "
                    f"and this one is of dtype {self.dtype!r}"
                )
            if version_counter.is_inference(self._a) and not is_inference_mode_enabled():
                raise AutogradError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed. clone() it"
                )
        fn = self._fn
        if fn is None or fn is LEAF:
            if value is not (fn is LEAF):
                self._fn = LEAF if value else None
                self._views_require_grad(value)
        elif fn.__class__ is UnrecordedView:
            if value:
                self._fn = LEAF
        else:
            hints = {
                True: "This one was computed, and requires grad already.",
                False: "If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach().",
            }
            raise AutogradError(f"you can only change requires_grad flags of leaf variables. {hints[value]}")

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise AutogradError("requires_grad must be a bool, and cannot be deleted")

    def _views_require_grad(self, value: bool) -> None:
        """Make the unrecorded views of this leaf follow its ``requires_grad``."""
        for ref in () if self._views is None else self._views[0]:
            view = ref()
            fn = None if view is None else _fn_of(view)
            if view is not None and (fn is None or fn.__class__ is UnrecordedView):
                _set_fn(view, UnrecordedView() if value else None)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` in place."""
        if not isinstance(requires_grad, bool):
            raise TypeError(
                f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {kind_of(requires_grad)}"
            )
        inferred = version_counter.is_inference(self._a) and not is_inference_mode_enabled()
        if not requires_grad or inferred or self.is_leaf:
            self.requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> Any:
        """The node whose output the tensor is; None for a leaf."""
        fn = self._fn
        if fn is None or fn is LEAF or fn.is_hidden:
            return None
        return fn.next0 if fn.__class__ is OutputEdge else fn

    @property
    def output_nr(self) -> int:
        """Index of the tensor among the outputs of ``grad_fn``."""
        return self._fn.index if self._fn.__class__ is OutputEdge else 0

    @property
    def is_leaf(self) -> bool:
        """True if the tensor is a leaf: created by the user, or not requiring grad."""
        fn = self._fn
        return fn is None or fn is LEAF or fn.is_hidden

    @property
    def grad(self) -> Tensor | None:
        """The accumulated gradient of backward passes: None before the first, then a tensor of the same shape."""
        if self._grad is None and not self.is_leaf and not self.retains_grad:
            warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its gradient flowed "
                "through here during backward() but is not kept. To keep it, call .retain_grad() on the tensor before "
                "backward(); if this was meant to be a leaf, make sure that the leaf and not something computed from "
                "it is accessed."
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {kind_of(value)}")
            if value is self:
                raise AutogradError("can't assign Variable as its own grad")
            try:
                a, b = self._a, value._a
                if a.shape != b.shape or a.dtype is not b.dtype or a.__class__ is not b.__class__ or self.is_cuda:
                    self._check_grad(value)
            except AttributeError:  # one of them is sparse
                self._check_grad(value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def _check_grad(self, value: Tensor) -> None:
        if self.shape != value.shape:
            raise AutogradError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size "
                f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same size"
            )
        if self.dtype is not value.dtype:
            raise AutogradError(
                f"attempting to assign a gradient with dtype '{dtypes.C_TYPES[value.dtype.name]}' to a tensor with "
                f"grad_dtype '{SCALAR_TYPES[self.dtype.name]}'. The gradient must match the tensor's dtype: convert it "
                f"with .to({self.dtype!r})"
            )
        if self.device != value.device:
            raise AutogradError(
                f"assigned grad has data located on a different device: {value.device}, and the tensor is on "
                f"{self.device}"
            )

    @property
    def retains_grad(self) -> bool:
        """True if a computed tensor keeps its gradient in ``.grad``."""
        return not self.is_leaf and self._fn.hooks is not None and self._fn.hooks.retain is not None

    def retain_grad(self) -> None:
        """Keep the gradient of this computed tensor in ``.grad`` in later backward passes; no effect on leaves."""
        if not self.requires_grad:
            raise AutogradError("can't retain_grad on Tensor that has requires_grad=False")
        if not self.is_leaf:
            self._fn._own_hooks().retain = weakref.ref(self)

    def _own_hooks(self) -> Hooks:
        if self._hooks is None:
            self._hooks = LeafHooks()
        return self._hooks

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call ``hook(grad)`` when the gradient of this tensor is complete; its result replaces the gradient.

        :param hook: a function of the gradient; its result, if not None, replaces it.
        :returns: a handle, whose ``remove()`` removes the hook.
        :raises RuntimeError: the tensor does not require grad.

        >>> import nbautograd as torch
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> (3 * x).backward()
        >>> x.grad
        tensor(30.)
        """
        if self._fn is None:
            raise AutogradError("cannot register a hook on a tensor that doesn't require gradient")
        owner = self if self._fn is LEAF else self._fn
        return RemovableHandle(owner._own_hooks().tensor, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` after a gradient has been added to the ``.grad`` of this leaf."""
        if self._fn is None:
            raise AutogradError("cannot register a hook on a tensor that doesn't require gradient")
        if self._fn is not LEAF:
            raise AutogradError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return RemovableHandle(self._own_hooks().accumulated, hook)

    # -- as Python values --------------------------------------------------------------------------------------------

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
        # Results of NumPy's own functions, such as np.sin(tensor), become tensors; bools become uint8, as in PyTorch.
        return wrap(array.astype(np.uint8) if array.dtype == bool else array)

    def __iter__(self) -> Iterator[Tensor]:
        if self._a.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (Tensor, int, float, complex, np.generic)):
            return bool((self == element).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    __hash__ = object.__hash__  # by identity, regardless of ``==``; leaves are keys in every backward pass

    def __format__(self, spec: str) -> str:
        if self._a.ndim == 0 and type(self) is Tensor:  # as a plain number
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        from nbautograd._engine.core import printing

        try:
            fn = self.grad_fn
            name = None if fn is None else type(fn).__name__
        except AutogradError:  # a view whose history could not follow a write
            name = "Invalid"
        return printing.format_tensor(
            self._a, dtype=self.dtype, default_dtype=dtypes.get_default_dtype(), device=str(self.device),
            requires_grad=name is None and self.requires_grad, grad_fn=name, fetch=backend.fetch,
            tangent=None if self._tangent() is None else f"{self._tangent()}", name=self._printed_as,
            contents=tensor_contents,
        )  # fmt: skip

    # -- copies ------------------------------------------------------------------------------------------------------

    def __copy__(self) -> Tensor:
        """Return another tensor with the same memory; a leaf, which requires grad if this one does."""
        if type(self) is Tensor:
            warn_of_hooks(self._hooks)
        return self._like_me(self._shared_array().view())

    def _like_me(self, array: Any) -> Tensor:
        copied = wrap(array, None if self._fn is None else LEAF)
        copied.__class__ = self.__class__
        return copied

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment, and this one was computed. Use .detach() or .clone() instead."
            )
        if id(self) not in memo:
            self._copy_deeply(memo)
        return memo[id(self)]  # type: ignore[no-any-return]

    def _copy_deeply(self, memo: dict[Any, Any]) -> None:
        """Enter a copy of this leaf, and of its attributes, into ``memo``."""
        from copy import deepcopy

        copied = memo[id(self)] = self._like_me(raw_memory.deep_copy(self._a, memo))
        if is_inference_mode_enabled():
            version_counter.mark_inference(copied._shared_array())
        for name, value in self.__dict__.items():
            if name == "_grad" or not name.startswith("_"):
                setattr(copied, name, deepcopy(value, memo))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle in PyTorch's form: with strides and as a leaf, but without gradient, hooks and sharing of memory."""
        if type(self) is Tensor:
            warn_of_hooks(self._hooks)
        requires_grad = self._fn is not None  # asked first: it may change the class of a view
        flat, offset = (None, 0) if backend.is_bare(self._a) else raw_memory.span(backend.fetch(self._a))
        place = (self.dtype, tuple(self._a.shape), tuple(self._a.strides), offset)
        attributes = {name: value for name, value in self.__dict__.items() if not name.startswith("_")}
        return _rebuild_tensor, (type(self), flat, place, str(self.device), requires_grad), attributes or None


def _rebuild_tensor(cls: type[Tensor], flat: Any, place: tuple[Any, ...], where: str, requires_grad: bool) -> Tensor:
    """Rebuild a tensor from a pickle."""
    dtype, shape, strides, offset = place
    module = backend.module(as_device(where))
    if flat is None:  # on the device meta
        bare = module.empty(0, dtype.numpy)
        array = backend.of(bare).strided(bare, shape, strides, 0)
    else:
        if flat.dtype == np.uint8 and not flat.flags.writeable:
            flat = flat.copy()
        array = module.asarray(np.ndarray(shape, dtype.numpy, flat, offset, strides))
    tensor = wrap(array, LEAF if requires_grad else None)
    tensor.__class__ = cls
    return tensor


def wrap(array: Any, fn: Any = None) -> Tensor:
    """Return a tensor of an array, created by the node ``fn``; if ``fn`` is a leaf, that leaf itself."""
    if fn is not None and isinstance(fn, Tensor):
        return fn
    t = new(Tensor)
    t._a = array
    t._fn = fn
    return t


_wrap = types.FunctionType(wrap.__code__, globals(), "wrap", wrap.__defaults__)
wrap_known = types.FunctionType(wrap.__code__, globals(), "wrap_known", wrap.__defaults__)
"""Like ``wrap``, for an array of another tensor, or one made of shapes and numbers alone: a trace knows the values. It
raises for those of other arrays that no operation computed."""
_tellers: tuple[Callable[[Tensor, bool], object], ...] = ()  # process-wide, see autograd/inference.py


def _wrap_and_tell(array: Any, fn: Any = None) -> Tensor:
    """Wrap an array while ``on_wrap`` has a listener, and call it."""
    return _told(_wrap(array, fn), False)


def _wrap_known_and_tell(array: Any, fn: Any = None) -> Tensor:
    return _told(_wrap(array, fn), True)


def _told(t: Tensor, known: bool) -> Tensor:
    for tell in _tellers:
        tell(t, known)
    return t


def on_wrap(tell: Callable[[Tensor, bool], object], on: bool = True) -> None:
    """Call ``tell`` with each tensor that ``wrap`` and ``wrap_known`` create, and whether it is known; or no more."""
    global _tellers
    _tellers = (*[other for other in _tellers if other != tell], *[tell] * on)
    wrap.__code__ = (_wrap_and_tell if _tellers else _wrap).__code__
    wrap_known.__code__ = (_wrap_known_and_tell if _tellers else _wrap).__code__


def array_of(value: Any) -> Any:
    """Return the array of a tensor; anything else unchanged."""
    return value._a if isinstance(value, Tensor) else value


def stored(value: Any) -> Any:
    """Return the array of a tensor, a sparse array for a sparse tensor; anything else unchanged."""
    return (value._a if value._sparse is None else value._sparse) if isinstance(value, Tensor) else value


def tensors_in(values: Any) -> Iterator[Tensor]:
    """Yield the tensors among values, also in lists and tuples."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from tensors_in(value)


_rebuild = _rebuild_tensor  # the name in older pickles
_rebuild_tensor.__module__ = Tensor.__module__ = "nbautograd"
