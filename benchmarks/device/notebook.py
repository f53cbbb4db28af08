"""The course's notebook about CUDA, executed where it is said to run, and kept with its output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from .child import Child
from .journal import REHEARSAL

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "13_cuda.ipynb"
ENTER = "import sys; sys.path[:0] = {paths!r}\nfrom device import stand_in; stand_in.enter()"


def run(child: Child) -> None:
    """Execute all cells, and store the notebook with its outputs beside the other results."""
    child.each({NOTEBOOK.name: lambda: executed(child)})


def executed(child: Child) -> dict[str, Any]:
    """Return the results of its cells; a cell that raises stops no other."""
    import nbformat
    from nbclient import NotebookClient

    sys.path.insert(0, str(ROOT / "notebooks"))
    from refresh import clean

    notebook = nbformat.read(NOTEBOOK, 4)
    paths = [str(ROOT), str(ROOT / "benchmarks")]
    source = ENTER.format(paths=paths) if child.rehearsal else f"import sys; sys.path[:0] = {paths!r}"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(source))
    folder = {"metadata": {"path": str(NOTEBOOK.parent)}}
    client = NotebookClient(notebook, timeout=120, allow_errors=True, coalesce_streams=True, resources=folder)
    client.execute()
    first = notebook.cells.pop(0)
    clean(notebook)
    if child.rehearsal:
        notebook.cells.insert(0, nbformat.v4.new_markdown_cell(f"*{REHEARSAL}*"))
    nbformat.write(notebook, child.folder / NOTEBOOK.name)
    outputs = [output for cell in (first, *notebook.cells) for output in cell.get("outputs", [])]
    errors = [f"{output.ename}: {output.evalue}" for output in outputs if output.output_type == "error"]
    printed = "".join(output.text for output in outputs if output.output_type == "stream")
    cells = sum(cell.cell_type == "code" for cell in notebook.cells)
    result = {"cells": cells, "errors": errors[:5], "on_cuda": "running on cuda" in printed}
    if errors or not result["on_cuda"]:
        result |= {"status": "failed", "message": "; ".join(errors) or "it did not run on the device"}
    return result
