"""Check that the programs of the course's bugs do the same under PyTorch, before and after the cure."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from nbautograd.exercises import written
from tests import oracle

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "appendix_bugs.ipynb"
CELLS = {cell["id"]: "".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]}
NUMBERS = [name.removeprefix("try-") for name in CELLS if name.startswith("try-")]


def outcome(torch: Any, number: str, program: str) -> list[Any]:
    """Return the values that the check of a program compares, or its exception."""
    compared: list[Any] = []

    def differs(name: str, got: Any, wanted: Any) -> None:
        compared.append((name, got.detach() if isinstance(got, torch.Tensor) else got))

    torch.manual_seed(0)
    names: dict[str, Any] = {"torch": torch, "same": None}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(CELLS[f"try-{number}"], names)
            exec(program, names)
            exec(written(f"bugs.{number}", "check"), names)
            names["differs"] = differs
            arguments = inspect.signature(names["check"]).parameters
            names["check"](*(names[name] for name in arguments))
    except (RuntimeError, AttributeError, TypeError):
        compared.append("raises")
    return compared


def test_there_are_enough() -> None:
    assert len(NUMBERS) >= 20 and [str(n) for n in range(1, len(NUMBERS) + 1)] == NUMBERS


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", ["try", "answer"])
def test_pytorch_does_the_same(number: str, kind: str) -> None:
    program = CELLS[f"try-{number}"] if kind == "try" else written(f"bugs.{number}", "answer")
    found = oracle.check(outcome, number, program)
    assert found and (kind == "try" or "raises" not in found)


def test_every_bug_has_a_picture() -> None:
    cells = {cell["id"]: cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]}
    for number in NUMBERS:
        shown = json.dumps(cells[f"shows-{number}"]["outputs"])
        assert re.search("data:image/svg", shown), number
