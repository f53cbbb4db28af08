"""Every entry of PyTorch's database of operations on the device ``meta``, beside PyTorch (see ``opinfo_meta.py``)."""

from __future__ import annotations

from typing import Any

import pytest

from tests import needs

torch = needs.package("torch")

from tests.engine.ops import opinfo, opinfo_meta

pytestmark = pytest.mark.filterwarnings("ignore:torch.qr is deprecated:UserWarning")

OTHERWISE = {
    "as_strided partial_views": "the database's copies of its views share no memory",
    "linspace tensor_overload": "the ends are values",
    "logspace tensor_overload": "the ends are values",
    "linalg.ldl_factor": "LAPACK's, for matrices with values only",
    "linalg.ldl_factor_ex": "the same",
    "linalg.ldl_solve": "the same",
    "masked_scatter": "where the mask is true is unknown, and so is the gradient of the source",
    "nn.functional.embedding_bag": "which rows are counted is unknown to the gradient of a padded bag",
    "nn.functional.gaussian_nll_loss": "PyTorch looks for negative variances",
    "nn.functional.triplet_margin_with_distance_loss": "the database calls a module of PyTorch's on our tensors",
}
"""Entries that differ, with the reason."""
FINE = {opinfo_meta.AGREE, "strides", "only PyTorch raises NotImplementedError", "gradients that PyTorch has not"}
"""Strides are those of our results on the CPU, which test_strides.py compares. PyTorch has no meta kernel of some
functions, and no gradient of norms of order 0 and of some empty tensors."""

PRESENT = [e for e in opinfo.ENTRIES if opinfo_meta.has(e, torch.float32) and e.name not in OTHERWISE]


@pytest.mark.parametrize("entry", PRESENT, ids=str)
def test_shapes_and_dtypes(entry: Any) -> None:
    found = opinfo_meta.differences(entry, torch.float32, 4)
    assert [text for kind, text in found if kind not in FINE] == []


@pytest.mark.sweep
def test_strides_are_those_on_the_cpu() -> None:
    """At least 95 in 100 samples with results in both libraries have equal strides."""
    kinds = [kind for entry in PRESENT for kind, _ in opinfo_meta.differences(entry, torch.float32, 2, grad=False)]
    assert kinds.count("strides") <= 0.05 * len(kinds)
