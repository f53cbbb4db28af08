"""Two outputs of a notebook's cell, compared by their content.

An output is read into a list of *statements*: its lines of text, its elements with their attributes, and so for the
drawings inside it, down to the nodes that an edge joins. Two outputs say the same if their statements are the same:

- Words, names, types, classes and order: exactly. The number of blanks before a number or between two words does not
  count, as it changes with a sign; blanks at the start of a line do, as they shape a tree.
- Numbers: to the digits shown. A cut number may differ by one in its last place, or by the tolerance of
  ``torch.testing.assert_close`` for float32, which is more where seventeen digits are shown. A number counts as cut
  if it shows four significant digits, or four decimals in a line whose largest number is worth a hundred of their last
  place. All others are exact: ``2.``, ``0.5``, ``0.0001``, ``1e-3``, ``In [12]``.
- What is below a millionth, and of the largest number in its line, and shows four digits, is rounding: it is zero.
- Colors: to two steps of 255 in each channel, which is less than between any two that mean something.
- Coordinates in a drawing of a graph are only its layout: the comparison reads the connections from them. In other
  drawings they are the data and compared to one pixel, except for the frame, whose width depends on its text.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from html.parser import HTMLParser
from itertools import accumulate, zip_longest
from typing import Any, NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

__all__ = ["PrintedStatement", "differences", "same_text", "statements"]

NUMBER_TOLERANCE = 1.3e-6  # relative: that of torch.testing.assert_close for float32
ROUNDING_ERROR = 1e-6  # relative to the largest number of the line, and to 1
TOLERANCE_PX = 1.0
SHADE_TOLERANCE = 2  # of 255
MAX_GAP_PX = 3.0  # between the end of a line and its box
MAX_DIFFERENCES = 6  # in a message
MAX_ALIGNED_STATEMENTS = 3000  # compared to find added and removed ones

Clean = Callable[[str], str]


class PrintedStatement(NamedTuple):
    """One thing that an output says."""

    place: str
    """The place, in words, for a reader of the message."""
    name: str
    """The name of the attribute or key; ``<>`` for an element; empty for a line of text."""
    kind: str
    """``text``, ``color``, ``points`` or ``float``: how it is compared."""
    value: str

    def same(self, other: PrintedStatement) -> bool:
        """Return whether the other has the same content, at any place."""
        if (self.name, self.kind) != (other.name, other.kind):
            return False
        return self.value == other.value or SAME[self.kind](self.value, other.value)

    def __str__(self) -> str:
        value = repr((self.value if len(self.value) <= 200 else self.value[:199] + "…").replace("\u00a0", " "))
        return f"{self.name} {value}" if self.name not in ("", "<>") else value


def differences(mime: str, stored: Any, now: Any, clean: Clean = str) -> list[str]:
    r"""Return the differences between two outputs of one MIME type, a line for each; none if they are equal.

    :param stored: a text, or data of a JSON file.
    :param now: the same, of another run.
    :param clean: takes out of a text what is not to be compared, such as addresses.

    >>> differences("text/plain", "tensor([0.3333, 2.0000])", "tensor([0.3334, 2.0000])")
    []
    >>> differences("text/plain", "y\ntensor([2., 3.])", "y\ntensor([2., 4.])")
    ["line 2: stored 'tensor([2., 3.])', now 'tensor([2., 4.])'"]
    >>> differences("text/html", "<tr><th>w</th><td>5.</td></tr>", "<tr><th>w</th><td>6.</td></tr>")
    ["row 'w' > td: stored '5.', now '6.'"]
    """
    if stored == now:
        return []
    one, two = list(statements(mime, stored, clean)), list(statements(mime, now, clean))
    if len(one) == len(two) and all(a.same(b) for a, b in zip(one, two, strict=True)):
        return []
    differing = list(_apart(one, two))
    more = len(differing) - MAX_DIFFERENCES
    return differing[:MAX_DIFFERENCES] + [f"and {more} more"] * (more > 0)


def statements(mime: str, output: Any, clean: Clean = str) -> Iterator[PrintedStatement]:
    """Yield the statements of an output."""
    if not isinstance(output, str):
        yield from _json_statements(output, "", clean)
    elif mime == "text/html":
        yield from _html(output, "", clean)
    elif mime == "image/svg+xml":
        yield from _svg_statements(output, "", clean)
    else:
        for number, line in enumerate(clean(output).split("\n"), 1):
            yield PrintedStatement(f"line {number}", "", "text", line)


def _apart(one: list[PrintedStatement], two: list[PrintedStatement]) -> Iterator[str]:
    """Describe the differences: changed, removed and added parts."""
    start = _common_start(one, two)
    one, two = one[start:], two[start:]
    end = _common_start(one[::-1], two[::-1])
    one, two = one[: len(one) - end], two[: len(two) - end]
    codes: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(one), 0, len(two))]
    if len(one) != len(two) and max(len(one), len(two)) <= MAX_ALIGNED_STATEMENTS:
        codes = SequenceMatcher(None, [*map(_key, one)], [*map(_key, two)], autojunk=False).get_opcodes()
    for _, i, j, k, m in codes:
        for a, b in zip_longest(one[i:j], two[k:m]):
            if a is None or b is None or not a.same(b):
                place = (a or b).place
                yield f"{place + ': ' if place else ''}stored {a or 'nothing'}, now {b or 'nothing'}"


def _common_start(one: Sequence[PrintedStatement], two: Sequence[PrintedStatement]) -> int:
    """Count the statements at the start that are the same."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((i for i, (a, b) in pairs if not a.same(b)), min(len(one), len(two)))


