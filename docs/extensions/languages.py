"""English and Chinese pages: each has a menu, labels and a ``lang`` of its own, and a link to the other.

A page below ``zh/`` is Chinese. Its counterpart has the same path without ``zh/``.
"""

from __future__ import annotations

import re
from functools import partial
from gettext import NullTranslations
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Any

from sphinx.application import Sphinx

CAPTION = "中文"
NOT_BESIDE = {"course_zh": "course", "course": "course_zh", "index": "zh/index", "zh/index": "index"}
"""Counterparts whose paths differ in another way."""
CHINESE = {
    "Search": "搜索",
    "On this page": "本页目录",
    "Next": "下一页",
    "Previous": "上一页",
    "Home": "首页",
    "Back to top": "回到顶部",
    "Skip to content": "跳到正文",
    "Edit this page": "编辑本页",
    "View this page": "查看源文件",
    "Made with ": "构建工具：",
    "Copyright &#169; %(copyright)s": "版权所有 &#169; %(copyright)s",
}
"""The theme's labels."""


class Chinese(NullTranslations):
    """The theme's labels in Chinese."""

    def gettext(self, message: str) -> str:
        """Return a label; one that the table lacks stays English."""
        return CHINESE.get(message, CHINESE.get(" ".join(message.split()), message))


def language(page: str) -> str:
    """Return the language of a page, by its path.

    >>> language("course/zh/02_graph"), language("faq")
    ('zh', 'en')
    """
    return "zh" if "zh" in PurePosixPath(page).parts or page == "course_zh" else "en"


def counterpart(page: str) -> str:
    """Return the path of the same page in the other language.

    >>> counterpart("course/zh/02_graph"), counterpart("course/02_graph"), counterpart("faq")
    ('course/02_graph', 'course/zh/02_graph', 'zh/faq')
    """
    if page in NOT_BESIDE:
        return NOT_BESIDE[page]
    path = PurePosixPath(page)
    if path.parent.name == "zh":
        return (path.parent.parent / path.name).as_posix()
    return (path.parent / "zh" / path.name).as_posix()


def menu(tree: str, spoken: str) -> str:
    """Return the part of the menu in one language: the list below the Chinese caption, or all others."""
    blocks = re.split(r'(?=<p class="caption")', tree)
    chinese = [block for block in blocks if block.startswith("<p") and CAPTION in block.partition("</p>")[0]]
    return "".join(chinese if spoken == "zh" else [block for block in blocks if block not in chinese])


def speak(app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Set language, menu, labels and the link to the other language."""
    spoken = language(page)
    environment = app.builder.templates.environment  # type: ignore[attr-defined]
    environment.install_gettext_translations(Chinese() if spoken == "zh" else NullTranslations())
    if spoken == "zh":
        context["language"] = "zh-CN"
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = menu(context["furo_navigation_tree"], spoken)
    for beside in ("prev", "next"):  # the last page of one language does not lead to the first of the other
        if (
            context.get(beside)
            and language(normpath(f"{page}/../{context[beside]['link']}").removesuffix(".html")) != spoken
        ):
            context[beside] = None
    other = counterpart(page)
    if other in app.env.all_docs and context.get("body"):
        name, code = ("English", "en") if spoken == "zh" else ("中文", "zh-CN")
        link = f'<a href="{context["pathto"](other)}" hreflang="{code}" lang="{code}">{name}</a>'
        context["body"] = f'<p class="other-language">{link}</p>\n{context["body"]}'


Menus = dict[Any, str]


def remember(
    menus: Menus, app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: Any
) -> None:  # fmt: skip
    """Make one menu for all pages of a folder that no menu lists: those of classes and of sources, over 1,000 of them.

    Sphinx resolves the whole menu for every page, which is most of the time that it takes to write one. For these
    pages nothing in it differs but the way to the menu's pages, which the folder determines.
    """
    make = context.get("toctree")
    if make is None or page in listed(app):
        return
    folder = PurePosixPath(page).parent

    def toctree(**options: Any) -> str:
        key = (folder, *sorted(options.items()))
        if key not in menus:
            menus[key] = make(**options)
        return menus[key]

    context["toctree"] = toctree


def listed(app: Sphinx) -> set[str]:
    """Return the pages that menus list, and the one that they start from."""
    return {app.config.root_doc}.union(*app.env.toctree_includes.values())


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", partial(remember, Menus()), priority=100)  # before the theme makes the menu
    app.connect("html-page-context", speak, priority=900)  # after it
    return {"parallel_read_safe": True, "parallel_write_safe": True}
