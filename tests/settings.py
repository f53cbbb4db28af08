"""The settings of the process that a test may change and has to put back, and the processes that it has to end.

A test that leaves one fails itself (``conftest.py``). Otherwise another test fails, in another process each time.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from typing import Any

import nbautograd as nb
from nbautograd._engine.core.printing import get_printoptions

__all__ = ["now"]


def now() -> dict[str, Any]:
    """Return the settings by the names of the functions that change them."""
    devices = ("cpu", "cuda")
    return {
        "add_safe_globals": nb.serialization.get_safe_globals(),
        "autocast": [(nb.is_autocast_enabled(device), nb.get_autocast_dtype(device)) for device in devices],
        "inference_mode": nb.is_inference_mode_enabled(),
        # A forked process keeps the pipes of this one open: whoever waits for their end, as Playwright does, hangs.
        "multiprocessing.Process": sorted(process.pid for process in multiprocessing.active_children()),
        "os.chdir": os.getcwd(),
        "set_autocast_cache_enabled": nb.is_autocast_cache_enabled(),
        "set_default_device": nb.get_default_device(),
        "set_default_dtype": nb.get_default_dtype(),
        "set_detect_anomaly": (
            nb.is_anomaly_enabled(),
            nb.is_anomaly_check_nan_enabled(),
            nb.autograd.anomaly_mode.mode.check_forward,
        ),
        "set_float32_matmul_precision": nb.get_float32_matmul_precision(),
        "set_grad_enabled": nb.is_grad_enabled(),
        "set_num_threads": nb.get_num_threads(),
        "set_printoptions": get_printoptions(),
        "set_sharing_strategy": nb.multiprocessing.get_sharing_strategy(),
        "set_warn_always": nb.is_warn_always_enabled(),
        "standing_in": sys.modules.get("torch") is nb,
        "use_deterministic_algorithms": nb.get_deterministic_debug_mode(),
    }
