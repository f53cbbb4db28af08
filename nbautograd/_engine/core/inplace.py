"""In-place writes: the rules for writable tensors, and the write itself.

``apply_inplace`` implements ``x.mul_(y)`` and the like: compute out of place, then ``copy_into``, which writes the
result into the tensor's memory, advances the version counter and gives the tensor the history of the result. How the
history of views and their base follows is in ``core/views.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, version_counter
from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.batched import BatchedTensor
from nbautograd._engine.core.dispatch_mode import UNHANDLED, followers
from nbautograd._engine.core.grad_mode import is_grad_enabled, is_inference_mode_enabled, no_grad
from nbautograd._engine.core.node import LEAF, Node
from nbautograd._engine.core.overlap import check_operands, check_overlap, write_each_once
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.core.views import check_history_follows, rebase_history, record_unrecorded_write
from nbautograd.errors import CAUGHT, DeviceError, DtypeError, InplaceError, ShapeError, kind_of, name_operation


def check_history(t: Tensor, what: str) -> None:
    """Check that the history of ``t`` may change: that ``t`` may be the result of an in-place operation.

    :raises InplaceError: ``t`` is a leaf that requires grad, or a view of one, and operations are recorded.
    """
    if is_inference_mode_enabled():
        return
    if is_grad_enabled():
        if t._view is not None:
            check_view(t, False)
        if t._view is not None and t._view.base.is_leaf and t._fn is not None:
            raise InplaceError(
                f"a view of a leaf Variable that requires grad is being used in an in-place operation ({what}). "
                "Write inside torch.no_grad(), or compute a new tensor instead."
            )
        if t._fn is LEAF:
            raise InplaceError(
                f"a leaf Variable that requires grad is being used in an in-place operation ({what}). "
                "Write inside torch.no_grad() or to its .data, or compute a new tensor instead (w = w - step)."
            )
    if version_counter.inferred and version_counter.is_inference(t._a) and not t._detached:
        raise InplaceError(
            f"Inplace update to inference tensor outside InferenceMode is not allowed ({what}): clone() it first."
        )


def check_writable(t: Tensor, what: str) -> None:
    """Check that ``t`` may be written to in place.

    :raises InplaceError: ``t`` is a leaf that requires grad, or a view of one, and operations are recorded; or several
        elements of ``t`` share memory.
    """
    check_history(t, what)
    check_overlap(t, what)


def check_call(check: Any, t: Tensor, name: str, function: Any, args: Any, kwargs: Any) -> None:
    """Check that ``t`` may be written to; the TypeError of the call comes first."""
    try:
        check(t, name)
    except InplaceError:
        with no_grad(), suppress(RuntimeError, IndexError):
            function(t.detach(), *args, **kwargs)
        raise


def own_copy(t: Tensor) -> Tensor:
    """Return a tensor of the same values and history in memory of its own."""
    return wrap(t._a.copy(), t._fn)


def apply_inplace(
    t: Tensor, name: str, function: Callable[..., Tensor], args: Any, kwargs: Any, seen: bool = False
) -> Tensor:
    """Run the in-place method ``t.name(...)``: compute, then write into ``t``; an error changes nothing.

    :param seen: True if the watcher of operations has seen this call.
    """
    if not isinstance(t, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {kind_of(t)}")
    if followers and (answer := _outside(t, name, function, args, kwargs, seen)) is not UNHANDLED:
        return answer  # type: ignore[no-any-return]
    if "out" in kwargs:
        raise TypeError(f"{name}() got an unexpected keyword argument 'out': it writes into the tensor itself")
    keeps_history = name in KEEP_HISTORY
    if keeps_history:
        check_overlap(t, name)
    else:
        check_call(check_writable, t, name, function, args, kwargs)
    check_operands(t, (*args, *kwargs.values()) if kwargs else args, name)
    former = t
    if dispatch_mode.tangents is not None:
        former = t.clone()  # forward-mode AD differentiates the formulas, which need the value before the write
    elif is_grad_enabled() and dispatch_mode.is_on() and t.__class__ is not BatchedTensor:
        former = own_copy(t)  # hooks on saved tensors may keep their tensor
    try:
        result = function(former, *args, **kwargs)
        if keeps_history:
            with no_grad():
                return copy_into(t, result)
        return copy_into(t, result)
    except CAUGHT as error:
        name_operation(error, name)
        raise


def _outside(t: Tensor, name: str, function: Callable[..., Tensor], args: Any, kwargs: Any, seen: bool) -> Any:
    """Return what a profiler, or a class, makes of an in-place method; ``UNHANDLED`` without either."""
    watch, override = dispatch_mode.watcher, dispatch_mode.override
    if watch is not None and not seen:
        call = lambda t, *args, **kwargs: apply_inplace(t, name, function, args, kwargs, True)  # noqa: E731
        return watch(name, call, (t, *args), kwargs)
    return UNHANDLED if override is None else override(getattr(Tensor, name, function), (t, *args), kwargs)


def apply_augmented(t: Tensor, name: str, function: Callable[..., Tensor], args: Any, kwargs: Any) -> Any:
    """Run an augmented assignment; NotImplemented lets Python try the operator and the other operand's method."""
    if isinstance(args[0], (Tensor, int, float, complex, np.generic)) or hasattr(args[0], "__torch_function__"):
        return apply_inplace(t, name, function, args, kwargs)
    return NotImplemented


