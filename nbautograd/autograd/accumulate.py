"""AccumulateGrad: adds the gradients of the leaves to their ``.grad`` at the end of a backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nbautograd._engine.arrays import version_counter
from nbautograd._engine.arrays.caching_allocator import is_whole
from nbautograd._engine.arrays.reference_count import HELD_ONCE, getrefcount
from nbautograd._engine.arrays.sparse import SparseArray
from nbautograd._engine.arrays.thread_pool import process_lock
from nbautograd._engine.compiler.promotion import broadcasts_to
from nbautograd._engine.core.defaults import is_warn_always_enabled
from nbautograd._engine.core.node import LEAF
from nbautograd._engine.core.sparse import SparseTensor, stored, wrapped
from nbautograd._engine.core.tensor import Tensor, new
from nbautograd._engine.fusion.lazy_gradient import LazyGradient, materialize
from nbautograd._engine.ops.creation.creation import empty_like, zeros_like
from nbautograd.autograd.hooks import as_tensor, name_of
from nbautograd.errors import AutogradError, warn

Fresh = list[tuple[Tensor, Tensor]]  # leaves, and their new .grad
Grown = list[tuple[Tensor, Any]]  # tensors that are the .grad of a leaf, and the gradients to add to them


def finish(pending: dict[Tensor, Any], create_graph: bool) -> None:
    """Add the gradients in ``pending`` to the ``.grad`` of their leaves: all or, after an error, none.

    Steps that may fail come first. An interrupt after them is raised when the last leaf has its gradient.
    """
    with process_lock:  # backward passes of several threads may reach the same leaf
        fresh, grown = _prepare(pending, create_graph)
        leaves, sums = iter(fresh), iter(grown)
        try:
            _commit(leaves, sums, grown)
        except BaseException:
            _commit(leaves, sums, grown)
            raise


def _prepare(pending: dict[Tensor, Any], create_graph: bool) -> tuple[Fresh, Grown]:
    """Plan the steps of ``_commit``: in place unless the pass is recorded, so that holders of ``.grad`` see it."""
    fresh: Fresh = []
    grown: Grown = []
    for leaf in pending:
        if leaf._fn is not LEAF:
            if leaf._fn is None:  # requires_grad_(False) since its use
                continue
            raise AutogradError("leaf variable has been moved into the graph interior: it was written to after its use")
        d, held = pending[leaf], leaf._grad
        if d.__class__ is not np.ndarray:
            if d.__class__ is LazyGradient:
                d = pending[leaf] = materialize(d)
            elif d.__class__ is SparseArray or d.__class__ is SparseTensor:
                fresh.append((leaf, _sparse_sum(held, d)))
                continue
        if leaf.__class__ is SparseTensor or held.__class__ is SparseTensor:
            fresh.append((leaf, _sparse_sum(held, d)))
        elif held is None:
            if create_graph or d.shape != leaf._a.shape:  # or reshaped since
                gradient = zeros_like(leaf.detach()).copy_(as_tensor(d))  # pictures show what is copied over
            else:
                # If its reference count shows no other references, the array itself becomes .grad.
                owned = getrefcount(d) <= HELD_ONCE and is_whole(d)
                gradient = new(Tensor)
                if d.strides != leaf._a.strides:
                    gradient._a = _laid_out(leaf, d)
                elif owned or isinstance(d, np.generic):
                    gradient._a = d
                else:
                    gradient._a = d.copy() if d.flags.c_contiguous else _laid_out(leaf, d)
                    pending[leaf] = None  # another leaf that got the same array may take it
                gradient._fn = None
            fresh.append((leaf, gradient))
        elif create_graph:
            fresh.append((leaf, held + as_tensor(d)))
        else:
            if held._a.shape != d.shape:
                _check_added(leaf, held, d)
            grown.append((held, d))
    return fresh, grown


def _check_added(leaf: Tensor, held: Tensor, d: Any) -> None:
    """Check that a gradient broadcasts to the shape of ``.grad``."""
    if not broadcasts_to(d.shape, held._a.shape):
        raise AutogradError(
            f"Function AccumulateGrad returned an invalid gradient at index 0 - got {list(d.shape)} but expected shape "
            f"compatible with {list(held.shape)}, that of the existing .grad: the .data of the leaf, now of shape "
            f"{list(leaf.shape)}, has been exchanged. Set its .grad to None first."
        )


def _sparse_sum(held: Tensor | None, d: Any) -> Tensor:
    """Return the new ``.grad`` if it, the leaf or the gradient is sparse: sparse if both gradients are."""
    if isinstance(d, Tensor):
        return d.clone() if held is None else d + held if held.is_sparse and not d.is_sparse else held + d
    return wrapped(d.copy() if held is None else stored(held) + d)


def _laid_out(leaf: Tensor, d: Any) -> Any:
    """Copy a gradient with the strides of its leaf, to become its ``.grad``."""
    array = empty_like(leaf.detach())._shared_array()
    array[...] = d
    return array


def _commit(leaves: Iterator[tuple[Tensor, Tensor]], sums: Iterator[tuple[Tensor, Any]], grown: Grown) -> None:
    """Assign and add the gradients. After an interrupt a second call takes the remaining steps.

    Python runs signal handlers only at calls and backward jumps. The first two loops contain no call, nor an unpacking,
    which may need memory; so each of their steps is either done or not begun. A step of the third may run twice, which
    only adds one to a version.
    """
    for step in leaves:
        step[0]._grad = step[1]
    for sum_ in sums:
        sum_[0]._a += sum_[1]
    for held, _ in grown:
        if not isinstance(held._a, np.generic):
            version_counter.record_write(held._a)


_warned = False  # process-wide: the warning is shown once


def warn_of_cycle() -> None:
    """Warn that ``backward(create_graph=True)`` creates a reference cycle: once, unless ``set_warn_always(True)``."""
    global _warned
    if not _warned or is_warn_always_enabled():
        _warned = True
        warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient, whose graph leads back to it: the memory stays until the garbage collector finds the cycle. "
            "Use autograd.grad(..., create_graph=True), which creates none, or set .grad to None after use."
        )


def visit(leaf: Tensor, g: Any, create_graph: bool) -> None:
    """Accumulate into one leaf at once, and run its post-accumulation hooks."""
    finish({leaf: g}, create_graph)
    hooks = leaf._hooks
    if hooks is not None:
        for hook in list(hooks.accumulated.values()):
            hook(leaf)
        for hook in list(hooks.post.values()):
            if hook((), (as_tensor(g),)):
                raise RuntimeError(
                    f"hook {name_of(hook)} has returned an incorrect number of values: a leaf has no inputs"
                )
