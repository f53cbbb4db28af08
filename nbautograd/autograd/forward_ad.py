"""Forward-mode AD: dual tensors, which have a tangent, and operations that compute it together with their result.

Tangents are stored in ``autograd/tangents.py``; ``autograd/jvp.py`` computes those of results.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from nbautograd._engine.core import dispatch_mode
from nbautograd._engine.core.batched import BatchedTensor, batched
from nbautograd._engine.core.overlap import check_overlap
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.core.tensor_properties import TensorProperties
from nbautograd._engine.core.views import DualView
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._names import absent
from nbautograd.autograd import jvp, tangents
from nbautograd.autograd.tangents import has_tangent, levels, set_tangent, tangent_of, visible
from nbautograd.errors import AutogradError, kind_of

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """The result of :func:`unpack_dual`: the value, and its tangent or None.

    :param primal: the value, a tensor without tangent at this level.
    :param tangent: a tensor of the same shape, or None.
    :returns: a named tuple of both.
    :raises TypeError: the number of fields is not two.

    >>> import nbautograd as torch
    >>> import nbautograd.autograd.forward_ad as forward_ad
    >>> with forward_ad.dual_level():
    ...     dual = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     forward_ad.unpack_dual(dual * dual).tangent
    tensor(6.)
    """

    primal: Any
    tangent: Any


# -- levels ------------------------------------------------------------------------------------------------------------


def enter_dual_level() -> int:
    """Enter a level; until it is exited, tensors can have tangents.

    :returns: the number of the level: 0.
    :raises RuntimeError: a level is already active.

    >>> import nbautograd as torch
    >>> import nbautograd.autograd.forward_ad as forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> x = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    >>> forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    >>> forward_ad.exit_dual_level(level=level)
    """
    if levels:
        raise AutogradError(
            "Nested forward mode AD is not supported at the moment: exit the first dual_level() before entering "
            "another, or use torch.func.jvp, which can be nested"
        )
    return _enter()


def exit_dual_level(*, level: int | None = None) -> None:
    """Exit the level, and drop all tangents.

    :param level: the number that :func:`enter_dual_level` returned; the innermost level if None.
    :returns: None.
    :raises RuntimeError: no level is active, or ``level`` is not the last one entered.

    >>> import nbautograd as torch
    >>> import nbautograd.autograd.forward_ad as forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> x = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    >>> forward_ad.exit_dual_level(level=level)
    >>> forward_ad.unpack_dual(x).tangent is None
    True
    """
    number = _innermost() if level is None else level
    if number < 0:
        raise AutogradError("Dual level must be a positive number.")
    if number != _innermost():
        raise AutogradError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if len(levels) == 1:
        dispatch_mode.pop(jvp.FORWARD)
        dispatch_mode.tangents = None
    tangents.leave_level()


class dual_level:  # noqa: N801 - PyTorch's name
    """A context manager inside which tensors can carry tangents.

    :returns: a context manager; its target is the number of the level.
    :raises RuntimeError: on entering, a level is already active.

    >>> import nbautograd as torch
    >>> import nbautograd.autograd.forward_ad as forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.5]))
    ...     forward_ad.unpack_dual(x * x)
    UnpackedDualTensor(primal=tensor([1., 4.]), tangent=tensor([2., 2.]))
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


@contextmanager
def nested_level() -> Iterator[int]:
    """Enter a level inside the active ones, for ``torch.func``: its tangents may have tangents at outer levels."""
    number = _enter()
    try:
        yield number
    finally:
        exit_dual_level(level=number)


def _innermost() -> int:
    return len(levels) - 1


def _enter() -> int:
    number = tangents.enter_level().number
    if number == 0:
        dispatch_mode.tangents = jvp
        dispatch_mode.push(jvp.FORWARD, everywhere=True)
    return number


def __getattr__(name: str) -> Any:
    """Return ``_current_level``: the number of the innermost level, -1 outside."""
    if name == "_current_level":
        return _innermost()
    return absent.fail(__name__.partition(".")[2], name)


