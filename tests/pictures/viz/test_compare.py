"""Outputs compared by their content: the course's own, each changed in ways that count and in ways that do not."""

from __future__ import annotations

import base64
import functools
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import nbautograd as T
from nbautograd import viz
from nbautograd.viz import compare as comparing, nbval
from nbautograd.viz.compare import differences, same_text, statements
from nbautograd.viz.draw.tensor_card import card_svg
from nbautograd.viz.draw.theme import DARK, LIGHT
from nbautograd.viz.notebook import output
from tests import needs

ROOT = Path(__file__).parents[3]
IMAGE = re.compile(r"(data:image/svg\+xml;base64,)([A-Za-z0-9+/=]+)")
CUT = re.compile(r"(?<![\w.#-])-?[1-9]\d*\.\d{4}(?![\w.])")
GEOMETRY = re.compile(r'(?<= )(x|y|x1|x2|y1|y2|cx|cy|width|height|d|viewBox)="([^"]*)"')


def stored() -> list[tuple[str, str]]:
    """The HTML of each picture that is stored in the notebooks, with where it is from."""
    found = {}
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for each in cell.get("outputs", ()):
                html = "".join(each.get("data", {}).get("text/html", ()))
                if IMAGE.search(html):
                    found[html] = f"{path.relative_to(ROOT).with_suffix('')}:{cell['id']}"
    return [(where, html) for html, where in found.items()]


STORED = stored()
GRAPHS = [(where, html) for where, html in STORED if "<details" in html]
# Every seventh file, and every seventh graph: enough of each kind, in both languages.
each = pytest.mark.parametrize("html", [pytest.param(html, id=where) for where, html in STORED[::7]])
each_graph = pytest.mark.parametrize("html", [pytest.param(html, id=where) for where, html in GRAPHS[::7]])


def svgs(html: str) -> list[str]:
    return [base64.b64decode(found[2]).decode() for found in IMAGE.finditer(html)]


def redrawn(html: str, change: Callable[[str], str]) -> str:
    """The HTML with its drawings changed."""

    def put(found: re.Match[str]) -> str:
        svg = change(base64.b64decode(found[2]).decode())
        return found[1] + base64.b64encode(svg.encode()).decode()

    return IMAGE.sub(put, html)


@pytest.fixture(scope="module", autouse=True)
def read_once() -> Iterator[None]:
    """Read each output once: most are compared with many others."""

    @functools.lru_cache(100)
    def known(mime: str, output: str, clean: Any) -> list[Any]:
        return [*statements(mime, output, clean)]

    def read(mime: str, output: Any, clean: Any) -> Any:
        return (known if isinstance(output, str) else statements)(mime, output, clean)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "statements", read)
        yield


def compare(one: str, two: str) -> list[str]:
    return differences("text/html", one, two)


def moved(by: float = 0.0, scale: float = 1.0) -> Callable[[str], str]:
    """Every coordinate, the size of the whole, and the digest in the ids, as they move with a letter's width."""

    def attribute(found: re.Match[str]) -> str:
        return f'{found[1]}="{re.sub(r"[0-9.]+", lambda m: f"{scale * float(m[0]) + by:.1f}", found[2])}"'

    def change(svg: str) -> str:
        return re.sub(r"\bnb[0-9a-f]{10}\b", "nb0123456789", GEOMETRY.sub(attribute, svg))

    return change


# -- what does not count -----------------------------------------------------------------------------------------------


@each
def test_moved_coordinates_say_the_same(html: str) -> None:
    other = redrawn(html, moved(0.4))
    assert other != html
    assert compare(html, other) == []


@each_graph
def test_a_graph_may_be_laid_out_anew(html: str) -> None:
    change = moved(scale=1.7)
    assert compare(html, redrawn(html, lambda svg: change(svg) if "data-node" in svg else svg)) == []


@each
def test_a_last_digit_says_the_same(html: str) -> None:
    def change(text: str) -> str:
        return CUT.sub(lambda found: f"{float(found[0]) + 0.0001:.4f}", text)

    pieces = IMAGE.split(html)
    other = "".join(change(piece) if n % 3 == 0 else piece for n, piece in enumerate(pieces))
    assert compare(html, redrawn(other, change)) == []


