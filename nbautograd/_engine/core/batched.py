"""Batched tensors: the arguments of a function that ``vmap`` runs for a whole batch at once.

A ``BatchedTensor`` holds a tensor of all samples, its ``value``, and the index of the batch dimension. Shape, strides
and dtype are those of one sample. Operations never see it: the dispatch mode of its level (``batching/mode.py``)
intercepts every call, computes with ``value``, and wraps the result. So history, tangents and memory belong to
``value``.

Code that reads a tensor's array gets a ``SampleArray``. It has the shape, strides and dtype of one sample, and raises
when its elements are read. It refers to its batched tensor, so that all samples can be recovered from it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from nbautograd._engine.core import tensor as core_tensor
from nbautograd._engine.core.dispatch_mode import Interpreter, followers
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import AutogradError

DATA_DEPENDENT = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that: "
    "samples could take different branches. Use torch.where(condition, a, b) to choose for each sample."
)
ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations: each sample has its own item."
)
NO_STORAGE = (
    "Cannot access data pointer of Tensor that doesn't have storage: inside vmap a tensor represents all samples, and "
    "does not have its own array"
)


class NoRuleError(AutogradError):
    """An error for a custom Function without a rule for batches of samples."""


class ElementsError(AutogradError):
    """An error for reading elements of a batched tensor: each sample has its own."""


class BatchLevel(Interpreter):
    """One running ``vmap``: its number (from 1), the batch size, and its ``randomness``."""

    follows = True

    def __init__(self, number: int, size: int, randomness: str) -> None:
        self.number, self.size, self.randomness = number, size, randomness


_stack: ContextVar[tuple[BatchLevel, ...]] = ContextVar("vmap_levels", default=())
levels = _stack.get
"""Returns the active levels, outermost first."""
_in_transform: ContextVar[bool] = ContextVar("in_transform", default=False)
in_transform = _in_transform.get


@contextmanager
def transforming() -> Iterator[None]:
    """Mark the ``with`` block as part of a function transform, where custom Functions need ``setup_context``."""
    token = _in_transform.set(True)
    try:
        yield
    finally:
        _in_transform.reset(token)


class without_level:  # noqa: N801 - a context manager, used in lower case
    """A context manager that deactivates the innermost level, or replaces the active levels by those of ``stack``."""

    __slots__ = ("stack", "token")

    def __init__(self, stack: tuple[BatchLevel, ...] | None = None) -> None:
        self.stack = _stack.get()[:-1] if stack is None else stack

    def __enter__(self) -> None:
        self.token = _stack.set(self.stack)

    def __exit__(self, *exception: object) -> None:
        _stack.reset(self.token)


tracer: Any = None
"""A handler for functions that draw random numbers or read elements, while a function is traced; set by ``traced``."""


def reader() -> Any:
    """Return what runs functions that draw random numbers or read elements here: the innermost level, or a trace."""
    stack = _stack.get()
    return stack[-1] if stack else tracer


def random_function(how: str, traced: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator of functions that draw random numbers: inside ``vmap`` they follow its ``randomness``.

    :param how: the signature of the function, a key of ``_HOW`` in ``batching/random.py``.
    :param traced: what a trace records other than the call: the drawn ``"value"``, or the function's ``"steps"``.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def public(*args: Any, **kwargs: Any) -> Any:
            if followers and (asked := reader()) is not None:
                return asked.random(how, traced, public, args, kwargs)
            return function(*args, **kwargs)

        return public

    return decorate


sample_by_sample: list[str] = []
"""The names of the functions that ``looks_at_elements`` decorates; for the documentation."""


def looks_at_elements(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that reads the elements of tensors: inside ``vmap`` it runs sample by sample."""
    sample_by_sample.append(function.__name__)

    @functools.wraps(function)
    def public(*args: Any, **kwargs: Any) -> Any:
        if followers and (asked := reader()) is not None:
            return asked.elements(public, args, kwargs)
        return function(*args, **kwargs)

    return public


def checks_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that reads the elements of tensors or arrays and returns a Python value.

    If a function is traced (``nbautograd/_compat/traced``), this value is recomputed in each call.
    """

    @functools.wraps(function)
    def public(*args: Any) -> Any:
        return function(*args) if tracer is None else tracer.check(function, args)

    return public


def elements(t: Any) -> Any:
    """Return the array of a tensor with the elements of all samples, for checks of values; an array itself."""
    if tracer is not None:
        tracer.looks(t)
    if t.__class__ is SampleArray and t.tensor is not None:
        t = t.tensor
    while t.__class__ is BatchedTensor:
        t = t.value
    return t._a if isinstance(t, Tensor) else t


def _no_elements(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise ElementsError(
        "vmap: this function looks at the elements of a tensor, and inside vmap a tensor represents all samples "
        "(after vmap, it is no longer valid). Rewrite it with other operations, or call it in a loop."
    )


def refuse_dynamic(name: str, input: Any) -> None:
    """Raise ElementsError for a batched tensor in an operation whose result has a data-dependent shape."""
    if input.__class__ is BatchedTensor:
        raise ElementsError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
            f"{name}(): each sample could have a different result shape"
        )


OF_MEMORY = (np.may_share_memory, np.shares_memory)
"""NumPy functions that read no elements; they are called with the array of the first sample."""


class SampleArray(np.ndarray[Any, Any]):
    """The array of a batched tensor: it has one sample's shape, strides and dtype, and its elements cannot be read."""

    tensor: BatchedTensor | None = None

    def __array_finalize__(self, parent: Any) -> None:
        self.tensor = None

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in OF_MEMORY:
            _no_elements(self)
        return function(*(a.view(np.ndarray) if isinstance(a, SampleArray) else a for a in args), **kwargs)

    __array_ufunc__ = __array__ = _no_elements
    item = tolist = tobytes = dump = dumps = tofile = _no_elements
    __bool__ = __int__ = __float__ = __complex__ = __index__ = __iter__ = __contains__ = _no_elements
    astype = copy = fill = flatten = take = put = choose = nonzero = searchsorted = __copy__ = _no_elements
    min = max = argmin = argmax = argsort = sort = sum = mean = prod = any = all = cumsum = cumprod = _no_elements
    std = var = clip = round = trace = repeat = dot = conj = conjugate = __setitem__ = _no_elements


