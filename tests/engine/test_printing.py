"""Printing, against PyTorch's own text."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.arrays import dtypes
from nbautograd._engine.core import printing
from tests import oracle

INF, NAN = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-5, 1e-4, 9.99995, 1e5, 1e8, 1.1e8, 1e-30, 3.14159, 999.0, 1000.5]
SPECIAL += [INF, -INF, NAN]
DTYPES = [
    "float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex128"
]  # fmt: skip


class Draws(np.random.RandomState):
    """Samples, the same each time: the numbers of this generator never change."""

    def one(self, values):
        return values[self.randint(len(values))]

    def shape(self, dims, side):
        return tuple(self.randint(0, side + 1, self.randint(0, dims + 1)).tolist())

    def array(self):
        """Any numbers, or special ones, or both, in any dtype and shape."""
        dtype, shape, share = np.dtype(self.one(DTYPES)), self.shape(4, 5), self.one([0, 0.5, 1])

        def floats():
            usual = self.uniform(-1e4, 1e4, shape).astype(np.float16).astype(np.float64)
            return np.where(self.uniform(size=shape) < share, self.choice(SPECIAL, shape), usual)

        with np.errstate(all="ignore"):
            if dtype.kind == "c":
                return (floats() + 1j * floats()).astype(dtype)
            if dtype.kind == "f":
                return np.asarray(floats()).astype(dtype)
            if dtype.kind == "b":
                return np.asarray(self.randint(0, 2, shape)).astype(bool)
            info = np.iinfo(dtype)
            bits = self.one([2, 8, info.bits])  # small numbers, larger ones, all
            low, high = max(info.min, -(2 ** (bits - 1))), min(info.max, 2 ** (bits - 1) - 1)
            return np.asarray(self.randint(low, high, shape, np.int64)).astype(dtype)

    def options(self):
        """Some of the options of ``set_printoptions``."""
        return {name: self.one(values) for name, values in OPTIONS.items() if self.randint(2)}


OPTIONS = {
    "precision": [0, 1, 2, 6, 10],
    "threshold": [0, 1, 5, 20, INF],
    "edgeitems": [0, 1, 2, 5],
    "linewidth": [1, 10, 20, 40, 120],
    "sci_mode": [False, True],
    "profile": ["default", "short", "full"],
}


@contextmanager
def printing_with(library, options, default="float32"):
    """Options and a default dtype; afterwards the usual ones."""
    try:
        library.set_printoptions(**options)
        library.set_default_dtype(getattr(library, default))
        yield
    finally:
        library.set_printoptions(profile="default")
        library.set_default_dtype(library.float32)


def test_same_text_as_torch():
    draws = Draws(0)
    arrays = [draws.array() for _ in range(400)]
    oracle.check(lambda T: [repr(T.tensor(array)) for array in arrays], exact=True)


@pytest.mark.parametrize("shape", [(2000,), (100, 100), (7, 200), (200, 7), (10, 20, 30), (1001, 1), (8, 2, 2, 40)])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_long_tensors_are_summarised_alike(shape, dtype):
    array = (np.arange(np.prod(shape)).reshape(shape) / (7 if dtype == "float32" else 1)).astype(dtype)
    oracle.check(lambda T: repr(T.from_numpy(array)), exact=True)


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

    def program(T):
        with printing_with(T, options):
            return [repr(T.tensor(array)) for array in arrays]

    oracle.check(program, exact=True)


def test_notes_wrap_onto_a_new_line():
    def program(T):
        tensors = [T.arange(float(n), requires_grad=True) for n in range(1, 30)]
        return [[repr(t), repr(t * 2), repr(t.double().mean())] for t in tensors]

    oracle.check(program, exact=True)


def test_a_tuple_of_tensors_and_formatting():
    def program(T):
        return str((T.tensor([6.0]),)), f"{T.tensor([6.0])}", f"{T.tensor(3.14159):.2f}"

    oracle.check(program, exact=True)


@pytest.fixture
def default_printing():
    """It also prints with the default options afterwards."""
    yield
    printing.set_printoptions(profile="default")


def test_options_default_dtypes_and_notes(default_printing):
    draws = Draws(1)
    samples = [
        (
            draws.array(),
            draws.options(),
            draws.one(["float16", "float32", "float64"]),
            draws.one(["", "leaf", "result"]),
        )
        for _ in range(400)
    ]

    def program(T):
        texts = []
        for array, options, default, role in samples:
            with printing_with(T, options, default):
                t, name = T.from_numpy(np.array(array)), None
                if role and array.dtype.kind in "fc":
                    t.requires_grad_()
                    if role == "result":
                        t = t.clone()
                        name = t.grad_fn.name()
                texts.append([repr(t), t.requires_grad, name])
        return texts

    for (array, options, default, _), (text, requires_grad, name) in zip(
        samples, oracle.answer(program, exact=True), strict=True
    ):
        notes = {"grad_fn": name} if name else {}
        printing.set_printoptions(profile="default")
        printing.set_printoptions(**options)
        ours = printing.format_tensor(
            array, dtype=dtypes.of(array.dtype), default_dtype=dtypes.of(np.dtype(default)),
            requires_grad=requires_grad, **notes,
        )  # fmt: skip
        assert ours == text


EDGES = [1e30, 1e38, 1e-38, 1e-45, 5e-324, 1e308, 65504.0, 6e-8, 123456.789, 0.99995, 0.00009, 2.0**53, 99999999.0]
LAYOUTS = {
    "": lambda t: t,
    "transposed": lambda t: t.transpose(0, -1) if t.ndim > 1 else t,
    "stepped": lambda t: t[::2] if t.ndim else t,
    "expanded": lambda t: t.expand(2, *t.shape),
}
ROLES = {"": lambda t: t, "leaf": lambda t: t, "product": lambda t: t * 1, "copy": lambda t: t.clone()}


def few_values(draws):
    """A dtype, a shape, and elements taken from a few values, so that notations that depend on all of them come up."""
    name = draws.one([*DTYPES, "bfloat16"])
    shape = draws.shape(5, draws.one([2, 4, 8]))
    shape = shape if np.prod(shape) <= 400 else shape[:2]

    def value():
        kinds = [
            lambda: draws.one(SPECIAL),
            lambda: draws.one(EDGES),
            lambda: float(draws.randint(-(10**9), 10**9)),
            lambda: float(np.float16(draws.uniform(-1e3, 1e3))),
            lambda: float(np.uint64(draws.randint(0, 2**63 - 1, dtype=np.int64)).view(np.float64)) * draws.one([1, -1]),
        ]
        return draws.one(kinds)()

    def whole():
        info = np.iinfo(name)
        low, high = draws.one([(max(-3, int(info.min)), 3), (int(info.min), int(info.max))])
        return low + int(draws.uniform() * (high - low))

    make = whole if "int" in name else (lambda: bool(draws.randint(2))) if name == "bool" else value
    make = (lambda: complex(value(), value())) if "complex" in name else make
    some = [make() for _ in range(draws.randint(1, 13))]
    wide = "float32" if name == "bfloat16" else name
    with np.errstate(all="ignore"):
        elements = np.array(some).astype(wide)
    return name, elements[draws.randint(0, len(some), int(np.prod(shape)))].reshape(shape)


@pytest.mark.sweep
def test_tensors_of_any_values_dtype_layout_and_history(default_printing):
    draws = Draws(2)
    samples = [
        (*few_values(draws), draws.options(), draws.one(["float32", "float64", "float16"]),
         draws.one(list(ROLES)), draws.one(list(LAYOUTS)))
        for _ in range(400)
    ]  # fmt: skip

    def program(T):
        texts = []
        for name, array, options, default, role, layout in samples:
            with printing_with(T, options, default):
                t = LAYOUTS[layout](T.from_numpy(np.array(array)).to(getattr(T, name)))
                if role and t.dtype.is_floating_point | t.dtype.is_complex:
                    t = ROLES[role](t.detach().requires_grad_())
                texts.append(repr(t))
        return texts

    oracle.check(program, exact=True)


def test_a_long_note_moves_to_the_next_line(default_printing):
    def program(T):
        class AFunctionWithAVeryLongNameThatLeavesLittleRoom(T.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                return g

        made = AFunctionWithAVeryLongNameThatLeavesLittleRoom
        results = [made.apply(T.arange(float(n), requires_grad=True)) for n in range(1, 40)]
        return [[t.grad_fn.name(), repr(t)] for t in results]

    for n, (name, text) in enumerate(oracle.answer(program, exact=True), 1):
        array = np.arange(n, dtype=np.float32)
        assert printing.format_tensor(array, dtype=nb.float32, default_dtype=nb.float32, grad_fn=name) == text


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
