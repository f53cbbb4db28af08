"""The tangents of tensors in forward mode, by level, and their propagation through views and in-place writes.

A tangent has the strides of its tensor, in a storage of the same length. So the tangent of a view is the same view of
the base's tangent, and a write to one of them changes the tangents of all. ``make_dual`` and ``unpack_dual`` return
views that do not share tangents with their base (``DualView``).

``forward_ad`` has one level. Nested calls of ``torch.func.jvp`` enter more: a tangent may have tangents at lower
levels, and is computed by operations that see only the lower levels (``below``).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes, strides
from nbautograd._engine.core.dispatch_mode import forward_ad_below
from nbautograd._engine.core.grad_mode import is_inference_mode_enabled
from nbautograd._engine.core.inplace import check_writable
from nbautograd._engine.core.tensor import Tensor, tensors_in, wrap
from nbautograd._engine.core.views import DualView, replay_view
from nbautograd._engine.ops._internal import cast
from nbautograd.errors import AutogradError, ShapeError

SPENT = "_spent"
"""Set in the ``__dict__`` of a leaf once the derivative with respect to it has been computed."""


class _WeakTable:
    """Values by the identity of a tensor or array; an entry is dropped with its key."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: dict[int, tuple[Any, Any]] = {}

    def get(self, key: Any) -> Any:
        entry = self.entries.get(id(key))
        return None if entry is None else entry[1]

    def set(self, key: Any, value: Any) -> None:
        if isinstance(key, np.generic):  # has no weak references; stored, so that its id is not reused
            self.entries[id(key)] = key, value
        else:
            self.entries[id(key)] = weakref.ref(key, partial(self.entries.pop, id(key))), value


class Level:
    """The tangents of one level: by tensor, and by its array as saved by nodes."""

    __slots__ = ("arrays", "number", "tangents")

    def __init__(self, number: int) -> None:
        self.number, self.tangents, self.arrays = number, _WeakTable(), _WeakTable()

    def close(self) -> None:
        """Drop all tangents."""
        self.tangents.entries.clear()
        self.arrays.entries.clear()


levels: list[Level] = []
"""The active levels, outermost first; shared by all threads, as in PyTorch."""


def enter_level() -> Level:
    """Enter a new innermost level."""
    level = Level(len(levels))
    levels.append(level)
    return level


def leave_level() -> None:
    """Exit the innermost level."""
    levels.pop().close()


def visible() -> list[Level]:
    """Return the levels whose tangents operations see in this context; none in inference mode."""
    if not levels or is_inference_mode_enabled():
        return []
    return levels[: forward_ad_below.get()]


@contextmanager
def below(number: int) -> Iterator[None]:
    """Let operations inside the ``with`` block see only the tangents of the levels below ``number``."""
    limit = forward_ad_below.get()
    token = forward_ad_below.set(number if limit is None else min(number, limit))
    try:
        yield
    finally:
        forward_ad_below.reset(token)


def suspended() -> Any:
    """Hide tangents from operations inside the ``with`` block."""
    return below(0)


# -- the tangent of a tensor -------------------------------------------------------------------------------------------


def tangent_of(value: Any, level: Level | None = None) -> Tensor | None:
    """Return the tangent of a tensor at a level, by default the innermost visible one; None if it has none."""
    if not isinstance(value, Tensor):
        return None
    if level is None:
        seen = visible()
        if not seen:
            return None
        level = seen[-1]
    own: Tensor | None = level.tangents.get(value)
    if own is None and value._view is not None:  # the base may have got a tangent after the view was created
        base, steps = _origin(value, level)
        whole = level.tangents.get(base)
        if whole is not None and base is not value:
            with below(level.number):
                own = replay_view(whole, steps)
            _keep(value, own, level)
    return own


def has_tangent(value: Any) -> bool:
    """Return whether a tensor, or one in a sequence, has a tangent at a visible level."""
    return highest([value], visible()) is not None


def highest(values: Any, seen: list[Level]) -> Level | None:
    """Return the innermost of these levels at which a value has a tangent."""
    tensors = list(tensors_in(values))
    for level in reversed(seen):
        if any(tangent_of(t, level) is not None for t in tensors):
            return level
    return None


