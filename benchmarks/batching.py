"""Measure how much faster ``vmap`` computes a batch than a loop over its samples, next to PyTorch.

    python benchmarks/batching.py [--samples N] [--rounds N]

The loop calls the same function once for each sample and stacks the results. Columns: milliseconds of nbautograd's
``vmap`` and loop, and how many times as long the loop takes; the same of PyTorch, if it is installed.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

Program = tuple[Callable[..., Any], tuple[Any, ...]]  # a function of one sample, and the arguments of all


def programs(T: ModuleType, samples: int) -> dict[str, Program]:
    """Return the mapped functions by name."""
    func = importlib.import_module(f"{T.__name__}.func")
    T.manual_seed(0)
    x, y = T.randn(samples, 16), T.randn(samples, 16)
    model = T.nn.Sequential(T.nn.Linear(16, 32), T.nn.Tanh(), T.nn.Linear(32, 4))
    conv = T.nn.Sequential(T.nn.Conv2d(1, 4, 3), T.nn.ReLU(), T.nn.Flatten(), T.nn.Linear(144, 4))
    states = [{name: p.detach() for name, p in m.named_parameters()} for m in (model, conv)]

    def loss(network: Any, state: Any) -> Callable[[Any], Any]:
        def of(x: Any) -> Any:
            return (func.functional_call(network, state, (x[None],)) ** 2).sum()

        return of

    def gradient(network: Any, state: Any) -> Callable[[Any], Any]:
        def of(x: Any) -> Any:
            return func.grad(lambda s: loss(network, s)(x))(state)["0.weight"]

        return of

    return {
        "elementwise": (lambda x, y: (x * y).sin() + x.exp(), (x, y)),
        "reductions": (lambda x: x.softmax(0).log().sum() - x.max(), (x,)),
        "dot products": (T.dot, (x, y)),
        "matrix times vector": (lambda x, y: T.outer(x, y) @ x, (x, y)),
        "indexing": (lambda x: x[2:9].flip(0)[T.tensor([0, 3, 1])], (x,)),
        "perceptron": (lambda x: model(x).sum(), (x,)),
        "its gradient per sample": (gradient(model, states[0]), (x,)),
        "convolutions' per sample": (gradient(conv, states[1]), (x.reshape(samples, 4, 4).repeat(1, 2, 2)[:, None],)),
        "a Jacobian per sample": (func.jacrev(lambda x: model(x)), (x,)),
    }


def milliseconds(run: Callable[[], Any], rounds: int) -> float:
    """The median of some runs, after one."""
    run()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def measured(T: ModuleType, samples: int, rounds: int) -> dict[str, tuple[float, float]]:
    """By program, the time of ``vmap`` and of a loop."""
    found = {}
    for name, (function, arguments) in programs(T, samples).items():

        def loop(function: Any = function, arguments: Any = arguments) -> Any:
            return T.stack([function(*sample) for sample in zip(*arguments, strict=True)])

        mapped = T.vmap(function)
        found[name] = (
            milliseconds(lambda mapped=mapped, arguments=arguments: mapped(*arguments), rounds),
            milliseconds(loop, max(1, rounds // 5)),
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    columns = []
    for name in ("nbautograd", "torch"):
        try:
            library = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(library, "set_num_threads"):
            library.set_num_threads(1)
        columns.append((name, measured(library, options.samples, options.rounds)))
    print(f"{options.samples} samples, ms: {', '.join(f'{name} vmap, loop, ratio' for name, _ in columns)}")
    for program in columns[0][1]:
        cells = []
        for _, times in columns:
            mapped, loop = times[program]
            cells.append(f"{mapped:9.3f} {loop:9.1f} {loop / mapped:7.0f}")
        print(f"{program:26}", " | ".join(cells))


if __name__ == "__main__":
    main()
