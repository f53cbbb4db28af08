"""l: peak memory of a workload, over what the process held before it, in a fresh process per library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RUNS = 3  # the peak is that of several runs, as in a training loop


def status(field: str) -> int:
    """A figure of this process in kB, as Linux keeps it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])


def peak(key: str, library: str) -> float:
    """In this process: MB that the workload needs at its peak over what was held when its data were ready."""
    from workloads import arrays, every, perceptron

    # What the library loads, or compiles, when it is first used is no memory of the workload: a tiny one goes before.
    tiny = {
        "d": perceptron.step((4, 4, 4, 2), 2),
        "e": arrays.elementwise(100),
        "g": arrays.recurrent(2, 4),
    }
    tiny[key][library]()()
    program = next(w for w in every() if w.key == key).makers[library]()
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
