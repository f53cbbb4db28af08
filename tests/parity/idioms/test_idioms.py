"""Check that old scripts print the same under both libraries, and report PyTorch's warnings."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import nbautograd
from tests import oracle
from tests.parity.idioms.scripts import SCRIPTS


def printed(library: Any, name: str) -> tuple[list[str], list[Any], set[str]]:
    """Return the output of a script, the tensors behind its numbers, and the beginnings of its warnings."""
    lines: list[str] = []
    tensors: list[Any] = []

    def say(line: str, *numbers: Any) -> None:
        lines.append(line)
        tensors.append([number.clone() for number in numbers])

    library.manual_seed(1)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        if library is not nbautograd:
            library.set_warn_always(True)
        try:
            SCRIPTS[name](library, say)
        finally:
            if library is not nbautograd:
                library.set_warn_always(False)
    return lines, tensors, {re.split(r"[:.\n]", str(each.message))[0][:40] for each in given}


NUMBER = re.compile(r"-?\d+\.\d+")


@pytest.mark.parametrize("name", SCRIPTS)
def test_old_scripts(name: str) -> None:
    lines, tensors, warned = oracle.answer(printed, name).parts
    ours, numbers, said = printed(nbautograd, name)
    assert [NUMBER.sub("#", line) for line in ours] == [NUMBER.sub("#", line) for line in lines] and len(ours) >= 3
    oracle.close(numbers, tensors)
    assert {*warned.parts} <= said


def test_while_standing_in() -> None:
    lines: list[str] = []
    with nbautograd.standing_in(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch

        torch.manual_seed(1)
        SCRIPTS["by_hand"](torch, lambda line, *numbers: lines.append(line))
    assert lines == printed(nbautograd, "by_hand")[0]
