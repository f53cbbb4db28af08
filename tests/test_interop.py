"""Tensors as Python's and NumPy's values, in other libraries, copied, pickled, and in files."""

from __future__ import annotations

import copy
import io
import json
import operator
import os
import pickle
import struct
import warnings
import zipfile
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd.serialization import FileFormatError, load_safetensors, save_safetensors
from tests import needs

# -- as values -------------------------------------------------------------------------------------------------------

VALUES = """
T.tensor([[5]]).item()
T.tensor([1, 2]).item()
T.tensor([]).item()
T.tensor(True).item()
T.tensor(1.5, dtype=T.bfloat16).item()
T.ones(2, dtype=T.bfloat16).tolist()
T.empty(2, 0).tolist()
T.empty(0, 3).tolist()
T.tensor(3).tolist()
T.tensor([1j]).tolist()
operator.index(T.tensor([[2]]))
operator.index(T.tensor(True))
operator.index(T.tensor(2.0))
operator.index(T.tensor([1, 2]))
operator.index(T.empty(0, dtype=T.int64))
[1, 2, 3][T.tensor(1)]
range(T.tensor(3))
int(T.tensor([2.7]))
int(T.tensor(1 + 0j))
int(T.tensor(float("nan")))
int(T.tensor(float("inf")))
int(T.tensor([1, 2]))
float(T.tensor(2))
float(T.tensor(1 + 1j))
float(T.empty(0))
complex(T.tensor(2))
complex(T.tensor([1, 2]))
bool(T.tensor([]))
bool(T.tensor([1, 2]))
bool(T.tensor([[0.0]]))
bool(T.tensor(float("nan")))
len(T.tensor(1))
list(T.tensor(1))
1 in T.tensor([1, 2])
np.float32(1) in T.tensor([1, 2])
"a" in T.tensor([1, 2])
"%d" % T.tensor(3)
f"{T.tensor(3.14159):.2f}"
f"{T.tensor([3.14159]):.2f}"
f"{T.tensor([3.14159])}"
f"{T.tensor(3.0, requires_grad=True)}"
f"{T.tensor(3.5):d}"
f"{T.tensor(1 + 2j):.2f}"
T.ones(2).__repr__(tensor_contents="abc")
T.ones(2, requires_grad=True).numpy()
T.ones(2, requires_grad=True).numpy(force=True)
T.ones(2, dtype=T.bfloat16).numpy()
np.asarray(T.ones(2, requires_grad=True))
np.asarray(T.ones(2), dtype=np.float64)
np.sin(T.ones(2))
np.isnan(T.ones(2))
np.add(np.ones(2), T.ones(2))
np.add(T.ones(2), np.ones(2), out=np.empty(2))
np.modf(T.ones(2))
np.concatenate([T.ones(2), T.ones(2)])
np.ones(3)[T.tensor([0, 1])]
np.float64(2) * T.ones(2)
T.ones(2) == np.ones(2)
T.ones(2).__array_wrap__(np.ones(2))
T.ones(2, requires_grad=True).__dlpack__()
T.ones(2).__dlpack__(stream=1)
T.ones(2).__dlpack_device__()
np.from_dlpack(T.tensor([True]))
T.from_dlpack(np.ones((2, 3)).T)
T.from_dlpack(T.ones(2).__dlpack__())
T.from_dlpack(np.ones(3), device="cpu", copy=True)
T.from_dlpack([1])
T.frombuffer(bytearray(b"abcdefgh"), dtype=T.float32, requires_grad=True)
T.frombuffer(bytearray(b"abcdefgh"), dtype=T.int16, count=2, offset=2)
T.frombuffer(bytearray(b"abcdefgh"), dtype=T.int16, count=20)
T.frombuffer(bytearray(b"abcdefgh"), dtype=T.int16, offset=20)
T.frombuffer(bytearray(b"abcdefgh"), dtype=T.int16, offset=1)
T.frombuffer(bytearray(b""), dtype=T.int16)
T.frombuffer(bytearray(b"abcdefgh"))
T.frombuffer([1, 2], dtype=T.int16)
T.from_numpy(np.ones(2, dtype=">f4"))
T.from_numpy(np.zeros(4, dtype="i1,f8")["f1"])
T.from_numpy(np.ones(3)[::-1])
T.from_numpy(np.array(["a"]))
T.from_numpy([1])
T.asarray([1, 2], copy=False)
T.asarray(T.ones(2), dtype=T.float64, copy=False)
T.asarray(np.ones(2), dtype=T.float32, copy=False)
T.asarray(np.ones(2), requires_grad=True)
T.asarray(T.ones(2, requires_grad=True), requires_grad=False)
T.asarray(T.ones(2, requires_grad=True) * 2)
T.asarray(T.ones(2, requires_grad=True) * 2, requires_grad=False)
T.asarray(np.float32(2))
T.asarray(3, requires_grad=True)
T.asarray(bytearray(b"abcd"))
T.asarray(b"abcd", dtype=T.uint8)
T.asarray(memoryview(b"abcd"), dtype=T.int16)
T.asarray([[1, 2], [3]])
T.as_tensor(range(3))
T.as_tensor(np.float64(2))
T.ones(2).__cuda_array_interface__
copy.copy(T.ones(2, requires_grad=True) * 2)
copy.deepcopy(T.ones(2, requires_grad=True) * 2)
copy.deepcopy(T.ones(2, 3, requires_grad=True).detach().t()).stride()
pickle.loads(pickle.dumps(T.ones(2, requires_grad=True) * 2))
pickle.loads(pickle.dumps(T.ones(3).expand(2, 3))).stride()
pickle.loads(pickle.dumps(T.Size([2])))
pickle.loads(pickle.dumps(T.float32)) is T.float32
copy.deepcopy(T.bfloat16) is T.bfloat16
pickle.loads(pickle.dumps(T.device("cuda:1")))
""".strip().splitlines()


