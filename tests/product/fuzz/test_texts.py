"""Text from outside, in every place where it becomes SVG, HTML, DOT, JSON, LaTeX or the name of a file.

Each output is read by a parser of its language and compared with that of a twin whose texts are harmless: the same
elements with the same attributes, in the same order.
"""

from __future__ import annotations

import base64
import builtins
import gzip
import hashlib
import html.parser
import json
import math
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.core import tracing
from nbautograd.protocol import SourceLocator
from nbautograd.viz.notebook import figure, output
from nbautograd.viz.read import formulas
from tests import needs
from tests.pictures.viz.fake_graph import HOSTILE

from .guard import fuzzed

SHORT = [text for text in HOSTILE if len(text) < 1000]
FRAGMENTS = [
    *("<", ">", "&", '"', "'", "\\", "`", "$", "%", "#", "{", "}", "/*", "*/", "//", "]]>", "<!--", "-->", "</", "<?"),
    *(
        "script",
        "style",
        "svg",
        "title",
        "on",
        "=",
        "javascript:",
        "url(",
        "&lt;",
        "&#60;",
        "&#x3c;",
        "\\u003c",
        "\\x3c",
    ),
    *("\n", "\r", "\t", "\0", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\ufeff", "\ufffe", "\ud800", "𝕏"),
    *("\\N", "\\G", "\\l", "->", "--", ";", "[", "]", "label", "URL", "frac", "input", "href", "xlink:href", "a", " "),
]
texts = st.one_of(
    st.sampled_from(SHORT),
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=8).map("".join),
    st.text(max_size=20),
)


class Broken(nb.autograd.Function):
    """Its backward raises with a text."""

    text = ""

    @staticmethod
    def forward(ctx: Any, x: nb.Tensor) -> nb.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: nb.Tensor) -> nb.Tensor:
        raise ValueError(Broken.text)


class Doubled(nb.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: nb.Tensor) -> nb.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: nb.Tensor) -> nb.Tensor:
        return g * 2


def outputs(text: str) -> dict[str, Any]:
    """Return the outputs of a program in which everything is called ``text``."""
    given = [f"{text}{i}" for i in range(5)]
    custom = type(given[0].replace("\0", "") if "\ud800" not in text else "plain", (Doubled,), {})
    layer = nb.nn.Linear(2, 2)
    with nb.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(0.5)
    x = nb.ones(2, 2, requires_grad=True)

    def hook(g: nb.Tensor) -> nb.Tensor:
        return g * 1

    hook.__name__ = hook.__qualname__ = text.replace("\0", "")
    patch = pytest.MonkeyPatch()
    patch.setattr(SourceLocator, "locate", staticmethod(lambda filename, line: (text, f"{text} = 1")))
    patch.setattr(figure, "STILL", (math.inf, math.inf))  # room for all: wide texts fold nothing
    Broken.text = text
    try:
        with tracing.traced():
            hidden = custom.apply(layer(x))
            hidden.register_hook(hook)
            y = hidden.sum()
            z = Broken.apply(x).sum()
        names = {given[1]: x, given[2]: layer, given[3]: hidden, given[4]: y}
        drawn = viz.graph(y, namespace=names)
        played = viz.animate(y, namespace=names)
        with pytest.raises(ValueError) as caught:
            viz.animate(z, namespace=names)
        failed = caught.value.animation  # type: ignore[attr-defined]
        table = viz.grads(namespace=names)
        with output.compact_images():
            beside = [drawn.static_html(), played.static_html(), failed.static_html()]
        return {
            "svg": [drawn.svg, played.svg, failed.svg],
            "html": [drawn.html(), played.html(), failed.html(), drawn.static_html(), played.static_html(),
                     failed.static_html(), table._repr_html_(), *beside],
            "json": [drawn.data(), played.data(), failed.data(), drawn.model.to_json()],
            "dot": [drawn.dot, played.dot, failed.dot],
            "text": [repr(drawn), repr(played), repr(failed), repr(table)],
        }  # fmt: skip
    finally:
        patch.undo()


# -- readers -----------------------------------------------------------------------------------------------------------


def of_svg(text: str) -> list[Any]:
    return [(element.tag, sorted(element.attrib)) for element in ET.fromstring(text).iter()]


class Reader(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Any] = []
        self.contents: dict[str, list[str]] = {}
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside = tag

    def handle_data(self, data: str) -> None:
        self.contents.setdefault(self.inside, []).append(data)

    def handle_comment(self, data: str) -> None:
        self.elements.append(("comment", {}))

    def unknown_decl(self, data: str) -> None:
        self.elements.append(("declaration", {}))


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader


