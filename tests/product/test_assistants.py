"""Check texts for readers without pictures: those of passes are short and complete, ``llms.txt`` names real pages."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nbautograd as nb
from nbautograd import viz

from .tutorial_documents import documents

DOCS = Path(__file__).parents[2] / "docs"
TOKENS = 1_000
CHARACTERS = 3  # characters per token, at least: a cautious estimate for English with numbers
MADE = {"api/index.html"}  # during the build of the site


def test_every_link_of_llms_txt_is_a_page() -> None:
    text = (DOCS / "_root" / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    assert [link for link in links if link not in MADE and not (DOCS / link).with_suffix(".md").is_file()] == []


def test_every_function_of_llms_txt_exists() -> None:
    text = (DOCS / "_root" / "llms.txt").read_text(encoding="utf-8")
    names = re.findall(r"viz\.(\w+)\(", text)
    assert len({*names}) > 7 and [name for name in names if not hasattr(viz, name)] == []


LONGEST = """
import contextlib, io, sys
import nbautograd as nb
from nbautograd import viz
from tests.product.tutorial_documents import documents

sys.modules["torch"] = nb
longest, count = 0, 0
for cells in documents().values():
    names = {"torch": nb, "__name__": "__main__"}
    for cell in cells:
        silent = contextlib.redirect_stdout(io.StringIO())
        with silent, contextlib.suppress(Exception), viz.record(namespace=names) as passes:
            exec(compile(cell.code, cell.filename, "exec"), names)
        graphs = [viz.graph(each, namespace=names) for each in names.values() if getattr(each, "grad_fn", None)]
        for shown in [passes, *graphs]:
            count += 1
            longest = max(longest, len(repr(shown)))
print(count, longest)
"""


@pytest.mark.sweep
def test_texts_of_the_tutorials_graphs_are_short() -> None:
    """In a separate process, as the cells of the tutorials change the library."""
    if not documents():
        pytest.skip("needs the tutorial documents: the variable NBAUTOGRAD_SEEDS names their folder")
    done = subprocess.run([sys.executable, "-c", LONGEST], cwd=DOCS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count, longest = map(int, done.stdout.split()[-2:])
    assert count > 100 and longest < TOKENS * CHARACTERS


@pytest.mark.sweep
def test_a_shortened_text_keeps_steps_numbers_error_and_cures() -> None:
    w = nb.tensor([2.0], requires_grad=True)
    with viz.record(namespace={"w": w}) as passes:
        for _ in range(100):
            (w * w).sum().backward()
        y = w.exp()
        y.backward()
        with contextlib.suppress(RuntimeError):
            y.backward()
    text = repr(passes)
    assert len(passes.text) > 5_000 and len(text) < TOKENS * CHARACTERS
    assert re.search(r"1\. Backward pass \d+ starts at", text)
    assert re.search(r"w\.grad was \d+\.; 4\. is added to it", text)
    assert "retain_graph=True" in text and "before this pass" in text
    assert "more lines" in text and text.splitlines()[-1].startswith("Shortened from ")