@pytest.mark.parametrize("expression", VALUES)
def test_the_same_as_in_pytorch(expression):
    torch = needs.package("torch")

    def outcome(library):
        names = {"T": library, "np": np, "operator": operator, "copy": copy, "pickle": pickle}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return eval(expression, names)
            except Exception as error:
                return error

    ours, theirs = outcome(nb), outcome(torch)
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), f"{ours!r} instead of {theirs!r}"
        return
    if isinstance(theirs, tuple) and "dlpack_device" in expression:
        theirs = tuple(map(int, theirs))
    assert type(ours).__name__ == type(theirs).__name__
    assert repr(ours) == repr(theirs)


def test_memory_is_shared_with_numpy_in_both_directions():
    a = np.zeros((2, 3))
    for t in (nb.from_numpy(a), nb.as_tensor(a), nb.asarray(a), nb.from_dlpack(a), nb.from_numpy(a.T).t()):
        t[0, 0] += 1
    assert a[0, 0] == 5
    t = nb.zeros(3)
    exchanged = np.from_dlpack(t)  # which NumPy 2.0 only lets read
    for view in (t.numpy(), np.asarray(t)):
        view[0] += 1
    assert t[0].item() == 2 and exchanged[0] == 2
    scalar = nb.tensor(1.0)
    scalar.numpy()[...] = 7
    assert scalar.item() == 7
    data = bytearray(4)
    nb.frombuffer(data, dtype=nb.uint8)[1] = 9
    assert data == b"\0\x09\0\0"
    x = nb.ones(2)
    assert nb.asarray(x) is x and nb.asarray(x, requires_grad=True) is x and x.requires_grad
    assert nb.asarray(x, copy=True).data_ptr() != x.data_ptr() and nb.asarray(a, copy=True).numpy() is not a


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy 2.0 exports no read-only arrays")
def test_what_may_not_be_written_to_cannot_be():
    a = np.zeros(2)
    a.flags.writeable = False
    for t in (nb.from_numpy(a), nb.from_dlpack(a), nb.frombuffer(b"abcd", dtype=nb.uint8)):
        with pytest.raises(ValueError, match="read-only"):
            t[0] = 1