def test_what_is_nothing_but_rounding_on_another_processor() -> None:
    """The mean of standardised data, which is zero but for rounding, on a card that is narrower for it."""
    T.manual_seed(1)
    data = T.randn(20, 4) * T.tensor([1.0, 10.0, 100.0, 0.1]) + T.tensor([0.0, 5.0, -50.0, 1.0])
    scaled = (data - data.mean(dim=0)) / data.std(dim=0)
    html = output.image(output.colored(card_svg(scaled, "scaled")), repr(scaled))
    (svg,) = svgs(html)
    mean, most = re.search(r"mean (\S+)", svg), re.search(r"max (\S+)", svg)
    assert mean is not None and abs(float(mean[1])) < 1e-6 and most is not None
    other = svg.replace(mean[0], "mean 3.387e-07")
    other = re.sub(r'viewBox="0 0 (\d+) (\d+)" width="\d+"', r'viewBox="0 0 280 \2" width="280"', other, count=1)
    other = re.sub(r'(<rect x="0.5" y="0.5" width=)"\d+"', r'\1"279"', other, count=1)
    assert compare(html, redrawn(html, lambda _: other)) == []
    assert compare(html, redrawn(html, lambda _: other.replace("3.387e-07", "3.387e-03"))) != []
    assert compare(html, redrawn(html, lambda _: other.replace(most[0], "max 2.91"))) != []


def test_a_curve_may_be_a_tenth_of_a_pixel_off() -> None:
    html = dict(STORED)["notebooks/08_functions:fit"]
    curve = re.search(r"L(3\d\d\.\d) (\d+\.\d)", svgs(html)[0])
    assert curve is not None
    assert (
        compare(html, redrawn(html, lambda svg: svg.replace(curve[0], f"L{curve[1]} {float(curve[2]) - 0.1:.1f}")))
        == []
    )
    assert (
        compare(html, redrawn(html, lambda svg: svg.replace(curve[0], f"L{curve[1]} {float(curve[2]) - 5:.1f}"))) != []
    )


# -- what counts -------------------------------------------------------------------------------------------------------


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>[^<]+</text>", svg)


@functools.cache  # each has many edits
def differs_written_anew(svg: str) -> bool:
    return differences("image/svg+xml", svg, ElementTree.tostring(ElementTree.fromstring(svg), "unicode")) != []


def edited(html: str, change: Callable[[ElementTree.Element], bool], whole: bool = False) -> list[str] | None:
    """Return the differences after an edit of the first drawing that has something to edit; None if none has.

    Only that drawing is compared, which takes a fraction of the time of the ``whole`` output.
    """
    for svg in svgs(html):
        root = ElementTree.fromstring(svg)
        if change(root):
            other = ElementTree.tostring(root, encoding="unicode")
            assert not differs_written_anew(svg), "the edit alone is seen"
            if whole:
                return compare(html, redrawn(html, lambda one, svg=svg, other=other: other if one == svg else one))
            return differences("image/svg+xml", svg, other)
    return None


@pytest.mark.sweep
def test_a_wrong_number_is_seen_wherever_it_stands() -> None:
    """Each number of each text, one at a time: its first digit, and its sign."""
    count = 0
    for _, html in STORED[::11]:
        for svg in svgs(html):
            for text in texts(svg)[:40]:
                for found in re.finditer(r"(?<=[ >\u00a0\[])-?\d+\.\d*", text):
                    first = next(i for i, c in enumerate(found[0]) if c.isdecimal())
                    digit = "7" if found[0][first] != "7" else "5"
                    wrong = found[0][:first] + digit + found[0][first + 1 :]
                    turned = found[0].removeprefix("-") if found[0].startswith("-") else "-" + found[0]
                    for new in [wrong] + [turned] * (abs(float(found[0])) > 0.001):
                        put = text[: found.start()] + new + text[found.end() :]
                        other = differences("image/svg+xml", svg, svg.replace(text, put, 1))
                        assert len(other) == 1 and new in other[0], (text, new)
                        count += 1
    assert count > 200


@each_graph
def test_a_wrong_gradient_in_a_leaf_is_seen(html: str) -> None:
    def change(root: ElementTree.Element) -> bool:
        for element in root.iter():
            if (element.get("data-slot") or "").endswith(":grad") and element.text != ".grad None":
                for line in [element, *element]:
                    if line.text and re.search(r"[1-9]", line.text):
                        line.text = re.sub(r"[1-9]", lambda m: "7" if m[0] != "7" else "5", line.text, count=1)
                        return True
        return False

    found = edited(html, change)
    assert found is None or (len(found) == 1 and " > text" in found[0])