def _key(statement: PrintedStatement) -> tuple[str, str, str]:
    """Return the key that an old and a changed statement share."""
    exact = statement.kind == "text"
    return statement.name, statement.kind, NUMBER.sub("0", statement.value) if exact else ""


# -- text and numbers --------------------------------------------------------------------------------------------------

# Blanks before a number belong to it, and so does a sign unless it follows a name, number or bracket.
NUMBER = re.compile(r"[ \t\u00a0]*((?:(?<![\w.)\]])[+-])?(?<![\w.])\d+(?:\.\d*)?(?:e[+-]?\d+)?)(?=j?(?!\w))", re.I)
BLANKS = re.compile(r"(?<=\S)[ \t\u00a0]+")


class _Number:
    """A number as it is written."""

    def __init__(self, text: str) -> None:
        self.text, self.value = text, float(text)
        mantissa, _, exponent = text.lower().lstrip("+-").partition("e")
        whole, point, fraction = mantissa.partition(".")
        self.integer = not point and not exponent
        self.decimals = len(fraction)
        self.cuttable = bool(fraction or exponent)
        self.digits = len((whole + fraction).lstrip("0"))
        self.place = 10.0 ** (int(exponent or 0) - len(fraction))

    def cut(self, largest: float) -> bool:
        """Return whether there may be further digits, which are not shown."""
        if self.digits >= 4:
            return self.cuttable
        return self.decimals >= 4 and largest >= 99.5 * self.place

    def same(self, other: _Number, largest: float) -> bool:
        """Return whether both are the same number up to another processor's last digit.

        :param largest: of the numbers with a point in the same line.
        """
        places = [number.place for number in (self, other) if number.cut(largest)]
        if not places:
            return self.text.lstrip("+") == other.text.lstrip("+")
        size = max(abs(self.value), abs(other.value))
        shown = all(number.digits >= 4 or number.value == 0 for number in (self, other))
        if shown and size <= ROUNDING_ERROR * min(1.0, largest):
            return True
        return abs(self.value - other.value) <= 1.000001 * max(*places, NUMBER_TOLERANCE * size)