def test_dlpack_with_pytorch():
    torch = needs.package("torch")
    for dtype in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64"):
        ours = nb.ones(2, 3, dtype=getattr(nb, dtype)).t()
        theirs = torch.from_dlpack(ours)
        assert (theirs.stride(), str(theirs.dtype)) == (ours.stride(), str(ours.dtype))
        theirs[0, 0] = 0
        assert not ours[0, 0].item()
        back = nb.from_dlpack(theirs)
        back[0, 0] = 1
        assert ours[0, 0].item() and back.dtype is ours.dtype
    for source, sink in ((torch, nb), (nb, torch)):
        t = source.zeros(3)
        capsule = source.utils.dlpack.to_dlpack(t)
        sink.from_dlpack(capsule)[0] = 5
        assert t[0].item() == 5
        with pytest.raises(RuntimeError, match="once"):
            sink.from_dlpack(capsule)
    with pytest.raises(BufferError, match="require gradient"):
        nb.from_dlpack(torch.ones(2, requires_grad=True))
    with pytest.raises(BufferError, match="conjugate bit"):
        nb.from_dlpack(torch.tensor([1j]).conj())
    with pytest.raises(BufferError, match="require gradient"):
        torch.from_dlpack(nb.ones(2, requires_grad=True))
    with pytest.raises(BufferError, match="bfloat16"):
        torch.from_dlpack(nb.ones(2, dtype=nb.bfloat16))


# -- copies ----------------------------------------------------------------------------------------------------------


def test_deep_copies_share_what_the_originals_shared():
    x = nb.arange(12.0).reshape(3, 4)
    copied = copy.deepcopy({"all": x, "row": x[1], "t": x.t(), "again": x})
    assert copied["all"] is copied["again"] and copied["t"].stride() == (1, 4)
    copied["row"][0] = 100
    assert copied["all"][1, 0].item() == copied["t"][0, 1].item() == 100 and x[1, 0].item() == 4


def test_a_leaf_is_copied_with_its_gradient_and_attributes():
    x = nb.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    x.label = ["a"]
    copied = copy.deepcopy(x)
    assert copied.requires_grad and copied.is_leaf and copied.grad.tolist() == [3, 3]
    assert copied.grad is not x.grad and copied.label == ["a"] and copied.label is not x.label
    pickled = pickle.loads(pickle.dumps(x))
    assert pickled.requires_grad and pickled.grad is None and pickled.label == ["a"]
    alias = copy.copy(x)
    assert alias.data_ptr() == x.data_ptr() and alias.requires_grad


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "bfloat16", "float32", "complex128"])
def test_pickles(protocol, dtype):
    for t in (nb.ones(2, 3), nb.ones(()), nb.ones(0, 2), nb.ones(4, 5).t()[::2], nb.ones(3).expand(2, 3)):
        t = t.to(getattr(nb, dtype))
        back = pickle.loads(pickle.dumps(t, protocol))
        assert back.dtype is t.dtype and back.stride() == t.stride() and back.tolist() == t.tolist()
        if t.numel() and t.stride()[:1] != (0,):
            back.zero_()  # it can be written to


# -- files -----------------------------------------------------------------------------------------------------------


def saved(obj):
    file = io.BytesIO()
    nb.save(obj, file)
    return file.getvalue()


def loaded(data, **options):
    return nb.load(io.BytesIO(data), **options)


