"""Draw ``docs/layers.svg``, the layers of the package, from the list that ``tests/product/test_layers.py`` enforces.

python docs/layers.py
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.product.test_layers import LAYERS, SEEN_BY_VIZ  # noqa: E402

PAGE = ROOT / "docs" / "layers.svg"
ABOUT = {
    "nbautograd": "the public names",
    "nbautograd.cli": "the command, and the course",
    "nbautograd.exercises": "exercises that check answers",
    "nbautograd._compat": "parity: what else PyTorch has, as it is on one device",
    "nbautograd.nn": "networks",
    "nbautograd.linalg": "namespaces of the engine",
    "nbautograd.autograd": "backward, grad, Function, hooks",
    "nbautograd._engine.ops": "the operations, one declaration each, by family",
    "nbautograd._engine.rng": "random streams, bit for bit",
    "nbautograd._engine.batching": "vmap: operations on a whole batch, sample for sample",
    "nbautograd._engine.compiler": "@op: from a declaration to the functions that run",
    "nbautograd._engine.fusion": "large elementwise expressions, tiled and fused",
    "nbautograd._engine.core": "tensors and nodes, views and in-place writes, modes",
    "nbautograd._engine.arrays": "arrays: their devices and their memory layout",
    "nbautograd.errors": "what everybody may know",
}
WIDE, LEFT, RIGHT = 860, 20, 610
MONO = "ui-monospace, 'DejaVu Sans Mono', monospace"


def lines(names: list[str], most: int = 66) -> list[str]:
    """Names, in lines that fit."""
    found = [""]
    for name in names:
        if len(found[-1]) + len(name) + 2 > most:
            found.append("")
        found[-1] += (", " if found[-1] else "") + name
    return found


def text(x: float, y: float, words: str, size: int, ink: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{ink}" {more}>{escape(words)}</text>'


def there(name: str) -> bool:
    """Return whether the package has a module or a package of this name: some layers name future ones."""
    path = ROOT.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def box(y: float, names: set[str]) -> tuple[str, float]:
    """One layer, and how high it is."""
    about = next(ABOUT[name] for name in ABOUT if name in names)
    inside = lines(sorted(name.removeprefix("nbautograd.") for name in names if there(name)))
    height = 32 + 17 * len(inside)
    parts = [
        f'<rect x="{LEFT}" y="{y:g}" width="{RIGHT - LEFT}" height="{height}" rx="8" fill="#fff" stroke="#9aa5b1"/>'
    ]
    parts.append(text(LEFT + 14, y + 20, about, 13, "#4b5763"))
    for number, line in enumerate(inside):
        parts.append(text(LEFT + 14, y + 39 + 17 * number, line, 13, "#0b3d6b", f'font-family="{MONO}"'))
    return "".join(parts), height


def drawn() -> str:
    """The picture."""
    y, parts = 20.0, []
    for names in reversed(LAYERS):
        part, height = box(y, names)
        parts.append(part)
        y += height + 10
    seen = sorted(name.removeprefix("nbautograd.") for name in SEEN_BY_VIZ)
    bottom, x, right = y - 10, RIGHT + 30, WIDE - 20
    parts.append(
        f'<rect x="{x}" y="20" width="{right - x}" height="{y - 30:g}" rx="8" fill="#f4efff" stroke="#8b6fd6"/>'
    )
    words = ["viz", "pictures, players, magics", "", "imports of all this only", *seen]
    for number, line in enumerate(words):
        more = f'font-family="{MONO}" font-weight="600"' if number == 0 or line in seen else ""
        parts.append(text(x + 14, bottom - 14 + 20 * (number + 1 - len(words)), line, 13, "#43307a", more))
    parts.append(f'<path d="M{x} {bottom - 28}h-24l7 -5m-7 5l7 5" fill="none" stroke="#43307a" stroke-width="1.6"/>')
    parts.append(text(LEFT, y + 14, "A module imports from its own layer or from those below it.", 13, "#4b5763"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {y + 30:g}" width="{WIDE}" height="{y + 30:g}" '
        f'role="img" font-family="system-ui, sans-serif"><title>The layers of nbautograd</title>'
        f'<rect width="100%" height="100%" rx="12" fill="#eef1f4"/>' + "\n".join(parts) + "</svg>\n"
    )


if __name__ == "__main__":
    PAGE.write_text(drawn(), encoding="utf-8")
