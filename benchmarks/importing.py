"""k: measure the cost of an import, in fresh interpreters.

    python benchmarks/importing.py [--rounds N]

The commands take turns, and the time of the bare interpreter is taken off. The package must not be slowed down by
compiling: a run before the first round writes the ``.pyc`` files.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec

COMMANDS = {
    "bare": "pass",
    "numpy": "import numpy",
    "nbautograd": "import nbautograd",
    "torch": "import torch",
    "autograd": "import autograd, autograd.numpy",
    "mygrad": "import mygrad",
    "tinygrad": "import tinygrad",
}
SHELL = "from IPython.core.interactiveshell import InteractiveShell; import nbautograd; s = InteractiveShell.instance()"
NOTEBOOK = {"shell": SHELL, "load_ext": f"{SHELL}; s.run_line_magic('load_ext', 'nbautograd')"}
HEADS = ["import", "over the bare interpreter", "over `import numpy`", "nbautograd over it"]
GOALS = {"numpy": 1.6, "torch": 0.2}


def run(code: str, environment: dict[str, str]) -> float:
    """Seconds of processor time that a fresh interpreter takes for ``code``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(rounds: int, commands: Mapping[str, str] = COMMANDS) -> dict[str, float]:
    """Median seconds above the bare interpreter, for the installed modules."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    order = [name for name in commands if name == "bare" or name in NOTEBOOK or find_spec(name)]
    times: dict[str, list[float]] = {name: [] for name in order}
    for index in range(-1, rounds):
        shift = index % len(order)
        for name in order[shift:] + order[:shift]:
            seconds = run(commands[name], environment)
            if index >= 0:
                times[name].append(seconds)
    bare = statistics.median(times.pop("bare"))
    return {name: statistics.median(found) - bare for name, found in times.items()}


def rows(found: dict[str, float]) -> list[list[str]]:
    """The cells of the table."""
    made = []
    for name, seconds in found.items():
        ratio, goal = found["nbautograd"] / seconds, GOALS.get(name)
        verdict = "" if goal is None else f" (goal {goal}{'' if ratio <= goal else ' missed'})"
        made.append([name, f"{seconds * 1e3:.0f} ms", f"{seconds / found['numpy']:.2f}", f"**{ratio:.2f}**{verdict}"])
    return made


def main() -> None:
    """Measure and print a Markdown table."""
    from measuring import table

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=31)
    print(table(HEADS, rows(measured(parser.parse_args().rounds))))


if __name__ == "__main__":
    main()
