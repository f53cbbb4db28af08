"""Forward mode of custom Functions: calls ``jvp`` for the tangents of the outputs, and checks its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import dtypes, version_counter
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.autograd import tangents
from nbautograd.autograd.function_ctx import ForwardContext
from nbautograd.autograd.tangents import Level, below, highest, tangent_of, visible
from nbautograd.errors import AutogradError, kind_of

__all__ = ["levels_of", "set_tangents"]


def levels_of(args: Sequence[Any]) -> list[Level]:
    """Return the levels at which an argument has a tangent."""
    return [level for level in visible() if highest(args, [level])]


def set_tangents(node: Any, args: Sequence[Any], outputs: list[Any], level: Level) -> None:
    """Give the outputs of a Function their tangents at a level.

    :raises RuntimeError: the tangents that ``jvp`` returns do not match the outputs.
    """
    own = [tangent_of(a, level) for a in args]
    returned, versions = _answer(node, args, own, level)
    differentiable = _check_returned(node, outputs, returned)
    dirty = set(map(id, node._dirty))
    for index in differentiable:
        out, tangent = outputs[index], returned[index]
        if id(out) in dirty:
            position = next(i for i, a in enumerate(args) if a is out)
            _check_written(tangent, own[position], versions[position])
            if own[position] is None and tangent is not None:
                _take(out, tangent, level)
        elif out._view is not None and (viewed := _position_of_base(out, args)) is not None:
            tangent = _checked_view(tangent, own[viewed])
            if own[viewed] is None:
                _take(out, tangent, level)
            else:
                tangents.set_tangent(out, tangent, level)
        elif tangent is not None:
            tangents.set_tangent(out, tangent, level)


def _answer(node: Any, args: Sequence[Any], own: list[Any], level: Level) -> tuple[list[Any], list[int | None]]:
    """Return the result of ``jvp``, and the versions of the arguments' tangents before."""
    with below(level.number):
        in_tangents = [_zeros(a) if t is None and node._materialize else t for a, t in zip(args, own, strict=True)]
        versions = [None if t is None else version_counter.version_of(t._a) for t in in_tangents]
        answer = node._function.jvp(ForwardContext(node), *in_tangents)
    return list(answer) if isinstance(answer, tuple) else [answer], versions


def _check_returned(node: Any, outputs: list[Any], returned: list[Any]) -> list[int]:
    """Check what ``jvp`` has returned, and return the positions of the differentiable outputs."""
    if len(returned) != len(outputs):
        raise AutogradError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
            f"{len(returned)})"
        )
    fixed, differentiable = {id(t) for t in node._non_differentiable}, []
    for index, (out, tangent) in enumerate(zip(outputs, returned, strict=True)):
        if tangent is not None and not isinstance(tangent, Tensor):
            raise AutogradError(f"expected Variable or None (got {kind_of(tangent)}) for grad output {index}.")
        if isinstance(out, Tensor) and id(out) not in fixed and out._a.dtype.kind in dtypes.INEXACT:
            differentiable.append(index)
        elif tangent is not None:
            raise AutogradError(
                f"Function's jvp returned a gradient at position {index}, but the corresponding forward output is "
                "not a differentiable Tensor. You should return None at that position instead."
            )
    return differentiable


def _zeros(value: Any) -> Tensor | None:
    if not isinstance(value, Tensor) or value._a.dtype.kind not in dtypes.INEXACT:
        return None
    return wrap(np.zeros_like(value._a))


def _base(t: Tensor) -> Tensor:
    base: Tensor = t if t._view is None else t._view.base
    return base


def _position_of_base(out: Tensor, args: Sequence[Any]) -> int | None:
    """Return the position of the argument that an output is a view of; None if it is not a view."""
    return next((i for i, a in enumerate(args) if isinstance(a, Tensor) and _base(a) is _base(out)), None)


def _check_written(tangent: Any, own: Tensor | None, version: int | None) -> None:
    """Check that ``jvp`` has written in place to the tangent of a dirty input."""
    if own is None:
        return
    if version_counter.version_of(own._a) == version:
        raise AutogradError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
            "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
        )
    if tangent is not own:
        raise AutogradError(
            "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is "
            "modifying an input inplace, then the jvp function must modify the gradient inplace and return it as-is."
        )


def _checked_view(tangent: Tensor | None, own: Tensor | None) -> Tensor:
    """Return the tangent of a view of an input, which must be a view of the tangent of that input."""
    if tangent is None or tangent._view is None:
        raise AutogradError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    if own is not None and _base(tangent) is not _base(own):
        expected = "given grad input" if own._view is None else "same base as the given grad input"
        raise AutogradError(
            f"A custom Function is returning a view but the jvp is not returning a view of the {expected}."
        )
    return tangent


def _take(out: Tensor, tangent: Tensor, level: Level) -> None:
    """Give a tangent to an output, and to the input whose memory it shares, which had none."""
    with below(level.number):
        tangents.fresh_tangent(out, level).copy_(tangent)
