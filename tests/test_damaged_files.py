"""Files that are cut short, changed or forged: told, or harmless."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd.serialization import FileFormatError
from tests.serialized import Custom, equal, loaded, saved

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


def forged(**changes):
    """A file that is whole but lies about its tensor."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(nb.ones(4)))) as old, zipfile.ZipFile(file, "w") as new:
        structure = json.loads(old.read("structure.json"))
        structure["tensors"][0].update(changes)
        new.writestr("structure.json", json.dumps(structure))
        new.writestr("memory/0.npy", old.read("memory/0.npy"))
    return file.getvalue()


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [400]},
        {"shape": [-4]},
        {"shape": [2**62, 4], "strides": [1, 1]},
        {"shape": ["4"]},
        {"strides": [1000]},
        {"strides": [-1]},
        {"strides": []},
        {"offset": -4},
        {"offset": 1000},
        {"offset": 4},
        {"memory": 7},
        {"memory": "0/../../etc"},
        {"dtype": "object"},
        {"dtype": "int64"},
        {"dtype": "int32", "requires_grad": True},
        {"type": 3, "device": 7},
    ],
    ids=str,
)
def test_lies_are_found(changes):
    with pytest.raises(RuntimeError):
        loaded(forged(**changes))


@pytest.mark.parametrize("what", ["__reduce__", "object", "Tensor", "eval"])
def test_unknown_kinds_are_refused(what):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("structure.json", json.dumps({"format": "nbautograd 1", "tensors": [], "object": [what, []]}))
    with pytest.raises(FileFormatError, match=what):
        loaded(file.getvalue())


def test_another_version_and_arrays_of_objects():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("structure.json", json.dumps({"format": "nbautograd 9", "tensors": [], "object": 1}))
    with pytest.raises(FileFormatError, match="'nbautograd 9'"):
        loaded(file.getvalue())
    evil = io.BytesIO()
    np.save(evil, np.array([Custom()]), allow_pickle=True)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        structure = {"format": "nbautograd 1", "tensors": [], "object": ["array", 0]}
        archive.writestr("structure.json", json.dumps(structure))
        archive.writestr("array/0.npy", evil.getvalue())
    with pytest.raises(FileFormatError, match="Python objects"):
        loaded(file.getvalue())
