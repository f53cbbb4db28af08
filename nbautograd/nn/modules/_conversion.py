"""Moving a module's parameters and buffers to another device or dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Self

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.device import as_device, device
from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.swapping import swap_tensors
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import kind_of, warn
from nbautograd.nn.parameter import Parameter

__all__ = ["Conversion"]


_settings: set[str] = set()
"""The settings of ``torch.__future__`` that are on, for the whole process."""


def setting(name: str, value: bool | None = None) -> bool:
    """Return whether conversions ``overwrite`` or ``swap`` parameters; set it first, unless the value is None."""
    if value is not None:
        (_settings.add if value else _settings.discard)(name)
    return name in _settings


def _check_dtype(kind: dtypes.dtype) -> None:
    if kind.is_complex:
        warn("Complex modules are a new feature in PyTorch: not every layer works with complex parameters")
    elif not kind.is_floating_point:
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={kind!r}")


class Conversion:
    """The part of :class:`Module` that replaces the memory of its parameters and buffers."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]

    def children(self) -> Iterator[Any]:
        """Return the direct parts that are modules."""
        raise NotImplementedError

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the memory of all parameters, their gradients and the buffers by the results of ``fn``."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for key, p in self._parameters.items():
            if p is None:
                continue
            with no_grad():
                changed = fn(p)
                if p.requires_grad and changed._a.dtype.kind not in dtypes.INEXACT:
                    raise RuntimeError(
                        "data set to a tensor that requires gradients must be floating point or complex dtype"
                    )
                gradient = None if p._grad is None else fn(p._grad)
            if _settings or changed.is_meta != p.is_meta:
                self._put(key, p, changed, gradient)
            else:
                p.data, p._grad = changed, gradient
        for name, b in self._buffers.items():
            if b is not None:
                self._buffers[name] = fn(b)
        return self

    def _put(self, key: str, p: Parameter, changed: Tensor, gradient: Tensor | None) -> None:
        """Put a new parameter in the place of another, or exchange the two if the program asks for it."""
        fresh = Parameter(changed, p.requires_grad)
        fresh._grad = gradient
        if "swap" in _settings:
            swap_tensors(p, fresh)
        else:
            self._parameters[key] = fresh

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move the parameters and buffers to another device, and the floating ones among them to another dtype.

        ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``. The module itself is changed.

        :raises TypeError: the dtype is neither floating nor complex, or an argument has an unsupported type.
        """
        place, kind = kwargs.pop("device", None), dtypes.as_dtype(kwargs.pop("dtype", None))
        options = {key: kwargs.pop(key) for key in ("non_blocking", "memory_format") if key in kwargs}
        for name in kwargs:
            raise TypeError(f"to() got an unexpected keyword argument '{name}'")
        for value in args:
            if isinstance(value, Tensor):
                place, kind = value.device, value.dtype
            elif isinstance(value, (dtypes.dtype, type)):
                kind = dtypes.as_dtype(value)
            elif isinstance(value, (str, device)) or type(value) is int:
                place = value
            elif not isinstance(value, (bool, type(None))):
                raise TypeError(f"to(): expected a device, a dtype or a Tensor, got {kind_of(value)}")
        if kind is not None:
            _check_dtype(kind)
        target = None if place is None else as_device(place)
        wide = options.get("memory_format")

        def convert(t: Tensor) -> Tensor:
            chosen = dict(options)
            if wide is not None and t.ndim not in (4, 5):
                del chosen["memory_format"]
            if t.is_meta and target is not None and target.type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device"
                )
            return t.to(target, kind if t.is_floating_point() or t.is_complex() else None, **chosen)

        return self._apply(convert)

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def _floating(self, kind: dtypes.dtype) -> Self:
        return self._apply(lambda t: t.to(kind) if t.is_floating_point() else t)

    def float(self) -> Self:
        """Convert all floating parameters and buffers to float32."""
        return self._floating(dtypes.float32)

    def double(self) -> Self:
        """Convert all floating parameters and buffers to float64."""
        return self._floating(dtypes.float64)

    def half(self) -> Self:
        """Convert all floating parameters and buffers to float16."""
        return self._floating(dtypes.float16)

    def bfloat16(self) -> Self:
        """Convert all floating parameters and buffers to bfloat16."""
        return self._floating(dtypes.bfloat16)

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move all parameters and buffers to a CUDA device.

        :raises RuntimeError: CUDA is not available; the message says why.
        """
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Give all parameters and buffers new, uninitialized memory on a device."""
        from nbautograd._engine.ops.creation.creation import empty_like

        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Take the options of :func:`torch.compile`; nothing changes, because modules run as they are written.

        :param args, kwargs: as of that function.
        :returns: None.
        :raises RuntimeError: ``mode`` is unknown, or is given together with ``options``.

        >>> import nbautograd as torch
        >>> torch.nn.Linear(2, 1).compile(mode="reduce-overhead")
        """
        import_module(__name__.partition(".")[0]).compile(self, *args, **kwargs)  # which the package loads

    def share_memory(self) -> Self:
        """Raise: memory is not shared between processes.

        :raises NotImplementedError: always.
        """
        raise NotImplementedError("share_memory() is not supported: memory is not shared between processes here")
