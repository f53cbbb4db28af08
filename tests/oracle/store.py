"""PyTorch's answers in files: for each file of tests a zip archive, with JSON and the numbers that it points to.

``tests/stored/networks/nn/test_modules.zip`` has ``answers.json``: PyTorch's version, and by each test the list of its
answers.
Numbers lie apart, all of a dtype in one member, each array once: first the first byte of every number, then the second,
because so they are compressed best. Nothing of it is executed when it is read.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tests.oracle.answers import (
    COUNT,
    LARGE,
    Array,
    Measured,
    MeasuredComplex,
    Named,
    Raised,
    Sample,
    Warned,
    sample_of,
)  # fmt: skip

__all__ = ["FOLDER", "Answers", "dumps", "file_of", "loads", "read", "write"]

TESTS = Path(__file__).parents[1]
FOLDER = TESTS / "stored"
DATE = (2000, 1, 1, 0, 0, 0)  # equal answers give equal files
Answers = dict[str, list[Any]]


def file_of(test_file: str) -> Path:
    """Return where the answers to a file are: to ``tests/ops/test_x.py`` in ``tests/stored/ops/test_x.zip``."""
    return FOLDER / Path(test_file).relative_to("tests").with_suffix(".zip")


class Stored(Mapping[str, list[Any]]):
    """The answers of a file, each decoded when it is first asked for: a process runs few of the tests of a file."""

    def __init__(self, encoded: dict[str, Any], pools: dict[str, bytes]) -> None:
        self.encoded, self.pools = encoded, pools
        self.decoded: Answers = {}

    def __getitem__(self, test: str) -> list[Any]:
        if test not in self.decoded:
            self.decoded[test] = _decoded(self.encoded[test], self.pools)
        return self.decoded[test]

    def __iter__(self) -> Iterator[str]:
        return iter(self.encoded)

    def __len__(self) -> int:
        return len(self.encoded)


@cache
def read(path: Path) -> tuple[str, Mapping[str, list[Any]]]:
    """PyTorch's version and the answers of a file; none where there is no file."""
    return loads(path.read_bytes()) if path.exists() else ("", {})


def write(path: Path, version: str, answers: Mapping[str, list[Any]]) -> None:
    """Write the answers to a file, or remove it if no answers are left."""
    read.cache_clear()
    if answers:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dumps(version, answers))
    else:
        path.unlink(missing_ok=True)


def loads(data: bytes) -> tuple[str, Stored]:
    """PyTorch's version and the answers that a file holds."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = json.loads(archive.read("answers.json"))
        pools = {name: _joined(archive.read(name), np.dtype(name).itemsize) for name in content["dtypes"]}
    return content["version"], Stored(content["answers"], pools)


def dumps(version: str, answers: Mapping[str, list[Any]]) -> bytes:
    """Return the answers as a file's content."""
    pools: dict[str, Pool] = {}
    encoded = {key: _encoded(answers[key], pools) for key in sorted(answers)}
    content = {"version": version, "dtypes": sorted(pools), "answers": encoded}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:

        def add(name: str, data: bytes | str) -> None:
            archive.writestr(zipfile.ZipInfo(name, DATE), data, zipfile.ZIP_DEFLATED, compresslevel=9)

        add("answers.json", json.dumps(content, separators=(",", ":"), ensure_ascii=False))
        for name in sorted(pools):
            add(name, _split(bytes(pools[name].memory), np.dtype(name).itemsize))
    return file.getvalue()


class Pool:
    """The numbers of one dtype, each array once."""

    def __init__(self) -> None:
        self.memory = bytearray()
        self.offsets: dict[bytes, int] = {}

    def offset(self, values: bytes, itemsize: int) -> int:
        key = hashlib.sha256(values).digest()
        if key not in self.offsets:
            self.offsets[key] = len(self.memory) // itemsize
            self.memory += values
        return self.offsets[key]


