"""Test files that both libraries read: each loads the other's, with equal results."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import enum
import functools
import io
import pathlib
import warnings
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import nbautograd
from nbautograd import nn
from nbautograd.serialization import safe_globals
from nbautograd.serialization.files import UnsafeFileError
from tests import oracle
from tests.engine.serialized import written

torch = oracle.live()  # reads the files written here

DTYPES = [
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
]
FORMATS = {"zip": {}, "stream": {"_use_new_zipfile_serialization": False}}


def across(value: Any, **options: Any) -> Any:
    """Return PyTorch's reading of a value that is saved here."""
    return torch.load(written(value, **options), weights_only=True)


def back(value: Any, **options: Any) -> Any:
    """Return our reading of a value that PyTorch saves."""
    return nbautograd.load(written(value, torch, **options), weights_only=True)


def values(library: Any) -> dict[str, Any]:
    """With everything that ``weights_only=True`` reads in PyTorch."""
    x = library.arange(6.0).view(2, 3)
    shared = library.arange(10)
    grad = library.ones(2).requires_grad_()
    return {
        "x": x, "turned": x.t(), "row": x[1], "step": x[:, ::2], "expanded": x[:1].expand(3, 3), "empty": x[:0],
        "number": library.tensor(2.5), "grad": grad, "computed": grad * 2, "parameter": library.nn.Parameter(x),
        "fixed": library.nn.Parameter(x, requires_grad=False), "views": [shared[2:4], shared[3:], shared],
        "complex": library.tensor([1 + 2j]), "conjugate": library.tensor([1 + 2j]).conj(),
        "plain": [1, -1, 2**40, 2**70, 2.5, True, None, "a", "ü" * 300, b"ab\xff", (), (1,), (1, 2, 3, 4), {1, 2}],
        "keys": {1: "a", (1, 2): "b", None: "c", 2.5: OrderedDict(a=[{}])}, "complex number": 1 + 2j,
        "size": x.size(), "dtypes": [library.float32, library.bfloat16, library.bool, library.uint16],
        "devices": [library.device("cpu"), library.device("cuda", 1)], "bytes": bytearray(b"abc"),
        "layout": library.strided, "counter": collections.Counter("abca"),
    }  # fmt: skip


