"""PyTorch's own files: read as PyTorch reads them, and never executed."""

from __future__ import annotations

import io
import pickle
import random
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import nbautograd
from nbautograd.serialization import FileFormatError
from nbautograd.serialization.files import UnsafeFileError
from tests import oracle
from tests.engine.serialized import written


def saved(value: Callable[[Any], Any], **options: Any) -> bytes:
    """PyTorch's file of the result of a function of the library."""
    data: bytes = oracle.answer(lambda T: written(value(T), T, **options).getvalue())
    return data


def read(data: bytes, **options: Any) -> Any:
    return nbautograd.load(io.BytesIO(data), **options)


def with_pickle(data: bytes, memory: dict[str, bytes] | None = None, **others: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        for name, content in {**{f"data/{k}": v for k, v in (memory or {}).items()}, **others}.items():
            archive.writestr(f"archive/{name}", content)
    return file.getvalue()


def network(T: Any) -> Any:
    return oracle.fill(T, T.nn.Sequential(T.nn.Linear(2, 3), T.nn.BatchNorm1d(3), T.nn.LSTM(3, 2)))


def test_state_dict() -> None:
    state = read(saved(lambda T: network(T).state_dict()))
    expected = network(nbautograd).state_dict()
    assert type(state) is OrderedDict and state._metadata == expected._metadata
    ours = nbautograd.nn.Sequential(nbautograd.nn.Linear(2, 3), nbautograd.nn.BatchNorm1d(3), nbautograd.nn.LSTM(3, 2))
    ours.load_state_dict(state)
    for name, value in expected.items():
        assert ours.state_dict()[name].tolist() == value.tolist()


def containers(T: Any) -> Any:
    return {
        "numbers": [1, -1, 300, 70000, 2**40, -(2**70), 2.5, float("inf"), True, False, None, 1 + 2j],
        "texts": ("a", "ü" * 300, b"ab\xff", b"", ""),
        3: {(1, 2): {1, 2}, (): frozenset({3}), (1, 2, 3, 4): [[], {}]},
        "ordered": OrderedDict(a=OrderedDict()),
        "size": T.Size([2, 3]),
    }


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_containers(protocol: int) -> None:
    found = read(saved(containers, pickle_protocol=protocol))
    assert found == containers(nbautograd)
    assert isinstance(found["size"], nbautograd.Size) and type(found["ordered"]) is OrderedDict


def test_dtypes_and_devices() -> None:
    found = read(saved(lambda T: [T.float16, T.bfloat16, T.bool, T.device("cpu"), T.device("cuda", 1)]))
    T = nbautograd
    assert found[:4] == [T.float16, T.bfloat16, T.bool, T.device("cpu")] and str(found[4]) == "cuda:1"


@pytest.mark.parametrize(
    "name",
    [
        *("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"),
        *("complex64", "complex128"),
    ],
)
def test_every_dtype(name: str) -> None:
    def value(T: Any) -> Any:
        t = T.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(T, name))
        return {"t": t, "scalar": t[1, 1], "empty": t[:0], "part": t.t()[1:]}

    found, expected = read(saved(value)), value(nbautograd)
    assert found["t"].dtype is getattr(nbautograd, name) and found["t"].tolist() == expected["t"].tolist()
    assert found["scalar"].item() == expected["scalar"].item() and found["empty"].shape == (0, 3)
    assert found["part"].stride() == (1, 3) and found["part"].tolist() == expected["part"].tolist()


def test_memory_is_shared_as_it_was() -> None:
    def value(T: Any) -> Any:
        x = T.arange(6.0).view(2, 3)
        return x, x.t(), x[1], x

    a, b, c, d = read(saved(value))
    a[1, 0] = 9
    assert b[0, 1] == 9 and c[0] == 9 and d is a


def test_gradients_and_parameters() -> None:
    def value(T: Any) -> Any:
        p = T.nn.Parameter(T.ones(2))
        q = T.nn.Parameter(p, requires_grad=False)
        return {"p": p, "again": p, "q": q, "x": p.detach().clone().requires_grad_()}

    found = read(saved(value))
    assert isinstance(found["p"], nbautograd.nn.Parameter) and found["p"] is found["again"] and found["p"].requires_grad
    assert isinstance(found["q"], nbautograd.nn.Parameter) and not found["q"].requires_grad
    assert found["x"].requires_grad and type(found["x"]) is nbautograd.Tensor