class BatchedTensor(Tensor):
    """All samples of a level in one tensor, which looks like a single sample."""

    __slots__ = ("bdim", "level", "value")
    value: Tensor
    bdim: int
    level: BatchLevel

    @property
    def _a(self) -> Any:
        whole = self.value._a
        if not isinstance(whole, np.ndarray) or not whole.shape[self.bdim]:  # on another device, or no samples
            whole = np.broadcast_to(np.zeros((), whole.dtype), whole.shape[: self.bdim] + whole.shape[self.bdim + 1 :])
        else:
            whole = whole[(slice(None),) * self.bdim + (0, ...)]
        sample = whole.view(SampleArray)
        sample.flags.writeable = False
        sample.tensor = self
        return sample

    @_a.setter
    def _a(self, array: Any) -> None:
        raise AutogradError(
            "vmap: a batched tensor cannot be given other memory, as by out=. Write in place, with copy_()"
        )

    @property
    def _fn(self) -> Any:
        return self.value._fn

    @_fn.setter
    def _fn(self, fn: Any) -> None:
        self.value._fn = fn

    @property
    def device(self) -> Any:
        """The device of the samples."""
        return self.value.device

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Raise AutogradError: not supported inside ``vmap``."""
        raise AutogradError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) "
            "inside of a function being transformed by a functorch transform. This is unsupported, please attempt to "
            "use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside "
            "of a function being transformed instead."
        )

    @property
    def requires_grad(self) -> bool:
        """True if operations on the samples are recorded."""
        return bool(self.value.requires_grad)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value != self.requires_grad:
            self.requires_grad_(value)

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """Raise AutogradError: not supported inside ``vmap``."""
        raise AutogradError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms."
        )

    def detach(self) -> Tensor:
        """Return a tensor of the samples without history."""
        return batched(self.value.detach(), self.bdim, self.level)

    @property
    def data(self) -> Tensor:
        """A tensor of the samples without history; autograd does not notice writes through it."""
        return batched(self.value.data, self.bdim, self.level)

    @data.setter
    def data(self, value: Tensor) -> None:
        raise AutogradError("vmap: the data of a batched tensor cannot be exchanged. Write in place, with copy_()")

    @property
    def _version(self) -> int:
        return self.value._version

    def is_inference(self) -> bool:
        """Return whether the samples were created in inference mode."""
        return self.value.is_inference()

    def _no_item(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise ElementsError: inside ``vmap`` each sample has its own item."""
        raise ElementsError(ITEM)

    item = _number = __index__ = __int__ = __float__ = __complex__ = _no_item

    def __bool__(self) -> NoReturn:
        raise ElementsError(DATA_DEPENDENT)

    is_nonzero = __bool__

    def _no_storage(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise ElementsError: one sample does not have an array inside ``vmap``."""
        raise ElementsError(NO_STORAGE)

    _shared_array = numpy = tolist = data_ptr = __array__ = _no_storage

    def _new(self, name: str, size: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
        shape = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        make = getattr(self.value, name)
        return batched(make((self.level.size, *options.pop("size", shape)), **options), 0, self.level)

    def new_zeros(self, *size: Any, **options: Any) -> Tensor:
        """Return zeros for each sample, with this tensor's dtype and device by default."""
        return self._new("new_zeros", size, options)

    def new_ones(self, *size: Any, **options: Any) -> Tensor:
        """Return ones for each sample, with this tensor's dtype and device by default."""
        return self._new("new_ones", size, options)

    def new_empty(self, *size: Any, **options: Any) -> Tensor:
        """Return an uninitialized tensor for each sample, with this tensor's dtype and device by default."""
        return self._new("new_empty", size, options)

    def new_full(self, size: Any, fill_value: Any, **options: Any) -> Tensor:
        """Return a tensor of ``fill_value`` for each sample, with this tensor's dtype and device by default."""
        return self._new("new_full", (size,), {"fill_value": fill_value, **options})

    def __copy__(self) -> Tensor:
        return batched(self.value.__copy__(), self.bdim, self.level)

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __repr__(self, **options: Any) -> str:  # type: ignore[override]
        value = repr(self.value).replace("\n", "\n    ")
        return f"BatchedTensor(lvl={self.level.number}, bdim={self.bdim}, value=\n    {value}\n)"


BatchedTensor.__module__ = "nbautograd"


def batched(value: Tensor, bdim: int, level: BatchLevel) -> BatchedTensor:
    """Return a batched tensor of ``value``, whose dimension ``bdim`` is the batch dimension of ``level``."""
    t: BatchedTensor = core_tensor.new(BatchedTensor)
    t.value, t.bdim, t.level = value, bdim, level
    return t


def level_of(value: Any) -> int:
    """Return the level number of a batched tensor, or of a batched tensor's array; 0 for everything else."""
    if value.__class__ is BatchedTensor:
        return int(value.level.number)
    if value.__class__ is SampleArray and value.tensor is not None:
        return int(value.tensor.level.number)
    return 0
