"""``torch.accelerator``: the CUDA devices under a name that does not say so, and none where there is no such device."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from nbautograd import cpu, cuda
from nbautograd._engine.arrays.device import device as Device  # noqa: N812 - PyTorch's name is taken by arguments

__all__ = [
    "Event",
    "Stream",
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_device_capability",
    "get_device_module",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available() -> bool:
    """Whether there is a CUDA device that can be used.

    :returns: a Python bool, that of ``torch.cuda.is_available()``.

    >>> import nbautograd as torch
    >>> torch.accelerator.is_available() == torch.cuda.is_available()
    True
    """
    return cuda.is_available()


def device_count() -> int:
    """How many CUDA devices there are.

    :returns: an int; 0 where CUDA cannot be used.

    >>> import nbautograd as torch
    >>> torch.accelerator.device_count() == torch.cuda.device_count()
    True
    """
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """``device("cuda")``, or None where no such device can be used.

    :param check_available: accepted as in PyTorch; here a device that cannot be used is never named.
    :returns: a ``torch.device`` or None.

    >>> import nbautograd as torch
    >>> torch.accelerator.current_accelerator() in (None, torch.device("cuda"))
    True
    """
    return Device("cuda") if cuda.is_available() else None


def _needs_one(of_cuda: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function of ``torch.cuda``, where there is a device."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if not cuda.is_available():
            raise RuntimeError(
                f"Cannot access accelerator device when none is available. torch.accelerator.{name} is about CUDA "
                f"devices here: {cuda.why_not()}"
            )
        return of_cuda(*args, **kwargs)

    functools.update_wrapper(function, of_cuda, assigned=(), updated=())  # for the signature
    function.__signature__ = _with_whole_names(inspect.signature(of_cuda))  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = _said_of_accelerators(inspect.getdoc(of_cuda) or "", of_cuda.__name__, name)
    return function


def _with_whole_names(signature: inspect.Signature) -> inspect.Signature:
    """A signature of ``torch.cuda`` as another module has it: it says whose streams are meant."""

    def whole(annotation: Any) -> Any:
        return annotation.replace("Stream", "nbautograd.cuda.Stream") if isinstance(annotation, str) else annotation

    parameters = [p.replace(annotation=whole(p.annotation)) for p in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=whole(signature.return_annotation))


def _said_of_accelerators(doc: str, of_cuda: str, name: str) -> str:
    """The docstring of a function of ``torch.cuda``, with the names and the error of that of ``torch.accelerator``."""
    fields, blank, example = doc.partition("\n\n>>> ")
    lines = [line for line in fields.split("\n") if not line.startswith(":raises CudaUnavailableError")]
    lines.append(":raises RuntimeError: there is no such device.")
    example = example.replace(f"cuda.{of_cuda}", f"cuda.{name}").replace("torch.cuda.", "torch.accelerator.")
    return "\n".join(lines) + blank + example


current_device_index = current_device_idx = _needs_one(cuda.current_device, "current_device_index")
set_device_index = set_device_idx = _needs_one(cuda.set_device, "set_device_index")
current_stream = _needs_one(cuda.current_stream, "current_stream")
set_stream = _needs_one(cuda.set_stream, "set_stream")
synchronize = _needs_one(cuda.synchronize, "synchronize")
empty_cache = _needs_one(cuda.empty_cache, "empty_cache")
memory_allocated = _needs_one(cuda.memory_allocated, "memory_allocated")
memory_reserved = _needs_one(cuda.memory_reserved, "memory_reserved")
max_memory_allocated = _needs_one(cuda.max_memory_allocated, "max_memory_allocated")
max_memory_reserved = _needs_one(cuda.max_memory_reserved, "max_memory_reserved")
reset_peak_memory_stats = _needs_one(cuda.reset_peak_memory_stats, "reset_peak_memory_stats")
get_memory_info = _needs_one(cuda.mem_get_info, "get_memory_info")
get_device_capability = _needs_one(cuda.get_device_capability, "get_device_capability")


class device_index:  # noqa: N801 - PyTorch's name
    """A ``with`` block in which another device is the current one; None changes nothing.

    :param device: its number, or None.
    :returns: a context manager.
    :raises RuntimeError: on entering with a number, where there is no such device.

    >>> import nbautograd as torch
    >>> with torch.accelerator.device_index(None):
    ...     x = torch.ones(2)
    """

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            self._before = current_device_index()
            set_device_index(self.idx)

    def __exit__(self, *exception: object) -> None:
        if self.idx is not None:
            set_device_index(self._before)


def get_device_module(device: Any = None) -> Any:
    """The module of a type of device: ``torch.cpu`` or ``torch.cuda``.

    :param device: a device or its name; by default the accelerator, or the CPU where there is none.
    :returns: a module.
    :raises RuntimeError: there is no such module.

    >>> import nbautograd as torch
    >>> torch.get_device_module("cpu").device_count()
    1
    """
    kind = (current_accelerator() or Device("cpu")).type if device is None else Device(device).type
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"Device {kind!r} does not have a corresponding module registered as 'torch.{kind}'.")
    return {"cpu": cpu, "cuda": cuda}[kind]


def _no_events(*args: Any) -> NoReturn:
    raise RuntimeError("cpu backend doesn't support events. Calls on the CPU return when their work is done.")


class _OfCPU:
    """What streams and events of the CPU have in common: all work is done."""

    def __init__(self) -> None:
        self.device = Device("cpu")

    def query(self) -> bool:
        """True: all work is done."""
        return True

    def synchronize(self) -> None:
        """Nothing: all work is done."""


class Stream(_OfCPU):
    """A queue of work for a device: a ``torch.cuda.Stream``, or one of the CPU, in which all work is done at once.

    :param device: the accelerator by default, or the CPU where there is none.
    :param priority: of streams of CUDA, lower numbers go first.
    :returns: a ``torch.cuda.Stream`` for a CUDA device, otherwise a ``torch.Stream``.
    :raises RuntimeError: tensors cannot be on the device.

    >>> import nbautograd as torch
    >>> torch.Stream("cpu").query()
    True
    """

    stream_id = 0

    def __new__(cls, device: Any = None, *, priority: int = 0) -> Any:
        return _of(device, lambda place: cuda.Stream(place, priority), cls)

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        super().__init__()

    record_event = wait_event = wait_stream = _no_events

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: object) -> None: ...

    def __repr__(self) -> str:
        return f"torch.Stream device_type=cpu, device_index=-1, stream_id={self.stream_id}"


class Event(_OfCPU):
    """A mark in a stream: a ``torch.cuda.Event``, or one of the CPU, which cannot be recorded, as in PyTorch.

    :param device: the accelerator by default, or the CPU where there is none.
    :param enable_timing: whether ``elapsed_time`` will be asked.
    :param blocking: whether waiting for an event of CUDA leaves the processor to others.
    :param interprocess: whether other processes may use an event of CUDA.
    :returns: a ``torch.cuda.Event`` for a CUDA device, otherwise a ``torch.Event``.
    :raises RuntimeError: tensors cannot be on the device.

    >>> import nbautograd as torch
    >>> torch.Event("cpu").query()
    True
    """

    event_id = 0

    def __new__(
        cls, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> Any:
        return _of(device, lambda place: cuda.Event(enable_timing, blocking, interprocess), cls)

    def __init__(self, device: Any = None, **options: Any) -> None:
        super().__init__()

    def record(self, stream: Any = None) -> None:
        """Refuse, as in PyTorch.

        :raises RuntimeError: always.
        """
        _no_events()

    def elapsed_time(self, end_event: Any) -> float:
        """Refuse, as in PyTorch.

        :raises ValueError: always.
        """
        raise ValueError("Both events must be created with argument 'enable_timing=True', and recorded on CUDA")

    def wait(self, stream: Any = None) -> None:
        """Nothing: all work is done."""

    def __repr__(self) -> str:
        return "torch.Event device_type=cpu, device_index=-1, event_flag=0, event_id=0"


def _of(device: Any, of_cuda: Callable[[Any], Any], cls: type) -> Any:
    """A stream or event for a device."""
    place = (current_accelerator() or Device("cpu")) if device is None else Device(device)
    if place.type == "cuda":
        return of_cuda(place)
    if place.type != "cpu":
        raise RuntimeError(f"{cls.__name__}(): tensors are on the CPU or on CUDA devices, not on {place}")
    return object.__new__(cls)