def test_conjugate_and_negative_views() -> None:
    values = [1 + 2j, 3 - 1j]
    assert read(saved(lambda T: [(x := T.tensor(values)).conj(), x]))[0].tolist() == [1 - 2j, 3 + 1j]
    assert read(saved(lambda T: [T.tensor(values).conj().imag]))[0].tolist() == [-2, 1]


def test_optimizer_state_and_path(tmp_path: Any) -> None:
    def value(T: Any) -> Any:
        m = oracle.fill(T, T.nn.Linear(2, 2))
        optimizer = T.optim.Adam(m.parameters())
        m(T.ones(2, 2)).sum().backward()
        optimizer.step()
        return {"model": m.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}

    (tmp_path / "a.pt").write_bytes(saved(value))
    found = nbautograd.load(tmp_path / "a.pt", map_location="cpu", weights_only=True)
    expected = value(nbautograd)["optimizer"]
    assert found["epoch"] == 3 and found["optimizer"]["param_groups"] == expected["param_groups"]
    oracle.close(found, oracle.answer(value))


def test_big_endian() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(lambda T: T.tensor([1, 2])))) as given, zipfile.ZipFile(data, "w") as archive:
        for name in given.namelist():
            content = given.read(name)
            content = b"big" if name.endswith("byteorder") else content
            archive.writestr(name, content[7::-1] + content[:7:-1] if "/data/" in name else content)
    assert read(data.getvalue()).tolist() == [1, 2]


# -- what must not be read ---------------------------------------------------------------------------------------------

EXECUTED: list[str] = []


class Evil:
    def __init__(self, function: Any, *args: Any) -> None:
        self.answer = function, args

    def __reduce__(self) -> Any:
        return self.answer


def mark(text: str) -> None:
    EXECUTED.append(text)


class WithState:
    def __setstate__(self, state: Any) -> None:
        EXECUTED.append("state")


MALICIOUS = {
    "call": pickle.dumps(Evil(mark, "x")),
    "system": b"cos\nsystem\n(S'echo x'\ntR.",
    "eval": b"c__builtin__\neval\n(S'1'\ntR.",
    "getattr": pickle.dumps(Evil(getattr, "x", "join")),
    "stack global": pickle.dumps(Evil(mark, "x"), 4),
    "inst": b"(S'echo x'\nios\nsystem\n.",
    "obj": b"(cos\nsystem\nS'echo x'\no.",
    "newobj": pickle.dumps(WithState(), 2),
    "state": pickle.dumps(WithState(), 4),
    "extension": b"\x82\x01.",
    "load from bytes": b"\x80\x02ctorch.storage\n_load_from_bytes\nC\x01x\x85R.",
    "dotted name": b"ccollections\nOrderedDict.__init__\n.",
    "attribute of a tensor's class": b"ctorch._utils\n_rebuild_tensor_v2\n}X\x01\x00\x00\x00aNsb.",
    "attributes of a dict": b"\x80\x02ccollections\nOrderedDict\n)R}X\x01\x00\x00\x00aNsb.",
    "update a module": b"cbuiltins\nset\n}X\x01\x00\x00\x00aNsb.",
    "call a value": b"]N\x85R.",
    "function as a value": b"]ctorch._utils\n_rebuild_tensor_v2\na.",
    "storage type as a value": b"ctorch\nFloatStorage\n.",
    "function in a key": b"}ccollections\nOrderedDict\nNs.",
    "persistent text": b"Pabc\n.",
    "persistent module": b"(X\x06\x00\x00\x00moduleNNNNtQ.",
}


