"""Tensors in other dtypes, on other devices and in pinned memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.device import as_device, device
from nbautograd._engine.arrays.memory_format import contiguous_format, memory_format as memory_formats, preserve_format
from nbautograd._engine.arrays.strides import copied
from nbautograd._engine.compiler.op import NATIVE, OPS, composite, make_inplace_method, no_method
from nbautograd._engine.core.batched import BatchedTensor
from nbautograd._engine.core.defaults import warn_once
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd._engine.ops._internal import cast
from nbautograd._engine.ops.creation.creation import copy as copy_here
from nbautograd._engine.ops.creation.from_data import number_in, tensor
from nbautograd._engine.ops.queries import check_tensors, example
from nbautograd._engine.ops.shape.shape import contiguous
from nbautograd._names.docstrings import described
from nbautograd.errors import DeviceError, DtypeError, kind_of

__all__ = ["get_device"]


@no_method(node="ToCopyBackward0", symbol="to", half=NATIVE, input="move(g, input.dtype, source, place)")
def move(input: Tensor, dtype: Any, place: device, source: device) -> Tensor:
    """Return a copy cast to a NumPy dtype and moved from the device ``source`` to ``place``."""
    if backend.device_of(input) != place:
        input = backend.module(place).asarray(backend.fetch(input))
    if input.dtype.kind == "c" and dtype.kind not in "bc":
        input = input.real
    return copied(input, dtype) if 0 in input.strides else input.astype(dtype)


@composite()
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return the tensor cast to a dtype and moved to a device; the tensor itself if nothing changes.

    Called as ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or ``to(other)``, which takes both from another
    tensor; each with ``non_blocking``, ``copy`` and ``memory_format``.

    :param non_blocking: has no effect: copies to the device are asynchronous, copies to the host synchronous.
    :param copy: return a copy even if nothing changes.
    :param args: as above.
    :param kwargs: ``dtype``, ``device``, ``other``, ``non_blocking``, ``copy`` or ``memory_format``.
    :raises TypeError: an argument is not one of these.
    :raises RuntimeError: CUDA is requested but not available; the message says why.

    >>> torch.tensor([1, 2]).to(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    kind, place, copy, wanted = _target(args, kwargs)
    kind = input.dtype if kind is None else kind
    target = input.device if place is None else as_device(place)
    if input._a.dtype.kind == "c" and kind.rank in (1, 2) and input._a.size:
        warn_once("Casting complex values to real discards the imaginary part")
    ordered = input if wanted is preserve_format else contiguous(input, wanted)
    if kind is not input.dtype or target != input.device or copy:
        result = move(ordered, kind.numpy, target, input.device)  # which keeps the order
        return result if kind.rank > 1 else result.detach()
    return ordered if ordered is input or ordered._fn is None else move(ordered, kind.numpy, target, target)


def copied_from_anywhere(input: Tensor, other: Tensor, non_blocking: bool = False) -> Tensor:
    """Return ``other``, a tensor on any device or a number, in the dtype and shape of ``input``."""
    if isinstance(other, (int, float, complex, np.generic)):
        other = tensor(other, device=input.device)
    check_tensors("copy_", other=other)
    if other.device != input.device:
        other = to(other, input.device)
    if input._a.dtype.kind in "iub":
        other = other.detach()  # integers have no gradient, as in PyTorch
    return copy_here(input, other, non_blocking)


Tensor.copy_ = make_inplace_method("copy_", copied_from_anywhere, OPS["copy"])


def brought(name: str, value: Tensor, x: Tensor) -> Tensor:
    """Return a value to write into elements of ``x``: on its device, to which only a single number is moved."""
    if value.device != x.device:
        if value._a.ndim:
            raise DeviceError(
                f"{name}(): Expected all tensors to be on the same device, but found at least two devices, {x.device} "
                f"and {value.device}!"
            )
        value = to(value, x.device)
    return value


def in_dtype_of(x: Tensor, value: Tensor, key: Any) -> Tensor:
    """Return a value to assign in the dtype of ``x``; only one element for a single mask is cast, as a fill is."""
    left, right = x._a.dtype, value._a.dtype
    if left == right:
        return value
    masks = [item for item in key if not isinstance(item, slice)]
    if value._a.size == len(masks) == 1 and masks[0].dtype.kind == "b":
        if not value.is_meta and value.__class__ is not BatchedTensor:
            if right.kind == "c" and left.kind not in "bc" and not value.item().imag:
                value = value.real
            number_in(value.item(), x.dtype)  # raises for a number that does not fit
        return cast(value.reshape(()), left)
    raise DtypeError(
        f"Index put requires the source and destination dtypes match, got {dtypes.scalar_type(left)} for the "
        f"destination and {dtypes.scalar_type(right)} for the source."
    )


_TARGETS: dict[str, tuple[Any, str]] = {
    "device": ((str, device, int), "a device, a dtype or a Tensor"),
    "dtype": (dtypes.dtype, "torch.dtype"),
    "other": (Tensor, "Tensor"),
    "memory_format": (memory_formats, "torch.memory_format"),
}
"""The types of the arguments of ``to``, and their names in messages; others are bools."""


def _check_target(name: str, value: Any) -> None:
    if value is None and name in ("device", "dtype", "memory_format"):
        return
    accepted, expected = _TARGETS.get(name, (bool, "bool"))
    if not isinstance(value, accepted) or (name == "device" and isinstance(value, bool)):
        raise TypeError(
            f"to() received an invalid combination of arguments: {name} must be {expected}, not {kind_of(value)}"
        )


def _target(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """Parse the arguments of ``to``: dtype, device, whether to copy, memory format."""
    names = ["device", "dtype", "non_blocking", "copy"]
    first = args[0] if args else None
    if isinstance(first, (bool, float, complex)):
        first = type(first)
        args = (first, *args[1:])
    if isinstance(first, Tensor) or "other" in kwargs:
        names = ["other", *names[2:]]
    elif isinstance(first, (dtypes.dtype, type)):
        names = names[1:]
    surplus = [name for name in kwargs if name in names[: len(args)] or name not in (*names, "memory_format")]
    if surplus:
        raise TypeError(f"to() got an unexpected keyword argument {surplus[0]!r}")
    if len(args) > len(names):
        raise TypeError(f"to() takes at most {len(names)} positional arguments here, not {len(args)}")
    result = {**dict(zip(names, args, strict=False)), **kwargs}
    if "dtype" in result:
        result["dtype"] = dtypes.as_dtype(result["dtype"])
    for name, value in result.items():
        _check_target(name, value)
    other = result.get("other")
    kind, place = (result.get("dtype"), result.get("device")) if other is None else (other.dtype, other.device)
    return kind, place, bool(result.get("copy")), result.get("memory_format") or preserve_format


def _converter(name: str, kind: dtypes.dtype) -> Any:
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        if memory_format is contiguous_format and kind is self.dtype:
            return self  # in its own order, as in PyTorch
        return to(self, kind, memory_format=memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"""Return the tensor cast to {kind.name}; the tensor itself if it has that dtype.

    :returns: a tensor of the same shape.

    >>> torch.ones(2).{name}().dtype
    {kind!r}
    """
    return described(convert)


CASTS = {**dtypes.ALIASES, "bool": dtypes.bool_, "byte": dtypes.uint8, "char": dtypes.int8, "bfloat16": dtypes.bfloat16}
"""The dtypes of the methods that cast."""
for _name, _kind in CASTS.items():
    setattr(Tensor, _name, _converter(_name, _kind))


@composite()
@example("ones(2).cpu().device -> device(type='cpu')")
def cpu(input: Tensor, memory_format: Any = None) -> Tensor:
    """Return the tensor moved to the CPU; the tensor itself if it is already there."""
    if input.is_cpu and memory_format is contiguous_format:
        return input
    return to(input, "cpu", memory_format=memory_format)


@composite()
def cuda(input: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Return the tensor moved to a CUDA device, by default the current one.

    :param input: the tensor.
    :param device: a CUDA device; the current one if None.
    :param non_blocking: has no effect.
    :param memory_format: the order of the dimensions in memory.
    :returns: a tensor of the same shape.
    :raises RuntimeError: the device is not a CUDA device, or CUDA is not available; the message says why.
    """
    place = as_device("cuda" if device is None else device)
    if place.type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device: {place}")
    return to(input, place, non_blocking=non_blocking, memory_format=memory_format)


