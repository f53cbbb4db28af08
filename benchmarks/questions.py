"""Measure the cost of answers: %memory, %cost, %why, %diff and --stop, and the watch of PyTorch's operations.

    python benchmarks/questions.py

Prints three tables: operations and a training step in a process that has used every command, over those in one that
has not (1.00: nothing is left when nothing is asked); seconds and megabytes of each command at 10, 1,000 and 10,000
operations; and PyTorch's operations and training steps while they are watched, over the same alone. Processor time,
one thread, medians of rounds in which all take turns.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from itertools import pairwise
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ROUNDS = 25
SIZES = (10, 1_000, 10_000)


def seconds(work: Callable[[], Any]) -> float:
    """Return the processor time of a call."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def chain(T: Any, count: int, size: int = 4) -> Callable[[], Any]:
    """Return a function that runs so many operations."""
    w = T.ones(size, requires_grad=True)

    def run() -> Any:
        h = w
        for _ in range(count):
            h = h * w
        return h.sum()

    return run


def step(T: Any, net: Any, x: Any, optimizer: str = "SGD") -> Callable[[], Any]:
    """Return a training step."""
    chosen = getattr(T.optim, optimizer)(net.parameters(), lr=0.01)
    target = T.zeros(x.shape[0], dtype=T.int64)

    def run() -> Any:
        chosen.zero_grad()
        loss = T.nn.functional.cross_entropy(net(x), target)
        loss.backward()
        chosen.step()

    return run


def mlp(T: Any, *sizes: int) -> Any:
    """Return a network of linear layers with ReLUs."""
    layers: list[Any] = []
    for inputs, outputs in pairwise(sizes):
        layers += [T.nn.Linear(inputs, outputs), T.nn.ReLU()]
    return T.nn.Sequential(*layers[:-1])


# -- nothing asked -----------------------------------------------------------------------------------------------------


def worker(asked: bool) -> None:
    """Time the same work whenever a line comes in; before that, use every command or none."""
    torch = import_module("nbautograd")
    if asked:
        from nbautograd import viz

        w = torch.ones(3, requires_grad=True)
        with torch.autograd.set_detect_anomaly(True, check_forward=True, inf=True), viz.traced():
            y, z = (w * w).sum(), (w * 2).sum()
        for answer in (viz.memory(y), viz.cost(lambda: (w * w).sum()), viz.why(w, y), viz.diff(y, z)):
            repr(answer)
    works = {
        "an operation": chain(torch, 1000),
        "a training step": step(torch, mlp(torch, 64, 64, 10), torch.ones(64, 64)),
    }
    for work in works.values():
        work()
    for line in sys.stdin:
        print(seconds(works[line.strip()]), flush=True)


def nothing_asked() -> None:
    """Print what is left of the commands when nothing is asked."""
    workers = [
        subprocess.Popen([sys.executable, __file__, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("plain", "plain", "asked")
    ]
    print(
        "| nothing asked | after every command, over before | another process without any, over before |\n|---|---|---|"
    )
    for name in ("an operation", "a training step"):
        times: list[list[float]] = [[], [], []]
        for _ in range(10 * ROUNDS):
            for each, found in zip(workers, times, strict=True):
                assert each.stdin is not None and each.stdout is not None
                each.stdin.write(name + "\n")
                each.stdin.flush()
                found.append(float(each.stdout.readline()))
        plain, same, asked = map(statistics.median, times)
        print(f"| {name} | {asked / plain:.2f} | {same / plain:.2f} |")
    for each in workers:
        each.communicate()


# -- each command ------------------------------------------------------------------------------------------------------


def asks(T: Any, size: int) -> dict[str, Callable[[], Any]]:
    """Return a function for each command, about graphs of so many operations."""
    from nbautograd import viz

    run = chain(T, size)
    with viz.traced(), viz.watch(2 * size + 10, namespace={}):
        y, z = run(), run()
    leaf = y.grad_fn
    while leaf.next_functions:
        leaf = leaf.next_functions[-1][0]
    w = leaf.variable
    return {
        "%memory": lambda: viz.memory(y, namespace={"y": y}),
        "%cost": lambda: viz.cost(run, namespace={}),
        "%why": lambda: viz.why(w, y, namespace={"w": w, "y": y}),
        "%diff": lambda: viz.diff(y, z, namespace={"y": y, "z": z}),
    }


def commands(T: Any) -> None:
    """Print seconds and memory of each command at several sizes."""
    print(f"\n| {T.__name__} | " + " | ".join(f"{size:,} operations" for size in SIZES) + " |\n|---|---|---|---|")
    rows: dict[str, list[str]] = {}
    for size in SIZES:
        for name, ask in asks(T, size).items():
            ask()
            begin = time.process_time()
            ask()._repr_mimebundle_()
            took = time.process_time() - begin
            tracemalloc.start()
            ask()
            megabytes = tracemalloc.get_traced_memory()[1] / 1e6
            tracemalloc.stop()
            rows.setdefault(name, []).append(f"{took:.2f} s, {megabytes:.1f} MB")
    for name, cells in rows.items():
        print(f"| `{name}` | {' | '.join(cells)} |")


# -- PyTorch watched ---------------------------------------------------------------------------------------------------


def watched() -> None:
    """Print how many times as long PyTorch takes while it is watched."""
    import torch

    from nbautograd import viz

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    picture = torch.ones(64, 1, 28, 28)
    nn = torch.nn
    lenet = nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(256, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    works = {
        "a product of 4 elements (200)": chain(torch, 200),
        "of 10,000 elements (200)": chain(torch, 200, 10_000),
        "of 100,000 elements (200)": chain(torch, 200, 100_000),
        "a step of 64-64-10, SGD": step(torch, mlp(torch, 64, 64, 10), torch.ones(64, 64)),
        "a step of 784-128-10, Adam": step(torch, mlp(torch, 784, 128, 10), torch.ones(64, 784), "Adam"),
        "a step of 784-512-512-10, Adam": step(torch, mlp(torch, 784, 512, 512, 10), torch.ones(128, 784), "Adam"),
        "a step of LeNet, SGD": step(torch, lenet, picture),
    }
    ways: dict[str, Callable[[], Any]] = {
        "alone": nullcontext,
        "watched": lambda: viz.watch(10**6, namespace={}),
        "anomaly detection": lambda: torch.autograd.set_detect_anomaly(True, check_nan=False),
    }
    print("\n| PyTorch | alone, µs | watched | anomaly detection |\n|---|---|---|---|")
    for name, work in works.items():
        times: dict[str, list[float]] = {way: [] for way in ways}
        for turn in range(ROUNDS + 2):
            for way, block in ways.items():
                with block():
                    took = seconds(lambda: [work() for _ in range(5)])  # noqa: B023
                if turn > 1:
                    times[way].append(took / 5)
        alone, *others = (statistics.median(found) for found in times.values())
        print(f"| {name} | {1e6 * alone:.0f} | {' | '.join(f'{other / alone:.1f}' for other in others)} |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        worker(sys.argv[1] == "asked")
    else:
        import nbautograd

        nothing_asked()
        commands(nbautograd)
        try:
            import torch
        except ImportError:
            print("PyTorch is not installed")
        else:
            commands(torch)
            watched()
