"""The course as pages: copies of the notebooks, which the site runs with displays that play without a kernel."""

from __future__ import annotations

import json
import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PAGES = ("*.ipynb", "zh/*.ipynb", "README.md")
PYTORCH = "import torch as pytorch"
STORED = {
    "en": "PyTorch was not installed where this page was built. The pictures are those that the notebook keeps; "
    "they stand still. Run the notebook to see them play.",
    "zh": "构建本页时没有安装 PyTorch。下面的图是笔记本中保存的静态图；运行该笔记本即可播放。",
}
RUN = {"en": "Run this page in your browser", "zh": "在浏览器中运行本页"}
PICTURE = re.compile(r"data:image/svg\+xml;[^\"]+")
PROFILE = 'c.NBAutograd.embed = True\nc.HistoryManager.hist_file = ":memory:"\n'


def anchor(title: str) -> str:
    """Return the anchor of a heading, the text after the ``#``, as Jupyter has it.

    >>> anchor("Leaf, or not?")
    'Leaf,-or-not?'
    """
    return title.replace(" ", "-")


def stored() -> list[str]:
    """The pages, as Sphinx finds them, that need the missing PyTorch: they show their stored outputs.

    >>> stored() if find_spec("torch") else []
    []
    """
    if find_spec("torch") is not None:
        return []
    sources = (source for pattern in PAGES for source in NOTEBOOKS.glob(pattern))
    asking = [source for source in sources if PYTORCH in source.read_text(encoding="utf-8")]
    return sorted(f"course/{source.relative_to(NOTEBOOKS).as_posix()}" for source in asking)


def below_the_title(page: Path, id: str, text: str) -> None:
    """Put a cell of text below a notebook's first cell."""
    notebook = json.loads(page.read_text(encoding="utf-8"))
    notebook["cells"].insert(1, {"cell_type": "markdown", "id": id, "metadata": {}, "source": text})
    page.write_text(json.dumps(notebook), encoding="utf-8")


def language(name: str) -> str:
    """Which language a page is in, by its path."""
    return "zh" if "zh" in Path(name).parts else "en"


def live(name: str, site: str) -> str:
    """A page's link to where it runs: a site that ``nbautograd lite`` has made.

    :param name: the page, relative to the course's folder.
    :param site: that site's address, relative to the root of this one, or a whole address.

    >>> print(live("zh/02_graph.ipynb", "lite").replace("<a", "\\n<a").replace("</a>", "</a>\\n"))
    <p class="run-this-page">
    <a href="../../lite/notebooks/index.html?path=zh/02_graph.ipynb">在浏览器中运行本页</a>
    </p>
    """
    root = "" if "://" in site else "../" * len(Path("course", name).parent.parts)
    address = f"{root}{site.rstrip('/')}/notebooks/index.html?path={name}"
    return f'<p class="run-this-page"><a href="{address}">{RUN[language(name)]}</a></p>'


def copy(app: Sphinx) -> None:
    """Copy the notebooks below the sources, and have IPython set ``%autograd --embed on`` in every kernel."""
    target = Path(app.srcdir) / "course"
    sources = {source.relative_to(NOTEBOOKS): source for pattern in PAGES for source in NOTEBOOKS.glob(pattern)}
    for page in target.rglob("*.*"):
        if page.relative_to(target) not in sources:
            page.unlink()
    for name, source in sources.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target / name)
    index = target / "README.md"
    index.write_text(index.read_text(encoding="utf-8").replace("](../docs/", "](../"), encoding="utf-8")
    thumbnails(target / "gallery.ipynb")
    for name in stored():
        below_the_title(Path(app.srcdir) / name, "stored", f":::{{note}}\n{STORED[language(name)]}\n:::")
    if app.config.course_lite:
        for name in sources:
            if name.suffix == ".ipynb":
                below_the_title(target / name, "live", live(name.as_posix(), app.config.course_lite))
    for name, source in sources.items():
        shutil.copystat(source, target / name)  # its time, so that only changed pages run again
    profile = Path(app.doctreedir) / "ipython"
    (profile / "profile_default").mkdir(parents=True, exist_ok=True)
    (profile / "profile_default" / "ipython_config.py").write_text(PROFILE, encoding="utf-8")
    os.environ["IPYTHONDIR"] = str(profile)


def thumbnails(page: Path) -> None:
    """Put the stored picture of each section of the gallery at its top, as a link to the section."""
    title, found = "", {}
    for cell in json.loads(page.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and source.startswith("## "):
            title = source.splitlines()[0].removeprefix("## ")
        for output in cell.get("outputs", ()):
            if picture := PICTURE.search("".join(output.get("data", {}).get("text/html", ""))):
                found.setdefault(title, picture[0])
    links = "".join(
        f'<a href="#{anchor(title)}"><img alt="" src="{picture}"><span>{title}</span></a>'
        for title, picture in found.items()
    )
    below_the_title(page, "thumbnails", f'<div class="thumbnails">{links}</div>')


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("course_lite", "", "env", str)
    app.connect("builder-inited", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
