"""Measure the times that a person waits for, and the ratios that still have a goal: one table.

    python benchmarks/goals.py [--rounds N] [--only import,step,…]

Processor time of one thread. Ratios are medians of rounds in which both sides take turns; without PyTorch its rows are
left out. ``--only`` takes parts: import, step, models, functions, layers, samples, wide, notebook.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from compare import heading, threads

MODELS = {"gpt": 0.95, "lstm": 0.95, "word2vec": 0.9, "norm": 0.8, "pinn": 0.55}
NORMALIZED = ("log_softmax", "layer_norm", "group_norm")
Row = tuple[str, float, float]  # what, measured, goal


def imports(rounds: int) -> Iterator[Row]:
    """The import and the extension, in fresh processes."""
    from importing import COMMANDS, NOTEBOOK, measured

    found = measured(rounds, {name: COMMANDS[name] for name in ("bare", "numpy", "nbautograd")} | NOTEBOOK)
    yield "`import nbautograd` over `import numpy`", found["nbautograd"] / found["numpy"], 1.45
    yield "`%load_ext nbautograd` after it, s", found["load_ext"] - found["shell"], 0.15


def notebook(rounds: int) -> Iterator[Row]:
    """The kernel's part of `%backward y`: the first of a process, and later ones."""
    from pictures import kernel

    first, later = kernel((3, 30, 300), rounds)
    yield "`%backward y`, kernel, first of a process, 3 operations, s", first, 0.25
    for count, seconds in later.items():
        yield f"`%backward y`, kernel, later, {count} operations, s", seconds, 0.25


def compared(programs: dict[str, Any], rounds: int, own: str = "nbautograd") -> float:
    """The median ratio of our time to PyTorch's."""
    from measuring import in_turn, ratios

    gc.collect()
    gc.freeze()  # objects of the imports are not scanned again and again
    return ratios(in_turn(programs, rounds, 1000), {}, own)["PyTorch"].middle


def steps(rounds: int) -> Iterator[Row]:
    """The small perceptron, eager and recorded."""
    from workloads.perceptron import step

    makers = step((64, 64, 64, 10), 32)
    programs = {name: makers[name]() for name in ("nbautograd", "traced", "PyTorch")}
    yield "a step of the perceptron 64-64-64-10, batch 32", compared(programs, rounds), 0.75
    yield "the same, traced", compared(programs, rounds, "traced"), 0.55


def models(rounds: int) -> Iterator[Row]:
    """Training steps."""
    from measuring import ratios
    from models import chosen, timed

    workloads = chosen(list(MODELS))
    times = timed(workloads, rounds)
    for workload in workloads:
        yield workload.title, ratios(times[workload.key], {})["PyTorch"].middle, MODELS[workload.key]


def pair(call: Callable[[Any], Any]) -> dict[str, Any]:
    """The programs of both libraries."""
    return {name: call(import_module(module)) for name, module in (("nbautograd", "nbautograd"), ("PyTorch", "torch"))}


def functions(rounds: int) -> Iterator[Row]:
    """Activations of 10⁶ float32, forward, without gradients."""
    for name in ("sigmoid", "silu", "gelu", "exp", "tanh"):

        def call(torch: Any, name: str = name) -> Callable[[], Any]:
            x = torch.linspace(-4, 4, 10**6)
            function = getattr(torch if name in ("sigmoid", "exp", "tanh") else torch.nn.functional, name)
            return lambda: function(x)

        yield f"{name} of 10⁶ float32", compared(pair(call), rounds), 2.0


def layers(rounds: int) -> dict[str, float]:
    """The ratios of `layers.py`, by operation, pass and size."""
    from layers import PASSES, measured
    from workloads.layers import OPERATIONS

    found: dict[str, float] = {}
    for operation in OPERATIONS:
        for size, shape in enumerate(operation.sizes, 1):
            figures = measured(operation, shape, rounds)
            found |= {f"{operation.name}, {which} {size}": figures[which]["PyTorch"][1] for which in PASSES}
    return found


def every_layer(rounds: int) -> Iterator[Row]:
    """Operations of networks: three normalized ones, and how many of all are slow."""
    found = layers(max(2, rounds // 3))
    for name in NORMALIZED:
        yield f"{name}, largest", max(ratio for cell, ratio in found.items() if cell.startswith(name)), 1.4
    yield f"passes of `layers.py` above 1.5 (of {len(found)})", sum(ratio > 1.5 for ratio in found.values()), 30
    print(
        "; ".join(f"{cell} {r:.2f}" for cell, r in sorted(found.items(), key=lambda x: -x[1]) if r > 1.5),
        file=sys.stderr,
    )


def samples(rounds: int) -> Iterator[Row]:
    """10⁵ numbers of distributions by rejection."""
    for name, function, shape in (
        ("gamma", "_standard_gamma", (10**5,)),
        ("Dirichlet", "_sample_dirichlet", (10**4, 10)),
    ):

        def call(torch: Any, function: str = function, shape: tuple[int, ...] = shape) -> Callable[[], Any]:
            parameters = torch.full(shape, 2.0)
            return lambda: getattr(torch, function)(parameters)

        yield f"10⁵ {name} numbers", compared(pair(call), rounds), 3.0


def sums(rounds: int) -> Iterator[Row]:
    """The backward pass of a sum of many products with one tensor."""
    from growth import wide

    yield "10⁶-node wide sum, backward, s", statistics.median(wide("nbautograd", 10**6) for _ in range(3)), 2.0


PARTS: dict[str, Callable[[int], Iterator[Row]]] = {
    "import": imports,
    "step": steps,
    "models": models,
    "functions": functions,
    "layers": every_layer,
    "samples": samples,
    "wide": sums,
    "notebook": notebook,  # the last: from then on operations are recorded
}


def main() -> None:
    """Measure what is asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    options = parser.parse_args()
    threads(1)
    print(f"{heading(1)}\n\n| what | measured | goal | |\n| --- | --- | --- | --- |", flush=True)
    for module in ("nbautograd", "torch"):
        import_module(module).set_num_threads(1)
    for name in options.only.split(","):
        for what, measured, goal in PARTS[name](options.rounds):
            print(f"| {what} | {measured:.3g} | {goal:g} | {'' if measured <= goal else 'missed'} |", flush=True)


if __name__ == "__main__":
    main()
