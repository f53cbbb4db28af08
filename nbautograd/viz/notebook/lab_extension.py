"""The extension of JupyterLab, which plays passes that a notebook holds; the wheel puts it where JupyterLab looks.

It is a prebuilt extension without a build: one script that JupyterLab loads at its start, and the player beside it,
which is loaded by the first pass that plays without a kernel. Nothing here runs in a kernel but :func:`bundle` and
:func:`packed`.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nbautograd.viz import language
from nbautograd.viz.notebook import export, scripts

__all__ = ["MIME", "bundle", "packed", "write"]

MIME = "application/vnd.nbautograd.pass+json"
VERSION = 2  # another form of drawings since 1
_PLACES = re.compile(r'( (?:d|c?[xy]|[xy][12]|viewBox|width|height|transform|data-grid)=")([^"]*)')
_NAME = re.compile(r'(?<=<title id=")nb[0-9a-f]{10}(?=-title")')
MAX_PASS_BYTES = 300_000  # of a pass in an output; without a kernel, a larger one is shown as a picture


def packed(data: Mapping[str, Any]) -> bytes:
    """Return a player's data as a widget sends it and a saved notebook keeps it."""
    if "svgs" in data:
        shapes: dict[str, int] = {}
        svgs = [[_numbered(svg, shapes) for svg in same] for same in data["svgs"]]
        data = {**data, "svgs": svgs, "shapes": [*shapes]}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8"), 6, mtime=0)


def _numbered(svg: str, shapes: dict[str, int]) -> tuple[int, str, str]:
    """Return a drawing as the number of its shape, the name in its ids, and its coordinates.

    Drawings of a graph for different windows have the same shape, which is sent once.

    >>> _numbered('<rect x="1" y="2"/>', {})
    (0, '', '1|2')
    """
    name = found[0] if (found := _NAME.search(svg)) else ""
    parts = _PLACES.split(svg.replace(name, "\2") if name else svg)
    between = [before + attribute for before, attribute in zip(parts[:-1:3], parts[1::3], strict=True)]
    return shapes.setdefault("\1".join([*between, parts[-1]]), len(shapes)), name, "|".join(parts[2::3])


def bundle(attempts: Iterable[Mapping[str, Any] | bytes] = ()) -> dict[str, Any]:
    """Return what an output holds of a player's data, by its MIME type, so that it plays without a kernel.

    :param attempts: the player's data without its texts, the fullest first; the first that is small enough is held.
        They may be packed already. Nothing where it has no meaning without its kernel.

    >>> bundle()
    {'application/vnd.nbautograd.pass+json': {'version': 2}}
    >>> sorted(bundle([{"label": "y"}])[MIME])
    ['language', 'packed', 'version']
    """
    content: dict[str, Any] = {"version": VERSION}
    for data in attempts:
        small = data if isinstance(data, bytes) else packed(data)
        text = base64.b64encode(small).decode("ascii")
        if len(text) <= MAX_PASS_BYTES:
            content |= {"language": language.tag(), "packed": text}
            break
    return {MIME: content}


def write(folder: Path, version: str) -> Path:
    """Write the extension into a folder, which then has what ``share/jupyter/labextensions/nbautograd`` has.

    :param version: that of the package.
    :returns: the folder.
    """
    build = {"load": "static/remoteEntry.js", "extension": "./extension"}
    about = {"name": "nbautograd", "version": version, "license": "MIT", "jupyterlab": {"_build": build},
             "description": "Plays the backward passes of a saved notebook"}  # fmt: skip
    removal = {"packageManager": "python", "packageName": "nbautograd",
               "uninstallInstructions": "pip uninstall nbautograd"}  # fmt: skip
    files: dict[str, str | bytes] = {
        "package.json": json.dumps(about, indent=2) + "\n",
        "install.json": json.dumps(removal, indent=2) + "\n",
        "static/remoteEntry.js": scripts.static("lab_entry.js"),
        "static/lab.mjs": scripts.bundle("lab"),
    }
    before = language.current()
    try:
        for name in language.LANGUAGES:
            language.use(name)
            files[f"static/player.{language.tag()}.bin"] = scripts.packed("player", language.tag())[0]
    finally:
        language.use(before)
    (folder / "static").mkdir(parents=True, exist_ok=True)
    for place, content in files.items():
        export.write(folder / place, content)
    return folder
