"""Files of safetensors, beside its own library; damaged ones raise."""

from __future__ import annotations

import io
import json
import os
import struct

import pytest

import nbautograd as nb
from nbautograd.serialization import FileFormatError, load_safetensors, save_safetensors
from tests import needs


def test_safetensors_with_its_own_library(tmp_path):
    safetensors = needs.package("safetensors")
    needs.package("torch")
    from safetensors.torch import load_file, save_file

    names = [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
    ]
    ours = {name: nb.arange(6).reshape(2, 3).t().to(getattr(nb, name)) for name in names}
    ours |= {"0": nb.ones(()), "e": nb.ones(0, 2)}
    nb.save(ours, tmp_path / "ours.safetensors")
    theirs = load_file(tmp_path / "ours.safetensors")
    assert {k: (str(t.dtype), t.tolist()) for k, t in theirs.items()} == {
        k: (str(t.dtype), t.tolist()) for k, t in ours.items()
    }
    save_file({k: t.contiguous() for k, t in theirs.items()}, tmp_path / "theirs.safetensors", {"format": "pt"})
    for read in (nb.load, load_safetensors):
        back = read(tmp_path / "theirs.safetensors")
        assert back.keys() == ours.keys()
        assert all((t.dtype, t.tolist()) == (ours[k].dtype, ours[k].tolist()) for k, t in back.items())
    save_safetensors(ours, tmp_path / "x.safetensors", {"a": "b"})
    with safetensors.safe_open(tmp_path / "x.safetensors", "pt") as file:
        assert file.metadata() == {"a": "b"}


def safe(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"abc",
        safe({"a": ENTRY}),
        safe({"a": ENTRY}, bytes(9)),
        safe({"a": ENTRY | {"shape": [3]}}, bytes(8)),
        safe({"a": ENTRY | {"shape": [-2]}}, bytes(8)),
        safe({"a": ENTRY | {"shape": [2**40, 2**40]}}, bytes(8)),
        safe({"a": ENTRY | {"dtype": "F8_E4M3"}}, bytes(8)),
        safe({"a": ENTRY | {"data_offsets": [8, 0]}}, bytes(8)),
        safe({"a": ENTRY, "b": ENTRY}, bytes(8)),
        safe({"a": ENTRY, "b": ENTRY | {"data_offsets": [12, 20]}}, bytes(20)),
        safe({"a": {}}, bytes(8)),
        safe({"a": 3}, bytes(8)),
        safe([1], bytes(8)),
        safe(b'{"a":', bytes(8)),
        safe(b'{"a": 1, "a": 1}', bytes(8)),
        safe(b"\xff\xff", bytes(8)),
        struct.pack("<Q", 2**60) + b"{}",
    ],
)
def test_damaged_safetensors(data):
    with pytest.raises(FileFormatError, match="safetensors"):
        load_safetensors(io.BytesIO(data))


def test_what_safetensors_cannot_hold(tmp_path):
    for obj, error in (
        ([nb.ones(2)], TypeError),
        ({"a": 1}, TypeError),
        ({1: nb.ones(2)}, TypeError),
        ({"__metadata__": nb.ones(2)}, ValueError),
        ({"a": nb.ones(2, dtype=nb.complex128)}, ValueError),
    ):
        with pytest.raises(error, match="save_safetensors"):
            nb.save(obj, tmp_path / "x.safetensors")
    assert os.listdir(tmp_path) == []
