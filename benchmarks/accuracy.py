"""Measure the errors of exact sums and of functions of them, next to PyTorch and to NumPy's bare calls, and whether
runs agree.

    python benchmarks/accuracy.py [--elements N] [--no-runs]

Errors are the largest of all results, relative to the largest exact result of the case, in units of float32's
precision (eps, 1.19e-7); the exact results are computed in float64 from the same float32 numbers. With ``--runs``, each
case is run three times here and once more in processes with one and with two threads: its bytes have to be the same.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and PyTorch are imported: one thread each

import numpy as np

import nbautograd as nb

EPS = float(np.finfo(np.float32).eps)
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Layout:
    """The memory layout of the numbers, and the dimensions along which they are reduced."""

    make: Callable[[Array], Array]
    dim: int


LAYOUTS = {
    "(n,)": Layout(lambda a: a, 0),
    "(n, 1) over 0": Layout(lambda a: a.reshape(-1, 1), 0),
    "(n/4, 4) over 0": Layout(lambda a: a.reshape(-1, 4), 0),
    "(4, n/4) over 1": Layout(lambda a: a.reshape(4, -1), 1),
    "(n/4, 4) Fortran over 0": Layout(lambda a: np.asfortranarray(a.reshape(-1, 4)), 0),
    "(n,) step 2": Layout(lambda a: np.repeat(a, 2)[::2], 0),
}


@dataclass(frozen=True)
class Case:
    """A function of PyTorch's interface, one of NumPy's that float64 makes exact, and the numbers that it is given."""

    call: Callable[[Any, Any, int], Any]
    reference: Callable[[Array, int], Array]
    numbers: str = "uniform"


def shifted(a: Array, dim: int) -> tuple[Array, Array]:
    top = a.max(dim, keepdims=True)
    e = np.exp(a - top)
    return e, top


def softmax(a: Array, dim: int) -> Array:
    e, _ = shifted(a, dim)
    return e / e.sum(dim, keepdims=True)


def logsumexp(a: Array, dim: int, keepdims: bool = False) -> Array:
    e, top = shifted(a, dim)
    found: Array = np.log(e.sum(dim, keepdims=True)) + top
    return found if keepdims else found.squeeze(dim)


def layer_norm(a: Array, dim: int) -> Array:
    return (a - a.mean(dim, keepdims=True)) / np.sqrt(a.var(dim, keepdims=True) + a.dtype.type(1e-5))


def cross_entropy(a: Array, dim: int) -> Array:
    """Return the mean over classes along ``dim``, the right one being the first."""
    return (logsumexp(a, dim) - a.take(0, dim)).mean()


def last(T: Any, x: Any, dim: int) -> Any:
    """Brings the dimension to the end, where PyTorch's ``layer_norm`` wants it."""
    return x.movedim(dim, -1)


def of_classes(T: Any, x: Any, dim: int) -> Any:
    rows = x.movedim(dim, -1).reshape(-1, x.shape[dim])
    return T.nn.functional.cross_entropy(rows, T.zeros(rows.shape[0], dtype=T.int64))


CASES = {
    "sum": Case(lambda T, x, d: x.sum(d), lambda a, d: a.sum(d)),
    "mean": Case(lambda T, x, d: x.mean(d), lambda a, d: a.mean(d)),
    "norm": Case(lambda T, x, d: x.norm(2, d), lambda a, d: np.sqrt((a * a).sum(d)), "normal"),
    "logsumexp": Case(lambda T, x, d: x.logsumexp(d), logsumexp, "normal"),
    "softmax": Case(lambda T, x, d: x.softmax(d), softmax, "normal"),
    "var": Case(lambda T, x, d: x.var(d), lambda a, d: a.var(d, ddof=1), "far from zero"),
    "std": Case(lambda T, x, d: x.std(d), lambda a, d: a.std(d, ddof=1), "far from zero"),
    "cumsum": Case(lambda T, x, d: x.cumsum(d), lambda a, d: a.cumsum(d)),
    "prod": Case(lambda T, x, d: x.prod(d), lambda a, d: a.prod(d), "near one"),
    "dot": Case(lambda T, x, d: (x * x).sum(d) if x.ndim > 1 else T.dot(x, x), lambda a, d: (a * a).sum(d), "normal"),
    "layer_norm": Case(
        lambda T, x, d: T.nn.functional.layer_norm(last(T, x, d), (x.shape[d],)),
        lambda a, d: np.moveaxis(layer_norm(a, d), d, -1),
        "normal",
    ),
    "cross_entropy": Case(of_classes, cross_entropy, "normal"),
}
"""``dot`` is of one dimension: elsewhere it is the sum of the squares."""


