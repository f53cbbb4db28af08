"""The documentation site: ``sphinx-build -W -j auto docs build/site``.

The pages of the course are the notebooks, run during the build (except those that need PyTorch, if it is missing: their
stored outputs are shown); those of the API come from docstrings. The site makes no request to another host: formulas
are MathML, and fonts are the reader's own.
"""

from __future__ import annotations

import os
import sys
import tomllib
from functools import partial
from pathlib import Path

import nbautograd

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "extensions")]

from course import stored  # noqa: E402 - it is found there
from links import address  # noqa: E402

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "nbautograd"
copyright = "the authors of nbautograd"
release = nbautograd.__version__
language = "en"

repository = os.environ.get("NBAUTOGRAD_REPOSITORY", PROJECT.get("urls", {}).get("Source", ""))
"""The address of the sources: with it, pages have edit links, and entries of the API link to the sources."""

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "mathml",
    "course",
    "api",
    "generated",
    "playground",
    "links",
    "languages",
    "searching",
    "answers",
]
extensions += ["sphinx.ext.linkcode" if repository else "sphinx.ext.viewcode"]
exclude_patterns = ["embedding", "extensions", "_templates", "_root"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3
myst_heading_slug_func = "course.anchor"
nb_execution_mode = "force"
nb_execution_excludepatterns = stored()
nb_execution_raise_on_error = True  # except for cells that raise on purpose
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_merge_streams = True
nb_code_prompt_show = "Answer · 参考答案"
nb_code_prompt_hide = "Answer · 参考答案"

course_lite = ""  # set where the course runs in the browser (`nox -s live`): pages of the course then link there

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
add_module_names = False
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = f"nbautograd {release}"
html_static_path = ["_static"]
html_extra_path = ["_root"]  # llms.txt
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": False}  # the arrow keys step through animations
if repository:
    html_theme_options["source_edit_link"] = f"{repository}/edit/main/docs/{{filename}}"
    html_theme_options["source_view_link"] = f"{repository}/blob/main/docs/{{filename}}"
linkcode_resolve = partial(address, repository)
pygments_style = "default"
