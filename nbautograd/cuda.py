"""``torch.cuda``: the devices, their memory, streams and events, and why CUDA cannot be used where it cannot.

As in PyTorch, what only asks or tidies up (``is_available``, ``device_count``, ``memory_allocated``, ``empty_cache``,
``manual_seed``, ...) works on a machine without CUDA too; everything else raises an error that says what is missing.
"""

from __future__ import annotations

import operator
import threading
from typing import Any, NamedTuple

from nbautograd.arrays import backend
from nbautograd.arrays.device import device as Device  # noqa: N812 - ``device`` is the context manager here
from nbautograd.errors import OutOfMemoryError, kind_of
from nbautograd.rng.generator import default_generator

__all__ = [
    "Event",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_stream",
    "stream",
    "synchronize",
    "why_not",
]


def _runtime() -> Any:
    """CUDA's own functions.

    :raises CudaUnavailableError: CUDA cannot be used here.
    """
    return backend.cuda.start().cuda.runtime


def _index(place: Any, none_is: int | None = None) -> int:
    """The index of the device that an argument names: a number, text or a device; None is the current one.

    :raises ValueError: it is a device of another type.
    :raises TypeError: it names no device at all.
    """
    if place is None:
        return backend.cuda.current() if none_is is None else none_is
    if isinstance(place, (str, Device)):
        place = Device(place)
        if place.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {place}")
        return backend.cuda.current() if place.index is None else int(place.index)
    try:
        return operator.index(place)
    except TypeError:
        raise TypeError(f"expected a CUDA device: an int, a str or a torch.device, not {kind_of(place)}") from None


def _checked(place: Any) -> int:
    """The index of a device that exists."""
    backend.cuda.start()
    index = _index(place)
    backend.cuda.check(index)
    return index


# -- whether there is any ----------------------------------------------------------------------------------------------


def why_not() -> str | None:
    """None when CUDA can be used, otherwise why it cannot, with the command that installs what is missing."""
    return backend.cuda.why_not()


def is_available() -> bool:
    """Whether tensors can live on CUDA devices here.

    >>> import nbautograd as torch
    >>> x = torch.ones(2, device="cuda" if torch.cuda.is_available() else "cpu")
    """
    return why_not() is None


def device_count() -> int:
    """How many CUDA devices can be used; 0 where CUDA cannot be used at all."""
    return backend.cuda.count() if is_available() else 0


def init() -> None:
    """Load CuPy and CUDA now, not when they are first needed.

    :raises CudaUnavailableError: CUDA cannot be used here.
    """
    backend.cuda.start()


def is_initialized() -> bool:
    """Whether CUDA has been used yet."""
    return backend.cuda.started()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether there are bfloat16 tensors on CUDA devices: no, as CuPy has no such dtype."""
    return False


# -- the devices -------------------------------------------------------------------------------------------------------


def current_device() -> int:
    """The index of the device that ``"cuda"`` means."""
    return int(_runtime().getDevice())


def set_device(device: Device | str | int) -> None:
    """Make ``device`` the one that ``"cuda"`` means; a negative index does nothing."""
    index = _index(device)
    if index >= 0:
        _runtime().setDevice(_checked(index))


class device:  # noqa: N801 - PyTorch's name
    """``with cuda.device(1):`` makes another device the current one for a while; a negative index does nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device, -1)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *exception: object) -> None:
        if self.idx >= 0:
            set_device(self.prev_idx)


class device_of(device):  # noqa: N801 - PyTorch's name
    """``with cuda.device_of(tensor):`` makes its device the current one; nothing for a tensor on the CPU."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device.index if obj.is_cuda else -1)


class DeviceProperties(NamedTuple):
    """What is known of a device; the sizes are in bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int
    max_threads_per_multi_processor: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int
    shared_memory_per_multiprocessor: int
    L2_cache_size: int
    is_integrated: int
    is_multi_gpu_board: int
    pci_bus_id: int
    pci_device_id: int
    pci_domain_id: int