def _split(data: bytes, itemsize: int) -> bytes:
    return np.frombuffer(data, np.uint8).reshape(-1, itemsize).T.tobytes()


def _joined(data: bytes, itemsize: int) -> bytes:
    return np.frombuffer(data, np.uint8).reshape(itemsize, -1).T.tobytes()


def _short(bound: float | None) -> float | None:
    """A bound in four digits, not below it."""
    if bound is None:
        return None
    short = float(f"{bound:.3e}")
    return short if short >= bound else float(f"{bound * 1.001:.3e}")


def _encoded(value: Any, pools: dict[str, Pool]) -> Any:
    """Write plain data as JSON: an object that is not a number, text or list is a dict with the name of its class."""

    def offset(values: np.ndarray[Any, Any]) -> int:
        memory = values.view(np.uint16) if values.dtype.name == "bfloat16" else values
        memory = memory.astype(memory.dtype.newbyteorder("<"), copy=False)
        return pools.setdefault(memory.dtype.name, Pool()).offset(memory.tobytes(), memory.dtype.itemsize)

    if isinstance(value, Array):
        about = [value.kind, value.dtype, list(value.shape), value.requires_grad, _short(value.bound)]
        if value.values.size > LARGE and value.values.dtype.kind not in "biu":
            value.sample = value.sample or sample_of(value.values)
        if value.sample is None:
            return {"array": [*about, offset(value.values)]}
        numbers, sums, digest = value.sample
        return {"array": [*about, offset(numbers), offset(sums), digest]}
    if isinstance(value, (Measured, MeasuredComplex)):
        parts = [value.real, value.imag] if isinstance(value, complex) else [float(value)]
        return {"number": [*parts, _short(value.bound)]}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, (Raised, Warned)):
        return {type(value).__name__.lower(): list(value)}
    if isinstance(value, Named):
        return {"named": [value.name, _encoded(value.parts, pools)]}
    if isinstance(value, (list, tuple)):
        return [_encoded(part, pools) for part in value]
    return value


def _decoded(value: Any, pools: dict[str, bytes]) -> Any:
    if isinstance(value, list):
        return [_decoded(part, pools) for part in value]
    if not isinstance(value, dict):
        return value
    ((what, parts),) = value.items()
    if what == "array":
        return _decoded_array(pools, *parts)
    if what == "number":
        *numbers, bound = parts
        number: Any = MeasuredComplex(*numbers) if len(numbers) == 2 else Measured(*numbers)
        number.bound = bound
        return number
    if what == "bytes":
        return base64.b64decode(parts)
    if what == "complex":
        return complex(*parts)
    if what in ("raised", "warned"):
        return (Raised if what == "raised" else Warned)(*parts)
    return Named(parts[0], _decoded(parts[1], pools))


def _decoded_array(
    pools: dict[str, bytes], kind: str, dtype: str, shape: list[int], requires_grad: bool, bound: float | None,
    offset: int, sums: int = 0, digest: str = "",
) -> Array:  # fmt: skip
    def numbers(name: str, count: int, offset: int) -> np.ndarray[Any, Any]:
        stored = np.dtype("uint16" if name == "bfloat16" else name).newbyteorder("<")
        found = np.frombuffer(pools[stored.name], stored, count, offset * stored.itemsize).astype(stored.name)
        return found.view(ml_dtypes.bfloat16) if name == "bfloat16" else found

    size = int(np.prod(shape, dtype=np.int64))
    if not digest:
        return Array(kind, dtype, requires_grad, numbers(dtype, size, offset).reshape(shape), bound)
    count = -(-size // -(-size // COUNT))
    wide = "complex128" if dtype.startswith("complex") else "float64"
    sample = Sample(numbers(dtype, COUNT, offset), numbers(wide, count, sums), digest)
    nothing = np.broadcast_to(np.zeros_like(sample.numbers[:1]), tuple(shape))
    return Array(kind, dtype, requires_grad, nothing, bound, sample)
