"""Write the page of a run: the environment, counts of tests, and tables with goals met and missed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

from measuring import table

from .journal import REHEARSAL, Journal
from .schedule import Step

BOTH = "ours and PyTorch's"
HEADS = [
    "", "nbautograd ms", "PyTorch ms", "ratio (quartiles)", "share", f"peak MB, {BOTH}", f"waits, {BOTH}", "kernels",
]  # fmt: skip


def write(journal: Journal, steps: list[Step]) -> Path:
    """Write ``report.md`` from the journal."""
    parts = [heading(journal), summary(journal, steps), tests(journal, steps), speed(journal, steps)]
    parts.append(troubles(journal, steps))
    text = "\n\n".join(part for part in parts if part) + "\n"
    if journal.rehearsal:
        text = re.sub("^(#.*)$", rf"\1 ({REHEARSAL})", text, flags=re.MULTILINE)
    path = journal.folder / "report.md"
    path.write_text(text, encoding="utf-8")
    return path


def facts(journal: Journal) -> dict[str, dict[str, str]]:
    """Return the facts about the machine, by item."""
    return {item: line.get("facts", {}) for item, line in journal.items("facts").items()}


def heading(journal: Journal) -> str:
    """When, on which device, with which versions."""
    known = facts(journal)
    versions, device = known.get("versions", {}), known.get("device", {})
    dates = sorted({x["time"][:10] for x in journal.lines if x["what"] == "step" and "time" in x})
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "nothing has run"
    title = f"# On {device.get('name', 'no device')}, {when}"
    words = [f"{name} {value}" for name, value in versions.items() if name != "date"]
    others = {item: part for item, part in known.items() if item != "versions" and part}
    rows = [[item, "; ".join(f"{k}: {v}" for k, v in part.items())] for item, part in others.items()]
    return "\n\n".join([title, ", ".join(words), table(["", ""], rows) if rows else ""])


def summary(journal: Journal, steps: list[Step]) -> str:
    """Return a line for each step, and the missed goals."""
    rows = []
    for step in steps:
        kinds = Counter(line["status"] for line in journal.items(step.name).values())
        seconds = sum(x["seconds"] for x in journal.lines if x["what"] == "step" and x["step"] == step.name)
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        rows.append([step.name, journal.status(step.name) or "not run", counts, f"{seconds:.0f} s" if seconds else ""])
    wanted = goals(journal, steps)
    missed = [f"- {name}: {goal['goal']}; it is {goal['is']}" for name, goal in wanted if not goal["met"]]
    text = f"Goals: {len(wanted) - len(missed)} of {len(wanted)} met" + ("; missed:" if missed else ".")
    return "\n\n".join(["## Steps", table(["step", "status", "items", "time"], rows), text, "\n".join(missed)]).rstrip()


def goals(journal: Journal, steps: list[Step]) -> list[tuple[str, dict[str, Any]]]:
    """All goals of all rows; of one that could not be measured, that."""
    found = []
    for step in steps:
        for name, line in journal.items(step.name).items() if step.name.startswith("speed: ") else ():
            unmeasured = {"goal": "to be measured", "is": line["status"], "met": False}
            found += [(name, goal) for goal in line.get("figures", {"goals": [unmeasured]})["goals"]]
    return found


def tests(journal: Journal, steps: list[Step]) -> str:
    """Counts of tests by file."""
    total: Counter[str] = Counter()
    for step in steps:
        if step.name.startswith("tests: "):
            total += Counter(line["status"] for line in journal.items(step.name).values())
    words = ", ".join(f"{count} {kind}" for kind, count in total.items())
    return f"## Tests\n\n`pytest -m cuda`: {words or 'none ran'}."


def speed(journal: Journal, steps: list[Step]) -> str:
    """A table for each group of rows."""
    parts = []
    for step in steps:
        lines = {name: x["figures"] for name, x in journal.items(step.name).items() if "figures" in x}
        if step.name.startswith("speed: ") and lines:
            rows = [cells(name, figures) for name, figures in lines.items()]
            used = [i for i in range(len(HEADS)) if i < 4 or any(row[i] for row in rows)]
            copies = {f"{figures['copy_GBs']:.0f}" for figures in lines.values() if "copy_GBs" in figures}
            note = f"A copy on the device: {', '.join(sorted(copies))} GB/s.\n\n" if copies else ""
            text = table([HEADS[i] for i in used], [[row[i] for i in used] for row in rows])
            parts.append(f"### {step.name[7:].capitalize()}\n\n{note}{text}")
    return "\n\n".join(["## Speed", *parts]) if parts else ""


def cells(name: str, figures: dict[str, Any]) -> list[str]:
    """Return a row of the table, marked if it missed its goal."""
    missed = " ".join("missed" for goal in figures["goals"] if not goal["met"])
    low, high = figures["quartiles"]
    share = f"{figures['ours_share']:.0%}" if "ours_share" in figures else ""
    share += f" (PyTorch {figures['torch_share']:.0%})" if "torch_share" in figures else ""
    found = [name + (f" (**{missed}**)" if missed else ""), f"{figures['ours_ms']:.4g}", f"{figures['torch_ms']:.4g}"]
    found += [f"**{figures['ratio']:.2f}** ({low:.2f} to {high:.2f})", share]
    peaks = ", ".join(f"{peak:.1f}" for peak in figures.get("peak_MB") or ())
    early = {True: ", returns early", False: ", waits for the device"}.get(figures.get("returns_early"), "")
    if not figures.get("counts"):
        return [*found, peaks, "; ".join(figures.get("not counted", {}).values()), ""]
    waits, kernels = (", ".join(str(side[what]) for side in figures["counts"]) for what in ("waits", "kernels"))
    names = "; ".join(f"{count} {name}" for name, count in figures["counts"][0]["waits by name"].items())
    return [*found, peaks, waits + early + (f" (ours: {names})" if names else ""), kernels]


def reason(message: str) -> str:
    """The line of a message that says most: of a traceback by pytest the first with an ``E``, else the last."""
    lines = message.strip().splitlines() or [""]
    return next((line[1:].strip() for line in lines if line.startswith("E ")), lines[-1])


def troubles(journal: Journal, steps: list[Step]) -> str:
    """Return the steps that failed, hung or died, with the end of their output."""
    found = []
    for step in steps:
        for item, line in journal.items(step.name).items():
            if line["status"] not in ("passed", "skipped"):
                found.append(f"- {line['status']}: `{item}`: {reason(line.get('message', ''))}"[:400])
        problem = next(
            (x["problem"] for x in reversed(journal.lines) if x["what"] == "step" and x["step"] == step.name), ""
        )
        if problem:
            found.append(f"- {step.name}: {problem}")
    skipped = Counter(
        line.get("message", "").partition("\n")[0]
        for step in steps
        for line in journal.items(step.name).values()
        if line["status"] == "skipped"
    )
    text = "\n".join(found) or "Nothing failed."
    notes = "\n".join(f"- {count} skipped: {reason}" for reason, count in skipped.most_common())
    return f"## What failed\n\n{text}" + (f"\n\n## What was skipped\n\n{notes}" if notes else "")
