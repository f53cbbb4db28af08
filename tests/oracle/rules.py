"""Count comparisons with PyTorch outside ``tests.oracle``, the only place for them; each file's count may only fall.

``python -m tests.oracle.rules`` lowers the counts in ``unconverted.txt`` to the present ones; it raises none.
"""

from __future__ import annotations

import ast
from pathlib import Path

__all__ = ["allowed", "found"]

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("unconverted.txt")
BEFORE = "# file: tolerances and comparisons, questions to a live PyTorch, and why they stay"
COMPARISONS = {"allclose", "approx", "assert_allclose", "isclose"}
TOLERANCES = {"atol", "rtol"}
PYTORCH = {"importorskip", "optional", "package"}  # of needs, with "torch"
ELSEWHERE = (
    "tests/oracle/",
    "tests/parity/guests/packages/",
    "tests/parity/guests/projects/",
)  # programs for PyTorch, run by other tests


def counts(source: str) -> tuple[int, int]:
    """Return the number of comparisons and of live questions to PyTorch in a file."""
    compared = asked = 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
            compared += name in COMPARISONS or any(keyword.arg in TOLERANCES for keyword in node.keywords)
            asked += name in PYTORCH and first == "torch" or name == "live" and _is_oracle(node.func)
        elif isinstance(node, ast.Import):
            asked += any(alias.name.partition(".")[0] == "torch" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            asked += node.level == 0 and (node.module or "").partition(".")[0] == "torch"
    return compared, asked


def _is_oracle(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "oracle"


def found() -> dict[str, tuple[int, int]]:
    """The counts of all files of tests that have any."""
    files = ((path.relative_to(ROOT).as_posix(), path) for path in sorted((ROOT / "tests").rglob("*.py")))
    all_counts = {
        name: counts(path.read_text(encoding="utf-8")) for name, path in files if not name.startswith(ELSEWHERE)
    }
    return {name: pair for name, pair in all_counts.items() if any(pair)}


def allowed() -> dict[str, tuple[int, int, str]]:
    """The counts that each file may have, and why."""
    lines = LIST.read_text(encoding="utf-8").splitlines() if LIST.exists() else []
    table = {}
    for line in lines:
        if not line.startswith("#"):
            name, compared, asked, *why = line.split(None, 3)
            table[name.rstrip(":")] = int(compared), int(asked), *(why or [""])
    return table


def lower() -> None:
    """Write the list: the smaller of the allowed and the present counts."""
    now, table = found(), allowed()
    lines = [BEFORE]
    for name in sorted(now):
        compared, asked, why = table.get(name, (*now[name], "") if not table else (0, 0, ""))
        pair = min(compared, now[name][0]), min(asked, now[name][1])
        if any(pair):
            lines.append(f"{name}: {pair[0]} {pair[1]} {why}".rstrip())
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")
    compared, asked = (sum(pair[i] for pair in now.values()) for i in range(2))
    print(f"{len(lines) - 1} files, {compared} comparisons of their own, {asked} questions to PyTorch")


if __name__ == "__main__":
    lower()
