"""The directive ``playground``: an editor, listed programs with their passes, and a link that holds the program.

The passes are recorded while the site is built. With ``course_lite``, other programs run in the reader's browser, by
the Pyodide of that site.
"""

from __future__ import annotations

import html
import json
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from nbautograd.viz import language
from nbautograd.viz.notebook import export, scripts

HERE = Path(__file__).parent
PROGRAMS = HERE.parent / "playground.toml"
FILES = ("playground.js", "playground_pass.py", "playground_worker.mjs")
WORDS = {
    "program": ("Program", "程序"),
    "own": ("your own", "自己的程序"),
    "code": ("Code", "代码"),
    "run": ("Run", "运行"),
    "share": ("Copy a link to this program", "复制此程序的链接"),
    "leaves": ("Drag the value of a leaf to see the effect.", "拖动叶子节点的值，看看会怎样。"),
    "press": ("Press Run to see its pass.", "按“运行”，看它的反向传播。"),
    "copy": ("This site has no Python: copy the program into a notebook.", "本站没有 Python：请把程序复制到笔记本中。"),
    "foreign": ("This program came with the link: read it first.", "此程序来自链接：请先读一遍。"),
    "shared": ("The link is copied; it is in the address bar as well.", "链接已复制，也在地址栏中。"),
    "long": ("A link holds at most 4,000 characters.", "链接最多容纳 4,000 个字符。"),
    "running": ("Python is loading …", "正在加载 Python……"),
    "failed": ("Python could not be loaded.", "无法加载 Python。"),
}
SAID = ("leaves", "press", "copy", "foreign", "shared", "long", "running", "failed")
"""The words that the page's script says."""


class Playground(SphinxDirective):
    """``{playground}``, in the language of its page."""

    def run(self) -> list[nodes.Node]:
        chinese = self.env.docname.startswith("zh/")
        say = {key: texts[chinese] for key, texts in WORDS.items()}
        root = "../" * self.env.docname.count("/") or "./"
        lite = self.config.course_lite and f"../{self.config.course_lite.rstrip('/')}/"
        said = json.dumps({key: say[key] for key in SAID}, ensure_ascii=True).replace("<", "\\u003c")
        text = html.escape
        page = f"""<div class="nb-playground" data-language="{"zh" if chinese else "en"}" data-root="{root}"
  data-lite="{text(lite)}">
<script type="application/json">{said}</script>
<p><label>{say["program"]} <select name="program"><option value="">{say["own"]}</option></select></label></p>
<p><label>{say["code"]}<textarea name="code" rows="7" spellcheck="false" autocapitalize="off"></textarea></label></p>
<p><button name="run" hidden>{say["run"]}</button> <button name="share">{text(say["share"])}</button></p>
<p role="status"></p>
<div class="nb-playground-picture"></div>
</div>
<script type="module" src="{root}playground/player.mjs"></script>
<script type="module" src="{root}playground/playground.js"></script>"""
        return [nodes.raw("", page, format="html")]


def passes(chosen: str) -> dict[str, Any]:
    """Return the programs with their passes, and the texts that all players share, in a language."""
    from playground_pass import pass_of

    programs: list[dict[str, Any]] = []
    texts: dict[str, str] = {}
    for name, (english, chinese, code) in tomllib.loads(PROGRAMS.read_text(encoding="utf-8")).items():
        data = pass_of(code, chosen)
        texts = data.pop("texts")
        programs.append({"name": name, "title": chinese if chosen == "zh" else english, "code": code, "pass": data})
    return {"schema": export.SCHEMA, "version": export.VERSION, "texts": texts, "programs": programs}


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the files that the page loads."""
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, "playground")
    folder.mkdir(exist_ok=True)
    export.write(folder / "player.mjs", scripts.component_js())
    for name in FILES:
        export.write(folder / name, (HERE / name).read_text(encoding="utf-8"))
    for chosen in language.LANGUAGES:
        export.write(folder / f"{chosen}.json", json.dumps(passes(chosen), ensure_ascii=False, separators=(",", ":")))


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive and its files."""
    app.add_directive("playground", Playground)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
