"""The CUDA devices, the current device, and the reason if CUDA is not available."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.device import device as Device  # noqa: N812 - ``device`` is the context manager here
from nbautograd.errors import kind_of

__all__ = [
    "current_device", "device", "device_count", "device_of", "get_device_capability", "get_device_name",
    "get_device_properties", "init", "is_available", "is_bf16_supported", "is_initialized", "set_device", "synchronize",
    "why_not",
]  # fmt: skip


def _runtime() -> Any:
    """Return CUDA's runtime functions, where CUDA is available."""
    return backend.cuda.start().cuda.runtime


def _index(place: Any, none_is: int | None = None) -> int:
    """Return the index of a device given as a number, a string or a device; None is the current one."""
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


def checked_index(place: Any) -> int:
    """Return the index of a device that exists."""
    backend.cuda.start()
    index = _index(place)
    backend.cuda.check(index)
    return index


# -- availability ------------------------------------------------------------------------------------------------------


def why_not() -> str | None:
    """Return None if CUDA is available, otherwise the reason, with the command that installs the missing package.

    :returns: None, or a sentence.

    >>> (torch.cuda.why_not() is None) == torch.cuda.is_available()
    True
    """
    return backend.cuda.why_not()


def runtime_version() -> str:
    """Return the version of the CUDA runtime, such as ``12.8``."""
    number = int(_runtime().runtimeGetVersion())
    return f"{number // 1000}.{number % 1000 // 10}"


def is_available() -> bool:
    """Return whether CUDA devices can hold tensors.

    >>> x = torch.ones(2, device="cuda" if torch.cuda.is_available() else "cpu")
    """
    return why_not() is None


def device_count() -> int:
    """Return the number of usable CUDA devices; 0 if CUDA is not available."""
    return backend.cuda.count() if is_available() else 0


def init() -> None:
    """Load CuPy and CUDA now instead of on first use."""
    backend.cuda.start()


def is_initialized() -> bool:
    """Return whether CUDA has been used yet.

    :returns: a Python bool; False if CUDA is not available.

    >>> torch.cuda.is_initialized() and not torch.cuda.is_available()
    False
    """
    return backend.cuda.started()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether CUDA devices support bfloat16 tensors: False, because CuPy lacks the dtype.

    :param including_emulation: accepted and ignored.
    :returns: False.

    >>> torch.cuda.is_bf16_supported()
    False
    """
    return False


# -- the devices -------------------------------------------------------------------------------------------------------


def current_device() -> int:
    """Return the index of the device that ``"cuda"`` means.

    :returns: an int.
    :raises CudaUnavailableError: CUDA is not available.
    """
    return int(_runtime().getDevice())


def set_device(device: Device | str | int) -> None:
    """Make ``device`` the current one, which ``"cuda"`` means; do nothing for a negative index.

    :param device: a number, a name such as ``"cuda:1"`` or a ``torch.device``.
    """
    index = _index(device)
    if index >= 0:
        _runtime().setDevice(checked_index(index))


class device:  # noqa: N801 - PyTorch's name
    """The context of ``with cuda.device(1):``, which changes the current device; a negative index does nothing.

    :param device: a number, a name such as ``"cuda:1"`` or a ``torch.device``; None changes nothing.
    :returns: a context manager.
    :raises CudaUnavailableError: CUDA is not available, on entering.
    :raises ValueError: the device is not a CUDA device.
    :raises TypeError: the argument does not name a device.

    >>> with torch.cuda.device(-1):
    ...     x = torch.ones(2)
    """

    def __init__(self, device: Any) -> None:
        self.idx, self.prev_idx = _index(device, -1), -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *exception: object) -> None:
        if self.idx >= 0:
            set_device(self.prev_idx)


class device_of(device):  # noqa: N801 - PyTorch's name
    """The context of ``with cuda.device_of(tensor):``, in which its device is current; no effect for CPU tensors.

    :param obj: a tensor.
    :returns: a context manager.
    :raises AttributeError: ``obj`` is not a tensor.

    >>> with torch.cuda.device_of(torch.ones(2)):
    ...     x = torch.ones(2)
    """

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device.index if obj.is_cuda else -1)


class DeviceProperties(NamedTuple):
    """The properties of a device; the sizes are in bytes."""

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
    "total_memory": "totalGlobalMem", "multi_processor_count": "multiProcessorCount", "warp_size": "warpSize",
    "max_threads_per_multi_processor": "maxThreadsPerMultiProcessor",
    "regs_per_multiprocessor": "regsPerMultiprocessor", "shared_memory_per_block": "sharedMemPerBlock",
    "shared_memory_per_multiprocessor": "sharedMemPerMultiprocessor", "L2_cache_size": "l2CacheSize",
    "is_integrated": "integrated", "is_multi_gpu_board": "isMultiGpuBoard", "pci_bus_id": "pciBusID",
    "pci_device_id": "pciDeviceID", "pci_domain_id": "pciDomainID",
}  # fmt: skip
"""CUDA's names of the properties."""


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Return the name, capability, memory, multiprocessors and more of a device, by default the current one.

    :param device: a number, a name such as ``"cuda:1"`` or a ``torch.device``.
    :returns: a named tuple; sizes are in bytes.
    """
    result = _runtime().getDeviceProperties(checked_index(device))
    name = result["name"]
    return DeviceProperties(
        name=name.decode() if isinstance(name, bytes) else str(name),
        major=int(result["major"]),
        minor=int(result["minor"]),
        **{ours: int(result.get(theirs, 0)) for ours, theirs in _PROPERTIES.items()},
    )


def get_device_name(device: Any = None) -> str:
    """Return the name of a device, such as ``"NVIDIA H200"``.

    :returns: a string.
    """
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the compute capability of a device, such as ``(9, 0)``.

    :returns: the major and the minor number.
    """
    result = get_device_properties(device)
    return result.major, result.minor


def synchronize(device: Any = None) -> None:
    """Wait for all kernels in all streams of a device to complete."""
    backend.cuda.start().cuda.Device(checked_index(device)).synchronize()
