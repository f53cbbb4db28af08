"""The table of guests: for the terminal, and as ``docs/guests.md``."""

from __future__ import annotations

import datetime
from importlib.metadata import version
from pathlib import Path

from tests.guests.compare import TOLERANCE
from tests.guests.guests import KINDS, ROOT
from tests.guests.run import Result

PAGE = ROOT / "docs" / "guests.md"
HEAD = f"""# Guests: packages run under both libraries

Written by `nox -s guests`, which is run before each release; do not edit.

Each row is a package from the Python Package Index, unchanged. Its parts are short programs that build something with
it, differentiate it and train it for a few steps. They run under PyTorch and under `nbautograd.standing_in()`, each
library in a process of its own, on one core, with the same seeds. A part is equal if all that it computes is: losses,
gradients, parameters and outputs have the same names, shapes and dtypes, whole numbers and strings the same values, and
real numbers lie no further apart than {TOLERANCE[4]:g} of the largest value of their array ({TOLERANCE[8]:g} in
float64). *Apart* is how far they lie at most. *Time* is ours as a multiple of PyTorch's, of the parts that are equal.

The programs are in `tests/guests/`; `python -m tests.guests einops` runs those of one package.
"""
COLUMNS = ("package", "version", "equal", "apart", "time", "what stops the rest")


def row(result: Result) -> tuple[str, ...]:
    """The cells of a guest's row."""
    guest, equal = result.guest, result.equal
    apart = f"{max(part.apart for part in equal):.0e}" if equal else ""
    time = f"{result.ratio:.1f}" if result.ratio is not None else ""
    return guest.name, guest.version, f"{len(equal)} of {len(result.parts)}", apart, time, rest(result)


def rest(result: Result) -> str:
    """What stops parts, and which: the reason that ``guests.toml`` states, or else what happened."""
    reasons: dict[str, list[str]] = {}
    for part in result.parts:
        if part.problem:
            reasons.setdefault(result.guest.stops.get(part.name, part.problem), []).append(f"`{part.name}`")
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in reasons.items())


def table(results: list[Result]) -> str:
    """A table in Markdown."""
    rows = [COLUMNS, ("---",) * len(COLUMNS), *map(row, results)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in rows)


def summary(results: list[Result]) -> str:
    """How many parts of how many guests are equal."""
    equal, tried = sum(len(r.equal) for r in results), sum(len(r.parts) for r in results)
    whole = sum(len(r.equal) == len(r.parts) for r in results)
    return f"{equal} of {tried} parts are equal; {whole} of {len(results)} guests in all their parts."


def page(results: list[Result]) -> str:
    """The whole page."""
    today = datetime.date.today().isoformat()
    with_ = f"On {today}, with PyTorch {version('torch')} and NumPy {version('numpy')}: {summary(results)}"
    sections = [HEAD, with_]
    for kind, title in KINDS.items():
        those = [result for result in results if result.guest.kind == kind]
        sections += [f"\n## {title}\n", f"{len(those)} {kind}. {summary(those)}\n", table(those)]
    return "\n".join(sections) + "\n"


def write(results: list[Result], path: Path = PAGE) -> None:
    """Write the page."""
    path.write_text(page(results), encoding="utf-8")
