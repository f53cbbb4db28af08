"""The command ``nbautograd``.

``lab`` opens the course in JupyterLab, ``course`` writes it for a class, ``grade`` grades submissions, ``lite`` builds
a site of the course that runs in the browser, ``player`` writes the module that plays saved passes on any page,
``slides`` writes a notebook as slides, ``doctor`` reports what works here, ``source`` prints the code of an operation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from nbautograd.cli import course, doctor, grade, graders, lab, lite, player, slides, source

__all__ = ["main"]

RUN: dict[str, Callable[..., int]] = {
    "lab": lab.run, "course": course.run, "grade": grade.run, "lite": lite.run, "player": player.run,
    "slides": slides.run, "doctor": doctor.run, "source": source.run,
}  # fmt: skip
"""The functions of the commands, with their arguments as parameters."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (the process's own by default); return its exit status.

    >>> main(["--version"])
    Traceback (most recent call last):
    ...
    SystemExit: 0
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    cut = words.index("--") if "--" in words else len(words)
    parser = _parser()
    chosen = vars(parser.parse_args(words[:cut]))
    handed_on = words[cut + 1 :]
    command = chosen.pop("command")
    if command == "lab":
        chosen["arguments"] = handed_on
    elif handed_on:
        parser.error(f"{command} takes no arguments after --, got {' '.join(handed_on)}")
    return RUN[command](**chosen)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nbautograd", description=__doc__, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"nbautograd {version('nbautograd')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    notebooks = commands.add_parser(
        "lab",
        help="copy the course to a folder and open it in JupyterLab",
        description="Copy the course to a folder, without overwriting anything, and open it in JupyterLab.",
        epilog="Arguments after -- are passed to JupyterLab: nbautograd lab -- --port=9999",
    )
    default = "nbautograd-course"
    notebooks.add_argument("folder", nargs="?", type=Path, default=Path(default), help=f"by default ./{default}")
    notebooks.add_argument("--language", choices=["en", "zh"], default="en", help="language of the notebook to open")
    notebooks.add_argument(
        "--no-browser", dest="browser", action="store_false", help="print the address without starting a browser"
    )

    class_room = commands.add_parser(
        "course",
        help="write the course to a folder for a class, with or without its worked answers",
        description="Write one language's notebooks to a new folder, with the chosen form of worked answers.",
    )
    class_room.add_argument("folder", type=Path, help="where to")
    class_room.add_argument("--language", choices=[*course.PLACES], default="en", help="language of the notebooks")
    said = "; ".join(f"{name} - {text}" for name, text in course.EDITIONS.items())
    class_room.add_argument("--answers", choices=[*course.EDITIONS], help=said)
    class_room.add_argument(
        "--for", dest="grader", choices=[*graders.GRADERS],
        help="write the notebooks with exercises as assignments of this grader, with --answers none by default",
    )  # fmt: skip
    class_room.add_argument(
        "--seed", help="a number or a name: the exercises get numbers of their own, always the same for the same seed"
    )

    grade.add_parser(commands)
    player.add_parser(commands)

    site = commands.add_parser(
        "lite",
        help="build a site of the course whose Python runs in the browser",
        description="Build a static site of the course, in JupyterLite: its Python runs in the reader's browser.",
    )
    site.add_argument("folder", type=Path, help="the folder of the site: new, empty, or a former site")
    site.add_argument(
        "--pyodide", type=Path, metavar="FOLDER",
        help="a folder with Pyodide to include in the site, so that it works offline",
    )  # fmt: skip

    report = commands.add_parser(
        "doctor",
        help="report what works here, and how to install the rest",
        description="Report what works here, one line each, and how to install the rest.",
    )
    report.add_argument("--json", action="store_true", help="print JSON for programs")
    slides.add_parser(commands)
    source.add_parser(commands)
    return parser
