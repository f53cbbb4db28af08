"""Tensors in other dtypes and on other devices."""

from __future__ import annotations

from typing import Any

from nbautograd import backend, dtypes
from nbautograd.declare import KEPT, composite, op
from nbautograd.device import as_device, device
from nbautograd.layouts import preserve_format
from nbautograd.ops.shape import contiguous
from nbautograd.tensor import Tensor, wrap

__all__: list[str] = []


@op(node="ToCopyBackward0", symbol="to", method=False, half=KEPT, input="move(g, input.dtype, source, place)")
def move(input: Tensor, dtype: Any, place: device, source: device) -> Tensor:
    """A copy in another (NumPy) dtype on another device than ``source``, where it is."""
    if backend.device_of(input) != place:
        input = backend.module(place).asarray(backend.fetch(input))
    if input.dtype.kind == "c" and dtype.kind != "c":
        input = input.real
    return input.astype(dtype)


@composite()
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor in another dtype, on another device, or like another tensor; itself if it is so already.

    ``to(dtype)``, ``to(device)``, ``to(device, dtype)``, ``to(other)``, each with ``non_blocking`` and ``copy``.

    :raises TypeError: an argument is none of these.

    >>> import nbautograd as torch
    >>> torch.tensor([1, 2]).to(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    kind, place = kwargs.pop("dtype", None), kwargs.pop("device", None)
    copy = kwargs.pop("copy", False)
    wanted = kwargs.pop("memory_format", None) or preserve_format
    kwargs.pop("non_blocking", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    for position, value in enumerate(args):
        if isinstance(value, Tensor):
            kind, place = value.dtype, value.device
        elif isinstance(value, dtypes.dtype):
            kind = value
        elif isinstance(value, (str, device)) or isinstance(value, int) and not isinstance(value, bool):
            place = value
        elif isinstance(value, bool):
            copy = copy or position == len(args) - 1 and value and len(args) > 2
        elif value is not None:
            raise TypeError(
                f"to(): argument {position + 1} must be a dtype, a device or a Tensor, not {type(value).__name__}"
            )
    kind = input.dtype if kind is None else kind
    target = input.device if place is None else as_device(place)
    if kind is not input.dtype or target != input.device or copy:
        result = move(input, kind.numpy, target, input.device)
        input = result if kind.rank > 1 else wrap(result._a)
    return input if wanted is preserve_format else contiguous(input, wanted)


def _converter(name: str, kind: dtypes.dtype) -> Any:
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        return to(self, kind, memory_format=memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"The tensor in dtype {kind.name}; itself if it is so already."
    return convert


for _name, _kind in {
    **{d.name: d for d in dtypes.ALL},
    **dtypes.ALIASES,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
}.items():
    if not _name[-1].isdigit():
        setattr(Tensor, _name, _converter(_name, _kind))


@composite()
def cpu(input: Tensor) -> Tensor:
    """The tensor on the CPU; itself if it is there already.

    >>> import nbautograd as torch
    >>> torch.ones(2).cpu().device
    device(type='cpu')
    """
    return to(input, "cpu")


@composite()
def cuda(input: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on a CUDA device, the current one by default.

    :raises RuntimeError: CUDA cannot be used here; the message says why.
    """
    return to(input, "cuda" if device is None else device)


@composite()
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of ``other``.

    >>> import nbautograd as torch
    >>> torch.tensor([1]).type_as(torch.tensor([1.]))
    tensor([1.])
    """
    return to(input, other.dtype)
