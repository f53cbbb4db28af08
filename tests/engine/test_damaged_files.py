"""Load truncated, changed or forged files: an error, or a harmless result."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd.serialization import FileFormatError, pickler
from tests.engine.serialized import Custom, equal, loaded, saved

WHOLE = saved({"a": nb.arange(6.0).reshape(2, 3), "b": [1, 2.5, "text"]})


@given(st.integers(0, len(WHOLE) - 1))
@settings(max_examples=100)
def test_truncated_files(length):
    with pytest.raises((FileFormatError, EOFError)):
        loaded(WHOLE[:length])


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
@settings(max_examples=300)
def test_damaged_files_are_told_or_harmless(position, change):
    damaged = bytearray(WHOLE)
    damaged[position] ^= change
    try:
        found = loaded(bytes(damaged))
    except (FileFormatError, EOFError):
        return
    assert equal(found, loaded(WHOLE))  # if the file repeats a key


def test_arrays_of_objects_are_not_read():
    with pytest.raises(FileFormatError, match="'O8', and only numbers are read"):
        loaded(saved(np.array([Custom()])))


@pytest.mark.parametrize("name", ["item", "backward", "__class__", "_a", "__reduce_ex__", "sum"])
@pytest.mark.parametrize("make", [nb.ones, lambda n: nb.nn.Parameter(nb.ones(n))])
def test_attributes_do_not_hide_methods(name, make):
    """The attributes of a tensor in a file may have any name but those of methods."""
    tensor = make(2)
    tensor.tag = "its own"
    data = saved(tensor)
    assert loaded(data).tag == "its own"
    forged = rewritten(data, b"tag", name.encode())
    with pytest.raises(FileFormatError, match="sets the attribute"):
        loaded(forged)


def rewritten(data, old, new):
    """A file whose pickle has another text of one byte of length."""
    whole, made = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in whole.namelist():
            content, length = whole.read(name), len(old).to_bytes(4, "little")
            archive.writestr(name, content.replace(length + old, len(new).to_bytes(4, "little") + new))
    return made.getvalue()


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
