"""``nbautograd slides``: a notebook as slides whose players play, or as stills to be printed."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

from nbautograd._engine.base.atomic_file import replacing
from nbautograd._engine.base.installing import extra
from nbautograd.cli.server import say

__all__ = ["add_parser", "arranged", "run"]

LOADED = "%load_ext nbautograd"
LEFT_OUT = ("check", "answer", "score")
"""Kinds of cells that are for readers at their own screens."""
MAX_TEXT_CHARACTERS = 350
"""Characters of a text that leave no room for a player below it."""
SIZE = "1280", "720"


def arranged(notebook: dict[str, Any], stills: bool = False) -> dict[str, Any]:
    """Return a notebook with the slide that each cell stands on: a heading begins one, a second code cell one below it.

    Checks and worked answers are left out. Without ``stills``, outputs are to hold players.

    >>> cells = [{"id": "title", "cell_type": "markdown", "source": "# Why", "metadata": {}},
    ...          {"id": "setup", "cell_type": "code", "source": "%load_ext nbautograd", "metadata": {}},
    ...          {"id": "graph", "cell_type": "code", "source": "%graph y", "metadata": {}},
    ...          {"id": "check-1", "cell_type": "code", "source": "", "metadata": {}}]
    >>> for cell in arranged({"cells": cells})["cells"]:
    ...     print(cell["metadata"]["slideshow"]["slide_type"], cell["source"].splitlines())
    slide ['# Why']
    - ['%load_ext nbautograd', '%autograd --embed on']
    subslide ['%graph y']
    """
    cells: list[dict[str, Any]] = []
    has_code, with_text, room = False, False, MAX_TEXT_CHARACTERS  # on the slide so far; just before; below the text
    for cell in notebook["cells"]:
        kind, text = str(cell["id"]).partition("-")[0], "".join(cell["source"])
        if kind in LEFT_OUT:
            continue
        is_code = cell["cell_type"] == "code"
        if is_code and not stills:
            text = text.replace(LOADED, f"{LOADED}\n%autograd --embed on", 1)
        begins = not is_code and text.startswith("#")
        full = has_code if not with_text else is_code and room < 0
        place = "slide" if begins else "subslide" if full else "-"
        if place != "-":
            has_code, room = False, MAX_TEXT_CHARACTERS
        has_code, with_text, room = has_code or is_code, not is_code, room - len(text) * (not is_code)
        metadata = {**cell["metadata"], "slideshow": {"slide_type": place}}
        cells.append({**cell, "source": text, "metadata": metadata})
    return {**notebook, "cells": cells}


def run(path: Path, out: Path | None, stills: bool, reveal: str | None, require: str | None) -> int:
    """Run a notebook and write its slides; return the exit status."""
    try:
        nbformat, client, nbconvert = (import_module(name) for name in ("nbformat", "nbclient", "nbconvert"))
    except ImportError:
        say(f"slides need nbformat, nbclient and nbconvert; they come with: {extra('lab')}", "slides")
        return 1
    try:
        notebook = nbformat.from_dict(arranged(nbformat.read(path, 4), stills))
    except (OSError, ValueError) as error:
        say(f"cannot read {path}: {error}", "slides")
        return 1
    try:
        place = {"metadata": {"path": str(path.resolve().parent)}}
        client.NotebookClient(notebook, timeout=600, resources=place).execute()
    except client.exceptions.CellExecutionError as error:
        say(f"{path.name} fails: {error.ename}: {error.evalue}", "slides")
        return 1
    exporter = nbconvert.SlidesExporter()
    exporter.reveal_scroll = True
    exporter.reveal_width, exporter.reveal_height = SIZE
    if reveal is not None:
        exporter.reveal_url_prefix = reveal
    if require is not None:
        exporter.require_js_url = require
    html, _ = exporter.from_notebook_node(notebook)
    target = path.with_suffix(".slides.html") if out is None else out
    try:
        with replacing(target) as file:
            file.write(html.encode())
    except OSError as error:
        say(f"cannot write {target}: {error.strerror or error}", "slides")
        return 1
    print(f"{target}: {sum(cell.metadata.slideshow.slide_type != '-' for cell in notebook.cells)} slides.")
    return 0


def add_parser(commands: Any) -> None:
    """Add the command's options to the program's."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "slides",
        help="run a notebook and write it as slides with players",
        description="Run a notebook and write it as a page of slides (Reveal.js) whose players play without a kernel.",
    )
    parser.add_argument("path", metavar="notebook", type=Path, help="the notebook")
    parser.add_argument("-o", "--out", type=Path, help="the page; by default beside the notebook")
    parser.add_argument("--stills", action="store_true", help="still pictures in place of players, to be printed")
    parser.add_argument("--reveal", metavar="URL", help="where the folder of Reveal.js is; by default on a CDN")
    parser.add_argument("--require", metavar="URL", help="where require.js is, which loads it; by default on a CDN")
