"""The course as pages: copies of the notebooks, which the site runs with displays that play without a kernel."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PAGES = ("[0-9]*.ipynb", "gallery.ipynb", "zh/*.ipynb", "README.md")
PROFILE = 'c.NBAutograd.embed = True\nc.HistoryManager.hist_file = ":memory:"\n'


def anchor(title: str) -> str:
    """What links to a heading say after the ``#``, as Jupyter has it.

    >>> anchor("Leaf, or not?")
    'Leaf,-or-not?'
    """
    return title.replace(" ", "-")


def copy(app: Sphinx) -> None:
    """Copy the notebooks below the sources, and have IPython set ``%autograd --embed on`` in every kernel."""
    target = Path(app.srcdir) / "course"
    sources = {source.relative_to(NOTEBOOKS): source for pattern in PAGES for source in NOTEBOOKS.glob(pattern)}
    for page in target.rglob("*.*"):
        if page.relative_to(target) not in sources:
            page.unlink()
    for name, source in sources.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target / name)  # with its time, so that only what changed is run again
    profile = Path(app.doctreedir) / "ipython"
    (profile / "profile_default").mkdir(parents=True, exist_ok=True)
    (profile / "profile_default" / "ipython_config.py").write_text(PROFILE, encoding="utf-8")
    os.environ["IPYTHONDIR"] = str(profile)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