def of_html(text: str) -> list[Any]:
    return [(tag, sorted(attributes)) for tag, attributes in read(text).elements]


ALLOWED = {
    *("svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "title", "desc"),
    *("defs", "marker", "style"),
}
IMAGES = "data:image/svg+xml;base64,", "data:image/svg+xml,%3Csvg"
QUIET = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


@fuzzed(15)
@given(text=texts)
def test_structure_is_that_of_the_harmless_twin(text: str) -> None:
    hostile, harmless = outputs(text), outputs("x" * max(1, len(text)) if "\n" not in text else "x")
    for one, other in zip(hostile["svg"], harmless["svg"], strict=True):
        tags = {tag.rpartition("}")[2] for tag, _ in of_svg(one)}
        assert tags <= ALLOWED, tags - ALLOWED
        assert not QUIET.search(one)
        compared(of_svg(one), of_svg(other))
    for one, other in zip(hostile["html"], harmless["html"], strict=True):
        compared(of_html(one), of_html(other))
        for tag, attributes in read(one).elements:
            assert tag not in ("iframe", "object", "embed", "base", "form", "a", "link", "comment")
            for name, value in attributes.items():
                assert not name.startswith("on") and name not in ("srcdoc", "href"), (tag, name)
                assert name != "src" or str(value).startswith(IMAGES)
    for one in hostile["json"]:
        assert json.loads(json.dumps(one, allow_nan=False)) is not None
        json.dumps(one, ensure_ascii=False).encode()  # no lone surrogates, which a kernel cannot send
    for one in hostile["text"]:
        assert not QUIET.search(one.replace("\x1b", "")), "a control character"
        one.encode()


def compared(one: list[Any], other: list[Any]) -> None:
    """Equal, except that a text may be broken into more or fewer lines."""
    assert {str(element) for element in one} <= {str(element) for element in other}
    counts = [[e for e in elements if str(e[0]).rpartition("}")[2] not in ("tspan", "text", "rect", "title")]
              for elements in (one, other)]  # fmt: skip
    assert len(counts[0]) == len(counts[1])


@needs.dot
@fuzzed(6)
@given(parts=st.lists(texts, min_size=4, max_size=4))
def test_dot_reads_every_source(parts: list[str]) -> None:
    text = " ".join(parts)
    for one, other in zip(outputs(text)["dot"], outputs("x")["dot"], strict=True):
        assert laid_out(one) == laid_out(other)


def laid_out(source: str) -> list[Any]:
    """The nodes and edges that Graphviz sees, with their attributes' names."""
    done = subprocess.run(["dot", "-Tdot_json"], input=source.encode(), capture_output=True, timeout=60, check=True)
    read = json.loads(done.stdout)
    known = [(o["name"], sorted(o)) for o in read["objects"]]
    return [known, [(e["tail"], e["head"], sorted(e)) for e in read["edges"]]]


@fuzzed(300)
@given(names=st.lists(texts, min_size=3, max_size=3), formula=st.sampled_from(["g * conj(other)", "g / input ** 2"]))
def test_latex_is_balanced_and_has_only_our_commands(names: list[str], formula: str) -> None:
    y, a, b = names
    written = formulas.latex(formulas.marks(formula, {"g": [["d", y, a]], "other": [["i", b]], "input": [["i", b]]}))
    known = {"frac", "partial", "cdot", "mathit", "backslash", "hat", "sim", "exp", "log", "sin", "cos", "tan", "max",
             "min", "sinh", "cosh", "tanh", "left", "right"}  # fmt: skip
    plain = re.sub(r"\\[_#$%&{} ]", "", written)
    assert set(re.findall(r"\\([a-zA-Z]+)", plain)) <= known
    assert not re.search(r"[$#%&]|\\(?![a-zA-Z])", plain)
    depth = 0
    for character in plain:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0


PARTS = [
    *("g", "input", "**", "(", ")", "*", "-", "not", "if", "[0]", ".shape", "lambda:", "'a'", "1e999", "9**9**9"),
    *("__import__('os')", "exp", ",", ":="),
]


@fuzzed(200)
@given(formula=st.one_of(texts, st.lists(st.sampled_from(PARTS), max_size=9).map(" ".join)))
def test_any_formula_is_read_and_never_run(formula: str) -> None:
    """The shown text contains a name that running it would look up or call, and it is not called."""
    asked = f"({formula}) + canary(1)"
    before = dict(vars(builtins))
    builtins.canary = lambda _: pytest.fail("the formula was run")  # type: ignore[attr-defined]
    try:
        marks = formulas.marks(asked, {})
        shown, latex = formulas.plain(marks), formulas.latex(marks)
    finally:
        del builtins.canary  # type: ignore[attr-defined]
    assert vars(builtins) == before
    assert json.loads(json.dumps(marks)) == marks
    assert "\n" not in shown and "\n" not in latex
    if len(asked) < 100:  # longer texts are cut
        assert "canary" in shown and "canary" in latex


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def picture() -> Any:
    w = nb.ones(2, requires_grad=True)
    return viz.graph((w * w).sum(), namespace={"w": w})


NAMES = [
    "-rf",
    "a;b",
    "$(touch x)",
    "`id`",
    "a\nb",
    "'",
    '"',
    "%s",
    "a b",
    "CON",
    "变",
    "..",
    "~",
    "*",
    "--help",
    "a\\b",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("suffix", [".svg", ".html", ".dot", ".txt"])
def test_names_of_files_are_names(name: str, suffix: str, picture: Any, tmp_path: Path) -> None:
    path = picture.save(tmp_path / (name + suffix))
    assert os.listdir(tmp_path) == [name + suffix] and path.stat().st_size


@pytest.mark.parametrize(
    "name", ["", "a", "a.exe", "a.svg/", "a.SVG.py", "." * 300 + ".svg", "a" * 300 + ".svg", "a\0.svg"]
)
def test_names_that_cannot_be(name: str, picture: Any, tmp_path: Path) -> None:
    if name.rstrip("/") == "a.svg":
        (tmp_path / "a.svg").mkdir()
    before = os.listdir(tmp_path)
    with pytest.raises((ValueError, OSError)):
        picture.save(f"{tmp_path}/{name}")
    assert os.listdir(tmp_path) == before


# -- the page ----------------------------------------------------------------------------------------------------------

HEADER = "default-src 'none'; img-src data: blob:; script-src {script}; style-src {style} 'unsafe-hashes' {attribute}"


def hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def strict(page: str) -> str:
    """Check a page against the narrowest policy that lets it play; the policy."""
    reader = read(page)
    kinds = [(tag, sorted(attributes)) for tag, attributes in reader.elements]
    assert kinds == [
        ("html", ["lang"]), ("head", []), ("meta", ["charset"]), ("meta", ["content", "http-equiv"]),
        ("meta", ["content", "name"]), ("title", []), ("style", []), ("body", []), ("main", ["id"]),
        ("img", ["alt", "src"]), ("script", ["id", "type"]), ("script", ["type"]),
    ]  # fmt: skip
    data, script = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    policy = HEADER.format(script=hashed(script), style=hashed(style), attribute=hashed("max-width:100%"))
    given = {
        directive.split()[0]: set(directive.split()[1:]) for directive in reader.elements[3][1]["content"].split("; ")
    }
    assert given == {directive.split()[0]: set(directive.split()[1:]) for directive in policy.split("; ")}
    json.loads(data if data.startswith("{") else gzip.decompress(base64.b64decode(data)))  # a long text is compressed
    outside = re.sub(r'"http://www.w3.org/[\w/]+"', "", page.replace(data, ""))  # names of languages
    assert not re.search(
        r"https?:|\bon\w+\s*=\s*[\"']|@import|url\(\s*[\"']?(?!#)|\beval\(|new Function|innerHTML", outside
    )
    return policy


@fuzzed(8)
@given(text=texts)
def test_pages_are_strict(text: str) -> None:
    for page in outputs(text)["html"][:3]:
        strict(page)


@pytest.fixture
def browser_page(browser: Any) -> Any:
    return browser.new_page(reduced_motion="reduce")


@pytest.mark.browser
@needs.chromium
def test_it_plays_under_the_narrowest_policy(browser_page: Any) -> None:
    """The policy also comes as a header, and the page is in a sandbox: the console reports violations."""
    text = '</script><script>window.__pwn=1</script>"><img src=x onerror=window.__pwn=1>'
    page = outputs(text)["html"][1]
    troubles: list[str] = []
    requests: list[str] = []
    browser_page.on("console", lambda message: troubles.append(message.text))
    browser_page.on("pageerror", lambda error: troubles.append(str(error)))
    browser_page.on("request", lambda request: requests.append(request.url))
    headers = {"Content-Security-Policy": strict(page) + "; sandbox allow-scripts", "Content-Type": "text/html"}
    browser_page.route("**/*", lambda route: route.fulfill(body=page, headers=headers))
    browser_page.goto("http://page.test/")
    player = browser_page.locator(".nb-player")
    player.wait_for()
    first = player.get_attribute("data-step")
    player.focus()
    browser_page.keyboard.press("End")
    browser_page.wait_for_function("first => document.querySelector('.nb-player').dataset.step !== first", arg=first)
    assert browser_page.evaluate("window.__pwn") is None
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == ["http://page.test/"]
    assert troubles == []
