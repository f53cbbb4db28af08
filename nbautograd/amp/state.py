"""The state of autocast for each device, and the interception of the affected functions.

The state belongs to the context, like gradient mode. While autocast is on in any context, only the functions of
``policies.py`` are intercepted; while it is off everywhere, no function is, from its first call on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, NamedTuple

from nbautograd._engine.arrays.dtypes import bfloat16, dtype, float16, float32, float64
from nbautograd._engine.compiler.interception import AUTOCAST, Handler, Interceptions, return_to_own_code
from nbautograd._engine.core import overrides
from nbautograd._engine.core.dispatch_mode import Switch
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.tensor import Tensor
from nbautograd.amp.policies import POLICIES, functions
from nbautograd.errors import kind_of, warn

__all__ = [
    "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_cpu_dtype",
    "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_available", "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
]  # fmt: skip

DTYPES = {
    **dict.fromkeys(("cpu", "hpu", "maia", "xla"), bfloat16),
    **dict.fromkeys(("cuda", "ipu", "mps", "mtia", "privateuseone", "xpu"), float16),
}
"""The default lower precision of each device with autocast in PyTorch; nbautograd has tensors on two of them."""
DEVICES = (
    "cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, "
    "privateuseone"
)


class AutocastState(NamedTuple):
    """The state of a context: the devices for which autocast is on, their dtypes, and the casts of parameters."""

    devices: frozenset[str] = frozenset()
    dtypes: tuple[tuple[str, dtype], ...] = ()
    caches: bool = True
    nesting: int = 0
    casts: dict[tuple[int, bool], tuple[Tensor, Tensor]] | None = None

    def lower(self, device: str) -> dtype:
        """Return the lower precision for a device."""
        return self.dtypes and dict(self.dtypes).get(device) or DTYPES[device]


OFF = AutocastState()
_state: ContextVar[AutocastState] = ContextVar("autocast", default=OFF)
process = Switch()
is_on_anywhere = process.is_on
"""Returns whether autocast is on in some context."""


def snapshot() -> AutocastState:
    """Return the state of this context, for ``restore``."""
    return _state.get()


def restore(state: AutocastState) -> None:
    """Set the state of this context."""
    before = bool(_state.get().devices)
    _state.set(state)
    process.change(bool(state.devices) - before)


@contextmanager
def again(state: AutocastState) -> Iterator[None]:
    """Open a block with an earlier state, for a second computation; parameters are cast again."""
    before = _state.get()
    restore(state._replace(casts={} if state.nesting else None))
    try:
        yield
    finally:
        restore(before)


@cache
def _interceptions() -> Interceptions:
    """Return the replacement of each function that autocast affects on some device."""
    policies: dict[Any, dict[str, str]] = {}
    methods: dict[Any, Handler] = {}
    for device, lists in POLICIES.items():
        for policy, names in lists.items():
            for name in names.split():
                for function in functions(name):
                    policies.setdefault(function, {})[device] = policy
                method = getattr(Tensor, f"{name}_", None)
                if method is not None:  # it computes in its tensor's dtype, as in PyTorch
                    methods[method] = partial(_without, method)
    handlers = methods | {function: partial(_cast_and_call, function, chosen) for function, chosen in policies.items()}
    return Interceptions(handlers, AUTOCAST)


process.listeners.append(lambda on: _interceptions().switch(on))


# -- a call ------------------------------------------------------------------------------------------------------------


def _without(function: Any, plain: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function with autocast off, so that its inner calls are not intercepted."""
    state = _state.get()
    if not state.devices:
        if not process.contexts:
            return_to_own_code(function)
        return plain(*args, **kwargs)
    token = _state.set(state._replace(devices=frozenset()))
    try:
        return plain(*args, **kwargs)
    finally:
        _state.reset(token)


