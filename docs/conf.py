"""The documentation site: ``sphinx-build -W -j auto docs build/site``.

The pages of the course are the notebooks, run while the site is built (but for those that ask for PyTorch, where it is
missing: their stored outputs are shown); those of the API are made from docstrings.
The site asks no other host for anything: formulas are MathML, and fonts are the reader's own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbautograd

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "extensions")]

from course import stored  # noqa: E402 - it is found there

project = "nbautograd"
copyright = "the authors of nbautograd"
release = nbautograd.__version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "mathml", "course", "api", "generated", "links"]
exclude_patterns = ["extensions"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 3
myst_heading_slug_func = "course.anchor"
nb_execution_mode = "force"
nb_execution_excludepatterns = stored()
nb_execution_raise_on_error = True  # but for cells that are meant to raise
nb_execution_timeout = 300
nb_execution_show_tb = True
nb_merge_streams = True
nb_code_prompt_show = "Answer · 参考答案"
nb_code_prompt_hide = "Answer · 参考答案"

course_lite = ""  # where the course runs in the browser, as `nox -s live` says it: pages of the course then link there

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
add_module_names = False
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = "nbautograd"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": False}  # the arrow keys step through animations
pygments_style = "default"
