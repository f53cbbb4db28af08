"""Drawings: fixed bytes, nothing but the allowed elements, every text escaped, readable colors."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from nbautograd import viz
from nbautograd.viz.capture.recorder import Recorder
from nbautograd.viz.draw import graphviz_dot, theme
from nbautograd.viz.draw.svg import draw
from nbautograd.viz.escape import clean, escape, width
from nbautograd.viz.notebook import export
from nbautograd.viz.notebook.api import Recording
from nbautograd.viz.read.builder import build
from tests import needs

from .colors import contrast
from .fake_graph import HOSTILE, AccumulateGrad, Add, Seed, Tensor

GOLDEN = Path(__file__).parent / "golden"
ALLOWED = {
    "svg",
    "g",
    "path",
    "rect",
    "circle",
    "ellipse",
    "line",
    "polyline",
    "polygon",
    "text",
    "tspan",
    "title",
    "desc",
    "defs",
    "marker",
    "linearGradient",
    "stop",
}


def recording(seed: Seed) -> Recording:
    recorder = Recorder(build(seed.y, seed.names, resolve=seed.resolve))
    for event in seed.events():
        recorder(event)
    return Recording(recorder.timeline())


@pytest.mark.parametrize("name", ["graph", "backward"])
def test_the_seed_is_drawn_as_before(name: str, request: pytest.FixtureRequest) -> None:
    """Set UPDATE_GOLDEN to accept a new drawing; then look at it."""
    seed = Seed()
    svg = draw(build(seed.y, seed.names, resolve=seed.resolve)) if name == "graph" else recording(seed).svg
    golden = GOLDEN / f"seed-{name}.svg"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(svg, encoding="utf-8", newline="\n")
    assert svg == golden.read_text(encoding="utf-8")


def test_the_same_graph_gives_the_same_bytes() -> None:
    one, two = recording(Seed()), recording(Seed())
    assert one.svg == two.svg and one.html() == two.html() and one.text == two.text
    assert "0x" not in one.text


def hostile(name: str) -> Any:
    """A graph in which every text from outside is this one."""
    leaf = Tensor([1.0])
    kind = type("Hostile", (Add,), {"symbol": name, "formulas": {"input": name}})
    node = kind(name or "empty", ((AccumulateGrad(leaf), 0),))
    root = Tensor([1.0], node)
    return root, {name: leaf, name + "2": root}


HTML = {"p", "img", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "pre"}


def check(svg: str) -> None:
    tree = ET.fromstring(svg)
    for element in tree.iter():
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in ALLOWED
        for attribute, value in element.attrib.items():
            assert not attribute.startswith("on") and "href" not in attribute and attribute != "style"
            assert "url(" not in value or value.startswith("url(#nb")


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_stay_text(name: str) -> None:
    root, names = hostile(name)
    picture = viz.graph(root, namespace=names, resolve=lambda filename, lineno: (name, name))
    check(picture.svg)
    assert len(picture.svg) < 30_000
    bundle = picture._repr_mimebundle_()
    assert "<script" not in bundle["text/html"].lower()
    assert re.findall(r"<(\w+)", bundle["text/html"])[:4] == ["img", "details", "summary", "table"]
    assert set(re.findall(r"<(\w+)", bundle["text/html"])) <= HTML
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\ud800-\udfff]", picture.svg + picture.text)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_in_pages(name: str) -> None:
    seed = Seed()
    recorder = Recorder(build(seed.y, {name: seed.w, "y": seed.y}, resolve=lambda f, n: (name, name)))
    for event in seed.events():
        recorder(event)
    page = Recording(recorder.timeline()).html()
    assert page.count("<script") == 2 and page.count("</script") == 2
    assert "__pwn=1</script" not in page


@pytest.mark.parametrize("name", [name for name in HOSTILE if name], ids=str)
def test_hostile_texts_in_dot(name: str) -> None:
    root, names = hostile(name)
    source = viz.graph(root, namespace=names).dot
    for line in source.split("\n"):
        if "label=" in line:
            quoted = r'"(?:[^"\\]|\\.)*"'
            assert re.fullmatch(rf"\tn\d+ \[(?:\w+=(?:{quoted}|\w+) ?)+\]", line), line
            assert re.search(rf"label=(?:{quoted}|\w+)[ \]]", line), line


def test_dot_draws_it() -> None:
    if graphviz_dot.program() is None:
        pytest.skip(needs.reason("Graphviz"))
    root, names = hostile('"]; b [URL="javascript:alert(1)"]; <b>&\\N')
    svg = graphviz_dot.dot_svg(build(root, names))
    assert "javascript:alert(1)" in svg and "xlink:href" not in svg and "<a " not in svg


def test_escape_and_clean() -> None:
    assert escape("<a b='c'>&\"") == "&lt;a b=&#x27;c&#x27;&gt;&amp;&quot;"
    assert clean("x" * 300) == "x" * 199 + "…"
    assert clean("\ud800\u202e\x00a\nb") == "a\nb"


def test_wide_characters_are_twice_as_wide() -> None:
    assert width("变量", 10, mono=True) > 1.6 * width("ab", 10, mono=True)
    assert width("e\u0301", 10) == width("é", 10)


TEXTS = [
    "fg:bg",
    "muted:bg",
    "grad:bg",
    "leaf:bg",
    "fg:leaf-bg",
    "leaf:leaf-bg",
    "muted:leaf-bg",
    "grad:grad-bg",
    "fg:grad-bg",
    "muted:grad-bg",
    "out:out-bg",
    "muted:out-bg",
    "fg:out-bg",
    "op:op-bg",
    "muted:op-bg",
    "fg:op-bg",
    "on-grad:grad",
    "bad:bad-bg",
    "bad:bg",
    "muted:panel",
    "grad:panel",
]
LINES = ["leaf:bg", "out:bg", "done:bg", "grad:bg", "bad:bg"]


@pytest.mark.parametrize("colors", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_contrast(colors: dict[str, str]) -> None:
    ratios = {pair: contrast(*(colors[name] for name in pair.split(":"))) for pair in TEXTS}
    assert {pair: round(ratio, 2) for pair, ratio in ratios.items() if ratio < 4.5} == {}
    ratios = {pair: contrast(*(colors[name] for name in pair.split(":"))) for pair in LINES}
    assert {pair: round(ratio, 2) for pair, ratio in ratios.items() if ratio < 3} == {}


def test_static_drawings_use_the_colors_of_the_theme() -> None:
    colors = set(re.findall("#[0-9a-f]{6}", recording(Seed()).svg))
    assert colors <= set(theme.LIGHT.values())


def test_saving(tmp_path: Path) -> None:
    shown = recording(Seed())
    for suffix in ("html", "svg", "dot", "txt"):
        path = shown.save(tmp_path / f"picture.{suffix}")
        assert path.stat().st_size > 100
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"picture.{s}" for s in ("dot", "html", "svg", "txt")]
    with pytest.raises(
        ValueError, match=r"cannot save as '\.gif'; use one of \.dot, \.html, \.json, \.mmd, \.pdf, \.png, \.svg, \.txt"
    ):
        shown.save(tmp_path / "picture.gif")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    export.write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        export.write(path, "new \ud800")
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_the_bundle_has_a_widget_a_picture_and_words() -> None:
    needs.package("anywidget")
    bundle = recording(Seed())._repr_mimebundle_()
    kinds = {"application/vnd.jupyter.widget-view+json", "application/vnd.nbautograd.pass+json"}
    assert set(bundle) == {"text/plain", "text/html", *kinds}
    assert bundle["text/html"].startswith('<img alt="y → 2 leaves')
    assert bundle["text/plain"].startswith("y → 2 leaves, 3 operations\ny = a × b  MulBackward0")


def test_importing_the_pictures_is_light() -> None:
    import subprocess
    import sys

    code = "import sys, nbautograd.viz; print({'anywidget', 'IPython', 'graphviz', 'ipywidgets'} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "set()"
