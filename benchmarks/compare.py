"""All workloads in nbautograd and its peers, from one command.

    python benchmarks/compare.py [--rounds N] [--threads N] [--only a,b,…] [--keep-memory] [--record FOLDER]

Prints Markdown tables of ratios: how many times as long as another library nbautograd takes, the median of the rounds
with the quartiles; below 1 nbautograd is faster. Every result is compared with the others' before anything is timed.
The time is the processor's with one thread, and that on the wall with more.

``--record`` writes what was measured into a folder: the tables as ``results.md`` and ``results.json``, or, with two
threads, as ``two_threads.md`` and ``two_threads.json``, so that the others stay; and it adds a dated row per workload,
with the number of threads, to ``history.jsonl``.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import importlib.metadata
import json
import os
import platform
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # they import NumPy, which needs the number of threads before
    from measuring import Ratio
    from workloads import Workload

TIMED = ("a", "a1", "b", "c", "d", "e", "f", "g", "h", "i", "j")
MEMORY = ("d", "e", "g")
ALL = (*TIMED, "k", "l", "m", "n", "o")
PACKAGES = {
    "NumPy": "numpy", "PyTorch": "torch", "HIPS autograd": "autograd", "MyGrad": "mygrad", "tinygrad": "tinygrad",
}  # fmt: skip
TOGETHER = ("PyTorch", "HIPS autograd", "MyGrad", "NumPy by hand")
APART = ("tinygrad",)  # after all others: its calls are long, and it keeps threads and memory
PARALLEL = ("d", "e", "f", "h")  # rows that more threads can speed up, two of them with goals
NAMES = {1: "results", 2: "two_threads"}  # of the recorded files


def threads(count: int) -> None:
    """Limit every library to so many threads, here and in the processes started here; before they are imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUM_CPU_THREADS"):  # tinygrad's last
        os.environ[name] = str(count)
    # Idle threads sleep: waiting in a loop, they would take a core from the next library.
    os.environ |= {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "4"}


