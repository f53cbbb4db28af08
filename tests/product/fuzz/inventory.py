"""The functions that are called: every public one of the namespaces, every method of a tensor."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import nbautograd as nb

LEFT_OUT = {
    # They change a setting of the whole process.
    *("set_default_dtype", "set_default_device", "set_printoptions", "set_grad_enabled", "set_num_threads", "seed"),
    *("set_default_tensor_type", "set_num_interop_threads", "set_rng_state", "use_deterministic_algorithms"),
    *("set_flush_denormal", "set_warn_always", "standing_in", "load_ipython_extension", "unload_ipython_extension"),
    *("manual_seed", "set_float32_matmul_precision", "set_deterministic_debug_mode"),
    *("set_autocast_cpu_dtype", "set_autocast_gpu_dtype", "set_autocast_dtype", "set_autocast_enabled"),
    *("set_autocast_cpu_enabled", "set_autocast_gpu_enabled", "set_autocast_cache_enabled"),
    *("autocast_increment_nesting", "autocast_decrement_nesting", "clear_autocast_cache", "set_anomaly_enabled"),
    # They read or write files.
    *("save", "load", "from_file"),
    # They return uninitialized memory, so the same call may give different results.
    *("share_memory_", "data_ptr"),
}


def functions_of(module: Any, prefix: str = "") -> dict[str, tuple[Callable[..., Any], bool]]:
    found = {}
    for name in sorted(getattr(module, "__all__", None) or dir(module)):
        value = getattr(module, name, None)
        ours = isinstance(value, types.FunctionType) and value.__module__.startswith("nbautograd")
        if ours and not name.startswith("_") and name not in LEFT_OUT:
            found[prefix + name] = (value, False)
    return found


def methods() -> dict[str, tuple[Callable[..., Any], bool]]:
    special = ("__getitem__", "__setitem__", "__pow__", "__rpow__", "__matmul__", "__rsub__", "__floordiv__",
               "__rtruediv__", "__iadd__", "__ixor__", "__lshift__", "__rmod__", "__contains__")  # fmt: skip
    names = [name for name in dir(nb.Tensor) if not name.startswith("_") and name not in LEFT_OUT]
    return {
        f"Tensor.{name}": (value, True)
        for name in (*names, *special)
        if isinstance(value := getattr(nb.Tensor, name, None), types.FunctionType)
    }


FUNCTIONS: dict[str, dict[str, tuple[Callable[..., Any], bool]]] = {
    "torch": functions_of(nb),
    "Tensor": methods(),
    "linalg": functions_of(nb.linalg, "linalg."),
    "fft": functions_of(nb.fft, "fft."),
    "special": functions_of(nb.special, "special."),
    "nn.functional": functions_of(nb.nn.functional, "nn.functional."),
    "nn.init": functions_of(nb.nn.init, "nn.init."),
    "signal.windows": functions_of(nb.signal.windows, "signal.windows."),
}

LAYERS: dict[str, type[nb.nn.Module]] = {
    name: value
    for name in sorted(dir(nb.nn))
    if isinstance(value := getattr(nb.nn, name), type) and issubclass(value, nb.nn.Module)
}
