"""``torch.cpu.amp``: the former names of :mod:`torch.amp` for the CPU."""

from __future__ import annotations

from nbautograd._engine.arrays.dtypes import bfloat16, dtype as dtype_class
from nbautograd._names import absent
from nbautograd.amp.autocast_mode import autocast as _autocast
from nbautograd.amp.grad_scaler import GradScaler as _GradScaler
from nbautograd.errors import warn

__all__ = ["GradScaler", "autocast"]


def _deprecated(name: str, instead: str) -> None:
    warn(f"`torch.cpu.amp.{name}(args...)` is deprecated. Please use `torch.amp.{instead}` instead.", FutureWarning)


class autocast(_autocast):  # noqa: N801 - PyTorch's name
    """Deprecated: ``torch.amp.autocast("cpu", ...)``."""

    def __init__(self, enabled: bool = True, dtype: dtype_class = bfloat16, cache_enabled: bool = True) -> None:
        _deprecated("autocast", "autocast('cpu', args...)")
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """Deprecated: ``torch.amp.GradScaler("cpu", ...)``."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _deprecated("GradScaler", "GradScaler('cpu', args...)")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


absent.answer(__name__)
