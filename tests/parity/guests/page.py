"""The table of guests: for the terminal, and as ``docs/guests.md``."""

from __future__ import annotations

import datetime
import re
from importlib.metadata import version
from pathlib import Path

from tests.parity.guests.compare import TOLERANCE
from tests.parity.guests.guests import KINDS, ROOT, guests
from tests.parity.guests.run import Result

PAGE = ROOT / "docs" / "guests.md"
HEAD = f"""# Guests: packages run under both libraries

Written by `nox -s guests`, which is run before each release.

Each row is a package from the Python Package Index, unchanged. Its parts are short programs that build something with
it, differentiate it and train it for a few steps. They run under PyTorch and under `nbautograd.standing_in()`, each
library in a process of its own, on one core, with the same seeds. A part is equal if all that it computes is: losses,
gradients, parameters and outputs have the same names, shapes and dtypes, whole numbers and strings the same values, and
real numbers lie no further apart than {TOLERANCE[4]:g} of the largest value of their array ({TOLERANCE[8]:g} in
float64). *Apart* is how far they lie at most. *Time* is ours as a multiple of PyTorch's, of the parts that are equal.

The programs are in `tests/parity/guests/`; `python -m tests.parity.guests einops` runs those of one package.
"""
COLUMNS = ("package", "version", "equal", "apart", "time", "run on", "what stops the rest")
Row = tuple[str, ...]


def row(result: Result) -> Row:
    """The cells of a guest's row."""
    guest, equal = result.guest, result.equal
    apart = f"{max(part.apart for part in equal):.0e}" if equal else ""
    time = f"{result.ratio:.1f}" if result.ratio is not None else ""
    counted, today = f"{len(equal)} of {len(result.parts)}", datetime.date.today().isoformat()
    return guest.name, guest.version, counted, apart, time, today, rest(result).replace("|", "/")


def rest(result: Result) -> str:
    """What stops parts, and which: the reason that ``guests.toml`` states, or else what happened."""
    reasons: dict[str, list[str]] = {}
    for part in result.parts:
        if part.problem:
            reasons.setdefault(result.guest.stops.get(part.name, part.problem), []).append(f"`{part.name}`")
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())


def table(rows: list[Row]) -> str:
    """A table in Markdown."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def summary(rows: list[Row]) -> str:
    """How many parts of how many guests are equal."""
    counts = [tuple(map(int, cells[2].split(" of "))) for cells in rows]
    whole = sum(equal == tried for equal, tried in counts)
    equal, tried = (sum(column) for column in zip(*counts, strict=True))
    return f"{equal} of {tried} parts are equal; {whole} of {len(rows)} guests in all their parts."


def read(path: Path = PAGE) -> dict[str, Row]:
    """The rows of the page as it is, by the names of the guests."""
    lines = re.findall(r"^\| (.* of .*) \|$", path.read_text(encoding="utf-8"), re.MULTILINE) if path.exists() else []
    return {cells[0]: cells for cells in (tuple(line.split(" | ")) for line in lines)}


def page(rows: dict[str, Row]) -> str:
    """The whole page, of the rows that there are."""
    listed = {kind: [rows[g.name] for g in guests() if g.kind == kind and g.name in rows] for kind in KINDS}
    everything = [cells for those in listed.values() for cells in those]
    sections = [HEAD, f"With PyTorch {version('torch')} and NumPy {version('numpy')}, {summary(everything)}"]
    for kind, title in KINDS.items():
        if listed[kind]:
            sections += [
                f"\n## {title}\n",
                f"{len(listed[kind])} {kind}: {summary(listed[kind])}\n",
                table(listed[kind]),
            ]
    return "\n".join(sections) + "\n"


def write(results: list[Result], path: Path = PAGE) -> None:
    """Write the page: the rows of these results, and those of other guests as they were."""
    path.write_text(page(read(path) | {result.guest.name: row(result) for result in results}), encoding="utf-8")
