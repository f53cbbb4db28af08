"""Traced functions next to eager, NumPy by hand and PyTorch: the workloads b, c, g, i and j.

    python benchmarks/traced.py [--rounds N] [--only b,c,…] [--record FOLDER]

Each library takes its turn in each round, as in ``compare.py``, with one thread. The column ``torch.compile`` needs a
C++ compiler. ``--record`` writes ``traced.md`` and ``traced.json``.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import warnings
from pathlib import Path
from typing import Any

from compare import heading, threads

KEYS = ("b", "c", "g", "i", "j")
NAMES = ("traced", "NumPy by hand", "PyTorch", "torch.compile")
GOALS: dict[str, dict[str, float]] = {
    "b": {"PyTorch": 0.25},
    "c": {"NumPy by hand": 1.15, "PyTorch": 0.55},
    "g": {"NumPy by hand": 1.15, "PyTorch": 0.6},
    "i": {"PyTorch": 0.35},
    "j": {"NumPy by hand": 1.15},
}


def measured(keys: list[str], rounds: int) -> tuple[str, dict[str, Any]]:
    """Table and figures."""
    from measuring import OURS, in_turn, prepared, ratios, table
    from workloads import every

    import nbautograd

    nbautograd.set_num_threads(1)
    try:
        import torch

        torch.set_num_threads(1)
    except ImportError:
        pass
    rows, figures = [], {}
    others = (OURS, *NAMES[1:])
    for workload in every():
        if workload.key not in keys:
            continue
        programs = {}
        for name in NAMES:  # torch.compile may fail
            try:
                programs |= prepared(workload, (name,))
            except Exception as error:
                print(f"{workload.key}: without {name}: {error!s:.200}", file=sys.stderr)
        gc.collect()
        gc.freeze()
        times = in_turn(programs, rounds, workload.repeats)
        found = ratios(times, GOALS[workload.key], "traced")
        middle = statistics.median(times["traced"]) * 1e6
        rows.append(
            [f"{workload.key}: {workload.title}", f"{middle:,.0f} µs", *(str(found.get(n, "")) for n in others)]
        )
        figures[workload.key] = {name: ratio.middle for name, ratio in found.items()} | {"microseconds": middle}
        print(f"{workload.key}: {', '.join(programs)}", file=sys.stderr, flush=True)
    heads = ["forward + backward", "traced", "over eager", *(f"over {name}" for name in NAMES[1:])]
    return table(heads, rows), figures


def main() -> None:
    """Measure what is asked for, print it, and record it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only", default=",".join(KEYS))
    parser.add_argument("--record", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    threads(1)
    warnings.filterwarnings("ignore", module="torch")
    text, figures = measured(options.only.split(","), options.rounds)
    report = f"{heading(1)}\n\n{text}\n"
    print(report)
    if options.record:
        (options.record / "traced.md").write_text(report)
        (options.record / "traced.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
