"""Real models: a training step under nbautograd and PyTorch, one thread each.

    python benchmarks/models.py [--rounds N] [--only lstm,gpt,…] [--record FOLDER]

The programs are those of ``workloads/networks.py``; the losses of the first step are compared before anything is timed,
and that of the last afterwards. Columns: a step's time, how many times as long as PyTorch it takes (the median of the
rounds and its quartiles), and the peak of memory over what was there before the first step.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

from compare import heading, record, threads

ROUNDS = 15


def chosen(keys: list[str]) -> list[Any]:
    """The workloads of these keys, all if there are none.

    :raises SystemExit: there is none of a key.
    """
    from workloads.networks import WORKLOADS

    if unknown := set(keys) - {workload.key for workload in WORKLOADS}:
        raise SystemExit(f"--only: there are no models {', '.join(sorted(unknown))}")
    return [workload for workload in WORKLOADS if workload.key in keys or not keys]


def timed(workloads: list[Any], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds per step by model, library and round."""
    from measuring import in_turn, prepared

    times = {}
    for workload in workloads:
        times[workload.key] = in_turn(prepared(workload, ["PyTorch"]), rounds, workload.repeats)
        print(workload.key, file=sys.stderr, flush=True)
    return times


def rows(workloads: list[Any], times: Any, memory: Any) -> tuple[list[list[str]], dict[str, Any]]:
    """The table's rows, and their figures."""
    from measuring import OURS, ratios

    lines, figures = [], {}
    for workload in workloads:
        key = workload.key
        ratio, seconds = ratios(times[key], workload.goals).get("PyTorch", ""), statistics.median(times[key][OURS])
        ours, theirs = memory[key][OURS], memory[key].get("PyTorch", 0)
        over = f"**{ours / theirs:.2f}**" if theirs else ""
        lines.append([workload.title, f"{1e3 * seconds:,.2f} ms", str(ratio), f"{ours:.1f} MB", over])
        figures[key] = {"PyTorch": getattr(ratio, "middle", None), "microseconds": 1e6 * seconds, "memory": memory[key]}
    return lines, figures


def main() -> None:
    """Run what is asked for, print it, and record it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="at least 2: quartiles are shown")
    parser.add_argument("--only", default="", help="keys of models, with commas between; all by default")
    parser.add_argument("--record", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    threads(1)
    from measuring import OURS, table
    from memory import peaks

    from nbautograd import set_num_threads

    set_num_threads(1)
    workloads = chosen([key for key in options.only.split(",") if key])
    times = timed(workloads, options.rounds)
    lines, figures = rows(workloads, times, peaks([w.key for w in workloads], [OURS, "PyTorch"]))
    text = table(["a training step", "nbautograd", "over PyTorch", "peak memory", "over PyTorch's"], lines)
    report = f"{heading(1)}\n\n{text}\n"
    print(report)
    if options.record:
        record(options.record, "models", report, figures, 1)


if __name__ == "__main__":
    main()