def same_text(one: str, two: str) -> bool:
    """Return whether two lines have the same text.

    >>> same_text("mean -1.343e-08 · max 2.81", "mean 3.387e-07 · max 2.809")
    True
    >>> same_text(".grad 2.", ".grad 3."), same_text("lr 0.0001", "lr 0.0002"), same_text("tensor(4)", "tensor(4.)")
    (False, False, False)
    """
    if one == two:
        return True
    words, others = NUMBER.split(one), NUMBER.split(two)
    if len(words) != len(others):
        return False
    if any(BLANKS.sub(" ", a) != BLANKS.sub(" ", b) for a, b in zip(words[::2], others[::2], strict=True)):
        return False
    pairs = [(_Number(a), _Number(b)) for a, b in zip(words[1::2], others[1::2], strict=True)]
    largest = max((abs(n.value) for pair in pairs for n in pair if not n.integer), default=0.0)
    return all(a.text == b.text or a.same(b, largest) for a, b in pairs)


def _same_float(one: str, two: str) -> bool:
    a, b = float(one), float(two)
    return abs(a - b) <= max(NUMBER_TOLERANCE * max(abs(a), abs(b)), ROUNDING_ERROR)


def _same_color(one: str, two: str) -> bool:
    shades = zip(bytes.fromhex(one[1:]), bytes.fromhex(two[1:]), strict=True)
    return all(abs(a - b) <= SHADE_TOLERANCE for a, b in shades)


def _same_points(one: str, two: str) -> bool:
    a, b = POINT.split(one), POINT.split(two)
    if len(a) != len(b) or any(x.strip(" ,\n") != y.strip(" ,\n") for x, y in zip(a[::2], b[::2], strict=True)):
        return False
    return all(abs(float(x) - float(y)) <= TOLERANCE_PX for x, y in zip(a[1::2], b[1::2], strict=True))


POINT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)")
COLOUR = re.compile(r"#[0-9a-fA-F]{6}")
SAME: Mapping[str, Callable[[str, str], bool]] = {
    "text": same_text, "float": _same_float, "color": _same_color, "points": _same_points,
}  # fmt: skip


def _lines(text: str, place: str, name: str = "") -> Iterator[PrintedStatement]:
    for line in text.split("\n"):
        if line.strip():
            yield PrintedStatement(place, name, "text", line)


# -- JSON --------------------------------------------------------------------------------------------------------------


def _json_statements(value: Any, place: str, clean: Clean, name: str = "") -> Iterator[PrintedStatement]:
    if isinstance(value, Mapping):
        yield PrintedStatement(place, name, "text", f"{{{', '.join(map(str, value))}}}")
        for key, part in value.items():
            yield from _json_statements(part, f"{place} > {key}" if place else str(key), clean, str(key))
    elif isinstance(value, list):
        yield PrintedStatement(place, name, "text", f"{len(value)} items")
        for number, part in enumerate(value):
            yield from _json_statements(part, f"{place}[{number}]", clean, name)
    elif isinstance(value, str) and value.startswith("<svg"):
        yield from _svg_statements(value, place, clean)
    elif isinstance(value, str):
        yield from _lines(clean(value), place, name)
    else:
        yield PrintedStatement(place, name, "float" if isinstance(value, float) else "text", str(value))


# -- HTML --------------------------------------------------------------------------------------------------------------

DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w.=+-]+)*?)(;base64)?,(.*)", re.S)
ENCODED = re.compile(r"(base64,[A-Za-z0-9+/=\s]+)")
VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"))


def _html(text: str, place: str, clean: Clean) -> Iterator[PrintedStatement]:
    pieces = ENCODED.split(text)  # before decoding, a pattern may occur in an image by chance
    pieces[::2] = map(clean, pieces[::2])
    reader = _OutputReader("".join(pieces), place, clean)
    yield from reader.statements