def equal(a, b):
    """Whether two loadable objects are the same in type and value, NaNs included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, nb.Tensor):
        same = (a.dtype, a.shape, a.stride(), a.requires_grad) == (b.dtype, b.shape, b.stride(), b.requires_grad)
        return same and repr(a.tolist()) == repr(b.tolist())
    if isinstance(a, dict):
        return list(map(repr, a)) == list(map(repr, b)) and all(map(equal, a.values(), b.values()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and repr(a.tolist()) == repr(b.tolist())
    return repr(a) == repr(b)


DTYPES = [getattr(nb, n) for n in ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")]


@st.composite
def tensors(draw):
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    t = nb.from_numpy(np.random.RandomState(draw(st.integers(0, 99))).randint(0, 3, shape)).to(dtype)
    change = draw(st.sampled_from(["", "t", "step", "expand"]))
    if change == "t" and t.ndim == 2:
        t = t.t()
    if change == "step" and t.ndim:
        t = t[::2]
    if change == "expand":
        t = t.expand(2, *t.shape)
    return t.detach().requires_grad_() if dtype.is_floating_point and draw(st.booleans()) else t


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.text(), st.binary(),
    st.sampled_from([2**9000, -0.0, nb.float32, nb.bfloat16, nb.device("cuda", 1), nb.Size([2, 3]), "\udc80"]),
)  # fmt: skip
OBJECTS = st.recursive(
    SCALARS | tensors(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=3) | st.integers() | st.tuples(st.integers()), inner, max_size=4),
        st.dictionaries(st.text(max_size=3), inner, max_size=4).map(OrderedDict),
    ),
    max_leaves=8,
)


@given(OBJECTS)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_objects_come_back(obj):
    assert equal(loaded(saved(obj)), obj)


def test_sets_and_arrays_come_back():
    back = loaded(saved([{1, 2}, frozenset(["a"]), np.arange(6, dtype=np.uint16).reshape(2, 3).T, np.float32(2.5)]))
    assert back[:2] == [{1, 2}, frozenset(["a"])] and back[2].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert back[3] == 2.5 and type(back[3]) is np.float32


def test_shared_memory_is_shared_again():
    x = nb.arange(1000.0)
    middle = x[10:20]
    back = loaded(saved([middle[:2], middle[5:], middle[5:6].expand(3), middle]))
    assert back[0].data_ptr() + 5 * 4 == back[1].data_ptr() == back[2].data_ptr()
    back[1][0] = -1
    assert back[2].tolist() == [-1, -1, -1] and back[3][5].item() == -1
    assert len(saved(middle)) < 2000  # of a big memory, what is used
    same = loaded(saved([x, x]))
    assert same[0] is same[1]
    bits = loaded(saved([x[:2], x.data[:1]]))  # under another name
    assert bits[0].data_ptr() == bits[1].data_ptr()


def test_numpy_opens_the_file():
    with np.load(io.BytesIO(saved(nb.tensor([1.0, 2.0])))) as archive:
        assert archive["memory/0"].view(np.float32).tolist() == [1, 2]


def test_paths_are_written_all_or_nothing(tmp_path):
    path = tmp_path / "x.nb"
    nb.save(nb.ones(2), path)
    before = path.read_bytes()
    os.chmod(path, 0o640)

    with pytest.raises(TypeError, match="function cannot be saved"):
        nb.save([nb.ones(3), lambda: 0], path)
    original = np.lib.format.write_array
    try:
        np.lib.format.write_array = lambda *a, **k: (_ for _ in ()).throw(OSError("disk full"))
        with pytest.raises(OSError, match="disk full"):
            nb.save(nb.ones(3), path)
    finally:
        np.lib.format.write_array = original
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["x.nb"]
    link = tmp_path / "link"
    link.symlink_to(path)
    nb.save(nb.ones(3), str(link))
    assert link.is_symlink() and nb.load(path).shape == (3,) and path.stat().st_mode & 0o777 == 0o640
    with open(path, "wb") as file:
        nb.save(nb.ones(4), file)
    with open(path, "rb") as file:
        assert nb.load(file, weights_only=True).shape == (4,)


def test_map_location():
    data = saved(nb.ones(2))
    calls = []

    def where(t, location):
        calls.append(location)
        return t

    for place in (None, "cpu", nb.device("cpu"), {"cuda:0": "cpu"}, where, lambda t, location: None):
        assert loaded(data, map_location=place).device.type == "cpu"
    assert calls == ["cpu"]
    on_cuda = data.replace(b'"device": "cpu"', b'"device": "cud"')  # as long as before
    assert on_cuda != data
    if not nb.cuda.is_available():
        with pytest.raises(RuntimeError, match=r"Attempting to deserialize object on a CUDA device.*map_location"):
            loaded(data, map_location="cuda")


class Custom:
    pass


def test_what_cannot_be_saved():
    with pytest.raises(TypeError, match="Custom cannot be saved"):
        saved({"a": [Custom()]})
    with pytest.raises(TypeError, match=r"numpy\.ndarray cannot be saved"):
        saved(np.array([Custom()]))
    cycle = []
    cycle.append(cycle)
    with pytest.raises(ValueError, match="holds itself"):
        saved(cycle)
    with pytest.raises(ValueError, match="pickle"):
        nb.save(1, io.BytesIO(), pickle_module=pickle)
    with pytest.raises(ValueError, match="pickle"):
        nb.load(io.BytesIO(saved(1)), pickle_module=pickle)
    with pytest.raises(TypeError, match="'write'"):
        nb.save(1, 3)
    with pytest.raises(TypeError, match="'read'"):
        nb.load(3)
    with pytest.raises(TypeError, match="binary mode"):
        nb.load(io.StringIO("abc"))


def test_foreign_files(tmp_path):
    npz, npy = io.BytesIO(), io.BytesIO()
    np.savez(npz, a=np.ones(2))
    np.save(npy, np.ones(2))
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w") as archive:
        archive.writestr("readme.txt", "hello")
    for data, words in [
        (pickle.dumps([1]), "a pickle"),
        (npz.getvalue(), "numpy.load"),
        (npy.getvalue(), "numpy.load"),
        (plain.getvalue(), "something else"),
        (b"hello world, this is text", "no file of nbautograd.save"),
        (b"\x1f\x8b123456789", "gzip"),
    ]:
        with pytest.raises(FileFormatError, match=words):
            loaded(data)
    with pytest.raises(EOFError, match="empty"):
        loaded(b"")
    with pytest.raises(FileNotFoundError):
        nb.load(tmp_path / "nothing")


def test_pytorchs_old_files_are_told_and_not_read(tmp_path):  # its present ones: tests/nn/test_torch_files.py
    torch = needs.package("torch")
    torch.save({"w": torch.ones(2)}, tmp_path / "x.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(FileFormatError, match=r"torch\.save.*pickle.*never read.*safetensors"):
        nb.load(tmp_path / "x.pt")


WHOLE = saved({"a": nb.arange(6.0).reshape(2, 3), "b": [1, 2.5, "text"]})


@given(st.integers(0, len(WHOLE) - 1))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_truncated_files(length):
    with pytest.raises((FileFormatError, EOFError)):
        loaded(WHOLE[:length])


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_damaged_files_are_told_or_harmless(position, change):
    damaged = bytearray(WHOLE)
    damaged[position] ^= change
    try:
        found = loaded(bytes(damaged))
    except (FileFormatError, EOFError):
        return
    assert equal(found, loaded(WHOLE))  # where the file says things twice


def forged(**changes):
    """A file that is whole but lies about its tensor."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(nb.ones(4)))) as old, zipfile.ZipFile(file, "w") as new:
        structure = json.loads(old.read("structure.json"))
        structure["tensors"][0].update(changes)
        new.writestr("structure.json", json.dumps(structure))
        new.writestr("memory/0.npy", old.read("memory/0.npy"))
    return file.getvalue()


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [400]},
        {"shape": [-4]},
        {"shape": [2**62, 4], "strides": [1, 1]},
        {"shape": ["4"]},
        {"strides": [1000]},
        {"strides": [-1]},
        {"strides": []},
        {"offset": -4},
        {"offset": 1000},
        {"offset": 4},
        {"memory": 7},
        {"memory": "0/../../etc"},
        {"dtype": "object"},
        {"dtype": "int64"},
        {"dtype": "int32", "requires_grad": True},
        {"type": 3, "device": 7},
    ],
    ids=str,
)
def test_lies_are_found(changes):
    with pytest.raises(RuntimeError):
        loaded(forged(**changes))


