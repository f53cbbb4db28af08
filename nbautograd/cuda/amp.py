"""``torch.cuda.amp``: the former names of :mod:`torch.amp` for CUDA."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.arrays.dtypes import dtype as dtype_class, float16
from nbautograd._names import absent
from nbautograd.amp.autocast_mode import autocast as _autocast, custom_bwd as _custom_bwd, custom_fwd as _custom_fwd
from nbautograd.amp.grad_scaler import GradScaler as _GradScaler
from nbautograd.cuda.devices import is_available
from nbautograd.errors import warn

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]


def _deprecated(name: str, instead: str) -> None:
    warn(f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{instead}` instead.", FutureWarning)


def amp_definitely_not_available() -> bool:
    """Return whether CUDA is not available."""
    return not is_available()


class autocast(_autocast):  # noqa: N801 - PyTorch's name
    """Deprecated: ``torch.amp.autocast("cuda", ...)``."""

    def __init__(self, enabled: bool = True, dtype: dtype_class = float16, cache_enabled: bool = True) -> None:
        _deprecated("autocast", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """Deprecated: ``torch.amp.GradScaler("cuda", ...)``."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _deprecated("GradScaler", "GradScaler('cuda', args...)")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: dtype_class | None = None) -> Any:
    """Deprecated: ``torch.amp.custom_fwd(..., device_type="cuda")``."""
    _deprecated("custom_fwd", "custom_fwd(args..., device_type='cuda')")
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Deprecated: ``torch.amp.custom_bwd(..., device_type="cuda")``."""
    _deprecated("custom_bwd", "custom_bwd(args..., device_type='cuda')")
    return _custom_bwd(bwd, device_type="cuda")


absent.answer(__name__)
