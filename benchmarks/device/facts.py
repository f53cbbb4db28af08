"""Which machine it is: device, driver, clocks, and the versions of all that takes part."""

from __future__ import annotations

import datetime
import os
import platform
import shutil
import subprocess
from importlib import import_module
from typing import Any

from .child import Child
from .wheels import missing

QUERY = (
    "name", "driver_version", "memory.total", "clocks.sm", "clocks.max.sm", "clocks.mem", "clocks.max.mem",
    "power.limit", "temperature.gpu", "persistence_mode",
)  # fmt: skip


def run(child: Child) -> None:
    """Each fact is an item: one that cannot be had is recorded as such."""
    child.each(
        {
            "versions": versions,
            "device": lambda: device(child.rehearsal),
            "driver and clocks": driver,
            "TF32 is off": precision,
            "bfloat16": bfloat16,
            "wheels": lambda: {"facts": {"missing": ", ".join(missing()) or "none"}},
        }
    )


def version(module: str) -> str:
    """A library's version, or why it is not to be had."""
    try:
        return str(import_module(module).__version__)
    except Exception as error:
        return f"none ({type(error).__name__})"


def versions() -> dict[str, Any]:
    """Of Python and the libraries."""
    modules = {"nbautograd": "nbautograd", "CuPy": "cupy", "PyTorch": "torch", "NumPy": "numpy", "SciPy": "scipy"}
    facts = {"date": str(datetime.date.today()), "Python": platform.python_version()}
    facts |= {title: version(module) for title, module in modules.items()}
    facts |= {"processor cores": str(os.cpu_count()), "system": platform.platform()}
    return {"facts": facts}


def device(rehearsal: bool) -> dict[str, Any]:
    """Return CUDA's description of the device.

    :raises RuntimeError: CUDA cannot be used, by us or by PyTorch.
    """
    import nbautograd as nb
    from nbautograd._engine.arrays import backend

    if (why := nb.cuda.why_not()) is not None:
        raise RuntimeError(why)
    major, minor = nb.cuda.get_device_capability()
    facts = {
        "name": nb.cuda.get_device_name(),
        "devices": str(nb.cuda.device_count()),
        "capability": f"{major}.{minor}",
        "memory": f"{nb.cuda.mem_get_info()[1] / 2**30:.1f} GiB",
        "kernels": "fused" if backend.cuda.fused else "CuPy's",
    }
    if not rehearsal:
        import cupy
        import torch

        runtime = cupy.cuda.runtime
        facts |= {
            "CUDA driver": str(runtime.driverGetVersion()),
            "CuPy's CUDA runtime": str(runtime.runtimeGetVersion()),
            "CuPy's NVRTC": ".".join(map(str, cupy.cuda.nvrtc.getVersion())),
            "PyTorch's CUDA": str(torch.version.cuda),
            "PyTorch's cuDNN": str(torch.backends.cudnn.version()),
        }
        if not torch.cuda.is_available():
            return {"facts": facts, "status": "failed", "message": "PyTorch cannot use CUDA"}
    return {"facts": facts}


def driver() -> dict[str, Any]:
    """Return the output of NVIDIA's own program, which only reads."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return {"status": "skipped", "message": "there is no nvidia-smi"}
    command = [program, f"--query-gpu={','.join(QUERY)}", "--format=csv,noheader"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return {"facts": dict(zip(QUERY, map(str.strip, text.splitlines()[0].split(",")), strict=True))}


def precision() -> dict[str, Any]:
    """Return whether products of float32 are of float32 in both libraries, as all rows want it."""
    import torch

    exact()
    facts = {
        "PyTorch, products": str(not torch.backends.cuda.matmul.allow_tf32),
        "PyTorch, convolutions": str(not torch.backends.cudnn.allow_tf32),
        "CuPy (CUPY_TF32 is not set)": str(os.environ.get("CUPY_TF32", "0") in ("", "0")),
    }
    failed = {"status": "failed", "message": "TF32 is on"} if "False" in facts.values() else {}
    return {"facts": facts, **failed}


def bfloat16() -> dict[str, Any]:
    """Return whether CuPy has arrays of that dtype, which our tensors on CUDA have not."""
    import cupy
    import ml_dtypes

    try:
        made = cupy.asarray([1.0, 2.0], dtype=ml_dtypes.bfloat16)
        return {"facts": {"CuPy": f"makes arrays of it; 1 + 2 is {(made[0] + made[1]).item()}"}}
    except Exception as error:
        return {"facts": {"CuPy": f"{type(error).__name__}: {error}"}}


def exact() -> None:
    """Products of float32 in float32, by both libraries."""
    import torch

    os.environ["CUPY_TF32"] = "0"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
