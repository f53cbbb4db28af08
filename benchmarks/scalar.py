"""Small tensors: what forward and backward cost per operation, next to other libraries.

    python benchmarks/scalar.py [--rounds N]

Three programs run in every library that is installed. Each round runs them all in turn, so that whatever else the
machine does falls on all alike; a ratio is taken within a round, and the table shows the median of the rounds'
ratios with the quartiles. Results and gradients are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and PyTorch are imported: one thread each

import numpy as np

STEPS = 500  # each is two operations

Program = Callable[[], tuple[float, Any]]  # gives the result and the gradient of x


@dataclass(frozen=True)
class Library:
    """One library with its version and the three programs written for it."""

    name: str
    version: str
    programs: dict[str, Program]


def chain(x: Any, a: Any, b: Any) -> Any:
    """1,000 operations, one after the other."""
    y = x
    for _ in range(STEPS):
        y = y * a
        y = y + b
    return y


def like_torch(name: str, module: str) -> Library:
    """The programs for PyTorch and for what speaks its language."""
    torch = import_module(module)
    if name == "PyTorch":
        torch.set_num_threads(1)

    def chained(start: Any, a: Any, b: Any) -> Program:
        def program() -> tuple[float, Any]:
            x = torch.tensor(start, requires_grad=True)
            y = chain(x, torch.tensor(a), torch.tensor(b))
            y.backward()
            return y, x.grad

        return program

    def seed() -> tuple[float, Any]:
        x = torch.ones(2, 2, requires_grad=True)
        y = x + 2
        z = y * y * 3
        out = z.mean()
        out.backward()
        return out, x.grad

    programs = {"0-d": chained(1.0, 0.999, 0.001), "1-element": chained([1.0], [0.999], [0.001]), "2x2": seed}
    return Library(name, torch.__version__, programs)


def hips() -> Library:
    """The programs for HIPS autograd, which differentiates functions."""
    autograd, numpy = import_module("autograd"), import_module("autograd.numpy")
    from importlib.metadata import version

    def chained(shape: tuple[int, ...]) -> Program:
        def program() -> tuple[float, Any]:
            a, b = np.full(shape, 0.999, np.float32), np.full(shape, 0.001, np.float32)
            value, gradient = autograd.value_and_grad(lambda x: numpy.sum(chain(x, a, b)) if shape else chain(x, a, b))(
                np.ones(shape, np.float32)
            )
            return value, gradient

        return program

    def function(x: Any) -> Any:
        y = x + 2
        z = y * y * 3
        return numpy.mean(z)

    def seed() -> tuple[float, Any]:
        return autograd.value_and_grad(function)(np.ones((2, 2), np.float32))

    return Library("HIPS autograd", version("autograd"), {"0-d": chained(()), "1-element": chained((1,)), "2x2": seed})


def mygrad() -> Library:
    """The programs for MyGrad."""
    mg = import_module("mygrad")

    def chained(shape: tuple[int, ...]) -> Program:
        def program() -> tuple[float, Any]:
            x = mg.tensor(np.ones(shape, np.float32))
            y = chain(x, np.full(shape, 0.999, np.float32), np.full(shape, 0.001, np.float32))
            y.backward()
            return y, x.grad

        return program

    def seed() -> tuple[float, Any]:
        x = mg.tensor(np.ones((2, 2), np.float32))
        y = x + 2
        z = y * y * 3
        out = z.mean()
        out.backward()
        return out, x.grad

    return Library("MyGrad", mg.__version__, {"0-d": chained(()), "1-element": chained((1,)), "2x2": seed})


MAKERS: dict[str, Callable[[], Library]] = {
    "nbautograd": lambda: like_torch("nbautograd", "nbautograd"),
    "PyTorch": lambda: like_torch("PyTorch", "torch"),
    "HIPS autograd": hips,
    "MyGrad": mygrad,
}
TITLES = {
    "0-d": "1,000-operation chain, 0-d",
    "1-element": "1,000-operation chain, 1 element",
    "2x2": "`((x + 2)² · 3).mean()`, 2×2",
}
REPEATS = {"0-d": 3, "1-element": 3, "2x2": 300}  # runs per timing, so that each takes milliseconds


def host(value: Any) -> np.ndarray[Any, Any]:
    """A result of any of the libraries as a NumPy array."""
    value = value.detach() if hasattr(value, "detach") else getattr(value, "data", value)
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value, np.float64).reshape(-1)


def check(libraries: list[Library]) -> None:
    """Every library must compute the same before their times mean anything."""
    for program in TITLES:
        expected = [host(v) for v in libraries[0].programs[program]()]
        for library in libraries[1:]:
            for ours, theirs in zip(expected, library.programs[program](), strict=True):
                np.testing.assert_allclose(host(theirs), ours, rtol=2e-4, err_msg=f"{library.name}, {program}")


def timed(program: Program, repeats: int) -> float:
    """Seconds per run."""
    start = time.perf_counter()
    for _ in range(repeats):
        program()
    return (time.perf_counter() - start) / repeats


def measure(libraries: list[Library], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds per run by program, library and round."""
    times: dict[str, dict[str, list[float]]] = {p: {lib.name: [] for lib in libraries} for p in TITLES}
    gc.collect()
    gc.freeze()  # what the imports made is not looked through again and again
    for index in range(-2, rounds):  # two rounds to warm up
        for program in TITLES:
            shift = index % len(libraries)  # nobody always comes first
            for library in libraries[shift:] + libraries[:shift]:
                gc.collect()  # nobody pays for another's garbage
                seconds = timed(library.programs[program], REPEATS[program])
                if index >= 0:
                    times[program][library.name].append(seconds)
    return times


def table(libraries: list[Library], times: dict[str, dict[str, list[float]]]) -> str:
    """The ratios as a Markdown table: how many times as long as the others nbautograd takes."""
    ours, *others = libraries
    heads = [f"over {lib.name} {lib.version}" for lib in others]
    lines = [
        "| forward + backward | nbautograd, median | " + " | ".join(heads) + " |",
        "| --- | --- |" + " --- |" * len(others),
    ]
    for program, title in TITLES.items():
        mine = times[program][ours.name]
        cells = [f"{statistics.median(mine) * 1e6:,.0f} µs"]
        for library in others:
            ratios = [a / b for a, b in zip(mine, times[program][library.name], strict=True)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            cells.append(f"**{middle:.2f}** ({low:.2f} to {high:.2f})")
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=41)
    rounds = parser.parse_args().rounds
    libraries = []
    for name, make in MAKERS.items():
        try:
            libraries.append(make())
        except ImportError as error:
            if name == "nbautograd":
                raise
            print(f"{name} is left out: {error}")
    check(libraries)
    times = measure(libraries, rounds)
    print(f"{rounds} rounds; ratio of times, median of the rounds (quartiles); below 1 nbautograd is faster\n")
    print(table(libraries, times))


if __name__ == "__main__":
    main()
