"""Real models: a training step under nbautograd and PyTorch, one thread each.

    python benchmarks/models.py [--rounds N] [--only lstm,gpt,…] [--record FOLDER]
    python benchmarks/models.py --plot FOLDER      # what is recorded there, as models.svg

The programs are those of ``workloads/networks.py``; the losses of the first step are compared before the timing. Each
library then trains in its own process, in turn: in one process, memory freed by one library changes how often the other
asks the operating system for memory, and an LSTM under PyTorch takes 43 ms instead of 29.

Columns: a step's time, its ratio to PyTorch's (the median of the rounds and its quartiles), the same for four models
written out in NumPy (``workloads/by_hand.py``) and for the matrix products and convolutions alone, as if NumPy's BLAS
did nothing else, and the peak of memory above that before the first step.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

from compare import heading, record, threads

ROUNDS = 15
HAND = "NumPy by hand"


def chosen(keys: list[str]) -> list[Any]:
    """The workloads of these keys, all without any.

    :raises SystemExit: no workload has a key.
    """
    from workloads.networks import WORKLOADS

    if unknown := set(keys) - {workload.key for workload in WORKLOADS}:
        raise SystemExit(f"--only: there are no models {', '.join(sorted(unknown))}")
    return [workload for workload in WORKLOADS if workload.key in keys or not keys]


class Trainer:
    """A library that trains a model in a process of its own, a turn whenever it is asked for."""

    def __init__(self, key: str, library: str) -> None:
        command = [sys.executable, __file__, "--trainer", key, library]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()

    def seconds(self, calls: int) -> float:
        """Return how long so many steps take.

        :raises RuntimeError: the process has ended.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        print(calls, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process that trained ended with {self.process.wait()}")
        return float(line)


def train(key: str, library: str) -> None:
    """In such a process: read the number of steps, and print their time."""
    from measuring import seconds

    import_module("torch" if library == "PyTorch" else "nbautograd").set_num_threads(1)
    (workload,) = chosen([key])
    step = workload.makers[library]()
    step()  # does all loading and compiling of the first use
    for line in sys.stdin:
        print(seconds(step, int(line)), flush=True)


def timed(
    workloads: list[Any], rounds: int, others: tuple[str, ...] = ("PyTorch",)
) -> dict[str, dict[str, list[float]]]:
    """Seconds per step by model, library and round: of ours and of the others that run the model."""
    from measuring import in_turn, prepared

    times = {}
    for workload in workloads:
        names = list(prepared(workload, others))
        with contextlib.ExitStack() as stack:
            trainers = {name: stack.enter_context(Trainer(workload.key, name)) for name in names}
            times[workload.key] = in_turn(trainers, rounds, workload.repeats, Trainer.seconds)
        print(workload.key, file=sys.stderr, flush=True)
    return times


def operations(workload: Any) -> float:
    """The floating-point operations of the products and convolutions of a step, as PyTorch counts them."""
    torch = import_module("torch")
    step = workload.makers["PyTorch"]()
    counter = import_module("torch.utils.flop_counter").FlopCounterMode(display=False)
    with warnings.catch_warnings(action="ignore"), torch.backends.mkldnn.flags(enabled=False), counter:
        step()  # without that library, whose recurrent layers are not counted
    return float(counter.get_total_flops())


def rates(size: int = 1024, calls: int = 10) -> dict[str, float]:
    """Floating-point operations per second of a large product in float32, by library: the best of some calls."""
    import numpy as np
    from measuring import clock

    now, a = clock(), np.random.default_rng(0).standard_normal((size, size), np.float32)
    t = import_module("torch").tensor(a)
    best = dict.fromkeys(("NumPy", "PyTorch"), float("inf"))
    for _ in range(calls):
        for name, product in (("NumPy", lambda: a.dot(a)), ("PyTorch", lambda: t @ t)):
            start = now()
            product()
            best[name] = min(best[name], now() - start)
    return {name: 2 * size**3 / seconds for name, seconds in best.items()}


def rows(workloads: list[Any], times: Any, memory: Any, rate: float) -> tuple[list[list[str]], dict[str, Any]]:
    """The table's rows, and their figures."""
    from measuring import OURS, ratios

    lines, figures = [], {}
    for workload in workloads:
        key = workload.key
        ratio, seconds = ratios(times[key], workload.goals)["PyTorch"], statistics.median(times[key][OURS])
        ours, theirs = memory[key][OURS], memory[key]["PyTorch"]
        over = f"**{ours / theirs:.2f}**" if theirs else ""
        products = operations(workload) / rate / statistics.median(times[key]["PyTorch"])
        figures[key] = {
            "PyTorch": ratio.middle,
            "products": products,
            "microseconds": 1e6 * seconds,
            "memory": memory[key],
        }
        by_hand = ""
        if HAND in times[key]:
            figures[key][HAND] = ratios(times[key], {}, HAND)["PyTorch"].middle
            by_hand = f"{figures[key][HAND]:.2f}"
        limits = by_hand, f"{products:.2f}"
        lines.append([workload.title, f"{1e3 * seconds:,.2f} ms", str(ratio), *limits, f"{ours:.1f} MB", over])
    return lines, figures


def plot(folder: Path) -> None:
    """Draw the recorded ratios: now, and when they were recorded first, with the goals and the products alone."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "models"  # the same figures give the same file
    from matplotlib import pyplot

    figures = json.loads((folder / "models.json").read_text())
    lines = map(json.loads, (folder / "history.jsonl").read_text().splitlines())
    first: dict[str, float] = {}
    for line in lines:
        if line["workload"] in figures:
            first.setdefault(line["workload"], line["figures"]["PyTorch"])
    workloads = [workload for workload in chosen([]) if workload.key in figures][::-1]
    keys, heights = [workload.key for workload in workloads], range(len(workloads))
    figure, axes = pyplot.subplots(figsize=(7.5, 5), layout="constrained")
    axes.barh(heights, [first[key] for key in keys], 0.7, color="#cccccc", label="recorded first")
    axes.barh(heights, [figures[key]["PyTorch"] for key in keys], 0.4, color="#0072b2", label="now")
    axes.barh(heights, [figures[key]["products"] for key in keys], 0.4, color="#003a5c", label="products alone")
    goals = [(workload.goals["PyTorch"], i) for i, workload in enumerate(workloads) if "PyTorch" in workload.goals]
    axes.plot(*zip(*goals, strict=True), "|", color="#d55e00", markersize=18, markeredgewidth=2, label="goal")
    axes.axvline(1, color="#555555", linewidth=1)
    axes.set(xlabel="time of a training step over PyTorch's", yticks=list(heights))
    axes.set_yticklabels([workload.title.partition(",")[0] for workload in workloads])
    figure.legend(fontsize="small", ncols=4, loc="outside upper center")
    figure.savefig(folder / "models.svg", metadata={"Date": None})


def main() -> None:
    """Run what is asked for, print it, and record it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="at least 2: quartiles are shown")
    parser.add_argument("--only", default="", help="keys of models, with commas between; all by default")
    parser.add_argument("--record", type=Path, metavar="FOLDER")
    parser.add_argument("--plot", type=Path, metavar="FOLDER")
    parser.add_argument("--trainer", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.trainer:
        train(*options.trainer)
        return
    if options.plot:
        plot(options.plot)
        return
    threads(1)
    from measuring import OURS, table
    from memory import peaks

    for library in ("nbautograd", "torch"):
        import_module(library).set_num_threads(1)
    workloads = chosen([key for key in options.only.split(",") if key])
    times = timed(workloads, options.rounds, ("PyTorch", HAND))
    speed = rates()
    memory = peaks([workload.key for workload in workloads], [OURS, "PyTorch"])
    lines, figures = rows(workloads, times, memory, speed["NumPy"])
    heads = ["a training step", "nbautograd", "over PyTorch", HAND, "products alone", "peak memory", "over PyTorch's"]
    products = ", ".join(f"{name} {rate / 1e9:.0f}" for name, rate in speed.items())
    text = f"{table(heads, lines)}\n\nA product of 1024x1024 in float32, GFLOP/s: {products}."
    report = f"{heading(1)}\n\n{text}\n"
    print(report)
    if options.record:
        record(options.record, "models", report, figures, 1)


if __name__ == "__main__":
    main()