_PROPERTIES = {
    "total_memory": "totalGlobalMem",
    "multi_processor_count": "multiProcessorCount",
    "warp_size": "warpSize",
    "max_threads_per_multi_processor": "maxThreadsPerMultiProcessor",
    "regs_per_multiprocessor": "regsPerMultiprocessor",
    "shared_memory_per_block": "sharedMemPerBlock",
    "shared_memory_per_multiprocessor": "sharedMemPerMultiprocessor",
    "L2_cache_size": "l2CacheSize",
    "is_integrated": "integrated",
    "is_multi_gpu_board": "isMultiGpuBoard",
    "pci_bus_id": "pciBusID",
    "pci_device_id": "pciDeviceID",
    "pci_domain_id": "pciDomainID",
}
"""What CUDA calls them."""


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Name, capability, memory, multiprocessors and more of a device, the current one by default."""
    found = _runtime().getDeviceProperties(_checked(device))
    name = found["name"]
    return DeviceProperties(
        name=name.decode() if isinstance(name, bytes) else str(name),
        major=int(found["major"]),
        minor=int(found["minor"]),
        **{ours: int(found.get(theirs, 0)) for ours, theirs in _PROPERTIES.items()},
    )


def get_device_name(device: Any = None) -> str:
    """The name of a device, such as ``"NVIDIA H200"``."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The compute capability of a device, such as ``(9, 0)``."""
    found = get_device_properties(device)
    return found.major, found.minor


def synchronize(device: Any = None) -> None:
    """Wait until everything that was asked of a device has been done."""
    backend.cuda.start().cuda.Device(_checked(device)).synchronize()


# -- memory ------------------------------------------------------------------------------------------------------------


def _pool(device: Any, ask: str) -> int:
    """What CuPy's memory pool says of a device; 0 as long as there has been nothing to say."""
    if not is_initialized():
        return 0
    library = backend.cuda.start()
    with library.cuda.Device(_checked(device)):
        return int(getattr(library.get_default_memory_pool(), ask)())


def memory_allocated(device: Any = None) -> int:
    """How many bytes the tensors and other arrays on a device take; 0 before CUDA has been used."""
    return _pool(device, "used_bytes")


def memory_reserved(device: Any = None) -> int:
    """How many bytes are kept from the device: those in use, and freed ones that new arrays will get."""
    return _pool(device, "total_bytes")


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes in use since the start, or since :func:`reset_peak_memory_stats`."""
    if not is_initialized():
        return 0
    return max(backend.cuda.peak.get(_checked(device), 0), memory_allocated(device))


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes kept from the device; freed blocks stay with the pool, so that is no less than now."""
    return max(memory_reserved(device), max_memory_allocated(device))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Begin anew to look for the most bytes in use."""
    backend.cuda.peak[_checked(device)] = memory_allocated(device)


def empty_cache() -> None:
    """Give back to the device what has been freed and is kept for new arrays; nothing before CUDA has been used."""
    if is_initialized():
        library = backend.cuda.start()
        library.get_default_memory_pool().free_all_blocks()
        library.get_default_pinned_memory_pool().free_all_blocks()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The free and the total bytes of a device, whoever uses them."""
    library = backend.cuda.start()
    with library.cuda.Device(_checked(device)):
        free, total = library.cuda.runtime.memGetInfo()
    return int(free), int(total)


# -- random numbers ----------------------------------------------------------------------------------------------------


