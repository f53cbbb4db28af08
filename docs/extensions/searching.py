"""The search of the site: English and Chinese words, results in one language, messages on the page of errors first.

Sphinx splits a text at characters that are no letters, so a Chinese sentence would be one word. Here each character and
each pair of neighbors is a word. ``search.js`` splits a query in the same way, and orders the results.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from languages import language
from sphinx.application import Sphinx
from sphinx.search import languages as known
from sphinx.search.en import SearchEnglish

SCRIPT = Path(__file__).with_name("search.js")
HAN = re.compile(r"[\u4e00-\u9fff]+")


class EnglishAndChinese(SearchEnglish):
    """Words for the index, of texts in which both languages may occur."""

    js_splitter_code = SCRIPT.read_text(encoding="utf-8")

    def split(self, input: str) -> list[str]:
        """Split a text into words, Chinese into pairs of neighboring characters.

        >>> EnglishAndChinese({}).split("一个 grad_fn 节点的")
        ['grad_fn', '一个', '节点', '点的']
        """
        words = super().split(HAN.sub(" ", input))
        for run in HAN.findall(input):
            words += [run[at : at + 2] for at in range(max(1, len(run) - 1))]
        return words


def remember(_app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Have the search form of a Chinese page ask for Chinese results."""
    context["search_language"] = language(page)


def setup(app: Sphinx) -> dict[str, Any]:
    known["en"] = EnglishAndChinese
    app.connect("html-page-context", remember)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