# -- dual tensors ------------------------------------------------------------------------------------------------------


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of ``tensor`` that carries ``tangent``.

    In-place writes to the view also write to ``tangent``; they give ``tensor`` no tangent. A tangent of another dtype
    or memory layout than ``tensor`` is copied.

    :param tensor: a tensor of floating or complex dtype.
    :param tangent: a tensor of the same shape.
    :param level: the number of the level; the innermost if None.
    :returns: the view, of the shape of ``tensor``.
    :raises RuntimeError: no level is active, one of the two already has a tangent, their shapes differ, or ``tensor``
        was expanded and ``tangent`` was not.
    :raises ValueError: a dtype is neither floating nor complex.

    >>> import nbautograd as torch
    >>> import nbautograd.autograd.forward_ad as forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    ...     forward_ad.unpack_dual(x.exp()).tangent
    tensor(7.3891)
    """
    number = _innermost() if level is None else level
    if isinstance(tensor, BatchedTensor) or isinstance(tangent, BatchedTensor):
        from nbautograd._engine.batching.levels import map_samples, on_same_levels

        return map_samples(partial(_dual_samples, level=level), *on_same_levels(tensor, tangent))  # type: ignore[no-any-return]
    if number < 0:
        raise AutogradError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, value in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise TypeError(f"make_dual(): argument {name!r} must be Tensor, not {kind_of(value)}")
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype!r}")
    at = _level(number, "_make_dual")
    if tangent_of(tensor, at) is not None:
        raise AutogradError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
            f"{number} is not supported. Pass its primal to make_dual()"
        )
    if tangent_of(tangent, at) is not None:
        raise AutogradError(
            f"Setting a forward grad that itself has a forward gradient at the same level {number} is not supported. "
            "Pass the primal of the tangent to make_dual()"
        )
    if tensor._a.shape == tangent._a.shape and not tangents.is_laid_out_as(tangent._a, tensor._a):
        check_overlap(tensor, "make_dual")
    dual = _dual_view(tensor, at)
    if visible():
        set_tangent(dual, tangent, at)
    return dual


def _dual_samples(samples: Tensor, tangent: Tensor, level: int | None) -> Tensor:
    """Compute ``make_dual`` for all samples; expanded samples are copied first, since each has its own tangent."""
    return make_dual(samples.clone() if 0 in samples._a.strides else samples, tangent, level=level)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value and the tangent, None if it has none.

    :param tensor: a tensor, dual or not.
    :param level: the number of the level; the innermost if None.
    :returns: ``primal``, a view of ``tensor``, and ``tangent``, of the same shape.
    :raises TypeError: ``tensor`` is not a tensor.
    :raises RuntimeError: ``tensor`` has a tangent, and the level does not exist.

    >>> import nbautograd as torch
    >>> import nbautograd.autograd.forward_ad as forward_ad
    >>> with forward_ad.dual_level():
    ...     forward_ad.unpack_dual(torch.ones(2))
    UnpackedDualTensor(primal=tensor([1., 1.]), tangent=None)
    """
    check_tensors("unpack_dual", tensor=tensor)
    if isinstance(tensor, BatchedTensor):
        primal, tangent = unpack_dual(tensor.value, level=level)
        both = [None if t is None else batched(t, tensor.bdim, tensor.level) for t in (primal, tangent)]
        return UnpackedDualTensor(*both)
    number = _innermost() if level is None else level
    if number < 0:
        return UnpackedDualTensor(tensor, None)
    if number >= len(levels) and not has_tangent(tensor):
        return UnpackedDualTensor(tensor.view(tensor.shape), None)
    at = _level(number, "_fw_primal")
    if not visible():
        return UnpackedDualTensor(tensor.view(tensor.shape), None)
    tangent = tangent_of(tensor, at)
    with tangents.below(number):
        primal = _dual_view(tensor, at)
    return UnpackedDualTensor(primal, tangent)


def _dual_view(tensor: Tensor, level: tangents.Level) -> Tensor:
    """Return a view of a tensor that does not share its tangent at this level."""
    view: Tensor = tensor.view(tensor.shape)
    view._a = tensor._a.view()  # with the tensor's strides, also those of length 1
    if view._view is not None:  # views of inference tensors are not registered as views
        view._view = DualView(view._view, level)
    return view


def _level(number: int, what: str) -> tangents.Level:
    if number >= len(levels):
        raise AutogradError(
            f"Invalid level given to {what}: level {number} does not exist, the innermost is {_innermost()}"
        )
    return levels[number]


# -- methods -----------------------------------------------------------------------------------------------------------

_methods: Any = TensorProperties
_methods._tangent, _methods._drop_tangents = tangent_of, tangents.forget
