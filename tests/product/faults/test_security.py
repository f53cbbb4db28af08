"""Check the promises of docs/security.md on the code itself: nothing is evaluated, unpickled, fetched or started."""

from __future__ import annotations

import ast
import base64
import itertools
import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from functools import cache
from typing import Any

import pytest

import nbautograd as nb
from nbautograd import viz
from nbautograd._engine.compiler.op import OPS
from nbautograd.viz.notebook import export
from tests.package_sources import PACKAGE, SOURCES, nodes

SCRIPTS = {path.name: path.read_text(encoding="utf-8") for path in sorted((PACKAGE / "viz" / "static").glob("*.js"))}
STYLES = {path.name: path.read_text(encoding="utf-8") for path in sorted((PACKAGE / "viz" / "static").glob("*.css"))}


FILES = {path.relative_to(PACKAGE).as_posix(): name for name, path in SOURCES.items()}
"""The module of each file, by its path below the package."""


@cache
def all_calls() -> dict[str, list[tuple[str, ast.Call]]]:
    """Every call in the package, with the file that makes it, by its function."""
    by_name = defaultdict(list)
    for file, name in FILES.items():
        for node in nodes(name):
            if isinstance(node, ast.Call):
                by_name[ast.unparse(node.func)].append((file, node))
    return by_name


def calls(name: str) -> list[tuple[str, ast.Call]]:
    """The calls of a name, alone or as an attribute, with the file that makes them."""
    return all_calls().get(name, [])


def source(file: str) -> str:
    return (PACKAGE / file).read_text(encoding="utf-8")


def files(*names: str) -> set[str]:
    return {file for name in names for file, _ in calls(name)}