@pytest.mark.parametrize("what", ["__reduce__", "object", "Tensor", "eval"])
def test_unknown_kinds_are_refused(what):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("structure.json", json.dumps({"format": "nbautograd 1", "tensors": [], "object": [what, []]}))
    with pytest.raises(FileFormatError, match=what):
        loaded(file.getvalue())


def test_another_version_and_arrays_of_objects():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("structure.json", json.dumps({"format": "nbautograd 9", "tensors": [], "object": 1}))
    with pytest.raises(FileFormatError, match="'nbautograd 9'"):
        loaded(file.getvalue())
    evil = io.BytesIO()
    np.save(evil, np.array([Custom()]), allow_pickle=True)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        structure = {"format": "nbautograd 1", "tensors": [], "object": ["array", 0]}
        archive.writestr("structure.json", json.dumps(structure))
        archive.writestr("array/0.npy", evil.getvalue())
    with pytest.raises(FileFormatError, match="Python objects"):
        loaded(file.getvalue())


# -- safetensors -----------------------------------------------------------------------------------------------------


def test_safetensors_with_its_own_library(tmp_path):
    safetensors = needs.package("safetensors")
    needs.package("torch")
    from safetensors.torch import load_file, save_file

    names = [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
    ]
    ours = {name: nb.arange(6).reshape(2, 3).t().to(getattr(nb, name)) for name in names}
    ours |= {"0": nb.ones(()), "e": nb.ones(0, 2)}
    nb.save(ours, tmp_path / "ours.safetensors")
    theirs = load_file(tmp_path / "ours.safetensors")
    assert {k: (str(t.dtype), t.tolist()) for k, t in theirs.items()} == {
        k: (str(t.dtype), t.tolist()) for k, t in ours.items()
    }
    save_file({k: t.contiguous() for k, t in theirs.items()}, tmp_path / "theirs.safetensors", {"format": "pt"})
    for read in (nb.load, load_safetensors):
        back = read(tmp_path / "theirs.safetensors")
        assert back.keys() == ours.keys()
        assert all((t.dtype, t.tolist()) == (ours[k].dtype, ours[k].tolist()) for k, t in back.items())
    save_safetensors(ours, tmp_path / "x.safetensors", {"a": "b"})
    with safetensors.safe_open(tmp_path / "x.safetensors", "pt") as file:
        assert file.metadata() == {"a": "b"}