def manual_seed(seed: int) -> None:
    """Seed the random numbers of the current CUDA device; nothing where there is none, as in PyTorch.

    Tensors on CUDA get their numbers from the CPU's generator here, so where there is CUDA, that one is seeded.
    """
    seed = int(seed)
    if is_available():
        default_generator.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the random numbers of all CUDA devices; see :func:`manual_seed`."""
    manual_seed(seed)


def seed() -> None:
    """Seed the random numbers of the current CUDA device with a number from the operating system."""
    if is_available():
        default_generator.seed()


def seed_all() -> None:
    """The same for all CUDA devices."""
    seed()


def initial_seed() -> int:
    """The number that the random numbers of the current device were last seeded with."""
    init()
    return default_generator.initial_seed()


# -- streams and events ------------------------------------------------------------------------------------------------


class Event:
    """A mark in a stream, to wait for and to measure times with.

    :param enable_timing: whether :meth:`elapsed_time` will be asked.
    :param blocking: whether waiting for it leaves the processor to others.
    :raises CudaUnavailableError: CUDA cannot be used here.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self._cupy = backend.cuda.start()
        self._event = self._cupy.cuda.Event(block=blocking, disable_timing=not enable_timing, interprocess=interprocess)
        self._recorded = False

    @property
    def cuda_event(self) -> int:
        """CUDA's handle of it."""
        return int(self._event.ptr)

    def record(self, stream: Stream | None = None) -> None:
        """Put the mark at the end of what the stream (the current one by default) has been asked for so far."""
        self._event.record((current_stream() if stream is None else stream)._stream)
        self._recorded = True

    def wait(self, stream: Stream | None = None) -> None:
        """Let what the stream is asked for from now on wait for the mark."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Whether everything before the mark has been done."""
        return not self._recorded or bool(self._event.done)

    def synchronize(self) -> None:
        """Wait for the mark."""
        if self._recorded:
            self._event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this mark to another; both must have been passed.

        :raises ValueError: one of them has not been recorded.
        """
        if not (self._recorded and end_event._recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return float(self._cupy.cuda.get_elapsed_time(self._event, end_event._event))


class Stream:
    """A queue of work for a device; work in different streams may be done at the same time.

    A backward pass is run in the stream that is the current one when it is called: run it in that of the forward pass,
    or let the one wait for the other.

    :param device: the current one by default.
    :param priority: lower numbers go first.
    :raises CudaUnavailableError: CUDA cannot be used here.
    """

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        library = backend.cuda.start()
        index = _checked(device)
        with library.cuda.Device(index):
            self._set(library.cuda.Stream(non_blocking=True, priority=priority), index)

    def _set(self, stream: Any, index: int) -> Stream:
        self._stream, self.device_index, self._left = stream, index, threading.local()
        return self

    @property
    def device(self) -> Device:
        """The device whose queue it is."""
        return Device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        """CUDA's handle of it; 0 for the default stream."""
        return int(self._stream.ptr)

    @property
    def priority(self) -> int:
        """Lower numbers go first."""
        return int(self._stream.priority)

    def query(self) -> bool:
        """Whether everything that it was asked for has been done."""
        return bool(self._stream.done)

    def synchronize(self) -> None:
        """Wait until everything that it was asked for has been done."""
        self._stream.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """Put an event (a new one by default) at the end of the queue, and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let what comes from now on wait for an event."""
        if event._recorded:
            self._stream.wait_event(event._event)

    def wait_stream(self, stream: Stream) -> None:
        """Let what comes from now on wait for what another stream has been asked for so far."""
        self.wait_event(stream.record_event())

    def __enter__(self) -> Stream:
        if not hasattr(self._left, "contexts"):
            self._left.contexts = []
        context = StreamContext(self)
        context.__enter__()
        self._left.contexts.append(context)
        return self

    def __exit__(self, *exception: object) -> None:
        self._left.contexts.pop().__exit__(*exception)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.cuda_stream, self.device_index) == (
            other.cuda_stream,
            other.device_index,
        )

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class StreamContext:
    """``with cuda.stream(s):`` makes a stream, and its device, the current one; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self._device = device(self.stream.device_index)
            self._device.__enter__()
            self._before = current_stream()
            self.stream._stream.use()

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            self._before._stream.use()
            self._device.__exit__()


def stream(stream: Stream | None) -> StreamContext:
    """A context in which ``stream`` is the current one."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """The stream that gets the work of this thread for a device, the current one by default."""
    library = backend.cuda.start()
    index = _checked(device)
    with library.cuda.Device(index):
        return Stream.__new__(Stream)._set(library.cuda.get_current_stream(), index)


def default_stream(device: Any = None) -> Stream:
    """The stream that gets the work where no other has been chosen."""
    library = backend.cuda.start()
    return Stream.__new__(Stream)._set(library.cuda.Stream.null, _checked(device))


def set_stream(stream: Stream | None) -> None:
    """Make a stream, and its device, the current one for good; None changes nothing."""
    if stream is not None:
        set_device(stream.device_index)
        stream._stream.use()