@composite()
@example("ones(2).get_device() -> -1")
def get_device(input: Tensor) -> int:
    """Return the index of the tensor's CUDA device; -1 for the CPU."""
    place = input.device
    return -1 if place.index is None else place.index


@composite()
def pin_memory(input: Tensor, device: Any = None) -> Tensor:
    """Return a copy of a CPU tensor in pinned (page-locked) memory; the tensor itself if it is pinned already.

    :param input: the tensor.
    :param device: has no effect.
    :returns: a tensor of the same shape.
    :raises RuntimeError: CUDA is not available, or the tensor is not on the CPU.
    """
    if not input.is_cpu:
        raise RuntimeError(f"cannot pin a tensor on {input.device}: only dense CPU tensors can be pinned")
    return input if is_pinned(input) else wrap_known(backend.cuda.pin(input._shared_array()))


@composite()
@example("ones(2).is_pinned() -> False")
def is_pinned(input: Tensor, device: Any = None) -> bool:
    """Return whether the tensor is in pinned (page-locked) memory."""
    return input.is_cpu and backend.cuda.is_pinned(input._shared_array())


@composite()
@example("[1].type_as([1.]) -> [1.]")
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """Return the tensor cast to the dtype of ``other``, and moved to its device."""
    return to(input, other.device, other.dtype)
