"""Random programs have the same outcomes as under PyTorch: values, gradients, dtypes, shapes, strides, flags, nodes.

``programs.txt`` holds those that a seed wrote once, so that PyTorch's outcomes can be stored. The long profile writes
new ones, and fails if they disagree in a way that ``accepted.txt`` does not name. ``campaign.py`` runs any number.
"""

from __future__ import annotations

from typing import Any

import pytest

import nbautograd as nb
from tests import needs, oracle
from tests.product.fuzz.campaign import accepted, programs
from tests.product.fuzz.guard import LONG
from tests.product.fuzz.running import compared, outcomes, ran, values_of

PROGRAMS = programs()
AT_ONCE = 10


def facts(T: Any, text: str) -> Any:
    return outcomes(T, text)[0]


def values(T: Any, text: str) -> Any:
    return values_of(outcomes(T, text)[1])


@pytest.mark.parametrize("first", range(0, len(PROGRAMS), AT_ONCE))
def test_stored_programs(first: int) -> None:
    for text in PROGRAMS[first : first + AT_ONCE]:
        theirs = oracle.answer(facts, text, exact=True), oracle.answer(values, text)
        found = compared(text, ran(nb, text), theirs)
        assert found is None, f"{found}\n{text}"


if LONG:

    @pytest.mark.parametrize("first", range(0, 1000, 100))
    def test_new_programs(first: int) -> None:
        needs.package("torch")
        needs.package("expecttest")
        from tests.product.fuzz.campaign import examined
        from tests.product.fuzz.writing import program

        patterns = [pattern for pattern, _ in accepted()]
        groups = {}
        for seed in range(first, first + 100):
            found = examined(program(seed))
            if found is not None and not any(pattern.search(found.group) for pattern in patterns):
                groups[seed] = found
        assert not groups, "\n".join(f"seed {seed}: {found}" for seed, found in groups.items())


def test_each_accepted_group_has_a_reason() -> None:
    for pattern, reason in accepted():
        assert reason, pattern.pattern


@pytest.mark.parametrize(
    ("line", "group"),
    [
        ("r = T.ones(2).sum() + 1e-3", "values"),
        ("r = T.ones(2, dtype=T.float64)", "dtype"),
        ("r = T.ones(2, requires_grad=True)", "requires_grad"),
        ("r = T.ones(2)[5]", "IndexError, PyTorch's no error"),
    ],
)
def test_differences_are_seen(line: str, group: str) -> None:
    """Compare a program with another one, which has another outcome."""
    other = "r = T.ones(2).sum()" if group == "values" else "r = T.ones(2)"
    found = compared(line, ran(nb, line), ran(nb, other))
    assert found is not None and group in found.group