def timed(keys: list[str], rounds: int, count: int) -> tuple[str, dict[str, Any]]:
    """Table and figures of the workloads that are timed in one process."""
    from measuring import OURS, in_turn, prepared, ratios, table
    from workloads import every

    import nbautograd

    nbautograd.set_num_threads(count)
    try:
        import torch

        torch.set_num_threads(count)
    except ImportError:
        pass
    chosen = [workload for workload in every() if workload.key in keys]
    found: dict[str, dict[str, Ratio]] = {workload.key: {} for workload in chosen}
    microseconds: dict[str, float] = {}
    for names, turns in ((TOGETHER, rounds), (APART, max(3, rounds // 3))):
        for workload in chosen:
            programs = prepared(workload, names)
            if len(programs) == 1 and names is APART:
                continue
            gc.collect()
            gc.freeze()  # objects of the imports are not scanned again and again
            times = in_turn(programs, turns, workload.repeats)
            found[workload.key] |= ratios(times, goals(workload, count))
            microseconds.setdefault(workload.key, statistics.median(times[OURS]) * 1e6)
            print(f"{workload.key}: {', '.join(programs)}", file=sys.stderr, flush=True)
    # APART has a column only if installed
    others = [*TOGETHER, *(name for name in APART if any(name in row for row in found.values()))]
    rows = [
        [f"{workload.key}: {workload.title}", f"{microseconds[workload.key]:,.0f} µs"]
        + [str(found[workload.key].get(name, "")) for name in others]
        for workload in chosen
    ]
    figures = {
        key: {name: ratio.middle for name, ratio in row.items()} | {"microseconds": microseconds[key]}
        for key, row in found.items()
    }
    return table(["forward + backward", "nbautograd", *(f"over {name}" for name in others)], rows), figures


def goals(workload: Workload, count: int) -> dict[str, float]:
    """The ratios to stay at or below: those of one thread, and with more a little above them where threads can help."""
    if count == 1:
        return workload.goals
    return {name: 1.2 * goal for name, goal in workload.goals.items()} if workload.key in PARALLEL else {}


def imports(rounds: int) -> tuple[str, dict[str, Any]]:
    """k."""
    from importing import HEADS, measured, rows
    from measuring import table

    found = measured(rounds)
    return table(HEADS, rows(found)), {"k": {name: found["nbautograd"] / seconds for name, seconds in found.items()}}


def memory() -> tuple[str, dict[str, Any]]:
    """l."""
    from measuring import table
    from memory import peaks

    libraries = ["nbautograd", "PyTorch", "NumPy by hand", "HIPS autograd", "MyGrad"]
    found = peaks(list(MEMORY), libraries)
    rows = []
    for key, sizes in found.items():
        ours = sizes["nbautograd"]
        rows.append(
            [key, f"{ours:.1f} MB"] + [f"**{ours / sizes[x]:.2f}**" if x in sizes else "" for x in libraries[1:]]
        )
    heads = ["l: peak memory", "nbautograd", *(f"over {name}" for name in libraries[1:])]
    return table(heads, rows), {f"l-{key}": sizes for key, sizes in found.items()}


def growth(folder: Path | None) -> tuple[str, dict[str, Any]]:
    """m."""
    from growth import HEADS, measured, plot, rows
    from measuring import table

    found = measured()
    if folder is not None:
        plot(found, str(folder / "growth.svg"))
    return table(HEADS, rows(found)), {"m": found}


def watching(rounds: int) -> tuple[str, dict[str, Any]]:
    """n."""
    from measuring import table
    from tracing import overhead

    found = overhead(rounds)
    rows = [[f"tracing {name}", str(ratio)] for name, ratio in found.items()]
    return table(["n: step of c", "over tracing off"], rows), {"n": {name: r.middle for name, r in found.items()}}


def pictures() -> tuple[str, dict[str, Any]]:
    """o."""
    from measuring import table
    from pictures import HEADS, measured

    rows, figures = measured()
    return table(HEADS, rows), {"o": figures}


def heading(count: int) -> str:
    """Date, processor and versions, on one line."""
    versions = []
    for title, package in PACKAGES.items():
        try:
            versions.append(f"{title} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"without {title}")
    limit = "1 thread" if count == 1 else f"{count} threads"
    versions.insert(0, f"Python {platform.python_version()}")
    return f"{datetime.date.today()}, {limit} on {os.cpu_count()} cores ({processor()}), {', '.join(versions)}"


def processor() -> str:
    """Return the processor's name from the operating system."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def main() -> None:
    """Run what is asked for, print it, and record it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21, help="at least 2: quartiles are shown")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--keep-memory", action="store_true", help="call keep_freed_memory() first")
    parser.add_argument("--only", default=",".join(ALL), help=f"letters of workloads (default: {','.join(ALL)})")
    parser.add_argument("--record", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    keys = options.only.split(",")
    if unknown := set(keys) - set(ALL):
        parser.error(f"--only: there is no workload {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    if options.rounds < 2 or options.threads < 1:
        parser.error("--rounds is at least 2, --threads at least 1")
    if options.record and options.keep_memory:
        parser.error("--record is of the defaults: it does not go with --keep-memory")
    threads(options.threads)
    if options.record:
        options.record.mkdir(parents=True, exist_ok=True)
    parts: list[tuple[bool, Callable[[], tuple[str, dict[str, Any]]]]] = [
        (bool(set(keys) & set(TIMED)), lambda: timed(keys, options.rounds, options.threads)),
        ("k" in keys, lambda: imports(options.rounds)),
        ("l" in keys, memory),
        ("m" in keys, lambda: growth(options.record if options.threads == 1 else None)),
        ("n" in keys, lambda: watching(options.rounds)),
        ("o" in keys, pictures),
    ]
    texts, figures = [heading(options.threads)], {}
    if options.keep_memory:
        from nbautograd.utils.allocator import keep_freed_memory

        keep_freed_memory()  # for every library in this process
        texts[0] += ", keeping freed memory"
    print(texts[0], end="\n\n")
    for wanted, part in parts:
        if wanted:
            text, found = part()
            print(text, flush=True, end="\n\n")
            texts.append(text)
            figures |= found
    report = "\n\n".join(texts) + "\n"
    if options.record:
        name = NAMES.get(options.threads, f"{options.threads}_threads")
        record(options.record, name, report, figures, options.threads)


def record(folder: Path, name: str, report: str, figures: dict[str, Any], count: int) -> None:
    """Write the report, its figures, and a row per workload of the history."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(report)
    (folder / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    date = str(datetime.date.today())
    with (folder / "history.jsonl").open("a") as history:
        for key, row in figures.items():
            history.write(json.dumps({"date": date, "threads": count, "workload": key, "figures": row}) + "\n")


if __name__ == "__main__":
    main()
