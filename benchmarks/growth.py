"""m: a graph of up to a million nodes: time and memory per node stay the same as it grows.

python benchmarks/growth.py [--plot FILE]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

SIZES = (1_000, 10_000, 100_000, 1_000_000)
LIBRARIES = {"nbautograd": "nbautograd", "PyTorch": "torch"}
PARTS = ("construction", "backward", "release")


def resident() -> int:
    """Bytes of memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grow(module: str, nodes: int) -> dict[str, float]:
    """In this process: µs per node for building, differentiating and releasing a chain, and bytes per live node."""
    torch = import_module(module)
    found = dict.fromkeys((*PARTS, "bytes"), float("inf"))
    for _ in range(max(1, 100_000 // nodes)):
        x, b = torch.tensor(1.0, requires_grad=True), torch.tensor(0.5)
        gc.collect()
        held, times = resident(), [time.process_time()]
        y = x
        for _ in range(nodes // 2):
            y = y * b
            y = y + b
        times.append(time.process_time())
        size = (resident() - held) / nodes
        y.backward()
        times.append(time.process_time())
        del y
        times.append(time.process_time())
        for part, start, end in zip(PARTS, times[:-1], times[1:], strict=True):
            found[part] = min(found[part], (end - start) / nodes * 1e6)
        if nodes >= 100_000:  # below it, memory pages are too coarse a measure
            found["bytes"] = min(found["bytes"], size)
    return found


def wide(module: str, nodes: int) -> float:
    """Seconds of the backward pass of half as many products with one tensor, added up in pairs."""
    torch = import_module(module)
    x = torch.tensor(1.0, requires_grad=True)
    parts = [x * 0.5 for _ in range(nodes // 2)]
    while len(parts) > 1:
        odd = parts[len(parts) & ~1 :]
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=False)] + odd
    gc.collect()
    start = time.process_time()
    parts.pop().backward()
    return time.process_time() - start


def measured() -> dict[str, dict[int, dict[str, float]]]:
    """By library and number of nodes; each in a fresh process."""
    found: dict[str, dict[int, dict[str, float]]] = {}
    for name, module in LIBRARIES.items():
        for nodes in SIZES:
            command = [sys.executable, __file__, "--one", module, str(nodes)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                found.setdefault(name, {})[nodes] = json.loads(done.stdout)
            elif "ModuleNotFoundError" not in done.stderr:
                raise RuntimeError(done.stderr)
    return found


def rows(found: dict[str, dict[int, dict[str, float]]]) -> list[list[str]]:
    """The cells of the table."""
    made = []
    for name, sizes in found.items():
        for nodes, cost in sizes.items():
            size = f"{cost['bytes']:.0f} B" if cost["bytes"] != float("inf") else ""
            made.append([name, f"{nodes:,}", *(f"{cost[part]:.2f} µs" for part in PARTS), size])
    return made


HEADS = ["cost per node", "nodes", *PARTS, "alive"]


def plot(found: dict[str, dict[int, dict[str, float]]], path: str) -> None:
    """Draw time per node over the number of nodes."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "growth"  # the same figures give the same file
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for name, style in zip(found, ("-o", "--s"), strict=False):
        for part, color in zip(PARTS, ("#0072b2", "#d55e00", "#555555"), strict=True):
            costs = [cost[part] for cost in found[name].values()]
            axes.plot(list(found[name]), costs, style, color=color, label=f"{name}, {part}")
    axes.set(xscale="log", yscale="log", xlabel="nodes of the graph", ylabel="µs per node")
    axes.grid(alpha=0.3, which="both")
    figure.legend(fontsize="small", ncols=2, loc="outside upper center")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Measure, print the table and draw the plot."""
    from measuring import table

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(grow(options.one[0], int(options.one[1]))))
        return
    found = measured()
    print(table(HEADS, rows(found)))
    if options.plot:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
