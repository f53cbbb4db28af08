"""Compare random programs with PyTorch; ``programs.py`` describes them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.engine.autograd.programs import is_over, trace
from tests.engine.autograd.traces import Step, drawn_program_agrees, programs_agree
from tests.product.fuzz.guard import fuzzed


def of_seed(T: Any, seed: int) -> list[Step]:
    return trace(T, random.Random(seed).choice, 60)


def test_some_programs() -> None:
    assert programs_agree(of_seed, is_over, range(40)) > 1100


@pytest.mark.sweep
@pytest.mark.parametrize("block", range(7))
def test_many_programs(block: int) -> None:
    assert programs_agree(of_seed, is_over, range(40 + 80 * block, 120 + 80 * block)) > 2500


@pytest.mark.sweep
@fuzzed(50)
@given(data=st.data(), steps=st.integers(1, 30))
def test_programs_that_can_be_shrunk(data: st.DataObject, steps: int) -> None:
    """Check programs drawn by hypothesis, which finds the shortest program that fails."""
    drawn_program_agrees(lambda T, choose: trace(T, choose, steps), is_over, data)
