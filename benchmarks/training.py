"""Training: measure a step of four small models, next to PyTorch with one thread.

    python benchmarks/training.py [--rounds N] [--steps N]

The scripts are those of ``tests/networks/training/scripts.py``, whose losses are compared before the timing. In each
round both libraries take some steps of each in turn, so that other work of the machine affects both; a ratio is taken
within a round, and the table shows the median of the rounds' ratios with the quartiles.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and PyTorch are imported: one thread each
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from tests.networks.training.scripts import SCRIPTS

LIBRARIES = {"nbautograd": "nbautograd", "PyTorch": "torch"}
WARM = 20  # steps before the first timed one, whose losses are compared


def made() -> tuple[dict[str, dict[str, Any]], str]:
    """The trainings by script and library, after their first steps, and PyTorch's version."""
    modules = {name: import_module(module) for name, module in LIBRARIES.items()}
    modules["PyTorch"].set_num_threads(1)
    trainings = {script: {name: make(module) for name, module in modules.items()} for script, make in SCRIPTS.items()}
    for script, pair in trainings.items():
        ours, theirs = (training.run(WARM) for training in pair.values())
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, err_msg=script)
    return trainings, modules["PyTorch"].__version__


def measure(trainings: dict[str, dict[str, Any]], rounds: int, steps: int) -> dict[str, dict[str, list[float]]]:
    """Seconds per step by script, library and round."""
    times: dict[str, dict[str, list[float]]] = {s: {name: [] for name in LIBRARIES} for s in SCRIPTS}
    gc.collect()
    gc.freeze()  # objects of the imports are not scanned again and again
    for index in range(rounds):
        for script, pair in trainings.items():
            for name in list(LIBRARIES)[:: 1 if index % 2 else -1]:  # alternates the order of the sides
                gc.collect()  # no side pays for another's garbage
                start = time.perf_counter()
                pair[name].run(steps)
                times[script][name].append((time.perf_counter() - start) / steps)
    return times


def table(times: dict[str, dict[str, list[float]]], version: str) -> str:
    """The ratios as a Markdown table: how many times as long as PyTorch nbautograd takes."""
    lines = [f"| a step of | nbautograd, median | over PyTorch {version} |", "| --- | --- | --- |"]
    for script, pair in times.items():
        ratios = [a / b for a, b in zip(pair["nbautograd"], pair["PyTorch"], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        mine = statistics.median(pair["nbautograd"]) * 1e3
        lines.append(f"| {script} | {mine:,.1f} ms | **{middle:.2f}** ({low:.2f} to {high:.2f}) |")
    return "\n".join(lines)


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    trainings, version = made()
    times = measure(trainings, options.rounds, options.steps)
    print(f"{options.rounds} rounds of {options.steps} steps; ratio of times, median of the rounds (quartiles)\n")
    print(table(times, version))


if __name__ == "__main__":
    main()
