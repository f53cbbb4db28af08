"""Every entry of PyTorch's database of operations that is in scope, beside PyTorch (see ``opinfo.py``)."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import nbautograd as nb
from nbautograd.amp import policies
from tests import needs
from tests.product.fuzz.guard import LONG

torch = needs.package("torch")

from tests.engine.ops import opinfo
from tests.engine.ops.opinfo_values import converted

# PyTorch's own samples use it and warn once, in whichever test comes first.
pytestmark = pytest.mark.filterwarnings("ignore:torch.qr is deprecated:UserWarning")

PRESENT = [entry for entry in opinfo.ENTRIES if entry.name not in opinfo.ABSENT | opinfo.OTHERWISE]
SAMPLES = 3


@pytest.mark.parametrize("entry", PRESENT, ids=str)
def test_values_and_derivatives(entry):
    opinfo.agree(entry, torch.float64, 2 * SAMPLES)


OTHER_DTYPES = ["float32", "complex128", "int64", "bfloat16"]
if LONG:  # two more that take the same path as one of these
    OTHER_DTYPES += ["float16", "bool"]


@pytest.mark.parametrize("entry", PRESENT, ids=str)
def test_other_dtypes(entry):
    for name in OTHER_DTYPES:
        # Calls that raise are compared in test_registry.py.
        supported = getattr(torch, name) in entry.info.supported_dtypes("cpu")
        if supported and entry.name not in opinfo.INEXACT.get(name, ()):
            try:
                opinfo.agree(entry, getattr(torch, name), SAMPLES, second=name == "complex128")
            except opinfo.DisagreementError as difference:
                raise AssertionError(name) from difference


@pytest.mark.parametrize("entry", [e for e in PRESENT if e.name not in opinfo.VARIANTS_OTHERWISE], ids=str)
def test_methods_in_place_and_out(entry):
    opinfo.agree_on_variants(entry)


REFUSING = [e for e in PRESENT if e.name not in opinfo.ACCEPTED and e.info.error_inputs_func is not None]


@pytest.mark.parametrize("entry", REFUSING, ids=str)
def test_errors(entry):
    opinfo.agree_on_errors(entry)


def test_coverage():
    """At least 95 % of the entries in scope exist and agree, and each exception has a reason."""
    assert {entry.name for entry in opinfo.ENTRIES if entry.ours is None} == set(opinfo.ABSENT)
    assert len(opinfo.ABSENT | opinfo.OTHERWISE) <= 0.05 * len(opinfo.ENTRIES)


CAST_OTHERWISE = {
    "linalg.pinv": "one operation here, in float32; PyTorch multiplies what svd gives it in half precision",
    "linalg.pinv hermitian": "as linalg.pinv",
    "pca_lowrank": "the database's matrix is a product of half precision, which LAPACK does not take",
    "svd_lowrank": "as pca_lowrank",
    "tensordot": "dimensions of length 1: PyTorch multiplies, which is not listed",
}
LISTED = " ".join(policies.POLICIES["cpu"].values()).split()
CAST = [
    entry
    for entry in opinfo.ENTRIES
    if entry.name not in opinfo.ABSENT | opinfo.OTHERWISE | CAST_OTHERWISE
    and (LONG or entry.info.name.removeprefix("nn.functional.").replace(".", "_") in LISTED)
]
"""The entries of the list; or all, whose other operands must not be cast by their parts."""


def dtypes(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [dtypes(part) for part in result]
    return str(getattr(result, "dtype", type(result).__name__))


def outcome(call: Any, library: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with library.autocast("cpu"):
                return dtypes(call())
        except Exception:
            return "an error"


@pytest.mark.parametrize("entry", CAST, ids=str)
def test_dtypes_under_autocast(entry: Any) -> None:
    for kind in (torch.float32, torch.bfloat16):
        if kind not in entry.info.supported_dtypes("cpu"):
            continue
        for sample in entry.samples(kind, False, 2):
            inputs = (sample.input, *sample.args)
            mine, options = converted((inputs, sample.kwargs), {})
            theirs = outcome(lambda i=inputs, o=sample.kwargs: entry.info.op(*i, **o), torch)
            assert outcome(lambda i=mine, o=options: entry.ours(*i, **o), nb) == theirs
