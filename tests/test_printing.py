"""Printing, against PyTorch's own text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import nbautograd as nb

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-5, 1e5, 1e9, 1e-30, 3.14159, 999.0, 1000.5, float("inf"), -float("inf"), float("nan")]
DTYPES = ["float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool", "complex64", "complex128"]


@st.composite
def arrays(draw):
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
    if dtype.kind in "fc":
        values = st.one_of(st.sampled_from(SPECIAL), st.floats(-1e4, 1e4, width=16))
        parts = [draw(hnp.arrays(np.float64, shape, elements=values)) for _ in range(2)]
        with np.errstate(all="ignore"):
            return (parts[0] + 1j * parts[1]).astype(dtype) if dtype.kind == "c" else parts[0].astype(dtype)
    return draw(hnp.arrays(dtype, shape))


@given(arrays())
@settings(max_examples=400, deadline=None, derandomize=True)
def test_same_text_as_torch(array):
    assert repr(nb.tensor(array)) == repr(torch.tensor(array))


@pytest.mark.parametrize("shape", [(2000,), (100, 100), (7, 200), (200, 7), (10, 20, 30), (1001, 1), (8, 2, 2, 40)])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_long_tensors_are_summarised_alike(shape, dtype):
    array = (np.arange(np.prod(shape)).reshape(shape) / (7 if dtype == "float32" else 1)).astype(dtype)
    assert repr(nb.from_numpy(array)) == repr(torch.from_numpy(array))


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2},
        {"precision": 8},
        {"linewidth": 40},
        {"edgeitems": 1, "threshold": 5},
        {"edgeitems": 0, "threshold": 5},
        {"sci_mode": True},
        {"sci_mode": False},
        {"profile": "short"},
        {"profile": "full"},
    ],
    ids=str,
)
def test_print_options(options):
    arrays = [np.linspace(0, 1e4, 12, dtype=np.float32), np.eye(9, dtype=np.float32), np.arange(1200.0, dtype=np.float32)]
    try:
        for library in (nb, torch):
            library.set_printoptions(**options)
        for array in arrays:
            assert repr(nb.tensor(array)) == repr(torch.tensor(array))
    finally:
        for library in (nb, torch):
            library.set_printoptions(profile="default")


def test_notes_wrap_onto_a_new_line():
    for n in range(1, 30):
        ours, theirs = (lib.arange(float(n), requires_grad=True) for lib in (nb, torch))
        assert repr(ours) == repr(theirs)
        assert repr(ours * 2) == repr(theirs * 2)
        assert repr(ours.double().mean()) == repr(theirs.double().mean()).replace("MeanBackward0", "MeanBackward0")


def test_a_tuple_of_tensors_and_formatting():
    ours, theirs = nb.tensor([6.0]), torch.tensor([6.0])
    assert str((ours,)) == str((theirs,))
    assert f"{ours}" == f"{theirs}"
    assert f"{nb.tensor(3.14159):.2f}" == f"{torch.tensor(3.14159):.2f}"


def test_profile_is_checked():
    with pytest.raises(ValueError, match="profile must be one of 'default', 'short', 'full', got 'huge'"):
        nb.set_printoptions(profile="huge")


def test_a_summary_fetches_only_what_it_shows():
    fetched = []

    def fetch(a):
        fetched.append(a.size)
        return np.asarray(a)

    from nbautograd.printing import format_tensor

    format_tensor(np.zeros((1000, 1000)), dtype=nb.float64, default_dtype=nb.float32, fetch=fetch)
    assert fetched == [36]
