"""PyTorch's own files: read as PyTorch reads them, and never executed."""

from __future__ import annotations

import io
import pickle
import random
import zipfile
from collections import OrderedDict
from typing import Any

import pytest

import nbautograd
from nbautograd.serialization import FileFormatError
from nbautograd.serialization.files import UnsafeFileError
from tests import needs

torch = needs.package("torch")


def saved(value: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()


def read(data: bytes, **options: Any) -> Any:
    return nbautograd.load(io.BytesIO(data), **options)


def with_pickle(data: bytes, memory: dict[str, bytes] | None = None, **others: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        for name, content in {**{f"data/{k}": v for k, v in (memory or {}).items()}, **others}.items():
            archive.writestr(f"archive/{name}", content)
    return file.getvalue()


def test_state_dict() -> None:
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.LSTM(3, 2))
    ours = nbautograd.nn.Sequential(nbautograd.nn.Linear(2, 3), nbautograd.nn.BatchNorm1d(3), nbautograd.nn.LSTM(3, 2))
    state = read(saved(theirs.state_dict()))
    assert type(state) is OrderedDict and state._metadata == theirs.state_dict()._metadata
    ours.load_state_dict(state)
    for name, value in theirs.state_dict().items():
        assert ours.state_dict()[name].tolist() == value.tolist()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_containers(protocol: int) -> None:
    value = {
        "numbers": [1, -1, 300, 70000, 2**40, -(2**70), 2.5, float("inf"), True, False, None, 1 + 2j],
        "texts": ("a", "ü" * 300, b"ab\xff", b"", ""),
        3: {(1, 2): {1, 2}, (): frozenset({3}), (1, 2, 3, 4): [[], {}]},
        "ordered": OrderedDict(a=OrderedDict()),
        "size": torch.Size([2, 3]),
    }
    found = read(saved(value, pickle_protocol=protocol))
    assert found == value
    assert isinstance(found["size"], nbautograd.Size) and type(found["ordered"]) is OrderedDict


def test_dtypes_and_devices() -> None:
    found = read(saved([torch.float16, torch.bfloat16, torch.bool, torch.device("cpu"), torch.device("cuda", 1)]))
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
    theirs = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(torch, name))
    found = read(saved({"t": theirs, "scalar": theirs[1, 1], "empty": theirs[:0], "part": theirs.t()[1:]}))
    assert found["t"].dtype is getattr(nbautograd, name) and found["t"].tolist() == theirs.tolist()
    assert found["scalar"].item() == theirs[1, 1].item() and found["empty"].shape == (0, 3)
    assert found["part"].stride() == (1, 3) and found["part"].tolist() == theirs.t()[1:].tolist()


def test_memory_is_shared_as_it_was() -> None:
    x = torch.arange(6.0).view(2, 3)
    a, b, c, d = read(saved((x, x.t(), x[1], x)))
    a[1, 0] = 9
    assert b[0, 1] == 9 and c[0] == 9 and d is a


def test_gradients_and_parameters() -> None:
    p = torch.nn.Parameter(torch.ones(2))
    found = read(saved({"p": p, "again": p, "q": torch.nn.Parameter(p, requires_grad=False), "x": p.detach().clone()
                        .requires_grad_()}))  # fmt: skip
    assert isinstance(found["p"], nbautograd.nn.Parameter) and found["p"] is found["again"] and found["p"].requires_grad
    assert isinstance(found["q"], nbautograd.nn.Parameter) and not found["q"].requires_grad
    assert found["x"].requires_grad and type(found["x"]) is nbautograd.Tensor


def test_conjugate_and_negative_views() -> None:
    x = torch.tensor([1 + 2j, 3 - 1j])
    assert read(saved([x.conj(), x]))[0].tolist() == x.conj().tolist()
    assert read(saved([x.conj().imag]))[0].tolist() == x.conj().imag.tolist()


def test_optimizer_state_and_path(tmp_path: Any) -> None:
    m = torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adam(m.parameters())
    m(torch.ones(2, 2)).sum().backward()
    optimizer.step()
    torch.save({"model": m.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, tmp_path / "a.pt")
    found = nbautograd.load(tmp_path / "a.pt", map_location="cpu", weights_only=True)
    assert found["epoch"] == 3 and found["optimizer"]["param_groups"] == optimizer.state_dict()["param_groups"]
    assert found["optimizer"]["state"][0]["exp_avg"].tolist() == optimizer.state_dict()["state"][0]["exp_avg"].tolist()


def test_big_endian() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(torch.tensor([1, 2])))) as given, zipfile.ZipFile(data, "w") as archive:
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


@pytest.mark.parametrize("value", [torch.nn.Linear(2, 2), Evil(mark, "x"), print, int])
def test_other_objects_are_refused(value: Any) -> None:
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
    data = saved({"w": torch.arange(4.0), "n": [1, 2.5, "x"]})
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
