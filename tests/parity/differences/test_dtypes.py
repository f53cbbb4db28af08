"""Unsigned integers, and Python's types as dtypes, under both libraries."""

from __future__ import annotations

import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import nbautograd
from tests import oracle
from tests.parity.differences.both import agrees

NAMES = ("uint16", "uint32", "uint64")
OTHERS = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"),
    *("complex64", "complex128"),
)


def attempt(program: Callable[[], Any]) -> Any:
    """Return the result of a call as text: its value, or the first words of its error."""
    try:
        return repr(program())
    except Exception as error:
        return str(error).partition(":")[0].partition(" (")[0]


@agrees
def test_unsigned_integers_promote_with_floating_dtypes_only(torch: Any) -> Any:
    kinds = [getattr(torch, name) for name in (*NAMES, *OTHERS)]
    pairs = [(a, b) for a in kinds for b in kinds if str(a)[6:] in NAMES or str(b)[6:] in NAMES]
    return [attempt(lambda a=a, b=b: torch.promote_types(a, b)) for a, b in pairs]


@agrees
def test_unsigned_integers_are_made_printed_and_converted(torch: Any) -> Any:
    texts = []
    for name in NAMES:
        kind = getattr(torch, name)
        x = torch.tensor([[1, 2], [3, 250]], dtype=kind)
        texts += [repr(x), repr(x[1]), repr(x[1, 1]), x.type(), repr(kind), kind.itemsize, kind.is_signed, x.tolist()]
        texts += [repr(y) for y in (x.to(torch.int64), x.float(), x.bool(), x.sum(), x.prod(), x.cumsum(0), x == 2)]
        texts += [
            repr(y) for y in (x & 3, x * x, x / 2, x + 0.5, x.sin(), x.T, torch.cat([x, x]), x.clone(), x[x == 2])
        ]
        texts += [repr(y) for y in (torch.full((2,), 7, dtype=kind), x.reshape(4))]
        texts += [repr(torch.iinfo(kind)), torch.iinfo(kind).max, torch.result_type(x, 1), torch.result_type(x, 1.0)]
        texts += [repr(torch.randint(9, (4,), dtype=kind)), torch.can_cast(kind, torch.int8), x.requires_grad]
    return list(map(str, texts))


@agrees
def test_the_largest_unsigned_integers(torch: Any) -> Any:
    x = torch.tensor([2**64 - 1, 2**63], dtype=torch.uint64)
    return [repr(x), x.tolist(), repr(x.to(torch.int64)), repr(x.to(torch.float64))]


@agrees(says="can't convert negative int to unsigned")
def test_a_negative_number_of_64_unsigned_bits(torch: Any) -> Any:
    return torch.tensor([-1], dtype=torch.uint64)


@agrees
def test_other_negative_numbers_wrap_around(torch: Any) -> Any:
    return [torch.tensor([-1], dtype=torch.uint16), torch.tensor([-2], dtype=torch.uint32)]


@agrees(says="value cannot be converted to type uint16 without overflow")
def test_an_unsigned_integer_that_does_not_fit(torch: Any) -> Any:
    return torch.tensor([70000], dtype=torch.uint16)


@agrees(says="Promotion for uint16, uint32, uint64 types is not supported, attempted to promote UInt32 and Int")
def test_an_unsigned_integer_and_a_signed_one(torch: Any) -> Any:
    return torch.ones(2, dtype=torch.uint32) + torch.ones(2, dtype=torch.int32)


@agrees
def test_numpys_unsigned_integers_are_shared(torch: Any) -> Any:
    arrays = [np.arange(3, dtype=name) for name in NAMES]
    tensors = [torch.from_numpy(array) for array in arrays]
    for array in arrays:
        array[0] = 9
    return [*tensors, *(str(t.numpy().dtype) for t in tensors)]


@agrees
def test_files_and_pickles_keep_unsigned_integers(torch: Any) -> Any:
    results = []
    for name in NAMES:
        file, x = io.BytesIO(), torch.tensor([[1, 2], [3, 4]], dtype=getattr(torch, name)).T
        torch.save(x, file)
        file.seek(0)
        results += [torch.load(file), str(pickle.loads(pickle.dumps(x.dtype)))]
    return results


def test_pickles_keep_unsigned_integers() -> None:  # PyTorch no longer loads these
    x = nbautograd.tensor([1, 2], dtype=nbautograd.uint16)
    assert repr(pickle.loads(pickle.dumps(x))) == repr(x)


