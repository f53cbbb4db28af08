"""Run guests under both libraries, each in a process of its own, and compare what they computed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.parity.guests.compare import compare
from tests.parity.guests.guests import ROOT, Guest, NotFetchedError

LIBRARIES = ("torch", "nbautograd")
LIMIT = 240
"""Seconds for all parts of a guest under one library."""


class PartResult(NamedTuple):
    """What came of a part: seconds under both libraries if both ran, and why it is not equal."""

    name: str
    apart: float
    problem: str
    seconds: tuple[float, float] | None = None
    trace: str = ""


class Result(NamedTuple):
    """What came of a guest."""

    guest: Guest
    parts: list[PartResult]

    @property
    def equal(self) -> list[PartResult]:
        """The parts that compute the same."""
        return [part for part in self.parts if not part.problem]

    @property
    def ratio(self) -> float | None:
        """Our time as a multiple of PyTorch's, of the parts that are equal."""
        both = [part.seconds for part in self.equal if part.seconds]
        return sum(ours for _, ours in both) / sum(theirs for theirs, _ in both) if both else None


def run(guest: Guest, cache: Path) -> Result:
    """Run all parts of a guest under both libraries and compare them."""
    try:
        folders = guest.fetch(cache)
    except NotFetchedError as error:
        return Result(guest, [PartResult(name, np.inf, f"not fetched: {error}") for name in guest.parts])
    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder) / library for library in LIBRARIES]
        for library, output in zip(LIBRARIES, outputs, strict=True):
            run_under(library, guest, folders, output)
        return Result(guest, [result(name, *outputs) for name in guest.parts])


def run_under(library: str, guest: Guest, folders: list[Path], output: Path) -> None:
    """Run the parts under one library; after a crash go on with those behind the one that crashed."""
    output.mkdir()
    paths = os.pathsep.join(map(str, [ROOT, *folders]))
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = {**os.environ, **one, "PYTHONPATH": paths, "ATEN_CPU_CAPABILITY": "avx2", "PYTHONHASHSEED": "0"}
    environment |= {"MPLBACKEND": "agg", "HOME": str(output)}
    names = guest.parts
    while names:
        command = [sys.executable, "-m", "tests.parity.guests.child", library, guest.module, str(output), *names]
        try:
            done = subprocess.run(
                command, cwd=output, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
            )
            end = f"the process ended with {done.returncode}: {done.stderr.strip().rpartition(chr(10))[2]}"
        except subprocess.TimeoutExpired:
            end = f"it takes longer than {LIMIT} s"
        names = [name for name in names if not (output / f"{name}.json").exists()]
        if names:
            (output / f"{names[0]}.json").write_text(json.dumps({"error": end}), encoding="utf-8")
            del names[0]


def result(name: str, *outputs: Path) -> PartResult:
    """Compare what a part wrote under PyTorch and under nbautograd."""
    reports = [json.loads((output / f"{name}.json").read_text(encoding="utf-8")) for output in outputs]
    for library, report in zip(("under PyTorch, ", ""), reports, strict=True):
        if "error" in report:
            return PartResult(name, np.inf, library + report["error"], trace=report.get("trace", ""))
    theirs, ours = (dict(np.load(output / f"{name}.npz")) for output in outputs)
    return PartResult(name, *compare(theirs, ours), (reports[0]["seconds"], reports[1]["seconds"]))


def run_all(chosen: list[Guest], cache: Path, tell: Callable[[Result], None], jobs: int = 1) -> list[Result]:
    """Run guests, by default one after another as they are timed, and tell of each."""
    results = []
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(lambda guest: run(guest, cache), chosen):
            tell(result)
            results.append(result)
    return results