def numbers(kind: str, n: int) -> Array:
    rng = np.random.default_rng(0)
    if kind == "uniform":
        return rng.random(n, np.float32)
    made = rng.standard_normal(n, np.float32)
    if kind == "near one":
        return 1 + made * np.float32(1e-4)
    return made + np.float32(100) if kind == "far from zero" else made


def error(result: Any, exact: Array) -> float:
    """The largest error in units of the precision."""
    found = np.asarray(result, np.float64)
    return float(np.max(np.abs(found - exact)) / np.max(np.abs(exact))) / EPS


def errors(case: Case, a: Array, dim: int, torch: Any) -> list[float]:
    exact = case.reference(a.astype(np.float64), dim)
    found = [error(case.call(nb, nb.from_numpy(a), dim).numpy(), exact)]
    if torch is not None:
        found.append(error(case.call(torch, torch.from_numpy(a), dim).numpy(), exact))
    found.append(error(case.reference(a, dim), exact))
    return found


def table(n: int, torch: Any) -> list[str]:
    """A line for each case: ours, PyTorch's and NumPy's error in each layout."""
    who = ["ours", "PyTorch", "NumPy"] if torch is not None else ["ours", "NumPy"]
    lines = [f"| {' | '.join(['', *LAYOUTS])} |", "|" + " --- |" * (len(LAYOUTS) + 1)]
    for name, case in CASES.items():
        cells = []
        for layout in LAYOUTS.values():
            a = layout.make(numbers(case.numbers, n))
            found = errors(case, a, layout.dim, torch)
            worse = torch is not None and found[0] > max(2 * found[1], 4)
            cells.append(" / ".join(f"{e:.3g}" for e in found) + (" **!**" if worse else ""))
        lines.append(f"| {name} ({case.numbers}) | {' | '.join(cells)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return [f"{' / '.join(who)}, in eps:", "", *lines]


def digests(n: int) -> list[str]:
    """A hash of every result's bytes."""
    found = []
    for case in CASES.values():
        for layout in LAYOUTS.values():
            x = nb.from_numpy(layout.make(numbers(case.numbers, n)))
            found.append(hashlib.sha256(case.call(nb, x, layout.dim).numpy().tobytes()).hexdigest()[:16])
    return found


def runs(n: int) -> str:
    """Return whether all runs give the same bytes."""
    here = [digests(n) for _ in range(3)]
    for threads in ("1", "2"):
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, __file__, "--digests", "--elements", str(n)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        here.append(done.stdout.split())
    names = [f"{name}, {layout}" for name in CASES for layout in LAYOUTS]
    unlike = [name for i, name in enumerate(names) if len({run[i] for run in here}) > 1]
    if not unlike:
        return f"All {len(names)} results have the same bytes in 3 runs, and in processes with 1 and with 2 threads."
    return f"Bytes differ between runs: {'; '.join(unlike)}."


def main() -> None:
    """Print the table, and the results of the runs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=10**7)
    parser.add_argument("--no-runs", action="store_true")
    parser.add_argument("--digests", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.digests:
        print("\n".join(digests(options.elements)))
        return
    try:
        import torch

        torch.set_num_threads(1)
    except ImportError:
        torch = None  # type: ignore[assignment]
    print("\n".join(table(options.elements, torch)))
    if not options.no_runs:
        print("\n" + runs(options.elements // 10))


if __name__ == "__main__":
    main()
