"""Old scripts print the same under both libraries, and say what PyTorch warns of."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

import nbautograd
from tests import needs
from tests.idioms.scripts import SCRIPTS


def printed(library: Any, name: str) -> tuple[list[str], set[str]]:
    """What a script prints, and how the warnings begin that it gives."""
    lines: list[str] = []
    library.manual_seed(1)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        if library is not nbautograd:
            library.set_warn_always(True)
        try:
            SCRIPTS[name](library, lines.append)
        finally:
            if library is not nbautograd:
                library.set_warn_always(False)
    return lines, {re.split(r"[:.\n]", str(each.message))[0][:40] for each in given}


NUMBER = re.compile(r"-?\d+\.\d+")


@pytest.mark.parametrize("name", SCRIPTS)
def test_old_scripts(name: str) -> None:
    theirs, warned = printed(needs.package("torch"), name)
    ours, said = printed(nbautograd, name)
    assert [NUMBER.sub("#", line) for line in ours] == [NUMBER.sub("#", line) for line in theirs]
    numbers = [[float(n) for line in lines for n in NUMBER.findall(line)] for lines in (ours, theirs)]
    assert numbers[0] == pytest.approx(numbers[1], rel=2e-4, abs=2e-4) and len(ours) >= 3
    assert warned - said == set()


def test_while_standing_in() -> None:
    lines: list[str] = []
    with nbautograd.standing_in(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch

        torch.manual_seed(1)
        SCRIPTS["by_hand"](torch, lines.append)
    assert lines == printed(nbautograd, "by_hand")[0]
