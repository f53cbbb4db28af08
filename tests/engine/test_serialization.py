"""``save`` and ``load``: the loaded objects, the shared ones, and the errors."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import nbautograd as nb
from nbautograd.serialization import FileFormatError
from tests.engine.serialized import equal, loaded, saved

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


@pytest.mark.sweep
@given(OBJECTS)
@settings(max_examples=200)
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
    assert back[0].storage_offset() == 10 and back[0].untyped_storage().nbytes() == 4000
    same = loaded(saved([x, x]))
    assert same[0] is same[1]
    bits = loaded(saved([x[:2], x.data[:1]]))  # under another name
    assert bits[0].data_ptr() == bits[1].data_ptr()


def test_paths_are_written_all_or_nothing(tmp_path):
    path = tmp_path / "x.nb"
    nb.save(nb.ones(2), path)
    before = path.read_bytes()
    os.chmod(path, 0o640)

    with pytest.raises((AttributeError, pickle.PicklingError), match=r"Can't (get local|pickle)"):
        nb.save([nb.ones(3), lambda: 0], path)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr(zipfile.ZipFile, "writestr", lambda *a, **k: (_ for _ in ()).throw(OSError("disk full")))
        nb.save(nb.ones(3), path)
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
    data = saved([nb.ones(2), nb.arange(4)[1:]])
    calls = []

    def where(storage, location):
        calls.append((storage.nbytes(), location))
        return storage

    for place in (None, "cpu", b"cpu", nb.device("cpu"), {"cuda:0": "cpu"}, where, lambda storage, location: None):
        assert loaded(data, map_location=place)[1].device.type == "cpu"
    assert calls == [(8, "cpu"), (32, "cpu")]
    with pytest.raises(TypeError, match="must return a storage or None, not int"):
        loaded(data, map_location=lambda storage, location: 3)
    if not nb.cuda.is_available():
        with pytest.raises(RuntimeError, match=r"Attempting to deserialize object on a CUDA device.*map_location"):
            loaded(data, map_location="cuda")


def test_what_cannot_be_saved():
    with pytest.raises(ValueError, match="pickle_module must be pickle"):
        nb.save(1, io.BytesIO(), pickle_module=io)
    with pytest.raises(ValueError, match="pickle_module must be pickle"):
        nb.load(io.BytesIO(saved(1)), pickle_module=io)
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        nb.load(io.BytesIO(saved(1)), pickle_module=pickle, weights_only=True)
    with pytest.raises(TypeError, match="'write'"):
        nb.save(1, 3)
    with pytest.raises(TypeError, match="'read'"):
        nb.load(3)
    with pytest.raises(TypeError, match="binary mode"):
        nb.load(io.StringIO("abc"))
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        nb.load(io.BytesIO(saved(1)), weights=True)
    assert nb.load(io.BytesIO(saved(1)), pickle_module=pickle) == 1


def test_objects_that_hold_themselves():
    cycle = [nb.ones(1)]
    cycle.append(cycle)
    back = loaded(saved(cycle))
    assert back[1] is back and back[0].tolist() == [1]


def test_foreign_files(tmp_path):
    npz, npy = io.BytesIO(), io.BytesIO()
    np.savez(npz, a=np.ones(2))
    np.save(npy, np.ones(2))
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w") as archive:
        archive.writestr("readme.txt", "hello")
    for data, words in [
        (pickle.dumps([1]), "Invalid magic number"),
        (npz.getvalue(), "numpy.load"),
        (npy.getvalue(), "numpy.load"),
        (plain.getvalue(), "something else"),
        (b"hello world, this is text", "invalid load key"),
        (b"\x1f\x8b123456789", "gzip"),
    ]:
        with pytest.raises(FileFormatError, match=words):
            loaded(data)
    with pytest.raises(EOFError, match="empty"):
        loaded(b"")
    with pytest.raises(FileNotFoundError):
        nb.load(tmp_path / "nothing")
