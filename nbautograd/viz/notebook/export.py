"""Files: a page that plays without kernel and network, SVG, Graphviz source, text; and JupyterLab's extension."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nbautograd._engine.base.atomic_file import replacing
from nbautograd.viz import language
from nbautograd.viz.escape import escape

__all__ = ["frame", "page", "pass_json", "player_page", "save", "write", "write_lab_extension"]

_TILES = re.compile(r'<g class="nb-cells".*?</g></g>', re.DOTALL)
"""Tiles that are too small to be seen where a large graph is an image."""
MAX_PLAIN_CHARACTERS = 200_000  # data with more is compressed in a page
SCHEMA, VERSION = "nbautograd.pass", 1
"""The form of a pass in a file; a change that older players cannot show gets a new number."""


# -- pages -----------------------------------------------------------------------


def pass_json(data: Mapping[str, Any]) -> str:
    """A pass as data for ``<nb-player>``: its player's data, with the name and the version of their form."""
    return json.dumps({"schema": SCHEMA, "version": VERSION, **data}, ensure_ascii=False, separators=(",", ":")) + "\n"


def player_page(data: Mapping[str, Any], svg: str, mount: str = "mount") -> str:
    """A page that shows ``svg`` and, where scripts run, plays ``data``: ``mount`` is the function that does."""
    from nbautograd.viz.notebook.compact import compact  # loaded with the first page
    from nbautograd.viz.notebook.scripts import page_js, player_css

    label = str(data["label"])
    payload, read = _packed(json_for_script(data))
    script = f'{page_js()}\njoinPage();\nconst place = document.getElementById("nb-place");\n'
    script += f'const text = document.getElementById("nb-data").textContent;\n{mount}(place, JSON.parse({read}));\n'
    still = compact(svg if read == "text" else _TILES.sub("", svg), follows=False)
    image = base64.b64encode(still.encode("utf-8")).decode("ascii")
    body = (
        f'<main id="nb-place"><img alt="{escape(label)}" src="data:image/svg+xml;base64,{image}"></main>\n'
        f'<script type="{"application/json" if read == "text" else "text/plain"}" id="nb-data">{payload}</script>\n'
        f'<script type="module">{script}</script>'
    )
    return page(label, body, script=script, style=player_css())


def _packed(payload: str) -> tuple[str, str]:
    """The data of a page, compressed where there is much of it, and how the page's script reads it from ``text``."""
    if len(payload) < MAX_PLAIN_CHARACTERS:
        return payload, "text"
    return base64.b64encode(gzip.compress(payload.encode("utf-8"), 6, mtime=0)).decode("ascii"), "await unpacked(text)"


def page(title: str, body: str, *, script: str = "", style: str = "") -> str:
    """A whole document, whose policy allows its own script and style by their hashes and nothing from anywhere else."""
    style += (
        "\nbody { margin: 0; padding: 10px; background: #eef1f4; }\n"
        "@media (prefers-color-scheme: dark) { body { background: #0a0c0f; } }\n"
        "main img { max-width: 100%; }\n@media (max-width: 600px) { body { padding: 6px; } }\n"
        "html[data-nb-framed] body { padding: 0; background: none; overflow: hidden; }\n"
    )
    allowed = f"{_hash(style)} 'unsafe-hashes' {_hash('max-width:100%')}"  # the sheet, and one style attribute
    policy = f"default-src 'none'; img-src data: blob:; style-src {allowed}"
    policy += f"; script-src {_hash(script)}" if script else ""
    return (
        f'<!doctype html>\n<html lang="{language.tag()}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def frame(page: str, label: str, height: int) -> str:
    """A page as a frame inside another one, which loads nothing: for documentation that plays without a kernel.

    :param height: in pixels, until the page's own script has measured what is shown.

    >>> frame("<!doctype html><p>a & b", 'y "1"', 300)  # doctest: +ELLIPSIS
    '<iframe title="y &quot;1&quot;" width="100%" height="300" ... srcdoc="<!doctype html><p>a &amp; b"></iframe>'
    """
    source = page.replace("&", "&amp;").replace('"', "&quot;")
    look = f'title="{escape(label)}" width="100%" height="{height}" style="border:0" loading="lazy"'
    return f'<iframe {look} srcdoc="{source}"></iframe>'


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def json_for_script(data: Any) -> str:
    """Return JSON for a script element: no part of it can end the element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# -- files -----------------------------------------------------------------------


def save(path: str | Path, kinds: Mapping[str, Callable[[], str]]) -> Path:
    """Write the format of the path's suffix: with ``.svg`` available, also ``.png`` and ``.pdf``.

    :raises ValueError: an unknown suffix.
    :raises RuntimeError: the program that makes such a file is not installed.
    """
    from nbautograd.viz.draw import raster  # loaded when a picture is saved

    target = Path(path)
    suffix = target.suffix.lower()
    if suffix in raster.KINDS and ".svg" in kinds:
        return write(target, raster.raster(kinds[".svg"](), suffix, kinds.get(".dot")))
    make = kinds.get(suffix)
    if make is None:
        known = ", ".join(sorted([*kinds, *raster.KINDS]))
        raise ValueError(f"cannot save as {target.suffix or 'a file without suffix'!r}; use one of {known}")
    return write(target, make())


def write(path: str | Path, content: str | bytes) -> Path:
    """Write a whole file or none: readers never see half of it, and a full disk leaves the old one."""
    target = Path(path).expanduser()
    data = content.encode("utf-8") if isinstance(content, str) else content
    with replacing(target) as file:
        file.write(data)
    return target


def write_lab_extension(folder: Path, version: str) -> Path:
    """Write JupyterLab's extension into a folder, as ``share/jupyter/labextensions/nbautograd`` has it in the wheel.

    It plays passes that a notebook holds. It is a prebuilt extension without a build: one script that JupyterLab loads
    at its start, and the player beside it, which is loaded by the first pass that plays without a kernel.

    :param version: that of the package.
    :returns: the folder.
    """
    from nbautograd.viz.notebook import scripts

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
        write(folder / place, content)
    return folder