@pytest.mark.parametrize("what", ["edge", "flow", "node"])
@each_graph
def test_what_is_missing_is_seen(html: str, what: str) -> None:
    def change(root: ElementTree.Element) -> bool:
        for parent in root.iter():
            for child in parent:
                if f"data-{what}" in child.attrib:
                    parent.remove(child)
                    return True
        return False

    found = edited(html, change)
    assert found is None or found


@each_graph
def test_an_edge_to_another_node_is_seen(html: str) -> None:
    def change(root: ElementTree.Element) -> bool:
        lines = [e for e in root.iter() if "data-edge" in e.attrib]
        for one in lines:
            for other in lines:
                if one is not other and one.get("class") == other.get("class"):
                    one.set("d", other.get("d", ""))
                    return True
        return False

    found = edited(html, change)
    assert found is None or any("joins" in line for line in found)


@each_graph
def test_a_swapped_name_is_seen(html: str) -> None:
    def change(root: ElementTree.Element) -> bool:
        names = [e for e in root.iter() if e.get("class") == "nb-name"]
        for other in names[1:]:
            if other.text != names[0].text:
                names[0].text, other.text = other.text, names[0].text
                return True
        return False

    found = edited(html, change)
    assert found is None or len(found) >= 2


@pytest.mark.parametrize("state", ["nb-freed", "nb-done", "nb-active", "nb-bad", "nb-leaf"])
@each_graph
def test_a_changed_state_is_seen(html: str, state: str) -> None:
    def change(root: ElementTree.Element) -> bool:
        for element in root.iter():
            if state in element.get("class", "").split():
                element.set("class", element.get("class", "").replace(state, "nb-other"))
                return True
        return False

    found = edited(html, change)
    assert found is None or any("class" in line and state in line for line in found)


@each
def test_another_color_is_seen(html: str) -> None:
    def change(root: ElementTree.Element) -> bool:
        for element in list(root.iter())[1:]:
            if re.fullmatch("#[0-9a-f]{6}", element.get("fill", "")):
                value = int(element.get("fill", "")[1:], 16) ^ 0x100000
                element.set("fill", f"#{value:06x}")
                return True
        return False

    found = edited(html, change, whole=True)
    assert found is not None and "fill" in found[0]


def test_no_two_colors_with_a_meaning_are_close_enough_to_be_one() -> None:
    for theme in (LIGHT, DARK):
        for one, other in combinations(set(theme.values()), 2):
            svg = f'<svg xmlns="http://www.w3.org/2000/svg"><rect/><rect fill="{one}"/></svg>'
            assert differences("image/svg+xml", svg, svg.replace(one, other)) != [], (one, other)


@each_graph
def test_a_wrong_cell_of_a_table_is_seen_and_named(html: str) -> None:
    for cell in re.finditer(r"<td>(\d+\.\d*)</td>", html):
        wrong = f"<td>{float(cell[1]) * 1.5 + 1:.4f}</td>"
        found = compare(html, html[: cell.start()] + wrong + html[cell.end() :])
        assert len(found) == 1 and re.match(r".* > row '.*' > td: stored '", found[0])


# -- pages that play ---------------------------------------------------------------------------------------------------


def page() -> str:
    w = T.tensor([1.5, 0.25], requires_grad=True)
    y = (w * w / 3).sum()
    return viz.animate(y, namespace={"w": w, "y": y}).framed()


def test_a_page_that_plays_is_compared_by_its_data() -> None:
    one = page()
    assert compare(one, page()) == []
    assert "0.1667" in one
    assert compare(one, one.replace("0.1667", "0.1668")) == []
    found = compare(one, one.replace("0.1667", "0.2667"))
    assert found and all("0.2667" in line for line in found[:1])
    data = re.search(
        r"id=&quot;nb-data&quot;>(.*?)</script>", one.replace("&quot;nb-data&quot;>", "&quot;nb-data&quot;>")
    )
    assert data is not None
    for kind in ("accumulate", "freed", "nb-edge"):
        assert kind in data[1]
        assert compare(one, one[: data.start(1)] + data[1].replace(kind, "other", 1) + one[data.end(1) :]) != []