def safe(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"abc",
        safe({"a": ENTRY}),
        safe({"a": ENTRY}, bytes(9)),
        safe({"a": ENTRY | {"shape": [3]}}, bytes(8)),
        safe({"a": ENTRY | {"shape": [-2]}}, bytes(8)),
        safe({"a": ENTRY | {"shape": [2**40, 2**40]}}, bytes(8)),
        safe({"a": ENTRY | {"dtype": "F8_E4M3"}}, bytes(8)),
        safe({"a": ENTRY | {"data_offsets": [8, 0]}}, bytes(8)),
        safe({"a": ENTRY, "b": ENTRY}, bytes(8)),
        safe({"a": ENTRY, "b": ENTRY | {"data_offsets": [12, 20]}}, bytes(20)),
        safe({"a": {}}, bytes(8)),
        safe({"a": 3}, bytes(8)),
        safe([1], bytes(8)),
        safe(b'{"a":', bytes(8)),
        safe(b'{"a": 1, "a": 1}', bytes(8)),
        safe(b"\xff\xff", bytes(8)),
        struct.pack("<Q", 2**60) + b"{}",
    ],
)
def test_damaged_safetensors(data):
    with pytest.raises(FileFormatError, match="safetensors"):
        load_safetensors(io.BytesIO(data))


def test_what_safetensors_cannot_hold(tmp_path):
    for obj, error in (
        ([nb.ones(2)], TypeError),
        ({"a": 1}, TypeError),
        ({1: nb.ones(2)}, TypeError),
        ({"__metadata__": nb.ones(2)}, ValueError),
        ({"a": nb.ones(2, dtype=nb.complex128)}, ValueError),
    ):
        with pytest.raises(error, match="save_safetensors"):
            nb.save(obj, tmp_path / "x.safetensors")
    assert os.listdir(tmp_path) == []
