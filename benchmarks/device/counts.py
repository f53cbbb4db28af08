"""Count the host's waits for the device in a piece of work, and the kernels that it launches.

PyTorch's profiler hears what CUDA's own library reports of the whole process, whoever calls it, so both libraries are
counted alike. In a rehearsal, without a profiler, the stand-in's list of waits is counted instead.
"""

from __future__ import annotations

import json
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from .side import Side, Step

WAITS = (
    "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaMemcpy", "cudaFree", "cudaMalloc",
    "cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize", "cuMemcpyDtoH_v2", "cuMemcpyHtoD_v2",
)  # fmt: skip


def events(side: Side, step: Step) -> Counter[str]:
    """Return CUDA's reports: calls of its functions by name, ``kernels``, and copies to and from the host."""
    import torch

    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        return of_trace(json.loads(path.read_text(encoding="utf-8"))["traceEvents"])


def of_trace(trace: list[dict[str, Any]]) -> Counter[str]:
    """The events of a profile in the form of Chrome's tracing, counted."""
    found: Counter[str] = Counter()
    for event in trace:
        kind, name = event.get("cat", ""), event.get("name", "")
        if kind in ("cuda_runtime", "cuda_driver"):
            found[name] += 1
        elif kind == "kernel":
            found["kernels"] += 1
        elif kind == "gpu_memcpy":
            found["to the host" if "DtoH" in name else "to the device" if "HtoD" in name else "on the device"] += 1
    return found


def counted(side: Side, step: Step) -> dict[str, Any]:
    """Waits by name, their number, and the kernels of one step, in excess of the profiler's own."""
    if side.clock == "host":
        return rehearsed(step)
    for _ in range(3):
        step()
    side.synchronize()
    events(side, lambda: None)  # the first time differs
    idle, busy = events(side, lambda: None), events(side, step)
    busy.subtract(idle)
    named = {name: busy[name] for name in (*WAITS, "to the host") if busy[name] > 0}
    return {"waits": sum(named.values()), "waits by name": named, "kernels": busy["kernels"]}


def rehearsed(step: Step) -> dict[str, Any]:
    """The stand-in's waits, and the lines that cause them."""
    from tests.engine.strict import strict_array

    class Places(list[str]):
        def append(self, what: str) -> None:
            frames = traceback.extract_stack()
            ours = [frame for frame in frames if "nbautograd" in frame.filename and "/arrays/" not in frame.filename]
            place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
            super().append(f"{what} in {place}")

    before, strict_array.SYNCS = strict_array.SYNCS, Places()
    try:
        step()
        named = Counter(strict_array.SYNCS)
    finally:
        strict_array.SYNCS = before
    return {"waits": sum(named.values()), "waits by name": dict(named), "kernels": 0}


SPIN = r"""
extern "C" __global__ void spin(long long cycles) { long long start = clock64(); while (clock64() - start < cycles) {} }
"""


def returns_early(side: Side, step: Step) -> bool | None:
    """Return whether a step that is issued behind a kernel of about a second returns before that kernel has ended."""
    if side.clock == "host":
        return None
    import cupy

    step()
    spin = cupy.RawKernel(SPIN, "spin")
    spin((1,), (1,), (1,))
    cupy.cuda.Device().synchronize()
    done = cupy.cuda.Event(disable_timing=True)
    spin((1,), (1,), (2_000_000_000,))
    done.record()
    step()
    early = not done.done
    cupy.cuda.Device().synchronize()
    return bool(early)
