"""Files: a page that plays without kernel and network, SVG, Graphviz source, text."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from nbautograd.viz import raster, theme
from nbautograd.viz.escape import escape
from nbautograd.viz.graphviz_dot import dot_svg, to_dot

__all__ = ["dot_svg", "page", "player_css", "player_js", "player_page", "save", "to_dot", "within", "write"]

LARGEST = 2_000_000  # bytes of one output: Jupyter drops what comes faster than a megabyte a second


# -- pages -----------------------------------------------------------------------


@cache
def player_js() -> str:
    """The player's module, put together from its parts."""
    static = files("nbautograd.viz").joinpath("static")
    return "\n".join(static.joinpath(name).read_text("utf-8") for name in ("parts.js", "stage.js", "player.js"))


@cache
def player_css() -> str:
    """The player's style sheet with the colours in front."""
    return theme.css() + "\n" + files("nbautograd.viz").joinpath("static", "player.css").read_text("utf-8")


def player_page(data: Mapping[str, Any], svg: str) -> str:
    """A page that shows ``svg`` and, where scripts run, plays ``data``."""
    label = str(data["label"])
    payload = json_for_script(data)
    script = (
        player_js()
        + '\nconst place = document.getElementById("nb-place");\n'
        + 'mount(place, JSON.parse(document.getElementById("nb-data").textContent));\n'
    )
    image = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    body = (
        f'<main id="nb-place"><img alt="{escape(label)}" src="data:image/svg+xml;base64,{image}"></main>\n'
        f'<script type="application/json" id="nb-data">{payload}</script>\n'
        f'<script type="module">{script}</script>'
    )
    return page(label, body, script=script, style=player_css())


def page(title: str, body: str, *, script: str = "", style: str = "") -> str:
    """A whole document, whose policy allows its own script and style by their hashes and nothing from anywhere else."""
    style += (
        "\nbody { margin: 0; padding: 16px; background: #eef1f4; }\n"
        "@media (prefers-color-scheme: dark) { body { background: #0a0c0f; } }\n"
        "main img { max-width: 100%; }\n@media (max-width: 600px) { body { padding: 6px; } }\n"
    )
    allowed = f"{_hash(style)} 'unsafe-hashes' {_hash('max-width:100%')}"  # the sheet, and one style attribute
    policy = f"default-src 'none'; img-src data: blob:; style-src {allowed}"
    policy += f"; script-src {_hash(script)}" if script else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def json_for_script(data: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# -- files -----------------------------------------------------------------------


def save(path: str | Path, kinds: Mapping[str, Callable[[], str]]) -> Path:
    """Write what the path's suffix asks for; where there is a way to make ``.svg``, also ``.png`` and ``.pdf``.

    :raises ValueError: the suffix is none of those.
    :raises RuntimeError: the program that makes such a file is not installed.
    """
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
    """Write a file as a whole or not at all: readers never see half of it, a full disk leaves the old one."""
    target = Path(path).expanduser()
    data = content.encode("utf-8") if isinstance(content, str) else content
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".nbautograd-", suffix=target.suffix)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


@cache
def _umask() -> int:
    """What new files are not allowed; reading it means setting it for a moment."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def within(html: str, label: str, words: str, limit: int = LARGEST) -> str:
    """The HTML of an output if it is not too large to be shown, otherwise its words and a line that says why.

    :param words: the same in words, of which the beginning is shown.

    >>> print(within("<img>" * 1000, "y", "y = a + b", limit=1000))  # doctest: +ELLIPSIS
    <p>y: the drawing takes 5,000 bytes; more than 1,000 are not shown. Save it as a file to see it.</p><pre>y = ...
    """
    size = len(html.encode("utf-8", "replace"))
    if size <= limit:
        return html
    note = f"{label}: the drawing takes {size:,} bytes; more than {limit:,} are not shown. Save it as a file to see it."
    return f"<p>{escape(note)}</p><pre>{escape(words, 20_000)}</pre>"