def _cast_and_call(
    function: Any, policies: dict[str, str], plain: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a function with its tensors cast by the policy of their device."""
    state = _state.get()
    if not state.devices:
        return _without(function, plain, args, kwargs)
    if overrides.subclasses and (answer := overrides.offer(function, args, kwargs)) is not overrides.UNHANDLED:
        return answer  # of a class, which sees what was given
    devices = {tensor.device.type for tensor in _tensors((*args, *kwargs.values()))} & state.devices
    device = "cuda" if "cuda" in devices else "cpu"
    if device not in devices or device not in policies:
        return plain(*args, **kwargs)
    if kwargs.get("out") is None:  # it has the tensor's dtype
        args, kwargs = _cast_arguments(policies[device], state, device, plain, args, kwargs)
    return _without(function, plain, args, kwargs)


def _tensors(values: Any) -> list[Tensor]:
    """Return the tensors among the arguments of a call, also in lists."""
    tensors = []
    for value in values:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, (list, tuple)):
            tensors += [each for each in value if isinstance(each, Tensor)]
    return tensors


def _is_eligible(value: Any, device: str) -> bool:
    """Return whether autocast may cast a tensor: a floating tensor on the device, except float64."""
    casts = isinstance(value, Tensor) and value.dtype.is_floating_point and value.dtype is not float64
    return casts and value.device.type == device


def _cast(value: Any, kind: dtype, state: AutocastState, device: str) -> Any:
    """Cast a tensor, or the tensors in a list; parameters once in a region."""
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(each, kind, state, device) for each in value) if _tensors((value,)) else value
    if not _is_eligible(value, device) or value.dtype is kind:
        return value
    weight = value.dtype is float32 and value.requires_grad and value.is_leaf and value._view is None
    if not (weight and state.caches and state.casts is not None and kind is state.lower(device)):
        return value.to(kind)
    key = id(value), is_grad_enabled()  # a cast without gradients would give no gradients later
    if key not in state.casts:
        state.casts[key] = value, value.to(kind)  # keeps the tensor, so that no other tensor gets its id
    return state.casts[key][1]


def _cast_arguments(
    policy: str, state: AutocastState, device: str, plain: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, cast by a policy."""
    kind = float32
    if policy == "lower":
        kind = state.lower(device)
    elif policy == "widest":
        kind = _widest(state.lower(device), device, plain, args, kwargs)
    elif policy == "refuse":
        raise RuntimeError(
            "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast: leave the sigmoid "
            "before it out, and use torch.nn.functional.binary_cross_entropy_with_logits or "
            "torch.nn.BCEWithLogitsLoss, which are safe to autocast."
        )
    elif policy != "float32" and not IS_CAST[policy](args, kwargs):
        return args, kwargs
    if policy == "accumulate":
        return (*(_cast(value, kind, state, device) for value in args[:1]), *args[1:]), kwargs
    cast = tuple(_cast(value, kind, state, device) for value in args)
    return cast, {name: _cast(value, kind, state, device) for name, value in kwargs.items()}


def _is_cast_pad(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether ``pad`` is cast: in the modes and dimensions of PyTorch's lists, which omit reflection in 3D."""
    values = dict(zip(("input", "pad", "mode"), args, strict=False)) | kwargs
    mode, sides = values.get("mode", "constant"), values.get("pad", ())
    return bool(mode == "replicate" or mode == "reflect" and len(sides) < 6)


IS_CAST: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], Any]] = {
    "pad": _is_cast_pad,
    # with indices PyTorch calls an operation that is not listed
    "max_pool": lambda args, kwargs: not (kwargs.get("return_indices", False) or len(args) > 6 and args[6]),
    "accumulate": lambda args, kwargs: kwargs.get("dtype") is None and not any(isinstance(v, dtype) for v in args),
    "kept": lambda args, kwargs: False,
}
"""Policies that depend on the arguments of a call: functions that return whether it is cast to float32."""


