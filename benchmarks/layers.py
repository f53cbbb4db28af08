"""Operations of networks: forward and backward at three sizes, next to PyTorch, one thread each.

    python benchmarks/layers.py [--rounds N] [--only softmax,gelu,…] [--record FOLDER]

The operations are those of ``workloads/layers.py``; results and gradients are compared before anything is timed. A cell
is nbautograd's time over PyTorch's, forward and backward, the median of the rounds; the quartiles are in the figures.
The last columns are the limits: the bare NumPy calls of ``workloads/bare.py``, over PyTorch. What is recorded on a
processor without AVX-512 has a file of its own: NumPy then computes exponentials of float64 number by number.
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
LIMIT = "NumPy"
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


def bare(operation: Any, size: Any) -> Step | None:
    """The step of NumPy's calls alone; None if missing, and 0 seconds for a pass that is."""
    import numpy as np
    from measuring import clock
    from workloads.bare import BARE, BARE_BACK
    from workloads.layers import drawn

    if operation.name not in BARE:
        return None
    operands = [array for array, _ in drawn(operation.operands(*size))]
    now, calls = clock(), [BARE[operation.name](*operands)]
    if operation.name in BARE_BACK:
        g = np.random.default_rng(1).standard_normal(calls[0]().shape, np.float32)
        calls.append(BARE_BACK[operation.name](g, *operands))

    def step(count: int) -> tuple[float, float]:
        seconds = [0.0, 0.0]
        for _ in range(count):
            for i, call in enumerate(calls):
                start = now()
                call()
                seconds[i] += now() - start
        return seconds[0] / count, seconds[1] / count

    return step


def measured(operation: Any, size: Any, rounds: int) -> dict[str, Any]:
    """Microseconds of nbautograd, and quartiles of the ratios, by pass."""
    steps = prepared(operation, size)
    if limit := bare(operation, size):
        steps[LIMIT] = limit
    count = {name: max(1, int(TURN / max(sum(step(1)), 1e-6))) for name, step in steps.items()}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    for index in range(rounds):
        for name in list(steps)[:: 1 if index % 2 else -1]:  # alternates the order of the sides
            gc.collect()
            times[name].append(steps[name](count[name]))
    figures = {}
    for i, which in enumerate(PASSES):
        ours, theirs = ([seconds[i] for seconds in times[name]] for name in LIBRARIES)
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        figures[which] = {"microseconds": 1e6 * statistics.median(ours), "PyTorch": statistics.quantiles(ratios, n=4)}
    if LIMIT in times:
        figures[LIMIT] = [
            statistics.median(
                limit[i] / theirs[i] for limit, theirs in zip(times[LIMIT], times["PyTorch"], strict=True)
            )
            for i in range(len(PASSES))
        ]
    return figures


def rows(figures: dict[str, list[dict[str, Any]]]) -> list[list[str]]:
    """The table's rows: a cell per size and pass."""
    return [
        [
            name,
            *(f"{size[which]['PyTorch'][1]:.2f}" for which in PASSES for size in sizes),
            *(
                f"{size[LIMIT][i]:.2f}" if LIMIT in size and size[LIMIT][i] else ""
                for i in range(len(PASSES))
                for size in sizes
            ),
        ]
        for name, sizes in figures.items()
    ]


def summary(figures: dict[str, list[dict[str, Any]]]) -> str:
    """The median of all ratios, which are above 1.5, and of how many passes even the limit is."""
    ratios = {
        f"{name}, {which} {size + 1}": part[which]["PyTorch"][1]
        for name, sizes in figures.items()
        for size, part in enumerate(sizes)
        for which in PASSES
    }
    above = sorted((ratio, cell) for cell, ratio in ratios.items() if ratio > 1.5)
    text = f"Median {statistics.median(ratios.values()):.2f}; {len(above)} of {len(ratios)} are above 1.5"
    limits = sum(limit > 1.5 for sizes in figures.values() for part in sizes for limit in part.get(LIMIT, ()))
    text += f", and so are the bare NumPy calls of {limits}"
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

    from nbautograd._engine.arrays.cpu_features import has_kernels

    for module in LIBRARIES.values():
        import_module(module).set_num_threads(1)
    names = [name for name in options.only.split(",") if name]
    gc.collect()
    gc.freeze()  # objects of the imports are not scanned again and again
    figures = {}
    for operation in OPERATIONS:
        if not names or operation.name in names:
            figures[operation.name] = [measured(operation, size, options.rounds) for size in operation.sizes]
            print(operation.name, file=sys.stderr, flush=True)
    sizes = ("small", "medium", "large")
    columns = (*PASSES, *(f"bare NumPy, {which}" for which in PASSES))
    heads = ["over PyTorch", *(f"{column} {size}" for column in columns for size in sizes)]
    wide = has_kernels("AVX512_SKX", "X86_V4")
    head = f"{heading(1)}, {'with' if wide else 'without'} AVX-512"
    report = f"{head}\n\n{table(heads, rows(figures))}\n\n{summary(figures)}\n"
    print(report)
    if options.record:
        record(options.record, "layers" if wide else "layers_without_avx512", report, figures, 1)


if __name__ == "__main__":
    main()
