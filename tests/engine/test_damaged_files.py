"""Files that are cut short, changed or forged: told, or harmless."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd.serialization import FileFormatError
from tests.engine.serialized import Custom, equal, loaded, saved

WHOLE = saved({"a": nb.arange(6.0).reshape(2, 3), "b": [1, 2.5, "text"]})


@given(st.integers(0, len(WHOLE) - 1))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_truncated_files(length):
    with pytest.raises((FileFormatError, EOFError)):
        loaded(WHOLE[:length])


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_damaged_files_are_told_or_harmless(position, change):
    damaged = bytearray(WHOLE)
    damaged[position] ^= change
    try:
        found = loaded(bytes(damaged))
    except (FileFormatError, EOFError):
        return
    assert equal(found, loaded(WHOLE))  # where the file says things twice


def test_arrays_of_objects_are_not_read():
    with pytest.raises(FileFormatError, match="'O8', and only numbers are read"):
        loaded(saved(np.array([Custom()])))