def plain(value: Any) -> Any:
    """A value without its library: tensors by all that can be compared of them."""
    if type(value).__name__ in ("Tensor", "Parameter"):
        place = (tuple(value.shape), tuple(value.stride()), value.storage_offset(), value.requires_grad, value.is_leaf)
        return type(value).__name__, str(value.dtype), place, value.untyped_storage().nbytes(), repr(value.tolist())
    if isinstance(value, dict):
        return type(value).__name__, [(plain(key), plain(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    return type(value).__name__.replace("_Bfloat16", "dtype"), repr(value)


def without_conjugate(value: dict[str, Any]) -> dict[str, Any]:
    """PyTorch's conjugate is a view of the original; ours has memory of its own. Compare its values."""
    return {**value, "conjugate": value["conjugate"].tolist()}


@pytest.mark.parametrize("form", FORMATS)
def test_pytorch_reads_what_is_saved_here(form: str) -> None:
    theirs = {name: value for name, value in values(torch).items() if form == "zip" or name != "layout"}
    ours = {name: values(nbautograd)[name] for name in theirs}
    expected = torch.load(written(theirs, torch, **FORMATS[form]), weights_only=True)
    assert plain(without_conjugate(across(ours, **FORMATS[form]))) == plain(without_conjugate(expected))


@pytest.mark.parametrize("form", FORMATS)
def test_what_pytorch_saves_is_read_here(form: str) -> None:
    theirs = {name: value for name, value in values(torch).items() if form == "zip" or name != "layout"}
    expected = torch.load(written(theirs, torch, **FORMATS[form]), weights_only=True)
    assert plain(without_conjugate(back(theirs, **FORMATS[form]))) == plain(without_conjugate(expected))


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_saved_here_comes_back(form: str) -> None:
    ours = values(nbautograd)
    found = nbautograd.load(written(ours, **FORMATS[form]))
    expected = {**ours, "computed": ours["computed"].detach().requires_grad_()}
    assert plain(found) == plain(expected)
    assert found["views"][0].data_ptr() + 8 == found["views"][1].data_ptr()
    assert found["x"].untyped_storage() == found["turned"].untyped_storage()


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(name: str) -> None:
    ours = nbautograd.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(nbautograd, name))
    theirs = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(torch, name))
    assert plain(across([ours, ours.t()[1:], ours[0, 1]])) == plain([theirs, theirs.t()[1:], theirs[0, 1]])
    assert plain(back([theirs, theirs.t()[1:], theirs[0, 1]])) == plain([ours, ours.t()[1:], ours[0, 1]])


def test_one_storage_is_saved_once() -> None:
    x = nbautograd.arange(1000.0)
    file = written([x, x[10:20], x.view(10, 100).t(), x.detach(), x.data])
    with zipfile.ZipFile(file) as archive:
        assert [info.filename for info in archive.infolist() if "/data/" in info.filename] == ["archive/data/0"]
        assert all((archive.getinfo(n).header_offset + 30 + len(n) + 4) <= 10**5 for n in archive.namelist())
    file.seek(0)
    found = torch.load(file)
    found[1][0] = -1
    assert found[0][10] == found[2][10, 0] == found[3][10] == -1


def test_memory_of_two_dtypes() -> None:
    """PyTorch itself raises an error on saving such memory, and reads it."""
    x = nbautograd.tensor([1.0, 2.0])
    found = across([x, x.view(nbautograd.int32)])
    assert (
        found[0].tolist() == [1, 2] and found[1].dtype is torch.int32 and found[1].tolist() == [1065353216, 1073741824]
    )
    found[0][0] = 2
    assert found[1][0] == 1073741824


def test_members_are_aligned() -> None:
    """PyTorch maps files into memory, and asks that members begin at multiples of 64 bytes."""
    file = written({"a": nbautograd.ones(3), "b": nbautograd.ones(5, dtype=nbautograd.bool)})
    data = file.getvalue()
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            header = data[info.header_offset : info.header_offset + 30]
            start = info.header_offset + 30 + header[26] + 256 * header[27] + header[28] + 256 * header[29]
            assert start % 64 == 0 and data[start : start + info.file_size] == archive.read(info)


def test_equal_objects_give_equal_files() -> None:
    assert written(values(nbautograd)).getvalue() == written(values(nbautograd)).getvalue()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols(protocol: int) -> None:
    file = written({"a": nbautograd.ones(2), "b": "text"}, pickle_protocol=protocol)
    found = torch.load(file, weights_only=False)
    assert found["a"].tolist() == [1, 1] and found["b"] == "text"
    file.seek(0)
    assert nbautograd.load(file)["a"].tolist() == [1, 1]


def test_state_dicts_go_both_ways(tmp_path: Any) -> None:
    def make(library: Any) -> Any:
        layers = library.nn
        return layers.Sequential(layers.Linear(2, 3), layers.BatchNorm1d(3), layers.Linear(3, 2))

    ours, theirs = make(nbautograd), make(torch)
    nbautograd.save(ours.state_dict(), tmp_path / "ours.pt")
    theirs.load_state_dict(torch.load(tmp_path / "ours.pt"))
    x = [[1.0, 2.0], [-1.0, 0.5]]
    oracle.close(ours(nbautograd.tensor(x)), oracle.ask(lambda T: theirs(T.tensor(x))))
    assert torch.load(tmp_path / "ours.pt")._metadata == theirs.state_dict()._metadata
    with zipfile.ZipFile(tmp_path / "ours.pt") as archive:
        assert archive.namelist()[0] == "ours/data.pkl"


@pytest.mark.parametrize("name", ["SGD", "Adam", "Rprop", "Adagrad"])
def test_optimizers_go_both_ways(name: str) -> None:
    def trained(library: Any) -> Any:
        p = library.nn.Parameter(library.arange(3.0))
        optimizer = getattr(library.optim, name)([p], lr=0.1)

        def loss() -> Any:
            optimizer.zero_grad()
            result = (p * p).sum()
            result.backward()
            return result

        optimizer.step(loss)
        return optimizer

    ours, theirs = trained(nbautograd), trained(torch)
    theirs.load_state_dict(across(ours.state_dict()))
    ours.load_state_dict(back(trained(torch).state_dict()))
    assert plain(across(trained(nbautograd).state_dict())["state"]) == plain(trained(torch).state_dict()["state"])


def test_map_location_and_storages() -> None:
    for library, file in ((torch, written([nbautograd.ones(2)])), (nbautograd, written([torch.ones(2)], torch))):
        seen: list[Any] = []

        def place(storage: Any, location: str, seen: list[Any] = seen) -> Any:
            seen.append((type(storage).__name__, storage.nbytes(), location))
            return storage

        assert library.load(file, map_location=place)[0].tolist() == [1, 1]
        assert seen == [("UntypedStorage", 8, "cpu")]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_go_both_ways() -> None:
    found = across([nbautograd.ones(2).untyped_storage(), nbautograd.ones(2).storage()])
    expected = torch.load(written([torch.ones(2).untyped_storage(), torch.FloatStorage([1, 1])], torch))
    assert repr(found) == repr(expected)
    assert repr(back([torch.ones(2).untyped_storage(), torch.FloatStorage([1, 1])])) == repr(expected)
    x = nbautograd.ones(2)
    tensor, storage = nbautograd.load(written([x, x.untyped_storage()]))
    storage.fill_(0)
    assert tensor.tolist() == [0, 0]


def test_attributes_of_tensors() -> None:
    for library, other in ((nbautograd, torch), (torch, nbautograd)):
        t, p = library.ones(2), library.nn.Parameter(library.ones(2))
        t.tag, p.tag = "t", [1]
        found = other.load(written([t, p], library))
        assert found[0].tag == "t" and found[1].tag == [1] and isinstance(found[1], other.nn.Parameter)
        module = library.nn.Module()
        module.b = library.nn.Buffer(library.ones(2))
        assert isinstance(other.load(written(module.b, library)), other.nn.Buffer)


@pytest.mark.filterwarnings("ignore:Sparse (CSR tensor support|invariant checks)")
def test_sparse_tensors() -> None:
    for library, other in ((nbautograd, torch), (torch, nbautograd), (nbautograd, nbautograd)):
        x = library.tensor([[0.0, 2.0], [3.0, 0.0]])
        for found in (other.load(written(x.to_sparse(), library)), other.load(written(x.to_sparse_csr(), library))):
            assert found.to_dense().tolist() == x.tolist()
        assert other.load(written(x.to_sparse(), library)).is_coalesced()
    file = written(torch.sparse_coo_tensor(torch.tensor([[5]]), torch.ones(1), (9,)), torch)
    data = io.BytesIO()
    with zipfile.ZipFile(file) as whole, zipfile.ZipFile(data, "w") as archive:
        for name in whole.namelist():
            archive.writestr(name, whole.read(name).replace(b"\x05" + bytes(7), b"\x25" + bytes(7)))
    data.seek(0)
    with pytest.raises(RuntimeError, match=r"size is inconsistent with indices"):
        nbautograd.load(data)


def test_arrays_and_named_results() -> None:
    array, number = np.arange(6, dtype=np.uint16).reshape(2, 3).T, np.float32(2.5)
    for library in (nbautograd, torch):
        file = written([array, number, library.tensor([3, 1]).max(0), np.array([True]), np.array([1j])], library)
        found = nbautograd.load(file)
        assert found[0].dtype == array.dtype and found[0].tolist() == array.tolist() and type(found[1]) is np.float32
        assert found[2].indices == 0 and type(found[2]).__name__ == "max" and found[4].tolist() == [1j]
    found = torch.load(written([array, nbautograd.tensor([3, 1]).max(0)]), weights_only=False)
    assert found[0].tolist() == array.tolist() and found[1].values == 3 and type(found[1]) is torch.return_types.max


# -- mapped into memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [nbautograd, torch], ids=["ours", "theirs"])
def test_mmap(library: Any, tmp_path: Any) -> None:
    path = tmp_path / "x.pt"
    library.save({"a": library.arange(1000.0), "b": library.ones(3, dtype=library.bfloat16)}, path)
    before = path.read_bytes()
    for reader in (nbautograd, torch):
        found = reader.load(str(path), mmap=True, map_location="cpu")
        assert found["a"].tolist() == list(range(1000)) and found["b"].tolist() == [1, 1, 1]
        found["a"].fill_(7)
        assert found["a"][5] == 7
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        nbautograd.load(io.BytesIO(before), mmap=True)
    library.save([1], path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match=r"mmap can only be used with files saved with `torch\.save"):
        nbautograd.load(path, mmap=True)


# -- whole modules -----------------------------------------------------------------------------------------------------

MODULES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "linear": (lambda nn: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.2), nn.Linear(4, 2)), (2, 3)),
    "convolutions": (
        lambda nn: nn.Sequential(
            nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"), nn.BatchNorm2d(2), nn.MaxPool2d(2), nn.Flatten(),
            nn.Unflatten(1, (2, 3, 3)), nn.ConvTranspose2d(2, 1, 3, stride=2), nn.Upsample(scale_factor=2),
        ),
        (2, 1, 6, 6),
    ),
    "attention": (lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2), (3, 2, 4)),
    "gelu": (lambda nn: nn.TransformerEncoderLayer(4, 2, 8, activation="gelu", norm_first=True), (3, 2, 4)),
    "norms": (lambda nn: nn.Sequential(nn.LayerNorm(3), nn.RMSNorm(3), nn.GELU("tanh"), nn.Softmax(dim=1)), (2, 3)),
    "lists": (lambda nn: nn.ModuleList([nn.Identity(), nn.ParameterList([nn.Parameter(None)])])[0], (2, 3)),
}  # fmt: skip