KEEP_HISTORY = ("logical_and_", "logical_not_", "logical_or_", "logical_xor_")
"""Methods after which a tensor has the history that it had before, as in PyTorch; leaves may be written to as well."""


def prepare(*arrays: Any) -> None:
    """Tell the followers of writes that arrays are about to be overwritten."""
    for follower in followers:
        for array in arrays if follower.prepare is not None else ():
            follower.prepare(array)


def tell_change(name: str, t: Tensor, again: Callable[[Tensor], Any] | None = None, result: Any = None) -> None:
    """Tell the followers of writes of another change of a tensor, as ``Interpreter.change`` says."""
    for follower in followers:
        if follower.change is not None:
            follower.change(name, t, again, result)


def check_view(t: Tensor, recorded: bool) -> None:
    """Raise InplaceError if the history of a view's base cannot follow a write to the view.

    The view is one of several outputs then, or was created while nothing was recorded.
    """
    how = t._view
    if how.obstacle is None or not is_grad_enabled() or is_inference_mode_enabled():
        return
    if recorded or how.base._fn is not None:
        check_history_follows(t, indirect=False)


def copy_into(t: Tensor, result: Tensor, followed: bool = False) -> Tensor:
    """Write ``result`` into the memory of ``t``, which takes over its history (``t.copy_`` without a cast).

    :param followed: True if the followers of writes call it.
    :raises RuntimeError: ``result`` has another shape, or a dtype of a higher category.
    """
    if t.__class__ is BatchedTensor or result.__class__ is BatchedTensor:
        samples: Any = t if t.__class__ is BatchedTensor else result
        return samples.level.assign(t, result)  # type: ignore[no-any-return]
    if result._a.shape != t._a.shape:
        raise ShapeError(
            f"output with shape {list(t._a.shape)} doesn't match the broadcast shape {list(result._a.shape)}"
        )
    check_cast(result._a.dtype, t._a.dtype)
    if followers and not followed:
        return _write_followed(t, result)
    before, target, node = t._a, t._shared_array(), result._fn
    recorded = is_grad_enabled() and (node is not None or t._fn is not None) and not is_inference_mode_enabled()
    if t._view is not None:
        check_view(t, recorded)
    if recorded and isinstance(node, Node):
        _keep_saved(node, before, result._a, target)
        if result._a.dtype is not target.dtype and node.input_meta is not None:
            # Its gradient arrives in the tensor's dtype; the gradient of an operand in the result's dtype is cast as
            # well.
            own = (result._a.shape, result._a.dtype, None)
            node.input_meta = tuple([own if meta is None else meta for meta in node.input_meta])
    if followers:
        prepare(target)
    if 0 in target.strides and target.size:
        write_each_once(target, result._a.astype(target.dtype))
    elif result._a.dtype is target.dtype:
        target[...] = result._a
    else:
        with backend.quiet():
            target[...] = result._a
    if not recorded:
        record_unrecorded_write(t)
    else:
        version_counter.record_write(target)
        # In forward mode tangents have been computed from the node.
        if isinstance(node, Node) and node._seq and dispatch_mode.tangents is None:
            node._seq = version_counter.next_sequence_nr()  # this write is of the saved result: not stale
        rebase_history(t, node)
    return t


