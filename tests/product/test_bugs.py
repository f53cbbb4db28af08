"""The bugs of the course: under PyTorch the programs do what they do here, before the cure and after it."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests import oracle

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "appendix_bugs.ipynb"
CELLS = {cell["id"]: "".join(cell["source"]) for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]}
NUMBERS = [name.removeprefix("try-") for name in CELLS if name.startswith("try-")]


def outcome(torch: Any, number: str, program: str) -> list[Any]:
    """Return what the check of a program compares, or that the program raises."""
    compared: list[Any] = []

    def differs(name: str, got: Any, wanted: Any) -> None:
        compared.append((name, got.detach() if isinstance(got, torch.Tensor) else got))

    def exercise(number: int, answer: Any, untouched: bool = False) -> Any:
        return lambda check: check(answer)

    torch.manual_seed(0)
    names = {"torch": torch, "differs": differs, "exercise": exercise}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(CELLS[f"try-{number}"], names)
            exec(program, names)
            exec(CELLS[f"check-{number}"], names)
    except (RuntimeError, AttributeError, TypeError):
        compared.append("raises")
    return compared


def test_there_are_enough() -> None:
    assert len(NUMBERS) >= 20 and [str(n) for n in range(1, len(NUMBERS) + 1)] == NUMBERS


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", ["try", "answer"])
def test_pytorch_does_the_same(number: str, kind: str) -> None:
    found = oracle.check(outcome, number, CELLS[f"{kind}-{number}"])
    assert found and (kind == "try" or "raises" not in found)


def test_every_bug_has_a_picture() -> None:
    cells = {cell["id"]: cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]}
    for number in NUMBERS:
        shown = json.dumps(cells[f"shows-{number}"]["outputs"])
        assert re.search("data:image/svg", shown), number