def both(name: str) -> tuple[Any, Any, Any]:
    """A module of each library with the same parameters, in evaluation mode, and an input."""
    build, shape = MODULES[name]
    theirs, ours = build(torch.nn).eval(), build(nn).eval()
    ours.load_state_dict(nbautograd.load(written(theirs.state_dict(), torch)))
    return theirs, ours, np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("name", MODULES)
def test_modules_go_both_ways(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's warning about nested tensors
        theirs, ours, x = both(name)
        expected = oracle.ask(lambda T: theirs(T.from_numpy(x)).detach())
        read = torch.load(written(ours), weights_only=False)
        assert type(read) is type(theirs) and repr(read) == repr(theirs) and vars(read).keys() == vars(theirs).keys()
        oracle.close(read(torch.from_numpy(x)).detach(), expected)
        read = nbautograd.load(written(theirs, torch), weights_only=False)
        assert type(read) is type(ours) and repr(read) == repr(ours) and vars(read).keys() == vars(ours).keys()
        oracle.close(read(nbautograd.from_numpy(x)).detach(), expected)
        assert read.state_dict().keys() == theirs.state_dict().keys() and not read.training


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}])
def test_recurrent_modules_go_both_ways(name: str, options: dict[str, Any]) -> None:
    theirs = getattr(torch.nn, name)(3, 2, **options)
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(2, 2, 3)
    ours = nbautograd.load(written(theirs, torch), weights_only=False)
    again = torch.load(written(ours), weights_only=False)
    expected = oracle.ask(lambda T: theirs(T.from_numpy(x))[0])
    oracle.close(ours(nbautograd.from_numpy(x))[0], expected)
    oracle.close(again(torch.from_numpy(x))[0], expected)
    assert vars(again).keys() == vars(theirs).keys() and vars(ours).keys() == vars(getattr(nn, name)(3, 2)).keys()