class _OutputReader(HTMLParser):
    """Reads HTML; drawings in it are read as drawings, pages in frames as pages."""

    def __init__(self, text: str, place: str, clean: Clean) -> None:
        super().__init__()
        self.text, self.outer, self.clean = text, place, clean
        self.statements: list[PrintedStatement] = []
        self.open: list[list[str]] = []  # the enclosing elements: [tag, name in messages]
        self.run = ""  # of the text read so far
        self.drawn: int | None = None  # start of the drawing that is being skipped
        self.json = False
        self.starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
        self.feed(text)
        self.close()
        self.flush()

    @property
    def place(self) -> str:
        """Return the position of the reader."""
        return " > ".join(part for part in (self.outer, *(called for _, called in self.open)) if part)

    @property
    def at(self) -> int:
        line, column = self.getpos()
        return self.starts[line - 1] + column

    def say(self, name: str, value: str) -> None:
        self.statements.append(PrintedStatement(self.place, name, "text", value))

    def flush(self) -> None:
        """Finish the text read so far."""
        run, self.run = self.run, ""
        if not run.strip():
            return
        if self.json:
            try:
                self.statements += _json_statements(json.loads(run), self.place, self.clean)
                return
            except ValueError:
                pass
        self.statements += _lines(run, self.place)
        if self.open and self.open[-1][0] == "th" and len(self.open) > 1 and self.open[-2][0] == "tr":
            self.open[-2][1] = f"row {run!r}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.drawn is not None:
            return
        self.flush()
        if tag == "svg":
            self.drawn = self.at
            return
        known = {name: value or "" for name, value in attrs}
        self.open.append([tag, tag])
        self.say("<>", f"<{tag}>")
        self.json = tag == "script" and known.get("type", "").endswith("json")
        for name, value in sorted(known.items()):
            source = DATA.fullmatch(value) if name in ("src", "href") else None
            if source is not None:
                caption = known.get("alt", "").partition("\n")[0]
                self.statements += _data(source, f"{self.place} {caption!r}", self.clean)
            elif name == "srcdoc":
                self.statements += _html(value, self.place, self.clean)
            else:
                self.statements += _lines(value, self.place, name)
        if tag in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if self.drawn is not None:
            if tag == "svg":
                end = self.text.index(">", self.at) + 1
                self.statements += _svg_statements(self.text[self.drawn : end], self.place, str)
                self.drawn = None
            return
        self.flush()
        self.json = False
        self.say("<>", f"</{tag}>")
        if any(tag == opened for opened, _ in self.open):
            while self.open.pop()[0] != tag:
                pass

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.drawn is None:
            self.handle_starttag(tag, attrs)
            if tag not in VOID:
                self.handle_endtag(tag)

    def handle_data(self, data: str) -> None:
        if self.drawn is None:
            self.run += data


def _data(source: re.Match[str], place: str, clean: Clean) -> Iterator[PrintedStatement]:
    """Yield the content of a ``data:`` address; of pixels only their presence, as nbval compares none."""
    mime, _, encoded, body = source.groups()
    mime = mime or "text/plain"
    yield PrintedStatement(place, "<>", "text", mime)
    if not mime.startswith(("text/", "image/svg")):
        return
    try:
        text = base64.b64decode(body, validate=True).decode("utf-8") if encoded else unquote(body)
    except (binascii.Error, UnicodeDecodeError):
        yield PrintedStatement(place, "base64", "text", body)
        return
    for statement in statements(mime, text, clean):
        yield statement._replace(place=f"{place} > {statement.place}")


# -- drawings ----------------------------------------------------------------------------------------------------------

_LAYOUT = "x y x1 y1 x2 y2 dx dy cx cy r rx ry refX refY width height viewBox d points transform"
LAYOUT = frozenset(_LAYOUT.split())
DIGEST = re.compile(r"\bnb[0-9a-f]{10}\b")
"""The beginning of the ids of a drawing, which its coordinates determine."""
REFERS = frozenset({"aria-labelledby", "aria-describedby", "href", "{http://www.w3.org/1999/xlink}href"})


