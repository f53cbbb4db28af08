"""All that wants a CUDA device, unattended: its tests, the course's notebook about it, speed next to PyTorch.

    python benchmarks/on_device.py --out FOLDER

runs for nine minutes (``--minutes``) and is called again until it says that nothing is left: what has been done is in
FOLDER/results.jsonl, each test and each row of a table at once, so that a run which is killed goes on where it was.
FOLDER also gets log.txt, report.md and the notebook. FOLDER is build/on_device by default, or what the variable
NBAUTOGRAD_RESULTS names; it needs no network.

    --resume OTHER      begin with the results in another folder, which is only read
    --part N            only the steps of a part of --list;  --only TEXT,TEXT  those whose names contain one of them
    --again             run the chosen steps again, though they are over
    --list              the steps, in parts that fit into the minutes
    --wheels            what is missing on this machine; --have FILE  what to carry to one whose packages FILE lists
    --report            write report.md again from the journal
    --rehearse          all steps on the CPU, with a stand-in for CuPy: says nothing about CUDA

The exit status is 0 when all is over, 3 when something is left for the next part.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(path) for path in (HERE, ROOT) if str(path) not in sys.path]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
os.environ["PYTHONUNBUFFERED"] = "1"

from device import child, report, schedule, wheels  # noqa: E402
from device.journal import NAME, REHEARSAL, Journal  # noqa: E402

LEFT = 3


def options() -> argparse.Namespace:
    """Parse the command line."""
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(
        description=lines[0], epilog="\n".join(lines[1:]), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(os.environ.get("NBAUTOGRAD_RESULTS") or ROOT / "build" / "on_device")
    parser.add_argument("--out", type=Path, default=default, metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--resume", type=Path, metavar="FOLDER")
    parser.add_argument("--part", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="that an item may take before it is killed")
    parser.add_argument("--have", type=Path, metavar="FILE")
    for flag in ("again", "list", "wheels", "report", "rehearse"):
        parser.add_argument(f"--{flag}", action="store_true")
    for hidden in ("child", "pipe", "worker"):  # the name of this command
        parser.add_argument(f"--{hidden}", help=argparse.SUPPRESS)
    parser.add_argument("--steps", default="device.steps", help=argparse.SUPPRESS)  # the module that lists them
    return parser.parse_args()


def show(parts: list[list[schedule.Step]]) -> None:
    """Print the steps by part."""
    for number, part in enumerate(parts, 1):
        print(f"part {number}, about {sum(step.seconds for step in part):.0f} s")
        for step in part:
            print(f"    {step.name:34}{step.seconds:5.0f} s  {step.title}")


def main() -> None:
    """Run what is asked for, or what is left."""
    asked = options()
    every = importlib.import_module(asked.steps).every()
    if asked.child:
        step = next(step for step in every if step.name == asked.child)
        child.run(step, asked.out, asked.rehearse, int(asked.pipe), int(asked.worker))
        return
    parts = schedule.parts(every, 60 * asked.minutes)
    if asked.list:
        show(parts)
        return
    if asked.wheels:
        wheels.show(asked.have)
        return
    if asked.resume is not None and not (asked.out / NAME).exists():
        asked.out.mkdir(parents=True, exist_ok=True)
        for path in asked.resume.iterdir():
            if path.is_file():
                shutil.copyfile(path, asked.out / path.name)
    journal = Journal(asked.out, asked.rehearse)
    if asked.report:
        print(report.write(journal, every))
        return
    if asked.part is not None and not 1 <= asked.part <= len(parts):
        raise SystemExit(f"--part: there are parts 1 to {len(parts)}")
    part = every if asked.part is None else parts[asked.part - 1]
    chosen = [step for step in part if any(text in step.name for text in asked.only.split(","))]
    if asked.again:
        for step in chosen:
            journal.forget(step.name)
    journal.add(what="run", rehearsal=asked.rehearse, time=time.strftime("%Y-%m-%d %H:%M:%S"))
    runner = schedule.Runner(journal, time.monotonic() + 60 * asked.minutes, asked.steps, asked.limit)
    try:
        left = runner.run(chosen)
    finally:
        path = report.write(journal, every)
    mark = f"{REHEARSAL}; " if asked.rehearse else ""
    runner.say(f"{mark}{path}; " + (f"left: {', '.join(left)}" if left else "nothing is left"))
    raise SystemExit(LEFT if left else 0)


if __name__ == "__main__":
    main()