@cache
def all_imports() -> set[tuple[str, str]]:
    """Return every file with each module that it imports, including imports inside functions."""
    pairs = set()
    for file, name in FILES.items():
        for node in nodes(name):
            if isinstance(node, ast.Import):
                pairs |= {(file, alias.name) for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                pairs.add((file, node.module or ""))
    return pairs


def imports(module: str) -> set[str]:
    return {file for file, name in all_imports() if name == module or name.startswith(module + ".")}


# -- Python ----------------------------------------------------------------------------------------------------------


def test_only_declarations_and_typed_cells_are_executed() -> None:
    """``_engine/compiler/source.py`` compiles declarations, and the programs and traces written from them,
    ``viz/notebook/magics.py`` and ``magic_line.py`` the text typed after a magic, and ``cli/graded_run.py`` the
    notebooks that a teacher grades. Exercises run checks of the package's own files, and practice its programs.
    """
    typed = {"viz/notebook/magics.py", "viz/notebook/magic_line.py"}
    of_course = {"exercises/__init__.py", "viz/notebook/practice_questions.py"}
    assert files("eval", "exec", "compile") <= {"_engine/compiler/source.py", *typed, *of_course}
    assert files("shell.ev", "self.shell.ev", "shell.run_cell", "self.shell.run_cell") <= {
        "viz/notebook/magics.py", "cli/graded_run.py",
    }  # fmt: skip
    assert files("__import__", "builtins.eval", "builtins.exec", "os.system", "os.popen") == set()


def test_what_the_writer_compiles_comes_from_declarations() -> None:
    """Formulas are strings in the package's own modules, and no operation is declared after these are imported."""
    declared = dict(OPS)
    assert all(op.body.__module__.startswith("nbautograd.") for op in declared.values())
    x = nb.ones(2, requires_grad=True)
    viz.animate((x * 2).exp().sum(), create_graph=False)
    assert declared == OPS


def test_pickle_is_read_by_nobody() -> None:
    """Files are read by a machine of our own, which knows some thirty opcodes and imports nothing."""
    assert imports("pickletools") == {"serialization/torch_pickle.py", "serialization/reading.py"}
    assert imports("pickle") == {f"serialization/{name}.py" for name in ("__init__", "files", "pickler")}
    assert files("pickle.load", "pickle.loads", "pickle.Unpickler", "np.load", "numpy.load") == set()
    assert imports("marshal") | imports("shelve") | imports("dill") | imports("cloudpickle") == set()
    for name in ("torch_pickle", "rebuild", "objects", "names", "reading"):
        assert not re.search(r"\b(find_class|import_module|__import__)\(", source(f"serialization/{name}.py"))


def test_arrays_are_read_and_written_without_pickle() -> None:
    for _, call in [*calls("np.lib.format.write_array"), *calls("np.lib.format.read_array"), *calls("np.save")]:
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert given.get("allow_pickle") == "False"


def test_programs_are_started_with_lists_of_arguments_and_deadlines() -> None:
    started = [*calls("subprocess.Popen"), *calls("subprocess.run"), *calls("subprocess.check_output")]
    assert "viz/draw/graphviz_dot.py" in {file for file, _ in started}
    for file, call in started:
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert given.get("shell", "False") == "False", file
        assert not isinstance(call.args[0], (ast.Constant, ast.JoinedStr)), file
        assert "timeout" in given or ast.unparse(call.func) == "subprocess.Popen", file
    assert "timeout=MAX_DOT_SECONDS" in source("viz/draw/graphviz_dot.py")


def test_nothing_speaks_to_the_network() -> None:
    for module in ("socket", "urllib.request", "http.client", "requests", "httpx", "aiohttp", "ftplib", "webbrowser"):
        # The command that serves the course checks for an address of this machine, and opens the reader's browser.
        allowed = {"cli/server.py"} if module in ("socket", "webbrowser") else set()
        assert imports(module) == allowed, module


ADDRESS = re.compile(r"(?:https?:)?//[a-z][\w.-]+\.[a-z]{2,}[^\s\"'`)]*")


def test_no_address_but_those_of_languages() -> None:
    """Names of SVG's and MathML's languages look like addresses; there are no others in what is sent to a browser."""
    allowed = {f"http://www.w3.org/{name}" for name in ("2000/svg", "1998/Math/MathML", "1999/xhtml", "1999/xlink")}
    for name, text in {**SCRIPTS, **STYLES}.items():
        assert set(re.findall(r"https?://[^\s\"'`)]+", text)) <= allowed, name
    for file, name in FILES.items():
        if file.startswith("viz/"):
            texts = [n.value for n in nodes(name) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            found = {
                url for text in texts for url in re.findall(r"(?:https?:)?//[a-z][\w.-]+\.[a-z]{2,}[^\s\"'`)}]*", text)
            }
            assert found <= allowed, file


# -- JavaScript and styles -------------------------------------------------------------------------------------------

FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|Function\(|setTimeout\(\s*[\"'`]"
    r"|DOMParser|createContextualFragment|srcdoc|javascript:|\bimport\b|\bfetch\b|XMLHttpRequest|WebSocket|sendBeacon"
    r"|localStorage|document\.cookie|postMessage|\.src\s*=|window\.open|location\s*="
)
ALLOWED = {
    # Drawings are parsed as XML, which runs nothing, and copied element by element from an allow-list.
    ("dom.js", "DOMParser"),
    # The name of the open tab is remembered, and compared with the existing names.
    ("drawer.js", "localStorage"),
    # The pass named by the author of a page is read as JSON; its drawings are copied like all others.
    ("element.js", "fetch"),
    # A page inside a frame sends its height, a number, to the page around it.
    ("frame.js", "postMessage"),
    # The player's own script and texts, beside the extension on the Jupyter server, are loaded once for a page.
    ("lab.js", "fetch"),
    ("lab.js", "import"),
    ("lab_entry.js", "import"),
    # A picture in an image element runs nothing.
    ("live.js", ".src ="),
    # The widget's own script, which the kernel sent, is loaded once for a page, from a blob.
    ("loader.js", "import"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_build_nothing_from_text(name: str) -> None:
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", SCRIPTS[name], flags=re.DOTALL)
    code = re.sub(r'^import \{[^}]*\} from "\./\w+\.js";$', "", code, flags=re.MULTILINE)  # joined, never loaded
    found = {(name, match) for match in FORBIDDEN.findall(code)}
    assert found <= ALLOWED


@pytest.mark.parametrize("name", STYLES)
def test_styles_load_nothing(name: str) -> None:
    assert not re.search(r"@import|url\(|expression\(|behavior:", STYLES[name])


# -- what is shown ---------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "title",
            "desc", "defs", "marker", "linearGradient", "stop", "style"}  # fmt: skip
ATTRIBUTES = re.compile(
    r"class|id|x|y|x1|y1|x2|y2|dx|dy|cx|cy|r|rx|ry|d|points|width|height|viewBox|transform|opacity|visibility|display"
    r"|fill(-opacity|-rule)?|stroke(-(width|dasharray|opacity|linecap|linejoin))?|marker-(start|mid|end)|markerWidth"
    r"|markerHeight|markerUnits|refX|refY|orient|font-(family|size|weight|style)|text-anchor|dominant-baseline"
    r"|letter-spacing|paint-order|preserveAspectRatio|role|aria-[a-z]+|data-[a-z-]+|tabindex|pathLength|offset"
    r"|stop-(color|opacity)|textLength|lengthAdjust|vector-effect|shape-rendering|pointer-events|direction"
    r"|unicode-bidi|xml:space|\{http://www.w3.org/XML/1998/namespace\}(space|lang)"
)


def pictures() -> dict[str, Any]:
    """One of each kind that there is."""
    w = nb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    names = {"w": w, "<script>\"&'": w}
    model = nb.nn.Sequential(nb.nn.Linear(2, 2), nb.nn.ReLU(), nb.nn.Linear(2, 1))
    loss = (model(w) ** 2).mean()
    with viz.record(namespace=names) as passes:
        (w * w).sum().backward()
        ((w @ w).sum() * 1e-3).backward()
    watch = viz.monitor(w, namespace=names, live=False)
    watch(1.0)
    return {
        "graph": viz.graph((w * w).sum(), namespace=names),
        "model": viz.graph(loss, namespace={**names, "model": model}),
        "animation": viz.animate(loss, namespace=names),
        "recording": passes,
        "monitor": watch,
    }


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    return pictures()


@pytest.mark.parametrize("name", ["graph", "model", "animation", "recording", "monitor"])
def test_drawings_hold_nothing_but_drawing(shown: dict[str, Any], name: str) -> None:
    picture = shown[name]
    drawings = [picture.svg, *itertools.chain(*picture.data()["svgs"])] if hasattr(picture, "data") else [picture.svg]
    for svg in drawings:
        for element in ElementTree.fromstring(svg).iter():
            assert element.tag.removeprefix(SVG) in ELEMENTS, element.tag
            for attribute, value in element.attrib.items():
                assert ATTRIBUTES.fullmatch(attribute), attribute
                assert "javascript:" not in value and not re.search(r"url\((?!#)", value), value
            if element.tag == SVG + "style":
                assert not re.search(r"@import|url\(|<", element.text or "")


@pytest.mark.parametrize("name", ["graph", "model", "animation", "recording", "monitor"])
def test_outputs_survive_a_sanitizer(shown: dict[str, Any], name: str) -> None:
    """Elements and attributes that JupyterLab's sanitizer keeps in untrusted notebooks."""
    from html.parser import HTMLParser

    elements = {"img", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "pre", "p", "caption"}
    attributes = {
        "img": {"alt", "src", "style", "height", "width"}, "details": {"open"}, "th": {"scope"}, "thead": {"style"},
    }  # fmt: skip

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag in elements, tag
            for attribute, value in attrs:
                assert attribute in attributes.get(tag, set()), (tag, attribute)
                if attribute == "src":
                    kind, _, data = (value or "").partition(",")
                    assert kind == "data:image/svg+xml;base64"
                    ElementTree.fromstring(base64.b64decode(data, validate=True))
                if attribute == "style":
                    assert value in {"max-width:100%", "max-width:100%; color-scheme:light", "word-break:keep-all"}

    picture = shown[name]
    html = picture.static_html() if hasattr(picture, "static_html") else picture._repr_mimebundle_()["text/html"]
    reader = Reader()
    reader.feed(html)
    reader.close()


@pytest.mark.parametrize("name", ["graph", "animation", "recording"])
def test_pages_allow_themselves_nothing_from_outside(shown: dict[str, Any], name: str) -> None:
    page = shown[name].html()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    directives = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    assert directives["default-src"] == "'none'" and "unsafe-inline" not in policy and "unsafe-eval" not in policy
    assert set(directives) <= {"default-src", "img-src", "style-src", "script-src"}
    assert all(source.startswith("'sha256-") for source in directives["script-src"].split())
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    assert export._hash(script) in directives["script-src"]
