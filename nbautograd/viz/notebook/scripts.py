"""The player's script and style sheet, joined from the files of ``static/``."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from functools import cache
from importlib.resources import files

from nbautograd.viz import language
from nbautograd.viz.draw import states, theme

__all__ = ["bundle", "component_js", "loader_js", "packed", "page_js", "player_css", "static", "without_remarks"]

_REMARKS = re.compile(r"^ *(?:/\*\*.*?\*/\n|//[^\n]*\n)?", re.MULTILINE | re.DOTALL)
PLAYER = ("player", "lens", "widget")
"""The modules of ``static/`` whose exports the player's module has."""
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)
STYLES = ("player", "program", "equation", "tiles", "predict", "timeline", "bucket", "lens", "paths", "sensitivity",
          "touch", "sizes")  # fmt: skip
"""The files of the player's style sheet."""


@cache
def bundle(*entries: str) -> str:
    """Return modules of ``static/`` and all that they import as one module, which has the exports of the former."""
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        text = static(f"{name}.js")
        for imported in _IMPORT.findall(text):
            if imported not in texts:
                add(imported)
        text = _IMPORT.sub("", text)
        texts[name] = text if name in entries else _EXPORT.sub("", text)

    for entry in entries:
        add(entry)
    return "\n".join(texts.values())


def without_remarks(script: str) -> str:
    """Return a script without what is for readers only: indentation, and comments on lines of their own."""
    return _REMARKS.sub("", script)


@cache
def loader_js() -> str:
    """The module that a widget begins with: it loads what ``packed`` returns, once for a whole page."""
    return without_remarks(static("loader.js"))


@cache
def packed(kind: str, tag: str) -> tuple[bytes, str]:
    """Return the script and data shared by the widgets of a kind, compressed, and its digest.

    :param kind: ``"player"`` or ``"live"``.
    :param tag: the language of the texts, which is the current one.
    """
    if kind == "live":
        script, style, texts = bundle("opening", "live").replace("STILL", theme.STILL), theme.FOLLOWS, {}
    else:
        script, style, texts = bundle("opening", *PLAYER), player_css(), language.player_texts()
    parts = {"script": without_remarks(script), "style": style, "texts": texts}
    data = gzip.compress(json.dumps(parts).encode("utf-8"), 9, mtime=0)
    return data, hashlib.sha256(data).hexdigest()[:16]


def component_js() -> str:
    """The module of the element ``<nb-player>`` for any page, with its style sheet; also an anywidget module."""
    style = json.dumps(player_css(), ensure_ascii=True)
    return f"const STYLE = {style};\n" + without_remarks(bundle(*PLAYER, "element"))


@cache
def page_js() -> str:
    """Return the script of every saved page, without comments."""
    return without_remarks(bundle(*PLAYER, "frame"))


@cache
def player_css() -> str:
    """Return the player's style sheet with the colors, preceded by the rules for still pictures."""
    return "\n".join([theme.css(), theme.FOLLOWS, states.css(), *(static(f"{name}.css") for name in STYLES)])


def static(name: str) -> str:
    """Return a file of ``static/``."""
    return files("nbautograd.viz").joinpath("static", name).read_text("utf-8")
