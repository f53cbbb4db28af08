"""What ``import nbautograd`` costs over ``import numpy``.

    python benchmarks/importing.py [--rounds N]

Every import happens in a fresh interpreter. The three commands (nothing, NumPy, nbautograd) take turns, and the time of
the bare interpreter is taken off. The package must not be slowed down by compiling: a run before the first round
writes the ``.pyc`` files.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

COMMANDS = {"bare": "pass", "numpy": "import numpy", "nbautograd": "import nbautograd"}


def run(code: str, environment: dict[str, str]) -> float:
    """Seconds that a fresh interpreter takes for ``code``."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    return time.perf_counter() - start


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31)
    rounds = parser.parse_args().rounds
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for code in COMMANDS.values():
        run(code, environment)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    order = list(COMMANDS)
    for index in range(rounds):
        shift = index % len(order)
        for name in order[shift:] + order[:shift]:
            times[name].append(run(COMMANDS[name], environment))
    print(f"{rounds} rounds of fresh interpreters\n")
    print("| | bare interpreter | `import numpy`, over bare | `import nbautograd`, over bare | over `import numpy` |")
    print("| --- | --- | --- | --- | --- |")
    for label, pick in (("min", min), ("median", statistics.median)):
        bare, numpy, ours = (pick(times[name]) * 1e3 for name in COMMANDS)
        ratio = (ours - bare) / (numpy - bare)
        print(
            f"| {label} | {bare:.1f} ms | {numpy - bare:.1f} ms | {ours - bare:.1f} ms "
            f"| **{ratio:.2f}** ({ours - numpy:+.1f} ms) |"
        )


if __name__ == "__main__":
    main()
