"""Device objects: the location of existing and new tensors."""

from __future__ import annotations

import re
from _thread import _local  # threading takes a millisecond
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

_FORM = re.compile(r"([a-z_]+)(?::(0|[1-9]\d*))?")

TYPES = {"cpu", "cuda", "meta"}
"""The device types that can hold tensors; a backend that registers itself adds its own."""

FOREIGN = frozenset(
    "fpga hip hpu ideep ipu lazy maia mkldnn mps mtia opencl opengl privateuseone ve vulkan xla xpu".split()  # noqa: SIM905
)
"""PyTorch's other types: such a device can be named, but cannot hold tensors."""


class device:  # noqa: N801 - PyTorch's name
    """The location of a tensor: ``device("cpu")``, ``device("cuda")``, ``device("cuda:1")`` or ``device("cuda", 1)``.

    In a ``with`` statement, it is the default for new tensors.

    :ivar type: ``"cpu"`` or ``"cuda"``.
    :ivar index: the device number, or None for the current device.
    :raises RuntimeError: the text does not name a device.
    :raises TypeError: the argument is neither text, nor a number, nor a device.

    >>> import nbautograd as torch
    >>> torch.device("cuda:1")
    device(type='cuda', index=1)
    >>> str(torch.device("cpu"))
    'cpu'
    >>> with torch.device("cpu"):
    ...     torch.zeros(2)
    tensor([0., 0.])
    """

    __slots__ = ("index", "type")

    if TYPE_CHECKING:  # they are set without __setattr__, which raises

        @property
        def index(self) -> int | None: ...
        @property
        def type(self) -> str: ...

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        text: Any = type
        if isinstance(type, device):
            text, index = type.type, type.index if index is None else index
        elif isinstance(type, int) and not isinstance(type, bool):
            text, index = "cuda", type
        elif not isinstance(type, str):
            raise TypeError(
                f"device(): argument 'type' must be str, int or torch.device, not {type.__class__.__name__}"
            )
        parts = _FORM.fullmatch(text)
        if parts is None:
            raise RuntimeError(f"Invalid device string: {text!r}; expected one like 'cpu', 'cuda' or 'cuda:0'")
        name, number = parts.groups()
        if name not in TYPES and name not in FOREIGN:
            raise RuntimeError(
                f"Expected one of {', '.join(sorted(TYPES | FOREIGN))} device type at start of device string, "
                f"got {name!r} (tensors can be on cpu and cuda)"
            )
        if number is not None:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed: {text!r}")
            index = int(number)
        elif index is not None:
            _check_index(index)
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attribute {name!r} of 'torch.device' objects is not writable")

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, tuple[str, int | None]]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        _default.left.append(_default.value)
        _default.value = self
        return self

    def __exit__(self, *exception: object) -> None:
        _default.value = _default.left.pop()


def _check_index(index: Any) -> None:
    if not isinstance(index, int) or isinstance(index, bool):
        raise TypeError(f"device(): argument 'index' must be int, not {index.__class__.__name__}")
    if index < 0:
        raise RuntimeError(f"Device index must not be negative, got {index}")


_current: Callable[[], int] = int  # returns 0


def ask_current(function: Callable[[], int]) -> None:
    """Set the function that returns the index of the current CUDA device."""
    global _current
    _current = function


class _Default(_local):
    """The default device of each thread, and those that ``with`` statements restore."""

    def __init__(self) -> None:
        self.value = device("cpu")
        self.left: list[device] = []


_default = _Default()


def get_default() -> device:
    """Return the default device of this thread, or the block's device inside ``with device:``."""
    return _default.value


def set_default(value: device | str | int | None) -> None:
    """Set the result of ``as_device(None)``; None means the CPU.

    Inside a ``with device:`` block this lasts to the end of the block.
    """
    _default.value = device("cpu" if value is None else value)


def as_device(value: device | str | int | None) -> device:
    """Return the device named by an argument ``device=``, with its index; None is the default device."""
    resolved = _default.value if value is None else value if isinstance(value, device) else device(value)
    if resolved.type == "cuda":
        return device("cuda", _current()) if resolved.index is None else resolved
    if resolved.type == "cpu" and resolved.index is not None:
        return device("cpu")
    return resolved


device.__module__ = "nbautograd"  # pickles refer to it by this name
