"""``torch.accelerator``: the CUDA devices under a generic name, or none without such a device."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NoReturn

from nbautograd import cpu, cuda
from nbautograd._engine.arrays.device import device as Device  # noqa: N812 - PyTorch's name is taken by arguments
from nbautograd._names.docstrings import import_in_module

__all__ = [
    "Event", "Stream", "current_accelerator", "current_device_idx", "current_device_index", "current_stream",
    "device_count", "device_index", "empty_cache", "get_device_capability", "get_device_module", "get_memory_info",
    "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Return whether a CUDA device is available.

    :returns: a Python bool, as ``torch.cuda.is_available()``.

    >>> torch.accelerator.is_available() == torch.cuda.is_available()
    True
    """
    return cuda.is_available()


def device_count() -> int:
    """Return the number of CUDA devices.

    :returns: an int; 0 if CUDA is not available.

    >>> torch.accelerator.device_count() == torch.cuda.device_count()
    True
    """
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """Return ``device("cuda")``, or None if it is not available.

    :param check_available: accepted and ignored: an unavailable device is never returned.
    :returns: a ``torch.device`` or None.

    >>> torch.accelerator.current_accelerator() in (None, torch.device("cuda"))
    True
    """
    return Device("cuda") if cuda.is_available() else None


def _needs_one(of_cuda: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the function of ``torch.cuda``, which requires a device."""

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
    """Return a signature of ``torch.cuda`` for another module, with the full names of stream classes."""

    def whole(annotation: Any) -> Any:
        return annotation.replace("Stream", "nbautograd.cuda.Stream") if isinstance(annotation, str) else annotation

    parameters = [p.replace(annotation=whole(p.annotation)) for p in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=whole(signature.return_annotation))


def _said_of_accelerators(doc: str, of_cuda: str, name: str) -> str:
    """Return the docstring of a ``torch.cuda`` function, with the names and the error of ``torch.accelerator``."""
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
    :raises RuntimeError: the device does not exist, on entering with a number.

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
    """Return the module of a type of device: ``torch.cpu`` or ``torch.cuda``.

    :param device: a device or its name; by default the accelerator, or the CPU without one.
    :returns: a module.
    :raises RuntimeError: the module does not exist.

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
    """The base of streams and events of the CPU: all work is complete."""

    def __init__(self) -> None:
        self.device = Device("cpu")

    def query(self) -> bool:
        """Return True: all work is complete."""
        return True

    def synchronize(self) -> None:
        """Do nothing: all work is complete."""


class Stream(_OfCPU):
    """A queue of work for a device: a ``torch.cuda.Stream``, or a CPU stream, which completes work immediately.

    :param device: the accelerator by default, or the CPU without one.
    :param priority: the priority of CUDA streams; lower numbers go first.
    :returns: a ``torch.cuda.Stream`` for a CUDA device, otherwise a ``torch.Stream``.
    :raises RuntimeError: the device does not support tensors.

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
    """An event in a stream: a ``torch.cuda.Event``, or a CPU event, which cannot be recorded, as in PyTorch.

    :param device: the accelerator by default, or the CPU without one.
    :param enable_timing: whether the event supports ``elapsed_time``.
    :param blocking: whether a thread that waits for a CUDA event yields the processor.
    :param interprocess: whether other processes may use an event of CUDA.
    :returns: a ``torch.cuda.Event`` for a CUDA device, otherwise a ``torch.Event``.
    :raises RuntimeError: the device does not support tensors.

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
        """Raise, as in PyTorch.

        :raises RuntimeError: always.
        """
        _no_events()

    def elapsed_time(self, end_event: Any) -> float:
        """Raise, as in PyTorch.

        :raises ValueError: always.
        """
        raise ValueError("Both events must be created with argument 'enable_timing=True', and recorded on CUDA")

    def wait(self, stream: Any = None) -> None:
        """Do nothing: all work is complete."""

    def __repr__(self) -> str:
        return "torch.Event device_type=cpu, device_index=-1, event_flag=0, event_id=0"


def _of(device: Any, of_cuda: Callable[[Any], Any], cls: type) -> Any:
    """Return a stream or event for a device."""
    place = (current_accelerator() or Device("cpu")) if device is None else Device(device)
    if place.type == "cuda":
        return of_cuda(place)
    if place.type != "cpu":
        raise RuntimeError(f"{cls.__name__}(): tensors are on the CPU or on CUDA devices, not on {place}")
    return object.__new__(cls)


import_in_module(__name__)
