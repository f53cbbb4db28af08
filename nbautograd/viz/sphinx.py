"""A directive for Sphinx that plays a saved pass in a page.

In the settings of the site::

    extensions = ["nbautograd.viz.sphinx"]

and in a page with ``pass.json`` beside it::

    .. nb-player:: pass.json

With MyST's parser it is ``{nb-player}``. The pass becomes part of the page, which loads the player once, from the site
itself. Output other than HTML leaves it out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from nbautograd.viz.notebook import export, scripts

__all__ = ["PlayerDirective", "setup"]

MODULE = "nb-player.mjs"


class PlayerDirective(SphinxDirective):
    """``.. nb-player:: pass.json``: the path is relative to the page, or to the sources where it begins with ``/``."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Return the element.

        :raises docutils.utils.SystemMessage: the file cannot be read, or is no pass.
        """
        relative, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(relative)
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise self.error(f"nb-player: cannot read {self.arguments[0]}: {error}") from None
        if not isinstance(data, dict) or data.get("schema") != export.SCHEMA:
            what = 'is no pass: write one by viz.animate(y).save("pass.json")'
            raise self.error(f"nb-player: {self.arguments[0]} {what}")
        element = f'<script type="application/json">{export.json_for_script(data)}</script>'
        return [nodes.raw("", f"<nb-player>{element}</nb-player>", format="html", nb_player=True)]


def _load(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Let a page with a player load the module."""
    if doctree is not None and any(node.get("nb_player") for node in doctree.findall(nodes.raw)):
        app.add_js_file(MODULE, type="module")


def _write(app: Sphinx) -> None:
    if app.builder.format == "html":
        folder = Path(app.outdir) / "_static"
        folder.mkdir(parents=True, exist_ok=True)
        export.write(folder / MODULE, scripts.component_js())


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive; Sphinx calls this."""
    app.add_directive("nb-player", PlayerDirective)
    app.connect("builder-inited", _write)
    app.connect("html-page-context", _load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
