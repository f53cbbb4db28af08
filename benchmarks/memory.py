"""l: peak memory of a workload, above the process's start, in a fresh process per library."""

from __future__ import annotations

import ctypes
import gc
import json
import platform
import subprocess
import sys
from pathlib import Path

RUNS = 3  # the peak of several runs, as in a training loop


def status(field: str) -> int:
    """A figure of this process in kB, as Linux keeps it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])


def peak(key: str, library: str) -> float:
    """In this process: MB of the workload at its peak above the memory with its data."""
    from workloads import arrays, every, networks, perceptron

    # Modules loaded, or code compiled, at the first use are not memory of the workload: a tiny workload runs before,
    # and before a model another one of the same.
    tiny = {
        "d": perceptron.step((4, 4, 4, 2), 2),
        "e": arrays.elementwise(100),
        "g": arrays.recurrent(2, 4),
    }
    makers = next(w for w in (*every(), *networks.WORKLOADS) if w.key == key).makers
    tiny.get(key, makers)[library]()()
    gc.collect()
    if library == "nbautograd":
        from nbautograd.utils.allocator import keep_large_arrays

        keep_large_arrays(keep_large_arrays(0))  # its cached blocks count as memory of the workload
    program = makers[library]()
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)  # returns the memory of the first one, and of the setup, to the system
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before = status("VmRSS")
    for _ in range(RUNS):
        program()
    return (status("VmHWM") - before) / 1000


def peaks(keys: list[str], libraries: list[str]) -> dict[str, dict[str, float]]:
    """MB by workload and library, in as many threads as the environment says; one that is missing is left out."""
    found: dict[str, dict[str, float]] = {}
    for key in keys:
        found[key] = {}
        for library in libraries:
            command = [sys.executable, __file__, key, library]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                found[key][library] = json.loads(done.stdout)
            elif "ImportError" not in done.stderr and "ModuleNotFoundError" not in done.stderr:
                raise RuntimeError(done.stderr)
    return found


if __name__ == "__main__":
    print(json.dumps(peak(*sys.argv[1:])))
