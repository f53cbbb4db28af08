"""Device objects: where a tensor lives."""

from __future__ import annotations

import re

__all__ = ["device"]

_PATTERN = re.compile(r"([a-z_]+)(?::(\d+))?\Z")


class device:  # noqa: N801 - PyTorch's name
    """Where a tensor lives: ``device("cpu")``, ``device("cuda")``, ``device("cuda:1")`` or ``device("cuda", 1)``.

    :ivar type: ``"cpu"`` or ``"cuda"``.
    :ivar index: which one, or None for the current one.
    :raises RuntimeError: the text is no device.

    >>> import nbautograd as torch
    >>> torch.device("cuda:1")
    device(type='cuda', index=1)
    >>> str(torch.device("cpu"))
    'cpu'
    """

    __slots__ = ("index", "type")

    def __init__(self, type: str | int | device, index: int | None = None) -> None:
        if isinstance(type, device):
            self.type: str = type.type
            self.index: int | None = type.index if index is None else index
            return
        if isinstance(type, int):
            index = type
            type = "cuda"
        match = _PATTERN.match(type) if isinstance(type, str) else None
        if match is None:
            raise RuntimeError(f"Invalid device string: {type!r}; expected one like 'cpu', 'cuda' or 'cuda:0'")
        self.type = match[1]
        if match[2] is not None:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed: {type!r}")
            index = int(match[2])
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        self.index = index

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[type[device], tuple[str, int | None]]:
        return device, (self.type, self.index)


_default = device("cpu")


def set_default(value: device | str | int | None) -> None:
    """Set what ``as_device(None)`` is; None goes back to the CPU."""
    global _default
    _default = device("cpu") if value is None else as_device(value)


def as_device(value: device | str | int | None) -> device:
    """The device that an argument ``device=`` names; None is the default one."""
    if value is None:
        return _default
    found = value if isinstance(value, device) else device(value)
    if found.type == "cuda" and found.index is None:
        return device("cuda", 0)
    return found