def set_tangent(t: Tensor, tangent: Tensor, level: Level | None = None) -> None:
    """Give ``t`` a tangent at a level, by default the innermost; copied unless it has the strides of ``t``."""
    if tangent._a.shape != t._a.shape:
        raise ShapeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(t.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if tangent.device != t.device:
        raise AutogradError(
            "Trying to set a forward gradient of another device than that of the original Tensor: "
            f"{tangent.device}, not {t.device}"
        )
    level = levels[-1] if level is None else level
    with below(level.number):
        _keep(t, _laid_out_as(tangent, t), level)


def _keep(t: Tensor, tangent: Tensor, level: Level) -> None:
    level.tangents.set(t, tangent)
    level.arrays.set(t._a, tangent)


def carry(source: Tensor, target: Tensor) -> None:
    """Give ``target``, which has the same values, the tangents of ``source``."""
    for level in visible():
        tangent = tangent_of(source, level)
        if tangent is not None:
            _keep(target, tangent, level)


def forget(t: Tensor) -> None:
    """Drop the tangents of a tensor, and replace its array, so that the saved tangents of nodes are kept."""
    for level in visible():
        level.tangents.entries.pop(id(t), None)
        if level.arrays.get(t._a) is not None:
            t._a = t._shared_array().view()


def cast_to(tangent: Tensor, t: Tensor) -> Tensor:
    """Return a tangent in the dtype of its tensor."""
    if tangent._a.dtype == t._a.dtype:
        return tangent
    if tangent.is_complex() and not t.is_complex():
        tangent = tangent.real
    fitting: Tensor = cast(tangent, t._a.dtype)
    return fitting


def _laid_out_as(tangent: Tensor, t: Tensor) -> Tensor:
    """Return a tangent with the dtype and the strides of its tensor, in a storage of the same length."""
    tangent = cast_to(tangent, t)
    if is_laid_out_as(tangent._a, t._a):
        return tangent
    if 0 in t._a.strides and any(step == 0 and n > 1 for n, step in zip(t._a.shape, t._a.strides, strict=True)):
        return tangent  # an expanded tensor, whose elements each have a tangent
    return zeros_as(t).copy_(tangent)


def is_laid_out_as(a: Any, b: Any) -> bool:
    """Return whether two arrays have the same strides, at the same place in storages of the same length."""
    if a.flags.c_contiguous and b.flags.c_contiguous and a.base is None and b.base is None:
        return True
    here, there = strides.of(a), strides.of(b)
    steps = zip(here.shape, here.strides, there.strides, strict=True)
    return (
        here.offset == there.offset
        and all(s == t for n, s, t in steps if n > 1)
        and strides.length_of(a) == strides.length_of(b)
    )


def zeros_as(t: Tensor) -> Tensor:
    """Return zeros with the strides of ``t``, in a storage of the same length."""
    return wrap(strides.laid_out(np.zeros_like(t._a, shape=()), strides.of(t._a), strides.length_of(t._a)))


# -- views -------------------------------------------------------------------------------------------------------------


def _origin(t: Tensor, level: Level) -> tuple[Tensor, list[Any]]:
    """Return the base of a view that shares its tangents, and the steps that replay the view on it."""
    steps: list[Any] = []
    while t._view is not None and not _is_boundary(t._view, level):
        how = t._view
        steps.append((how.body, how.function, how.arguments))
        t = how.parent
    return t, steps[::-1]


def _is_boundary(how: Any, level: Level) -> bool:
    return how.__class__ is DualView and (how.level is level or how.level is None)


# -- writing in place --------------------------------------------------------------------------------------------------


def write(t: Tensor, result: Tensor, go: Callable[[], Tensor]) -> Tensor:
    """Write ``result`` into ``t``, and the tangent of ``result``, or zeros, into that of ``t``.

    :raises RuntimeError: a tangent may not be written to.
    """
    for level in visible():
        own = tangent_of(t, level)
        if own is not None:
            with below(level.number):
                check_writable(own, "the write to its dual tensor")
    go()
    for level in visible():
        own, new = tangent_of(t, level), tangent_of(result, level)
        with below(level.number):
            if own is None and new is not None and t._a.dtype.kind in dtypes.INEXACT:
                own = fresh_tangent(t, level)
            if own is None:
                continue
            if new is None:
                own.zero_()
            else:
                own.copy_(new)
    return t


def refuse_out(name: str, *tensors: Any) -> None:
    """Raise NotImplementedError before a result is written into ``out=`` if either has a tangent."""
    if has_tangent(tensors):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function"
        )


def change(name: str, t: Tensor, again: Callable[[Tensor], Any] | None, result: Any) -> None:
    """Change the tangents of a tensor that ``again`` changes; raise if it gets memory that they could not follow."""
    if again is not None:
        for level in visible():
            own = tangent_of(t, level)
            if own is not None:
                with below(level.number):
                    again(own)
    elif result is not None:
        refuse_out(name, t, result)
    elif has_tangent(t):
        if name == "resize_":
            raise AutogradError("cannot resize variables that has a forward grad: Resize a clone() of its primal")
        raise NotImplementedError(
            f"Trying to use forward AD with {name} that does not support it because it has not been implemented yet"
        )


def fresh_tangent(t: Tensor, level: Level) -> Tensor:
    """Return a tangent of zeros for ``t``; if it is a view, its base gets one, and ``t`` the view of that."""
    base, steps = _origin(t, level)
    whole = zeros_as(base)
    _keep(base, whole, level)
    if base is t:
        return whole
    own: Tensor = replay_view(whole, steps)
    _keep(t, own, level)
    return own
