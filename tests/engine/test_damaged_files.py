"""Files that are cut short, changed or forged: told, or harmless."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd.serialization import FileFormatError, pickler
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


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_a_small_file_of_many_sparse_indices(layout, monkeypatch):
    """Indices whose stride is 0 can claim any number of elements; to check them would take the time of all."""
    sparse = nb.eye(3).to_sparse() if layout == "coo" else nb.eye(3).to_sparse_csr()
    assert equal(loaded(saved(sparse)).to_dense(), nb.eye(3))
    many = nb.zeros(1, 1, dtype=nb.int64).expand(1, 10**12)
    values = nb.ones(1).expand(10**12)
    forged = (many, values, nb.Size([5]), False) if layout == "coo" else (many[0], many[0], values, nb.Size([3, 3]))
    monkeypatch.setattr(pickler, "_parts_of", lambda tensor: forged)
    data = saved(sparse)
    assert len(data) < 2000
    with pytest.raises(FileFormatError, match="more than their memory holds"):
        loaded(data)
