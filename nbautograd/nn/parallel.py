"""``torch.nn.parallel``: models on several devices; nbautograd uses one.

``DataParallel`` forwards to the wrapped module, so programs that use it run, and their files have the same names.
Several processes are not supported: ``DistributedDataParallel`` raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.device import device as Device  # noqa: N812 - ``device`` is what parameters are called here
from nbautograd._engine.core.pytree import tree_flatten, tree_map
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.joining import cat, stack
from nbautograd._engine.ops.shape.split import chunk
from nbautograd._names import absent
from nbautograd.errors import CudaUnavailableError
from nbautograd.nn.modules.module import Module

__all__ = [
    "DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter",
    "scatter_kwargs",
]  # fmt: skip

Places = Sequence[int | Device] | None


def _first_device(device_ids: Places) -> Device | None:
    """Return the device to run the module on: the first given CUDA device; None for the module's own."""
    try:
        backend.cuda.start()
    except CudaUnavailableError:
        return None
    return _as_device(0 if device_ids is None else next(iter(device_ids), 0))


def _as_device(place: Any) -> Device:
    return Device("cuda", place) if isinstance(place, int) else Device(place)


def _moved(tree: Any, place: Any) -> Any:
    return tree_map(lambda leaf: leaf.to(place) if isinstance(leaf, Tensor) else leaf, tree)


class DataParallel(Module):
    """A wrapper that runs a module on one device, regardless of the given devices.

    :param module: the module, kept as ``.module``, so that the names in the ``state_dict`` begin with it.
    :param device_ids: CUDA devices; the first one computes the whole batch.
    :param output_device: the device of the results; by default the same.
    :param dim: accepted and ignored.

    >>> model = torch.nn.DataParallel(torch.nn.Linear(3, 2))
    >>> list(model.state_dict()), model(torch.ones(4, 3)).shape
    (['module.weight', 'module.bias'], torch.Size([4, 2]))
    """

    def __init__(
        self, module: Module, device_ids: Places = None, output_device: int | Device | None = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        place = _first_device(device_ids)
        self.device_ids: list[int] = []
        if place is not None:
            self.dim, self.device_ids, self.src_device_obj = dim, [place.index or 0], place
            self.output_device = place if output_device is None else _as_device(output_device)
            module.to(place)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module, with tensors on its device."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        inputs, kwargs = _moved((inputs, kwargs), self.src_device_obj)
        return _moved(self.module(*inputs, **kwargs), self.output_device)


class DistributedDataParallel(Module):
    """Not supported: nbautograd runs in one process.

    :param module: the module.
    :raises RuntimeError: always, so it returns no module.

    >>> torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    RuntimeError: torch.nn.parallel.DistributedDataParallel is not part of nbautograd: ...
    """

    def __init__(self, module: Module, *_: Any, **__: Any) -> None:
        _refuse("DistributedDataParallel", "use the module itself")


def _refuse(name: str, instead: str) -> NoReturn:
    raise RuntimeError(
        f"torch.nn.parallel.{name} is not part of nbautograd: it is one process with one device, and "
        f"torch.distributed.is_available() is False; {instead}"
    )


def data_parallel(
    module: Module, inputs: Any, device_ids: Places = None, output_device: int | Device | None = None, dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Return ``module(*inputs, **module_kwargs)``, on one device.

    :param module: the module.
    :param inputs: the arguments, or a single argument.
    :param device_ids: CUDA devices; the first one is used.
    :param output_device: the device of the results.
    :param dim: accepted and ignored.
    :param module_kwargs: the arguments by name.
    :returns: the module's result.
    :raises TypeError: the module does not accept these arguments.

    >>> import nbautograd as torch
    >>> data_parallel(torch.nn.Linear(3, 2), torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """
    wrapped = DataParallel(module, device_ids, output_device, dim)
    return wrapped(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Return the module for each device, of which there is at most one.

    :param network: the module.
    :param devices: at most one device, or the number of a CUDA device.
    :param detach: accepted and ignored.
    :returns: a list with the module itself, not a copy.
    :raises RuntimeError: several devices are given.

    >>> import nbautograd as torch
    >>> model = torch.nn.Linear(3, 2)
    >>> replicate(model, ["cpu"])[0] is model
    True
    """
    if len(devices) > 1:
        _refuse("replicate", "name one device")
    return [network]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Split a batch into one part per device, and move each part; values other than tensors are in every part.

    :param inputs: tensors, or containers of them.
    :param target_gpus: devices, or numbers of CUDA devices.
    :param dim: the dimension to split along.
    :returns: a list of containers like ``inputs``, with parts of the tensors; a device may get no part.
    :raises IndexError: ``dim`` is out of range.
    :raises RuntimeError: no device is given, or a device does not exist.

    >>> import nbautograd as torch
    >>> [part.shape for part in scatter(torch.ones(4, 3), ["cpu", "cpu"])]
    [torch.Size([2, 3]), torch.Size([2, 3])]
    """
    places = [_as_device(place) for place in target_gpus]
    parts = {id(t): chunk(t, len(places), dim) for t in tree_flatten(inputs)[0] if isinstance(t, Tensor)}
    count = min([len(places), *map(len, parts.values())])
    return [
        tree_map(lambda leaf, i=i, p=place: parts[id(leaf)][i].to(p) if isinstance(leaf, Tensor) else leaf, inputs)
        for i, place in enumerate(places[:count])
    ]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Split the arguments of a call, and its keyword arguments, into one part per device."""
    parts = scatter((inputs, kwargs or {}), target_gpus, dim)
    return tuple(part[0] for part in parts), tuple(part[1] for part in parts)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Join the parts of a batch; stack single numbers.

    :param outputs: tensors, or containers of tensors with the same structure.
    :param target_device: the device of the result.
    :param dim: the dimension to join along.
    :returns: a tensor, or a container of tensors.
    :raises RuntimeError: the shapes do not fit, or the device does not exist.

    >>> import nbautograd as torch
    >>> gather([torch.ones(2, 3), torch.ones(1, 3)], "cpu").shape
    torch.Size([3, 3])
    """
    place = "cpu" if target_device == -1 else _as_device(target_device)

    def joined(*parts: Any) -> Any:
        if not isinstance(parts[0], Tensor):
            return parts[0]
        moved = [part.to(place) for part in parts]
        return stack(moved, dim) if parts[0].ndim == 0 else cat(moved, dim)

    return tree_map(joined, *outputs)


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Call each module with its part of the inputs, in order.

    :param modules: the modules.
    :param inputs: the arguments of each module, or a single argument.
    :param kwargs_tup: the keyword arguments of each module.
    :param devices: accepted and ignored.
    :returns: a list of the results.
    :raises AssertionError: the numbers of parts and modules differ.

    >>> import nbautograd as torch
    >>> parallel_apply([torch.nn.ReLU(), torch.nn.Identity()], [torch.tensor(-1.0), torch.tensor(-1.0)])
    [tensor(0.), tensor(-1.)]
    """
    if (count := len(modules)) != len(inputs):
        raise AssertionError(f"The number of modules {count} is not equal to the number of inputs {len(inputs)}")
    keywords = [{}] * count if kwargs_tup is None else kwargs_tup
    return [
        module(*(given if isinstance(given, (tuple, list)) else (given,)), **options)
        for module, given, options in zip(modules, inputs, keywords, strict=True)
    ]


absent.answer(__name__)
