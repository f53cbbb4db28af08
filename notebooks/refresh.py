"""Run notebooks and store their outputs: ``python notebooks/refresh.py [NOTEBOOK ...]`` (all of them by default).

With ``--check`` nothing is run or written: it fails for a notebook that is not in its stored form.

The English notebook is the source of the code: its code cells are first carried, by cell id, into the Chinese one of
the same name under ``zh/``. Their comments and texts are translated as ``zh/code.toml`` says, and the first cell has a
line more, which chooses the language. What differs from run to run (times, widget models) is not stored, so that
running this twice changes nothing.
"""

import sys
import tomllib
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import tests.one_cpu  # noqa: E402, F401  # outputs are stored as every processor computes them

CHINESE = "\n%autograd --language 中文"
WIDGET = "application/vnd.jupyter.widget-view+json"  # without its kernel it shows only an error
PASS = "application/vnd.nbautograd.pass+json"  # compressed: its bytes depend on zlib's version


def words_of(name: str, everywhere: bool = True) -> dict[str, str]:
    """Return the words for people in the code of a notebook, English and Chinese: comments and texts."""
    tables = tomllib.loads((HERE / "zh" / "code.toml").read_text(encoding="utf-8"))
    return (tables["everywhere"] if everywhere else {}) | tables.get(name, {})


def translated(code: str, words: dict[str, str]) -> str:
    """The code of a cell with its comments and texts in the other language; the longer ones first.

    >>> translated("print('twice')  # twice", {"# twice": "# 两次", "'twice'": "'两次'"})
    "print('两次')  # 两次"
    """
    for english in sorted(words, key=len, reverse=True):
        code = code.replace(english, words[english])
    return code


def carry(source: Path, target: Path) -> None:
    """Copy the code cells of one notebook into those with the same ids of its translation."""
    words = words_of(source.stem)
    code = {cell.id: cell for cell in nbformat.read(source, 4).cells if cell.cell_type == "code"}
    notebook = nbformat.read(target, 4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if [cell.id for cell in cells] != list(code):
        missing = sorted({cell.id for cell in cells} ^ set(code)) or "none, but their order differs"
        raise SystemExit(f"{target} and {source} do not have the same code cells; in one of them only: {missing}")
    for cell in cells:
        cell.source = translated(code[cell.id].source, words) + (CHINESE if cell.id == "setup" else "")
        cell.metadata = code[cell.id].metadata
    nbformat.write(notebook, target)


def is_only_a_widget(output: nbformat.NotebookNode) -> bool:
    """Return whether an output shows nothing without its kernel: controls, such as sliders, have no picture."""
    data = output.get("data", {})
    return WIDGET in data and "text/html" not in data


def clean(notebook: nbformat.NotebookNode) -> None:
    """Remove parts that vary between runs, or need a kernel."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if not is_only_a_widget(output)]
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)
            output.get("data", {}).pop(PASS, None)
            output.get("metadata", {}).pop(WIDGET, None)
    notebook.metadata.pop("widgets", None)
    notebook.metadata.get("language_info", {}).pop("version", None)


def is_stored_form(path: Path) -> bool:
    """Guess, without running the notebook, whether a run would leave it unchanged."""
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, 4)
    clean(notebook)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    return nbformat.writes(notebook) + "\n" == text and counts == [*range(1, len(counts) + 1)]


def run(path: Path) -> None:
    """Execute a notebook in its own folder and write it back with the outputs that stay the same."""
    notebook = nbformat.read(path, 4)
    folder = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=300, coalesce_streams=True, resources=folder).execute()
    clean(notebook)
    nbformat.write(notebook, path)
    print(path.relative_to(HERE.parent), f"{path.stat().st_size / 1000:.0f} kB")


def main(names: list[str]) -> None:
    """Refresh these notebooks, or all, each with its translation."""
    if "--check" in names:
        paths = [Path(name) for name in names if name != "--check"] or sorted(HERE.rglob("[!.]*.ipynb"))
        wrong = [path.name for path in paths if not is_stored_form(path)]
        if wrong:
            raise SystemExit(f"not as notebooks/refresh.py stores them: {', '.join(wrong)}")
        return
    for path in [Path(name).resolve() for name in names] or sorted(HERE.glob("*.ipynb")):
        run(path)
        translation = HERE / "zh" / path.name
        if path.parent == HERE and translation.exists():
            carry(path, translation)
            run(translation)


if __name__ == "__main__":
    main(sys.argv[1:])