# -- numbers -----------------------------------------------------------------------------------------------------------

floats = st.floats(-1000, 1000, width=32).filter(lambda v: v == 0 or abs(v) > 1e-3)


@given(st.lists(floats, min_size=1, max_size=5), st.lists(st.integers(-2, 2), min_size=5, max_size=5))
def test_a_tensor_that_is_two_units_of_rounding_off_says_the_same(values: list[float], steps: list[int]) -> None:
    one = np.array(values, np.float32)
    other = one.copy()
    for i, n in enumerate(steps[: len(values)]):
        for _ in range(abs(n)):
            other[i] = np.nextafter(other[i], np.float32(np.inf * n)) if other[i] else other[i]
    assert differences("text/plain", repr(T.tensor(one)), repr(T.tensor(other))) == []


@given(st.lists(floats, min_size=1, max_size=5), st.integers(0, 4), st.sampled_from([-1.0, 0.5, 0.9, 1.02, 2.0]))
def test_a_tensor_with_a_wrong_element_says_something_else(values: list[float], at: int, factor: float) -> None:
    one = np.array(values, np.float32)
    other = one.copy()
    other[at % len(values)] *= np.float32(factor)
    assume(abs(other - one).max() > max(3e-4, abs(one).max() * 1e-3))
    assert differences("text/plain", repr(T.tensor(one)), repr(T.tensor(other))) != []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0.1234", "0.1235", True),
        ("0.1234", "0.1236", False),
        ("tensor([-0.0000,  0.5000])", "tensor([0.0000, 0.5000])", True),
        ("tensor([ 0.0312,  2.0000])", "tensor([ 0.0313,  2.0000])", True),
        ("tensor([2., 1.])", "tensor([2.0000, 1.0000])", True),
        ("tensor([2., 1.])", "tensor([3.0000, 1.0000])", False),
        ("tensor([1., 0.])", "tensor([1.0000e+00, 5.9605e-08])", True),
        ("tensor([1., 0.])", "tensor([1.0000e+00, 5.9605e-04])", False),
        ("0.30000000000000004", "0.3", True),
        ("0.3333333432674408", "0.3333333134651184", True),
        ("0.3333333432674408", "0.3333433432674408", False),
        ("loss: 9 → 2.81", "loss: 9 → 2.809", True),
        ("2.81", "2.82", False),
        ("0.5", "0.6", False),
        ("6.5", "-6.5", False),
        ("lr 1e-07", "lr 2e-07", False),
        ("lr 0.0001", "lr 0.0002", False),
        ("1000001", "1000002", False),
        ("tensor(4)", "tensor(4.)", False),
        ("In [12], line 3", "In [12], line 4", False),
        ("5 and 7", "5 and", False),
        ("nan", "inf", False),
        ("x-1.5000", "x-1.5001", True),
        ("tensor([1.2500+2.0000j])", "tensor([1.2500+2.0001j])", True),
        ("tensor([1.2500+2.0000j])", "tensor([1.2500-2.0000j])", False),
        ("version 1.2.3", "version 1.2.4", False),
        ("f32 (2, 3)", "f64 (2, 3)", False),
        ("├─ w", "   ├─ w", False),
    ],
)
def test_numbers_to_the_digits_shown(one: str, other: str, same: bool) -> None:
    assert same_text(one, other) is same_text(other, one) is same


# -- in pytest ---------------------------------------------------------------------------------------------------------


def test_patterns_are_taken_out_of_drawings_too_and_never_out_of_their_base64() -> None:
    def html(address: str) -> str:
        svg = f'<svg xmlns="http://www.w3.org/2000/svg"><text>{address}</text></svg>'
        return f'<img src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">'

    one, two = html("at 0x7f0000000001"), html("at 0x7f0000000002")
    assert differences("text/html", one, two) == [
        "img '' > svg > text: stored 'at 0x7f0000000001', now 'at 0x7f0000000002'"
    ]
    assert differences("text/html", one, two, lambda text: re.sub("0x[0-9a-f]{6,}", "0xADDRESS", text)) == []
    assert differences("text/html", one, one + " ", lambda text: text.replace("B", "")) == []