def _svg_statements(text: str, place: str, clean: Clean) -> Iterator[PrintedStatement]:
    text = clean(text)
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError:
        yield from _lines(text, place)
        return
    elements = list(root.iter())
    names = {key: f"id {number}" for number, key in enumerate(e.get("id") for e in elements) if key is not None}
    graph = any("data-node" in e.attrib or e.get("class") == "node" for e in elements)
    frame = next((e for e in root if _tag(e) == "rect"), None)
    yield from _element_statements(root, place, _Drawing(names, graph, (root, frame), _boxes(root) if graph else {}))


class _Drawing(NamedTuple):
    names: Mapping[str, str]
    graph: bool
    framing: tuple[Any, ...]
    boxes: Mapping[str, tuple[float, float, float, float]]

    def attribute(self, place: str, element: Any, name: str, value: str) -> Iterator[PrintedStatement]:
        """Yield the statements of an attribute."""
        name = name.rpartition("}")[2]
        if name in LAYOUT:
            if not self.graph and all(element is not other for other in self.framing):
                yield PrintedStatement(place, name, "points", value)
        elif COLOUR.fullmatch(value):
            yield PrintedStatement(place, name, "color", value)
        elif name in REFERS or name == "id" or "url(#" in value:
            named = re.sub(r"[\w.:-]+", lambda m: self.names.get(m[0], m[0]), value)
            named = DIGEST.sub("nb", named)  # of an element that a page omits
            yield PrintedStatement(place, name, "text", named)
        else:
            yield from _lines(value, place, name)


def _element_statements(element: Any, place: str, drawing: _Drawing) -> Iterator[PrintedStatement]:
    tag, called = _tag(element), _called(element)
    here = f"{place} > {called}" if place else called
    yield PrintedStatement(here, "<>", "text", f"<{tag}>")
    for name, value in sorted(element.attrib.items()):
        yield from drawing.attribute(here, element, name, value)
    if drawing.boxes and ("data-edge" in element.attrib or "data-flow" in element.attrib):
        ends = [float(number) for number in POINT.findall(element.get("d", ""))]
        joined = [_nearest(drawing.boxes, ends[i], ends[i + 1]) for i in (0, -2)] if len(ends) > 3 else []
        yield PrintedStatement(here, "joins", "text", " and ".join(joined))
    yield from _lines(element.text or "", here)
    for child in element:
        yield from _element_statements(child, here, drawing)
        yield from _lines(child.tail or "", here)
    yield PrintedStatement(here, "<>", "text", f"</{tag}>")


def _called(element: Any) -> str:
    """Return the tag of an element; of a node's, with the first line of the title."""
    tag = _tag(element)
    title = next((child.text or "" for child in element if _tag(child) == "title"), "")
    return f"{tag} {title.partition(chr(10))[0]!r}" if title and element.get("data-node") else tag


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _boxes(root: Any) -> dict[str, tuple[float, float, float, float]]:
    """Left, top, right and bottom of each node."""
    boxes = {}
    for node in root.iter():
        shapes = [e for e in node if e.get("class") == "nb-shape"] if "data-node" in node.attrib else ()
        sides = [[float(e.get(name, 0)) for name in ("x", "y", "width", "height")] for e in shapes]
        if sides:
            boxes[node.get("data-node")] = (
                min(x for x, _, _, _ in sides), min(y for _, y, _, _ in sides),
                max(x + w for x, _, w, _ in sides), max(y + h for _, y, _, h in sides),
            )  # fmt: skip
    return boxes


def _nearest(boxes: Mapping[str, tuple[float, float, float, float]], x: float, y: float) -> str:
    """The node at whose box a line ends; ``no box`` for a line that joins another line, or a bare number."""

    def away(box: tuple[float, float, float, float]) -> float:
        return max(box[0] - x, x - box[2], box[1] - y, y - box[3], 0.0)

    key = min(boxes, key=lambda node: away(boxes[node]))
    return key if away(boxes[key]) <= MAX_GAP_PX else "no box"
