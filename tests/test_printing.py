"""Printing, against PyTorch's own text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import nbautograd as nb
from nbautograd.arrays import dtypes
from nbautograd.core import printing
from tests import needs

torch = needs.package("torch")

INF, NAN = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-5, 1e-4, 9.99995, 1e5, 1e8, 1.1e8, 1e-30, 3.14159, 999.0, 1000.5]
SPECIAL += [INF, -INF, NAN]
DTYPES = [
    "float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex128"
]  # fmt: skip


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
    kind = np.float32
    arrays = [np.linspace(0, 1e4, 12, dtype=kind), np.eye(9, dtype=kind), np.arange(1200.0, dtype=kind)]
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
        assert repr(ours.double().mean()) == repr(theirs.double().mean())


def test_a_tuple_of_tensors_and_formatting():
    ours, theirs = nb.tensor([6.0]), torch.tensor([6.0])
    assert str((ours,)) == str((theirs,))
    assert f"{ours}" == f"{theirs}"
    assert f"{nb.tensor(3.14159):.2f}" == f"{torch.tensor(3.14159):.2f}"


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.sampled_from([0, 1, 2, 6, 10]),
        "threshold": st.sampled_from([0, 1, 5, 20, INF]),
        "edgeitems": st.sampled_from([0, 1, 2, 5]),
        "linewidth": st.sampled_from([1, 10, 20, 40, 120]),
        "sci_mode": st.booleans(),
        "profile": st.sampled_from(["default", "short", "full"]),
    },
)


@pytest.fixture
def default_printing():
    """Both libraries print with their default options, and PyTorch has its default dtype, afterwards too."""
    yield
    printing.set_printoptions(profile="default")
    torch.set_printoptions(profile="default")
    torch.set_default_dtype(torch.float32)


@given(arrays(), OPTIONS, st.sampled_from(["float16", "float32", "float64"]), st.sampled_from(["", "leaf", "result"]))
@settings(
    max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_options_default_dtypes_and_notes(default_printing, array, options, default, role):
    for library in (printing, torch):
        library.set_printoptions(profile="default")
        library.set_printoptions(**options)
    torch.set_default_dtype(getattr(torch, default))
    theirs = torch.from_numpy(np.array(array))
    notes = {}
    if role and array.dtype.kind in "fc":
        theirs.requires_grad_()
        notes["requires_grad"] = True
        if role == "result":
            theirs = theirs.clone()
            notes["grad_fn"] = theirs.grad_fn.name()
    ours = printing.format_tensor(
        array, dtype=dtypes.of(array.dtype), default_dtype=dtypes.of(np.dtype(default)), **notes
    )
    assert ours == repr(theirs)


EDGES = [1e30, 1e38, 1e-38, 1e-45, 5e-324, 1e308, 65504.0, 6e-8, 123456.789, 0.99995, 0.00009, 2.0**53, 99999999.0]
FLOATS = st.sampled_from(SPECIAL + EDGES) | st.floats() | st.floats(width=16) | st.integers(-(10**9), 10**9).map(float)
LAYOUTS = {
    "": lambda t: t,
    "transposed": lambda t: t.transpose(0, -1) if t.ndim > 1 else t,
    "stepped": lambda t: t[::2] if t.ndim else t,
    "expanded": lambda t: t.expand(2, *t.shape),
}
ROLES = {"": lambda t: t, "leaf": lambda t: t, "product": lambda t: t * 1, "copy": lambda t: t.clone()}


@st.composite
def few_values(draw):
    """A dtype, a shape, and elements taken from a few values, so that notations that hang on all of them come up."""
    name = draw(st.sampled_from([*DTYPES, "bfloat16"]))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=draw(st.sampled_from([2, 4, 8]))))
    shape = shape if np.prod(shape) <= 400 else shape[:2]
    if "int" in name:
        info = np.iinfo(name)
        values = st.integers(max(-3, int(info.min)), 3) | st.integers(int(info.min), int(info.max))
    else:
        values = {"bool": st.booleans(), "complex64": st.builds(complex, FLOATS, FLOATS)}.get(name, FLOATS)
    some = draw(st.lists(values, min_size=1, max_size=12))
    picked = np.random.RandomState(draw(st.integers(0, 2**32 - 1))).randint(0, len(some), int(np.prod(shape)))
    return name, shape, [some[i] for i in picked.tolist()]


@pytest.mark.sweep
@given(
    few_values(),
    OPTIONS,
    st.sampled_from(["float32", "float64", "float16"]),
    st.sampled_from(list(ROLES)),
    st.sampled_from(list(LAYOUTS)),
)
@settings(
    max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_tensors_of_any_values_dtype_layout_and_history(default_printing, values, options, default, role, layout):
    name, shape, elements = values
    texts = []
    try:
        for library in (nb, torch):
            library.set_printoptions(profile="default")
            library.set_printoptions(**options)
            library.set_default_dtype(getattr(library, default))
            t = torch.tensor(elements, dtype=getattr(torch, name)).reshape(shape)
            if library is nb:
                wide = t.float() if name == "bfloat16" else t
                t = nb.from_numpy(wide.numpy()).to(getattr(nb, name))
            t = LAYOUTS[layout](t)
            if role and t.dtype.is_floating_point | t.dtype.is_complex:
                t = ROLES[role](t.detach().requires_grad_())
            texts.append(repr(t))
    finally:
        nb.set_default_dtype(nb.float32)
    assert texts[0] == texts[1]


def test_a_long_note_moves_to_the_next_line(default_printing):
    class AFunctionWithAVeryLongNameThatLeavesLittleRoom(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    for n in range(1, 40):
        theirs = AFunctionWithAVeryLongNameThatLeavesLittleRoom.apply(torch.arange(float(n), requires_grad=True))
        name = theirs.grad_fn.name()
        array = theirs.detach().numpy()
        assert printing.format_tensor(array, dtype=nb.float32, default_dtype=nb.float32, grad_fn=name) == repr(theirs)


def test_a_device_is_named_before_the_dtype():
    text = printing.format_tensor(
        np.zeros((0, 3), np.int32), dtype=nb.int32, default_dtype=nb.float32, device="cuda:0", requires_grad=False
    )
    assert text == "tensor([], device='cuda:0', size=(0, 3), dtype=torch.int32)"


def test_the_options_in_force_can_be_read(default_printing):
    printing.set_printoptions(precision=2, linewidth=100)
    assert printing.get_printoptions() == printing.Options(precision=2, linewidth=100)
    printing.set_printoptions(profile="short")
    assert printing.get_printoptions() == printing.Options(precision=2, threshold=1000, edgeitems=2)


def test_profile_is_checked():
    with pytest.raises(ValueError, match="profile must be one of 'default', 'short', 'full', got 'huge'"):
        nb.set_printoptions(profile="huge")


def test_a_summary_fetches_only_what_it_shows():
    fetched = []

    def fetch(a):
        fetched.append(a.size)
        return np.asarray(a)

    printing.format_tensor(np.zeros((1000, 1000)), dtype=nb.float64, default_dtype=nb.float32, fetch=fetch)
    assert fetched == [36]