@pytest.mark.parametrize("name", MALICIOUS)
def test_nothing_is_executed(name: str, capfd: Any) -> None:
    with pytest.raises(UnsafeFileError) as caught:
        read(with_pickle(MALICIOUS[name]))
    assert isinstance(caught.value, pickle.UnpicklingError) and isinstance(caught.value, FileFormatError)
    assert EXECUTED == [] and capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "value", [lambda T: T.nn.Linear(2, 2), lambda T: Evil(mark, "x"), lambda T: print, lambda T: int]
)
def test_other_objects_are_refused(value: Callable[[Any], Any]) -> None:
    with pytest.raises(UnsafeFileError, match=r"^Weights only load failed.*Unsupported global: GLOBAL|calls"):
        read(saved(value))
    assert EXECUTED == []


def reference(key: str = "0", count: bytes = b"K\x02") -> bytes:
    return (
        b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX" + len(key).to_bytes(4, "little") + key.encode()
        + b"X\x03\x00\x00\x00cpu" + count + b"tQ"
    )  # fmt: skip


def rebuilt(rest: bytes, **options: Any) -> bytes:
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + reference(**options) + rest + b"tR."


FITS = b"K\x00K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)R"
DAMAGED = {
    "offset": rebuilt(b"K\x01K\x02\x85K\x01\x85\x89N"),
    "size": rebuilt(b"K\x00K\x09\x85K\x01\x85\x89N"),
    "huge size": rebuilt(b"K\x00\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85K\x00\x85\x89N"),
    "stride": rebuilt(b"K\x00K\x02\x85K\x07\x85\x89N"),
    "negative stride": rebuilt(b"K\x01K\x02\x85J\xff\xff\xff\xff\x85\x89N"),
    "negative offset": rebuilt(b"J\xff\xff\xff\xffK\x02\x85K\x01\x85\x89N"),
    "strides": rebuilt(b"K\x00K\x02\x85))\x89N"),
    "text as size": rebuilt(b"K\x00X\x01\x00\x00\x00ax\x85K\x01\x85\x89N"),
    "count": rebuilt(FITS, count=b"K\x03"),
    "missing memory": rebuilt(FITS, key="7"),
    "path": rebuilt(FITS, key="../../data.pkl"),
    "arguments": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(tR.",
    "empty": b"",
    "no stop": b"\x80\x02}",
    "no value": b"\x80\x02.",
    "two values": b"NN.",
    "memo": b"\x80\x02h\x05.",
    "no mark": b"\x80\x02Nt.",
    "odd items": b"}(Nu.",
    "list as key": b"}]Ns.",
    "garbage": b"\xff\xfe\xfd",
    "text": b"X\xff\xff\xff\x7fabc.",
}


def test_the_undamaged_one() -> None:
    found = read(with_pickle(rebuilt(FITS), {"0": b"\0\0\x80?\0\0\0@"}))
    assert found.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files(name: str) -> None:
    with pytest.raises(FileFormatError, match=r"load\(\)"):
        read(with_pickle(DAMAGED[name], {"0": b"\0\0\x80?\0\0\0@"}))


def test_memory_of_another_length_or_order() -> None:
    with pytest.raises(FileFormatError, match="bytes instead of"):
        read(with_pickle(rebuilt(FITS), {"0": b"\0" * 7}))
    with pytest.raises(FileFormatError, match="byte order"):
        read(with_pickle(rebuilt(FITS), {"0": b"\0" * 8}, byteorder=b"middle"))


def test_truncated_and_flipped_files() -> None:
    data = saved(lambda T: {"w": T.arange(4.0), "n": [1, 2.5, "x"]})
    random.seed(1)
    for cut in [*range(0, len(data), 97), len(data) - 1]:
        with pytest.raises((FileFormatError, EOFError)):
            read(data[:cut])
    inside = zipfile.ZipFile(io.BytesIO(data)).read("archive/data.pkl")
    for _ in range(400):
        changed = bytearray(inside)
        for _ in range(random.randint(1, 4)):
            changed[random.randrange(len(changed))] = random.randrange(256)
        try:
            read(with_pickle(bytes(changed), {"0": bytes(16)}))
        except (FileFormatError, ValueError, RuntimeError) as error:
            assert str(error)


def test_own_format_keeps_parameters() -> None:
    file = io.BytesIO()
    nbautograd.save({"p": nbautograd.nn.Parameter(nbautograd.ones(2))}, file)
    assert isinstance(read(file.getvalue())["p"], nbautograd.nn.Parameter)
