"""Process-wide settings, as in PyTorch, and its mathematical constants."""

from __future__ import annotations

import math
from typing import Any

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.device import as_device, device, set_default
from nbautograd._names.docstrings import described
from nbautograd.errors import warn

__all__ = [
    "are_deterministic_algorithms_enabled", "e", "get_default_device", "get_deterministic_debug_mode", "inf",
    "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled", "nan", "newaxis", "pi",
    "set_default_device", "set_default_tensor_type", "set_deterministic_debug_mode", "set_warn_always",
    "use_deterministic_algorithms",
]  # fmt: skip

e, pi, inf, nan = math.e, math.pi, math.inf, math.nan
newaxis = None

_warn_always = False
_deterministic = False
_deterministic_warns = False


@described
def get_default_device() -> device:
    """Return the default device of new tensors.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    return as_device(None)


@described
def set_default_device(device: device | str | int | None) -> None:
    """Set the default device of new tensors; None means the CPU.

    :raises RuntimeError: the text does not name a device.

    >>> torch.set_default_device("cpu")
    """
    set_default(device)


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by the name or class of a tensor type; deprecated, as in PyTorch.

    :param t: a floating type such as ``torch.DoubleTensor`` or ``"torch.DoubleTensor"``.
    :raises TypeError: ``t`` is not a floating tensor type.
    """
    name = (t if isinstance(t, str) else f"torch.{getattr(t, '__name__', t)}").removeprefix("torch.")
    kind = dtypes.TENSOR_TYPES.get(name)
    if kind is None:
        raise TypeError(f"invalid type object: set_default_tensor_type() got {t!r}; accepted are {known_types()}")
    warn("torch.set_default_tensor_type() is deprecated: use torch.set_default_dtype() and torch.set_default_device()")
    dtypes.set_default_dtype(kind)


def known_types() -> str:
    """Return the names of the tensor types, for messages."""
    return ", ".join(f"torch.{name}" for name in dtypes.TENSOR_TYPES)


def set_warn_always(b: bool) -> None:
    """Set whether once-per-process warnings are repeated each time; Python's own filters still apply."""
    global _warn_always
    _warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """Return the last value of ``set_warn_always``; initially False."""
    return _warn_always


_warned: set[str] = set()


def warn_once(message: str) -> None:
    """Warn once per process, or, after ``set_warn_always(True)``, each time, as PyTorch does."""
    if message not in _warned or _warn_always:
        _warned.add(message)
        warn(message)


@described
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Store the setting: on the CPU every algorithm here is deterministic anyway.

    :param warn_only: also stored.

    >>> torch.use_deterministic_algorithms(True)
    >>> torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    global _deterministic, _deterministic_warns
    _deterministic, _deterministic_warns = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Return the last value of ``use_deterministic_algorithms``; initially False."""
    return _deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return the last ``warn_only`` of ``use_deterministic_algorithms``; initially False.

    :returns: a Python bool.

    >>> import nbautograd as torch
    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _deterministic_warns


@described
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set ``use_deterministic_algorithms`` by a mode: 0 or "default", 1 or "warn", 2 or "error".

    :raises TypeError: ``debug_mode`` is neither a number nor text.
    :raises RuntimeError: the mode is unknown.

    >>> torch.set_deterministic_debug_mode("warn")
    >>> torch.get_deterministic_debug_mode()
    1
    >>> torch.set_deterministic_debug_mode(0)
    """
    words = ("default", "warn", "error")
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str) and debug_mode not in words:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    level = words.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if level not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {level}")
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """Return 0, 1 or 2, as accepted by ``set_deterministic_debug_mode``.

    :returns: an int.

    >>> import nbautograd as torch
    >>> torch.get_deterministic_debug_mode()
    0
    """
    return 0 if not _deterministic else 1 if _deterministic_warns else 2