def test_what_cannot_be_read_is_compared_as_text() -> None:
    for broken in ("<svg><g></svg>", "<p", '<img src="data:image/svg+xml;base64,AAA">', "<svg"):
        for mime in ("text/html", "image/svg+xml"):
            assert differences(mime, broken, broken.replace("g", "h").replace("p", "q")) != []
    assert list(statements("application/json", {"a": [1, 0.5]}))[-1].value == "0.5"
    assert differences("application/json", {"a": [1, 0.5]}, {"a": [1, 0.75]}) == ["a[1]: stored a '0.5', now a '0.75'"]


CELLS = """
import nbautograd as torch
%load_ext nbautograd
x = torch.tensor(2.0, requires_grad=True)
y = x * x
===
%backward y
===
x.grad = None
%backward x * x * x
===
print(x.grad / 7)
===
print(x.grad / 7)
"""


@pytest.mark.sweep
def test_a_teachers_notebook(tmp_path: Path) -> None:
    """A picture that moved and a number's last digit pass; a wrong gradient fails, in words."""
    needs.package("nbval")
    import nbclient
    import nbformat

    cells = [nbformat.v4.new_code_cell(source.strip()) for source in CELLS.split("===")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    _, one, two, right, wrong = (cell.outputs[0] if cell.outputs else None for cell in notebook.cells)
    one.data["text/html"] = redrawn(one.data["text/html"], moved(scale=1.5))
    two.data["text/html"] = redrawn(two.data["text/html"], lambda svg: svg.replace("=\u00a012.", "=\u00a013."))
    right.text, wrong.text = "tensor(1.7144)\n", "tensor(1.7243)\n"
    nbformat.write(notebook, tmp_path / "lesson.ipynb")
    line = [sys.executable, "-m", "pytest", "-q", "-p", "nbautograd.viz.nbval", "-p", "no:cacheprovider", "--nbval"]
    line += ["--nbval-current-env", "--color=no", "lesson.ipynb"]
    answer = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode == 1 and "2 failed, 3 passed" in answer.stdout, answer.stdout + answer.stderr
    assert "> text: stored '.grad 4. + 4. + 4. = 13.', now '.grad 4. + 4. + 4. = 12.'" in answer.stdout
    assert "stdout: line 1: stored 'tensor(1.7243)', now 'tensor(1.7143)'" in answer.stdout
    assert "base64" not in answer.stdout


def test_nbval_has_the_names_that_the_plugin_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, nbval or pytest has changed: the message says which versions do not work together."""
    needs.package("nbval")
    assert not nbval.missing_names(), nbval.missing_names()
    monkeypatch.setattr(nbval, "USED", (*nbval.USED, "plugin.IPyNbCell.none_such"))
    assert re.fullmatch(r"nbval [\d.]+ under pytest [\d.]+ has no plugin.IPyNbCell.none_such", nbval.missing_names())


def test_two_notebooks_are_compared_without_nbval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def written(name: str, source: str, text: str) -> str:
        output = {"output_type": "stream", "name": "stdout", "text": [text]}
        cell = {"cell_type": "code", "source": [source], "outputs": [output], "execution_count": 1}
        (tmp_path / name).write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": name}, cell]}))
        return str(tmp_path / name)

    stored = written("stored.ipynb", "print(w.grad)", "tensor(1.7143)\n")
    assert nbval.main([stored, written("same.ipynb", "print(w.grad)", "tensor(1.7144)\n")]) == 0
    assert capsys.readouterr().out == "no difference\n"
    assert nbval.main([stored, written("other.ipynb", "print(w.grad)", "tensor(1.8)\n")]) == 1
    assert capsys.readouterr().out == "cell 0: stdout: line 1: stored 'tensor(1.7143)', now 'tensor(1.8)'\n"
    assert nbval.main([stored, written("code.ipynb", "print(w)", "tensor(1.7143)\n")]) == 2
    assert nbval.main([stored]) == 2


def test_every_stored_picture_is_read() -> None:
    """Makes sure that no test above is empty."""
    found: Counter[str] = Counter()
    for _, html in STORED[::4]:
        for statement in statements("text/html", html):
            found[statement.name] += 1
            found[statement.kind] += 1
            assert "base64," not in statement.value
    assert len(STORED) > 100 and len(GRAPHS) > 80
    assert found["joins"] > 300 and found["points"] > 200 and found["color"] > 2000
