"""Sums: how long they take and how exact they are, next to NumPy's bare call and to PyTorch.

    python benchmarks/reductions.py [--rounds N] [--elements N]

Each round runs all programs in turn, so that other work of the machine affects all alike; a ratio is taken within a
round, and the table shows the median. Errors are the largest of all results, in units of the dtype's precision, against
a sum in long double.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and PyTorch are imported: one thread each

import numpy as np

import nbautograd as nb


def layouts(n: int) -> list[tuple[tuple[int, ...], int]]:
    """Shapes of about n elements, and the summed dimension."""
    side, cube = round(n**0.5), round(n ** (1 / 3))
    return [
        ((n,), 0),
        ((side, side), 0),
        ((side, side), 1),
        ((10, n // 10), 0),
        ((n // 10, 10), 0),
        ((n // 10, 10), 1),
        ((cube, cube, cube), 0),
        ((cube, cube, cube), 1),
        ((cube, cube, cube), 2),
    ]


def errors(result: Any, exact: Any, eps: float) -> float:
    """The largest relative error in units of the precision."""
    return float(np.max(np.abs((np.asarray(result).astype(np.longdouble) - exact) / exact))) / eps


def seconds(program: Callable[[], Any]) -> float:
    """Seconds for one run."""
    start = time.perf_counter()
    program()
    return time.perf_counter() - start


def rows(dtype: str, n: int, rounds: int, torch: Any) -> list[str]:
    """The lines of the table for one dtype."""
    lines = []
    for shape, dim in layouts(n):
        a = (np.random.default_rng(0).random(shape) / (64 if dtype == "float16" else 1)).astype(dtype)
        x = nb.tensor(a)
        programs: dict[str, Callable[[], Any]] = {
            "ours": lambda x=x, d=dim: x.sum(d),
            "NumPy": lambda a=a, d=dim: np.add.reduce(a, d),
        }
        results = {"ours": x.sum(dim).numpy(), "NumPy": np.add.reduce(a, dim)}
        if torch is not None:
            t = torch.tensor(a)
            programs["PyTorch"] = lambda t=t, d=dim: t.sum(d)
            results["PyTorch"] = t.sum(dim).numpy()
        times: dict[str, list[float]] = {name: [] for name in programs}
        for i in range(-2, rounds):  # two rounds to warm up
            for name, program in programs.items():
                taken = seconds(program)
                if i >= 0:
                    times[name].append(taken)
        exact, eps = a.astype(np.longdouble).sum(dim), float(np.finfo(dtype).eps)
        ratios = [
            statistics.median(m / k for m, k in zip(times["ours"], times[name], strict=True)) for name in programs
        ][1:]
        found = [errors(results[name], exact, eps) for name in programs]
        cells = [f"{statistics.median(times['ours']) * 1e6:,.0f} µs", *(f"{r:.2f}" for r in ratios)]
        lines.append(f"| {dtype} {shape} over {dim} | {' | '.join(cells)} | {' | '.join(f'{e:.1f}' for e in found)} |")
    return lines


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--elements", type=int, default=10**6)
    options = parser.parse_args()
    try:
        import torch

        torch.set_num_threads(1)
        others = ["NumPy", "PyTorch"]
    except ImportError:
        torch, others = None, ["NumPy"]
    print(f"{options.rounds} rounds; ratio of times, median of the rounds: below 1 nbautograd is faster\n")
    heads = ["sum of", "nbautograd", *(f"over {o}" for o in others), "error", *(f"{o}'s" for o in others)]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for dtype in ("float32", "float64", "float16"):
        print("\n".join(rows(dtype, options.elements, options.rounds, torch)), flush=True)


if __name__ == "__main__":
    main()