def doubled(module: Any, args: Any, result: Any) -> Any:
    return result * 2


class Kind(enum.Enum):
    SMALL = 1
    LARGE = 2


@dataclasses.dataclass
class Config:
    width: int
    kind: Kind = Kind.SMALL


class Point(collections.namedtuple("Point", "x y")):
    __slots__ = ()


class Net(nn.Module):
    class Inner:
        pass

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config, self.inner = config, Net.Inner()
        self.layer = nn.Linear(config.width, 1)
        self.activation = nn.functional.relu
        self.options = argparse.Namespace(lr=0.1, path=pathlib.PurePosixPath("a/b"))
        self.more = [
            collections.defaultdict(list, a=[1]),
            collections.deque([1, 2], 3),
            Point(1, 2),
            range(3),
            slice(2),
        ]
        self.partial = functools.partial(nn.functional.leaky_relu, negative_slope=0.5)
        self.register_buffer("steps", nbautograd.zeros(1), persistent=False)

    def forward(self, x: Any) -> Any:
        return self.partial(self.activation(self.layer(x)))


def test_modules_of_the_program() -> None:
    net = Net(Config(3, Kind.LARGE))
    found = nbautograd.load(written(net), weights_only=False)
    assert type(found) is Net and found.config == Config(3, Kind.LARGE) and found.config.kind is Kind.LARGE
    assert found.options == net.options and found.more == net.more and type(found.more[2]) is Point
    assert type(found.inner) is Net.Inner and found._non_persistent_buffers_set == {"steps"}
    assert found.activation is nn.functional.relu
    assert found(nbautograd.ones(2, 3)).tolist() == net(nbautograd.ones(2, 3)).tolist()
    with pytest.raises(UnsafeFileError, match=r"GLOBAL tests\.networks\.nn\.test_saving_across\.Net"):
        nbautograd.load(written(net))