def test_files_of_pytorchs_with_unsigned_integers_load() -> None:
    def saved(torch: Any) -> bytes:
        file = io.BytesIO()
        torch.save([torch.tensor([1, 2], dtype=getattr(torch, name)) for name in NAMES], file)
        return file.getvalue()

    loaded = nbautograd.load(io.BytesIO(oracle.answer(saved, exact=True)))
    assert [repr(x) for x in loaded] == [f"tensor([1, 2], dtype=torch.{name})" for name in NAMES]


MAKERS: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda torch, x, kind: torch.zeros(2, dtype=kind),
    lambda torch, x, kind: torch.tensor([1, 0], dtype=kind),
    lambda torch, x, kind: torch.as_tensor([1, 0], dtype=kind),
    lambda torch, x, kind: torch.asarray([1, 0], dtype=kind),
    lambda torch, x, kind: torch.full((2,), 1, dtype=kind),
    lambda torch, x, kind: torch.scalar_tensor(1, dtype=kind),
    lambda torch, x, kind: torch.eye(2, dtype=kind),
    lambda torch, x, kind: torch.zeros_like(x, dtype=kind),
    lambda torch, x, kind: x.new_ones(2, dtype=kind),
    lambda torch, x, kind: torch.ones_like(x, dtype=kind),
    lambda torch, x, kind: torch.empty(2, dtype=kind).dtype,
    lambda torch, x, kind: torch.frombuffer(bytearray(16), dtype=kind),
    lambda torch, x, kind: x.to(kind),
    lambda torch, x, kind: x.to("cpu", kind),
    lambda torch, x, kind: x.to(dtype=kind),
    lambda torch, x, kind: x.sum(dtype=kind),
    lambda torch, x, kind: x.sum(0, dtype=kind),
    lambda torch, x, kind: x.prod(dtype=kind),
    lambda torch, x, kind: torch.promote_types(kind, torch.float32),
    lambda torch, x, kind: torch.can_cast(torch.float32, kind),
    lambda torch, x, kind: x.double().view(kind),
)
FLOATING: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda torch, x, kind: torch.softmax(x, 0, dtype=kind),
    lambda torch, x, kind: torch.nn.functional.log_softmax(x, 0, dtype=kind),
    lambda torch, x, kind: x.mean(dtype=kind),
    lambda torch, x, kind: torch.cumsum(x, 0, dtype=kind),
    lambda torch, x, kind: torch.norm(x, dtype=kind),
    lambda torch, x, kind: torch.linalg.norm(x, dtype=kind),
    lambda torch, x, kind: torch.rand(2, dtype=kind),
    lambda torch, x, kind: torch.randn(2, dtype=kind),
    lambda torch, x, kind: torch.rand_like(x, dtype=kind),
    lambda torch, x, kind: torch.linspace(0, 1, 3, dtype=kind),
    lambda torch, x, kind: torch.arange(3, dtype=kind),
    lambda torch, x, kind: torch.hann_window(4, dtype=kind),
    lambda torch, x, kind: torch.fft.fftfreq(4, dtype=kind),
    lambda torch, x, kind: torch.nn.Linear(2, 1, dtype=kind).weight,
    lambda torch, x, kind: torch.nn.Linear(2, 1).to(kind).bias,
    lambda torch, x, kind: torch.nn.Linear(2, 1).to(dtype=kind).bias,
    lambda torch, x, kind: torch.finfo(kind).eps,
)


@agrees
def test_pythons_types_are_dtypes(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            *(make(torch, x, kind) for make in MAKERS for kind in (int, float, bool, complex)),
            *(make(torch, x, float) for make in FLOATING),
            torch.iinfo(int).max,
        ]


@agrees
def test_what_is_no_dtype_is_refused(torch: Any) -> Any:
    def kind_of(call: Callable[[], Any]) -> str:
        try:
            return str(call())
        except (TypeError, ValueError) as error:
            return type(error).__name__

    x = torch.ones(2)
    return [
        kind_of(lambda: torch.zeros(2, dtype=str)),
        kind_of(lambda: torch.zeros(2, dtype="float32")),
        kind_of(lambda: torch.zeros(2, dtype=np.float32)),
        kind_of(lambda: x.to(str)),
        kind_of(lambda: x.to(np.float32)),
        kind_of(lambda: x.type(float)),
        kind_of(lambda: x.sum(dtype=str)),
        kind_of(lambda: torch.set_default_dtype(float)),
        kind_of(lambda: torch.nn.Linear(1, 1).to(int)),
        hash(torch.float64) == hash(float),
    ]
