"""Large arrays: measure the cost of one operation on 10^6 elements, next to the bare NumPy call and to PyTorch.

    python benchmarks/operations.py [--rounds N]

A row is an operation; beside it the NumPy expression that it stands for. In each round all three run in turn; the
table shows the median of the rounds' ratios. "memory" is the call's peak allocation, less its result, in
units of one argument of 10^6 elements; the aim is that of NumPy's call plus one.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
import tracemalloc
from collections.abc import Callable
from importlib import import_module
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and PyTorch are imported: one thread each

import numpy as np

import nbautograd as nb

N = 1000
rng = np.random.default_rng(0)
ARRAYS: dict[str, np.ndarray] = {
    "x": rng.uniform(0.5, 2.0, (N, N)).astype(np.float32),
    "y": rng.uniform(0.5, 2.0, (N, N)).astype(np.float32),
    "row": rng.uniform(0.5, 2.0, (N,)).astype(np.float32),
    "flat": rng.permutation(N * N).astype(np.float32),
    "index": rng.integers(0, N, (N, N)),
    "rows": rng.integers(0, N, N),
    "mask": rng.random((N, N)) < 0.5,
}

OPERATIONS: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = [
    ("add", lambda T, x, y, **_: x + y, lambda x, y, **_: x + y),
    ("add a row", lambda T, x, row, **_: x + row, lambda x, row, **_: x + row),
    ("add a number", lambda T, x, **_: x + 1, lambda x, **_: x + np.float32(1)),
    ("mul", lambda T, x, y, **_: x * y, lambda x, y, **_: x * y),
    ("div", lambda T, x, y, **_: x / y, lambda x, y, **_: x / y),
    ("pow 2", lambda T, x, **_: x**2, lambda x, **_: x**2),
    ("pow", lambda T, x, y, **_: x**y, lambda x, y, **_: x**y),
    ("neg", lambda T, x, **_: -x, lambda x, **_: -x),
    ("abs", lambda T, x, **_: T.abs(x), lambda x, **_: np.abs(x)),
    ("exp", lambda T, x, **_: T.exp(x), lambda x, **_: np.exp(x)),
    ("log", lambda T, x, **_: T.log(x), lambda x, **_: np.log(x)),
    ("sin", lambda T, x, **_: T.sin(x), lambda x, **_: np.sin(x)),
    ("tanh", lambda T, x, **_: T.tanh(x), lambda x, **_: np.tanh(x)),
    ("sqrt", lambda T, x, **_: T.sqrt(x), lambda x, **_: np.sqrt(x)),
    ("sigmoid", lambda T, x, **_: T.sigmoid(x), lambda x, **_: 1 / (1 + np.exp(-x))),
    ("relu", lambda T, x, **_: T.relu(x), lambda x, **_: np.maximum(x, np.float32(0))),
    ("maximum", lambda T, x, y, **_: T.maximum(x, y), lambda x, y, **_: np.maximum(x, y)),
    ("clamp", lambda T, x, **_: T.clamp(x, 0.7, 1.5), lambda x, **_: np.clip(x, np.float32(0.7), np.float32(1.5))),
    ("where", lambda T, x, y, mask, **_: T.where(mask, x, y), lambda x, y, mask, **_: np.where(mask, x, y)),
    ("less", lambda T, x, y, **_: x < y, lambda x, y, **_: x < y),
    ("sum", lambda T, x, **_: x.sum(), lambda x, **_: np.add.reduce(x, None)),
    ("sum over 0", lambda T, x, **_: x.sum(0), lambda x, **_: x.sum(0)),
    ("sum over 1", lambda T, x, **_: x.sum(1), lambda x, **_: x.sum(1)),
    ("mean", lambda T, x, **_: x.mean(), lambda x, **_: x.mean()),
    ("var over 1", lambda T, x, **_: x.var(1), lambda x, **_: x.var(1, ddof=1)),
    ("max", lambda T, x, **_: x.max(), lambda x, **_: x.max()),
    ("argmax over 1", lambda T, x, **_: x.argmax(1), lambda x, **_: x.argmax(1)),
    ("norm", lambda T, x, **_: x.norm(), lambda x, **_: np.linalg.norm(x)),
    ("cumsum over 1", lambda T, x, **_: x.cumsum(1), lambda x, **_: x.cumsum(1)),
    ("sort", lambda T, flat, **_: T.sort(flat)[0], lambda flat, **_: _sorted(flat)),
    ("matmul", lambda T, x, y, **_: x @ y, lambda x, y, **_: x @ y),
    ("transpose, contiguous", lambda T, x, **_: x.t().contiguous(), lambda x, **_: np.ascontiguousarray(x.T)),
    ("cat", lambda T, x, y, **_: T.cat([x, y]), lambda x, y, **_: np.concatenate([x, y])),
    ("rows by index", lambda T, x, rows, **_: x[rows], lambda x, rows, **_: x[rows]),
    ("masked", lambda T, x, mask, **_: x[mask], lambda x, mask, **_: x[mask]),
    ("gather", lambda T, x, index, **_: x.gather(1, index), lambda x, index, **_: np.take_along_axis(x, index, 1)),
    ("softmax", lambda T, x, **_: T.softmax(x, 1), lambda x, **_: _softmax(x)),
    ("in place add", lambda T, x, y, **_: x.add_(y), lambda x, y, **_: np.add(x, y, out=x)),
]  # fmt: skip


def _sorted(x: np.ndarray) -> np.ndarray:
    return np.take_along_axis(x, np.argsort(x, kind="stable"), 0)


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    e /= e.sum(1, keepdims=True)
    return e


def timed(call: Callable[[], Any], repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return time.perf_counter() - start


def memory(call: Callable[[], Any]) -> float:
    """The peak allocation of a call, less its result, in units of one argument."""
    call()
    gc.collect()
    tracemalloc.start()
    result = call()
    current, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return (peak - current) / ARRAYS["x"].nbytes


def measure(rounds: int) -> list[str]:
    try:
        torch = import_module("torch")
        torch.set_num_threads(1)
    except ImportError:
        torch = None
    ours = {name: nb.tensor(a) for name, a in ARRAYS.items()}
    theirs = {name: torch.tensor(a) for name, a in ARRAYS.items()} if torch else {}
    lines = [
        "| 10^6 elements, float32 | NumPy, ms | over NumPy | PyTorch over NumPy | memory | NumPy's |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, call, bare in OPERATIONS:
        calls: list[Callable[[], Any]] = [lambda call=call: call(nb, **ours), lambda bare=bare: bare(**ARRAYS)]
        if torch:
            calls.append(lambda call=call: call(torch, **theirs))
        with np.errstate(all="ignore"):
            repeats = max(1, int(0.01 / max(1e-5, timed(calls[1], 1))))
            for c in calls:
                c()
            gc.collect()
            gc.disable()
            times = [[timed(c, repeats) / repeats for c in calls] for _ in range(rounds)]
            gc.enable()
            used = [memory(c) for c in calls[:2]]
        own = statistics.median(t[0] / t[1] for t in times)
        other = f"{statistics.median(t[2] / t[1] for t in times):.2f}" if torch else ""
        base = statistics.median(t[1] for t in times) * 1e3
        lines.append(f"| {name} | {base:.2f} | **{own:.2f}** | {other} | {used[0]:.1f} | {used[1]:.1f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    for line in measure(parser.parse_args().rounds):
        print(line)


if __name__ == "__main__":
    main()
