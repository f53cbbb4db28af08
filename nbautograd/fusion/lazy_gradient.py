"""Gradients of large arrays that wait: several elementwise formulas, one after the other, are computed in one go.

Each pass over an array of ten million numbers costs what reading and writing it costs. So the formula of a node that
is followed by another elementwise one, or by a leaf, is not computed: its gradient stands for what it will be, and is
computed, piece by piece with all that it is made of, by whoever needs the numbers.

Only the engine's fast loop knows of this, and there only nodes of the flavour ``large``. Before code of the user's can
run, which might write to what a waiting gradient is made of, ``settle`` computes all that wait.
"""

from __future__ import annotations

import weakref
from contextvars import ContextVar
from sys import getrefcount
from typing import Any

import numpy as np

from nbautograd.fusion import tiling
from nbautograd.fusion.kernel import ElementwiseKernel

__all__ = ["LazyGradient", "add_gradients", "compute", "materialize", "materialize_pending", "pending_gradients"]

pending_gradients: ContextVar[list[weakref.ref[LazyGradient]] | None] = ContextVar("waiting", default=None)
"""The gradients of this backward pass that were left to wait; None where none may."""

MAX_FUSED_COST = 16
"""Steps that are worth a pass over memory: a gradient made of more is computed at once."""


class LazyGradient:
    """The gradient that ``work`` will compute from ``values``, among which may be such as this."""

    __slots__ = ("__weakref__", "array", "cost", "dtype", "shape", "size", "values", "work")
    __array_ufunc__ = None  # array + deferred is for us to say

    def __init__(self, work: ElementwiseKernel, values: tuple[Any, ...], like: Any) -> None:
        self.work, self.values, self.array = work, values, None
        self.shape, self.dtype, self.size = like.shape, like.dtype, like.size
        self.cost: int = work.cost + sum(value.cost for value in values if value.__class__ is LazyGradient)

    def __add__(self, other: Any) -> Any:
        return compute(tiling.SUM, (self, other), to=ANY_TARGET)

    __radd__ = __add__

    def copy(self) -> Any:
        """The numbers, as an array that is the caller's."""
        return materialize(self).copy()


class _AnyTarget:
    """Stands for an edge whose node accepts a lazy gradient."""

    seq = 0


ANY_TARGET = _AnyTarget()


def compute(
    work: ElementwiseKernel, values: tuple[Any, ...], spare: Any = None, fit: Any = None, to: Any = None
) -> Any:
    """What ``work`` computes from ``values``: now, or later if the edge ``to`` and this pass allow it.

    :param spare: see ``pieces.compute``, as for ``fit``.
    """
    here = pending_gradients.get()
    values = tuple(
        [
            materialize(value) if value.__class__ is LazyGradient and value.array is not None else value
            for value in values
        ]
    )
    if here is not None and fit is None and to is not None and work.steps is not None:
        accepts = not to.seq or (to.__class__.takes_lazy_gradient and to.rare is None)
        if accepts and (like := _like(values)) is not None:
            made = LazyGradient(work, values, like)
            if made.cost <= MAX_FUSED_COST:
                here.append(weakref.ref(made))
                return made
            values = tuple(map(materialize, values))
    if any(value.__class__ is LazyGradient for value in values):
        program = Program(work, values)
        found = tiling.compute(program.work, tuple(program.leaves), spare, fit, program.shape)
        return found if found is not None else tiling.compute(work, tuple(map(materialize, values)), None, fit)
    return tiling.compute(work, values, spare, fit)


def materialize(g: Any) -> Any:
    """A gradient as an array."""
    if g.__class__ is not LazyGradient:
        return g
    if g.array is None:
        g.array = compute(g.work, g.values, _spare(g))
        g.work, g.values = tiling.SUM, ()
    return g.array


def materialize_pending() -> None:
    """Compute all gradients that wait in this pass: code follows that might write to what they are made of."""
    here = pending_gradients.get()
    if here:
        for reference in here:
            materialize(reference())
        here.clear()


def add_gradients(g: Any, d: Any) -> Any:
    """``g + d``; one that the engine alone holds is overwritten, if both are arrays."""
    return g + d if g.__class__ is LazyGradient else tiling.add_gradients(g, d)


