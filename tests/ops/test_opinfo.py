"""Every entry of PyTorch's database of operations that is in scope, beside PyTorch (see ``opinfo.py``)."""

from __future__ import annotations

import pytest

from tests import needs
from tests.fuzz.guard import LONG

torch = needs.package("torch")

from tests.ops import opinfo

# PyTorch's own samples use it, and say so once, in whichever test comes first.
pytestmark = pytest.mark.filterwarnings("ignore:torch.qr is deprecated:UserWarning")

PRESENT = [entry for entry in opinfo.ENTRIES if entry.name not in opinfo.ABSENT | opinfo.OTHERWISE]
SAMPLES = 3


@pytest.mark.parametrize("entry", PRESENT, ids=str)
def test_values_and_derivatives(entry):
    opinfo.agree(entry, torch.float64, 2 * SAMPLES)


OTHER_DTYPES = ["float32", "complex128", "int64", "bfloat16"]
if LONG:  # two more for which everything goes the way of one of these
    OTHER_DTYPES += ["float16", "bool"]


@pytest.mark.parametrize("entry", PRESENT, ids=str)
def test_other_dtypes(entry):
    for name in OTHER_DTYPES:
        # What is refused is compared in test_registry.py.
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
    """Of what is in scope, at least 95 % exist and agree, and each that does not has its reason."""
    assert {entry.name for entry in opinfo.ENTRIES if entry.ours is None} == set(opinfo.ABSENT)
    assert len(opinfo.ABSENT | opinfo.OTHERWISE) <= 0.05 * len(opinfo.ENTRIES)