def _widest(lower: dtype, device: str, plain: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dtype:
    """Return the widest floating dtype of the tensors, at least the lower precision."""
    widest = lower
    for tensor in _tensors((*args, *kwargs.values())):
        if not _is_eligible(tensor, device):
            continue
        if float32 in (widest, tensor.dtype):
            widest = float32
        elif tensor.dtype is not lower:
            raise RuntimeError(
                "Unexpected floating ScalarType in at::autocast::prioritize: "
                f"{getattr(plain, '__name__', 'the function')}() was given {tensor.dtype}, and autocast is to {lower}"
            )
    return widest


# -- PyTorch's functions for the state ---------------------------------------------------------------------------------


def _check_device(name: str, device_type: Any) -> str:
    if not isinstance(device_type, str):
        raise TypeError(f"{name}(): argument 'device_type' (position 1) must be str, not {kind_of(device_type)}")
    if device_type not in DEVICES.split(", "):
        raise RuntimeError(f"Expected one of {DEVICES} device type at start of device string: {device_type}")
    return device_type


def _supported(name: str, device_type: Any) -> str:
    if _check_device(name, device_type) not in DTYPES:
        raise RuntimeError(
            f"{name}(): unknown device type for autocast: '{device_type}'; there is autocast for {', '.join(DTYPES)}"
        )
    return str(device_type)


def is_autocast_available(device_type: str) -> bool:
    """Return whether there is an autocast for a type of device.

    >>> import nbautograd as torch
    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return _check_device("_is_autocast_available", device_type) in DTYPES


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Return whether autocast is on, for tensors of a device.

    :raises RuntimeError: there is no such device.

    >>> import nbautograd as torch
    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_enabled("cpu")
    True
    """
    return _supported("is_autocast_enabled", device_type) in _state.get().devices


def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
    """Switch autocast on or off for a device: ``set_autocast_enabled("cpu", True)``; without a device, for CUDA.

    :raises TypeError: the arguments are not a device and a bool.
    """
    values = dict(zip(("device_type", "enabled") if len(args) > 1 else ("enabled",), args, strict=False)) | kwargs
    device, enabled = values.get("device_type", "cuda"), values.get("enabled")
    if not isinstance(enabled, bool):
        place = 1 + ("device_type" in values)
        raise TypeError(
            f"set_autocast_enabled(): argument 'enabled' (position {place}) must be bool, not {kind_of(enabled)}"
        )
    state = _state.get()
    others = state.devices - {_supported("set_autocast_enabled", device)}
    restore(state._replace(devices=others | {device} if enabled else others))


def get_autocast_dtype(device_type: str) -> dtype:
    """Return the lower precision to which autocast casts tensors of a device.

    >>> import nbautograd as torch
    >>> torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda")
    (torch.bfloat16, torch.float16)
    """
    if _check_device("get_autocast_dtype", device_type) not in DTYPES:
        raise RuntimeError(f"unsupported scalarType: there is no autocast for '{device_type}'")
    return _state.get().lower(device_type)


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the lower precision for a device.

    :raises TypeError: ``dtype`` is not a dtype.
    """
    if not isinstance(dtype, type(float32)):
        raise TypeError(
            f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {kind_of(dtype)}"
        )
    state = _state.get()
    chosen = dict(state.dtypes) | {_supported("set_autocast_dtype", device_type): dtype}
    restore(state._replace(dtypes=tuple(chosen.items())))


def is_autocast_cache_enabled() -> bool:
    """Return whether a parameter is cast once in a region instead of at each use."""
    return _state.get().caches


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether a parameter is cast once in a region."""
    restore(_state.get()._replace(caches=enabled))


def clear_autocast_cache() -> None:
    """Clear the casts of parameters."""
    casts = _state.get().casts
    if casts is not None:
        casts.clear()


def autocast_increment_nesting() -> int:
    """Enter a region; casts are kept from the outermost on."""
    state = _state.get()
    restore(state._replace(nesting=state.nesting + 1, casts={} if state.casts is None else state.casts))
    return state.nesting + 1


def autocast_decrement_nesting() -> int:
    """Leave a region."""
    state = _state.get()
    restore(state._replace(nesting=state.nesting - 1))
    return state.nesting - 1


def _deprecated(name: str, instead: str) -> None:
    warn(f"torch.{name} is deprecated. Please use torch.{instead} instead.", DeprecationWarning)


def is_autocast_cpu_enabled() -> bool:
    """Deprecated: ``is_autocast_enabled("cpu")``."""
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Deprecated: ``set_autocast_enabled("cpu", enabled)``."""
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtype:
    """Deprecated: ``get_autocast_dtype("cpu")``."""
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """Deprecated: ``set_autocast_dtype("cpu", dtype)``."""
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtype:
    """Deprecated: ``get_autocast_dtype("cuda")``."""
    _deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtype) -> None:
    """Deprecated: ``set_autocast_dtype("cuda", dtype)``."""
    _deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)
