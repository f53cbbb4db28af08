"""``nbautograd player``: writes the module that plays saved passes on any page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from nbautograd.cli.server import say

__all__ = ["add_parser", "run"]

USE = '<script type="module" src="player.mjs"></script>\n<nb-player src="pass.json"></nb-player>'
"""The lines of a page in the same folder."""


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "player",
        help="write the module that plays saved passes on any page",
        description='Write player.mjs, which plays a pass that viz.animate(y).save("pass.json") has written.',
    )
    parser.add_argument("folder", type=Path, help="the folder of player.mjs; it is made where it is missing")


def run(folder: Path) -> int:
    """Write the module and print how a page uses it; return the exit status."""
    from nbautograd.viz.notebook import export, scripts

    folder = folder.expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = export.write(folder / "player.mjs", scripts.component_js())
    except OSError as error:
        say(f"cannot write to {folder}: {error.strerror or error}", "player")
        return 2
    print(f"{path} is written. A page beside it plays pass.json by these lines:\n{USE}")
    return 0
