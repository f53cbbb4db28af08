"""``torch.utils._foreach_utils``: groups of tensors for one ``torch._foreach_`` function."""

from __future__ import annotations

from nbautograd._engine.arrays.device import device
from nbautograd._engine.arrays.dtypes import dtype
from nbautograd._engine.core.tensor import Tensor

__all__: list[str] = []

Lists = list[list[Tensor | None]]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Lists, with_indices: bool = False
) -> dict[tuple[device, dtype], tuple[Lists, list[int]]]:
    """Group the items of lists of the same length by the device and dtype of the first list's tensors.

    :param with_indices: also return the positions of each group's tensors in the lists.
    """
    groups: dict[tuple[device, dtype], tuple[Lists, list[int]]] = {}
    for place, tensors in enumerate(zip(*tensorlistlist, strict=True)):
        first = tensors[0]
        assert first is not None, "the tensors of the first list say where the others belong"
        lists, places = groups.setdefault((first.device, first.dtype), ([[] for _ in tensors], []))
        for one, tensor in zip(lists, tensors, strict=True):
            one.append(tensor)
        if with_indices:
            places.append(place)
    return groups


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Return the types of devices on which ``torch._foreach_`` functions use fewer kernels than a loop: none."""
    return []


def _get_fused_kernels_supported_devices() -> list[str]:
    """Return the types of devices on which an optimizer's step is one kernel."""
    return ["cpu", "cuda"]


def _has_foreach_support(tensors: list[Tensor], device: device) -> bool:
    """Return whether tensors are on a device of :func:`_get_foreach_kernels_supported_devices`."""
    return device.type in _get_foreach_kernels_supported_devices()


def _device_has_foreach_support(device: device) -> bool:
    """Return whether a device is one of :func:`_get_foreach_kernels_supported_devices`."""
    return device.type in _get_foreach_kernels_supported_devices()
