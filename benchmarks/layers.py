"""Operations of networks: forward and backward at three sizes, next to PyTorch, one thread each.

    python benchmarks/layers.py [--rounds N] [--only softmax,gelu,…] [--record FOLDER]

The operations are those of ``workloads/layers.py``; results and gradients are compared before anything is timed. A cell
is nbautograd's time over PyTorch's, forward and backward, the median of the rounds; the quartiles are in the figures.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from compare import heading, record, threads

TURN = 0.02
"""Seconds that a library's turn takes at least, unless a single call does."""
LIBRARIES = {"nbautograd": "nbautograd", "PyTorch": "torch"}
PASSES = ("forward", "backward")
Step = Callable[[int], tuple[float, float]]  # from the number of calls to the seconds of forward and backward passes


def prepared(operation: Any, size: Any) -> dict[str, Step]:
    """The steps of both libraries, after they gave equal results.

    :raises SystemExit: they did not.
    """
    import numpy as np
    from measuring import clock, host
    from workloads.layers import drawn

    now, steps, results = clock(), {}, {}
    for name, module in LIBRARIES.items():
        torch = import_module(module)
        operands = [torch.tensor(array, requires_grad=wanted) for array, wanted in drawn(operation.operands(*size))]
        leaves = [operand for operand in operands if operand.requires_grad]
        result = operation.call(torch, *operands)
        cotangent = torch.tensor(np.random.default_rng(1).standard_normal(tuple(result.shape), np.float32))

        def step(
            count: int, torch: Any = torch, operands: Any = operands, leaves: Any = leaves, g: Any = cotangent
        ) -> tuple[float, float]:
            forward = backward = 0.0
            call = operation.call
            for _ in range(count):
                for leaf in leaves:
                    leaf.grad = None
                start = now()
                y = call(torch, *operands)
                middle = now()
                y.backward(g)
                end = now()
                forward += middle - start
                backward += end - middle
            return forward / count, backward / count

        step(1)
        results[name] = [host(result), *(host(leaf.grad) for leaf in leaves)]
        steps[name] = step
    for index, (ours, theirs) in enumerate(zip(*results.values(), strict=True)):
        error = abs(ours - theirs).max() / max(abs(ours).max(), 1e-30)
        if not error <= 2e-4:
            raise SystemExit(f"{operation.name} {size}: result {index} differs by {error:.1e}")
    return steps


def measured(operation: Any, size: Any, rounds: int) -> dict[str, Any]:
    """Microseconds of nbautograd, and quartiles of the ratios, by pass."""
    steps = prepared(operation, size)
    count = {name: max(1, int(TURN / max(sum(step(1)), 1e-6))) for name, step in steps.items()}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    for index in range(rounds):
        for name in list(steps)[:: 1 if index % 2 else -1]:  # nobody always comes first
            gc.collect()
            times[name].append(steps[name](count[name]))
    figures = {}
    for i, which in enumerate(PASSES):
        ours, theirs = ([seconds[i] for seconds in times[name]] for name in LIBRARIES)
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        figures[which] = {"microseconds": 1e6 * statistics.median(ours), "PyTorch": statistics.quantiles(ratios, n=4)}
    return figures


def rows(figures: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    """The table's rows: a cell per size and pass."""
    return [
        [name, *(f"{size[which]['PyTorch'][1]:.2f}" for which in PASSES for size in sizes)]
        for name, sizes in figures.items()
    ]


def summary(figures: dict[str, list[dict[str, Any]]]) -> str:
    """The median of all ratios, and which are above 1.5 and 2."""
    ratios = {
        f"{name}, {which} {size + 1}": part[which]["PyTorch"][1]
        for name, sizes in figures.items()
        for size, part in enumerate(sizes)
        for which in PASSES
    }
    above = sorted((ratio, cell) for cell, ratio in ratios.items() if ratio > 1.5)
    text = f"Median {statistics.median(ratios.values()):.2f}; {len(above)} of {len(ratios)} are above 1.5"
    return text + ("" if not above else ": " + "; ".join(f"{cell} {ratio:.2f}" for ratio, cell in above[::-1])) + "."


def main() -> None:
    """Run what is asked for, print it, and record it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="at least 2: quartiles are recorded")
    parser.add_argument("--only", default="", help="names of operations, with commas between; all by default")
    parser.add_argument("--record", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    threads(1)
    from measuring import table
    from workloads.layers import OPERATIONS

    for module in LIBRARIES.values():
        import_module(module).set_num_threads(1)
    names = [name for name in options.only.split(",") if name]
    gc.collect()
    gc.freeze()  # what the imports made is not looked through again and again
    figures = {}
    for operation in OPERATIONS:
        if not names or operation.name in names:
            figures[operation.name] = [measured(operation, size, options.rounds) for size in operation.sizes]
            print(operation.name, file=sys.stderr, flush=True)
    heads = ["over PyTorch", *(f"{which} {size}" for which in PASSES for size in ("small", "medium", "large"))]
    report = f"{heading(1)}\n\n{table(heads, rows(figures))}\n\n{summary(figures)}\n"
    print(report)
    if options.record:
        record(options.record, "layers", report, figures, 1)


if __name__ == "__main__":
    main()
