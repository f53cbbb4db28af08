"""Random programs of up to 60 steps agree with PyTorch after every step."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import nbautograd
from tests import needs
from tests.autograd.programs import Program
from tests.fuzz.guard import LONG


def programs_agree(first: int, last: int, steps: int) -> None:
    libraries = (nbautograd, needs.package("torch"))
    for seed in range(first, last):
        program = Program(random.Random(seed).choice, libraries)
        for _ in range(steps):
            if not program.advance():
                break


def test_some_programs() -> None:
    programs_agree(0, 40, 60)


@pytest.mark.sweep
def test_many_programs() -> None:
    programs_agree(40, 2000 if LONG else 600, 60)


@pytest.mark.sweep
@settings(
    max_examples=50, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)  # fmt: skip
@given(data=st.data())
def test_programs_that_can_be_shrunk(data: st.DataObject) -> None:
    """The same with hypothesis, which finds the shortest program that fails."""
    program = Program(lambda options: data.draw(st.sampled_from(options)), (nbautograd, needs.package("torch")))
    for _ in range(data.draw(st.integers(1, 30))):
        if not program.advance():
            break