def test_hooks_go_along_if_they_are_allowed() -> None:
    layer = nn.Linear(2, 1)
    layer.register_forward_hook(doubled, always_call=True)
    expected = layer(nbautograd.ones(2)).tolist()
    with pytest.raises(UnsafeFileError, match="not a class: a file's functions are not called"):
        nbautograd.load(written(layer), weights_only=False)
    with safe_globals([doubled]):
        found = nbautograd.load(written(layer), weights_only=False)
    assert found(nbautograd.ones(2)).tolist() == expected
    read = torch.load(written(layer), weights_only=False)
    oracle.close(layer(nbautograd.ones(2)), oracle.ask(lambda T: read(T.ones(2))))
    assert len(read._forward_hooks_always_called) == 1


def test_functions_of_pytorch() -> None:
    F = torch.nn.functional
    theirs = [torch.relu, torch.tanh, F.relu, F.gelu, F.softplus, torch.Tensor.relu]
    ours = nbautograd.load(written(theirs, torch), weights_only=False)
    x = [-1.0, 2.0]
    for mine, their in zip(ours, theirs, strict=True):
        oracle.close(mine(nbautograd.tensor(x)), oracle.ask(lambda T, their=their: their(T.tensor(x))))
    mine = [nbautograd.relu, nn.functional.gelu, nbautograd.tanh]
    for their, expected in zip(
        torch.load(written(mine), weights_only=False), (torch.relu, F.gelu, torch.tanh), strict=True
    ):
        assert their(torch.tensor(x)).tolist() == expected(torch.tensor(x)).tolist()


def test_whole_optimizers() -> None:
    p = nn.Parameter(nbautograd.ones(2))
    optimizer = nbautograd.optim.Adam([p], lr=0.5)
    p.sum().backward()
    optimizer.step()
    found_p, found = nbautograd.load(written([p, optimizer]), weights_only=False)
    assert found.param_groups[0]["params"][0] is found_p and found.state[found_p]["step"] == 1


def test_tensors_of_the_programs_own_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tagged(nbautograd.Tensor):  # of the function, because a class that outlives it is asked in every operation
        pass

    Tagged.__qualname__ = "Tagged"
    monkeypatch.setitem(globals(), "Tagged", Tagged)
    t = nbautograd.ones(2).as_subclass(Tagged)
    t.tag = 3
    found = nbautograd.load(written(t), weights_only=False)
    assert type(found) is Tagged and found.tag == 3 and found.tolist() == [1, 1]
    with pytest.raises(UnsafeFileError, match="Tagged"):
        nbautograd.load(written(t))