def _write_followed(t: Tensor, result: Tensor) -> Tensor:
    """Let the followers make a write, the last one outermost."""
    go = partial(copy_into, t, result, True)
    for follower in followers:
        if follower.write is not None:
            go = partial(follower.write, t, result, go)
    return go()


def _keep_saved(node: Node, before: Any, result: Any, target: Any) -> None:
    """Copy the values that the node saved of ``target`` before it is overwritten, and redirect a saved result to it."""

    def protected(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return tuple(map(protected, value)) if value.__class__ is tuple else [protected(part) for part in value]
        if value is before or hasattr(value, "dtype") and version_counter.same_memory(value, target):
            copy = value.copy()
            if dispatch_mode.tangents is not None:
                dispatch_mode.tangents.copied(value, copy)
            return copy
        return target if value is result and result.dtype == target.dtype and dispatch_mode.tangents is None else value

    for name in node.saved:
        setattr(node, name, protected(getattr(node, name)))


def check_cast(source: np.dtype[Any], target: np.dtype[Any]) -> None:
    """Raise DtypeError if a write would lose a result's category: floats into integers, complex into floats."""
    if source != target and dtypes.of(source).rank > max(1, dtypes.of(target).rank) - (target.kind == "b"):
        raise DtypeError(
            f"result type {dtypes.scalar_type(source)} can't be cast to the desired output type "
            f"{dtypes.scalar_type(target)}"
        )


def out_rules() -> ModuleType:
    """Return the module of the rules of ``out=``, which is imported with the first call that has one."""
    from nbautograd._engine.core import out_dtypes

    return out_dtypes


def into(out: Any, result: Any, name: str) -> Any:
    """Return the result, written into the tensor ``out`` unless that is None."""
    return result if out is None else resize_into(out, result, name)


def resize_into(out: Any, result: Any, name: str) -> Any:
    """Write ``result`` into ``out``, which is resized and keeps its dtype; several results into as many tensors."""
    if isinstance(result, tuple):
        return _into_several(out, result, name)
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {kind_of(out)}")
    if result.__class__ is BatchedTensor:
        raise InplaceError(f"vmap: out= is not possible for {name}() with batched tensors. Omit it")
    is_unrecorded = result._a.dtype.kind == "b" or out_rules().UNRECORDED.match(name) is not None
    if is_grad_enabled() and (result._fn is not None or out._fn is not None and not is_unrecorded):
        return _into_recorded(out, result, name)
    if followers:
        tell_change(name, out, result=result)
    _check_kinds(out, result, name)
    if out._a.shape != result._a.shape:
        result = out_rules().resize_memory(name, out, result)
    if is_unrecorded:  # it has no derivative: also into leaves
        check_overlap(out, name)
        with no_grad():
            return copy_into(out, wrap(result._a))
    check_writable(out, name)
    return copy_into(out, wrap(result._a))


def _into_several(out: Any, result: tuple[Any, ...], name: str) -> Any:
    out_rules().check_count(name, out, len(result))
    if name in out_rules().OF_ONE_OR_SEVERAL:
        for o, r in zip(out, result, strict=True):
            if o.dtype is not r.dtype:
                out_rules().refuse(name, r.dtype, o)
    return type(result)([resize_into(o, r, name) for o, r in zip(out, result, strict=True)])


def _into_recorded(out: Tensor, result: Tensor, name: str) -> Any:
    """Copy the result with its history, if PyTorch's operation does; else raise."""
    if name not in out_rules().COPIED:
        raise InplaceError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    out_rules().check_dtype(out, result, name)
    check_cast(result._a.dtype, out._a.dtype)
    return out_rules().record_copy(name, out, result)


def _check_kinds(out: Tensor, result: Tensor, name: str) -> None:
    """Check that ``out`` is on the result's device, and its dtype."""
    if out.device != result.device:
        raise DeviceError(
            f"{name}(): Expected all tensors to be on the same device, but found at least two devices, {result.device} "
            f"and {out.device} of the argument 'out'"
        )
    out_rules().check_dtype(out, result, name)
    try:
        check_cast(result._a.dtype, out._a.dtype)
    except DtypeError as error:
        name_operation(error, name)
        if name in out_rules().JOINING:
            raise TypeError(str(error)) from None
        raise