def _like(values: tuple[Any, ...]) -> Any:
    """The operand whose shape and dtype the result has: the first, a gradient; None if it has not all that it takes."""
    first = values[0]
    if first.__class__ is not LazyGradient and (
        first.__class__ is not np.ndarray or first.size < tiling.MIN_TILED_SIZE
    ):
        return None
    arrays = [value for value in values if value.__class__ is LazyGradient or value.__class__ is np.ndarray]
    fine = first.dtype in tiling.FLOATS and all(a.dtype is first.dtype for a in arrays)
    return first if fine and all(_is_in_order(a, first.shape) for a in arrays if a.__class__ is np.ndarray) else None


def _is_in_order(a: Any, shape: tuple[int, ...]) -> bool:
    return tiling.compact(a) is not None and np.broadcast_shapes(a.shape, shape) == shape


# -- several works as one --------------------------------------------------------------------------------------------


class Program:
    """Works that follow each other, as one over the arrays and numbers at their beginnings."""

    def __init__(self, work: ElementwiseKernel, values: tuple[Any, ...]) -> None:
        self.names: dict[int, str] = {}
        self.leaves: list[Any] = []
        self.calls: list[tuple[ElementwiseKernel, list[str], str]] = []
        self.shape = next(value.shape for value in values if value.__class__ is LazyGradient)
        self.add(work, values)
        self.work = _joined(self.calls)

    def add(self, work: ElementwiseKernel, values: tuple[Any, ...]) -> str:
        """What the result of ``work`` is called, after the calls that it takes."""
        given = [self.names.get(id(value)) or self.name(value) for value in values]
        self.calls.append((work, given, f"t{len(self.calls)}"))
        return self.calls[-1][2]

    def name(self, value: Any) -> str:
        """What an operand is called, the first time."""
        if value.__class__ is LazyGradient and value.array is None:
            name = self.add(value.work, value.values)
        else:
            name = f"v{len(self.leaves)}"
            self.leaves.append(materialize(value))
        self.names[id(value)] = name
        return name


def _joined(calls: list[tuple[ElementwiseKernel, list[str], str]]) -> ElementwiseKernel:
    """Several kernels as one: its scratch also holds the results between them, as long as they are needed."""
    last = {given: index for index, (_, names, _) in enumerate(calls) for given in names}
    free: list[int] = []
    taken = 0
    place: dict[str, int] = {}
    plan: list[tuple[Any, int, list[tuple[bool, int]]]] = []
    inner = max(work.scratch for work, _, _ in calls)
    for index, (work, given, made) in enumerate(calls):
        operands = [(n[0] == "t", place[n] if n[0] == "t" else int(n[1:])) for n in given]
        for n in set(given):  # an operand's room may be the result's, if nothing else needs it
            if n[0] == "t" and last[n] == index:
                free.append(place[n])
        if index == len(calls) - 1:
            to = -1
        else:
            if not free:
                free.append(taken)
                taken += 1
            to = place[made] = free.pop()
        plan.append((work.steps, to, operands))

    def steps(out: Any, scratch: Any, *leaves: Any) -> None:
        own, between = scratch[:inner], scratch[inner:]
        for function, to, operands in plan:
            given = [between[i] if is_made else leaves[i] for is_made, i in operands]
            function(out if to < 0 else between[to], own, *given)

    return ElementwiseKernel(_unplain, steps, inner + taken, [], 0)


def _unplain(*_: Any) -> None:
    """That a program cannot be cut, which ``_like`` has looked at, is found out before anything is computed."""


def _spare(root: LazyGradient) -> Any:
    """A large array that nothing but this gradient needs, so that its numbers may be written there."""
    held: dict[int, int] = {}  # how often by what waits here
    nodes = [root]
    arrays: list[Any] = []
    for node in nodes:  # which grows
        for value in node.values:
            if id(value) not in held:
                (nodes if value.__class__ is LazyGradient and value.array is None else arrays).append(value)
            held[id(value)] = held.get(id(value), 0) + 1
    value = None
    for node in nodes[1:]:
        if getrefcount(node) > held[id(node)] + _OTHERS + 1:  # the slice
            return None
    for value in arrays:
        if getrefcount(value) <= held[id(value)] + _OTHERS and tiling.is_owned(value) and value.shape == root.shape:
            return value
    return None


def _other_count() -> int:
    """How many references there are to what a list holds while a loop looks at it."""
    for thing in [np.empty(1)]:
        return getrefcount(thing)
    raise AssertionError


_OTHERS = _other_count()
