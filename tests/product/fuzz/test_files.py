"""Damaged, hostile and enormous files: ``load`` rejects them with its own errors, quickly, and executes nothing."""

from __future__ import annotations

import copy
import functools
import io
import json
import pickle
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

import nbautograd as nb
from nbautograd.serialization import FileFormatError, load_safetensors, save_safetensors
from tests import oracle

from .guard import LONG, fuzzed, guarded

REFUSED = (FileFormatError, EOFError)
"""The exceptions of reading a damaged file."""

FORBIDDEN = ("os.", "subprocess.", "socket.", "ctypes.", "shutil.", "tempfile.", "pickle.", "exec", "import", "open")
EXPECTED = ("import ('cupy'", f"os.listdir ('{nb.__path__[0]}")
"""The search for CUDA, and for a module of the package after a test has called ``importlib.invalidate_caches``."""


class Watch:
    """Records the events that a file causes in Python. Audit hooks stay forever, so there is only one, and it is on
    only while reading.
    """

    on = False
    seen: list[str] = []  # noqa: RUF012

    @classmethod
    def hook(cls, event: str, args: tuple[Any, ...]) -> None:
        if cls.on and event.startswith(FORBIDDEN):
            cls.seen.append(f"{event} {args!r:.80}")


sys.addaudithook(Watch.hook)


def reading(data: bytes, read: Callable[..., Any] = nb.load) -> Any:
    """Read under guard: the object, or None where the file was rejected as it should be."""
    files()
    Watch.seen.clear()
    try:
        with guarded(len(data) + 64 * 2**20):
            Watch.on = True
            try:
                return read(io.BytesIO(data))
            finally:
                Watch.on = False
    except (*REFUSED, RuntimeError) as error:
        assert len(str(error)) < 1000
        if not isinstance(error, REFUSED) and "map_location" not in str(error):  # a tensor on an unavailable device
            raise
        return None
    finally:
        seen = [event for event in Watch.seen if not event.startswith(EXPECTED)]
        assert not seen, seen


def saved(value: Any) -> bytes:
    file = io.BytesIO()
    nb.save(value, file)
    return file.getvalue()


def values() -> dict[str, Any]:
    x = nb.arange(6.0).view(2, 3)
    return {"x": x, "turned": x.t(), "p": nb.nn.Parameter(nb.ones(2)), "n": (1, 2.5, 3j, b"a", None, {4}), "d": nb.int8}


@functools.cache
def files() -> dict[str, bytes]:
    """Whole files of every format that is read, once read, so that all modules that it takes are imported."""
    tensors = io.BytesIO()
    save_safetensors({"a": nb.ones(2, 3), "b": nb.arange(4)}, tensors, metadata={"k": "v"})
    found = {"nbautograd": saved(values()), "safetensors": tensors.getvalue(), "pytorch": zipped(written_by_hand())}
    found["torch.save"] = oracle.shared("a file of torch.save", written_by)
    for data in found.values():
        nb.load(io.BytesIO(data))
    nb.load(io.BytesIO(zipped(b"\x80\x02ctorch.nn.modules.linear\nLinear\n.")), weights_only=False)
    return found


def written_by(T: Any) -> bytes:
    file = io.BytesIO()
    T.save({"w": T.ones(2, 3), "t": T.ones(2, 3).t(), "p": T.nn.Parameter(T.ones(1))}, file)
    return file.getvalue()


def written_by_hand() -> bytes:
    """The pickle of a dict with one tensor, as PyTorch writes it."""
    return (
        b"\x80\x02}q\0X\1\0\0\0wq\1ctorch._utils\n_rebuild_tensor_v2\nq\2((X\7\0\0\0storageq\3ctorch\nFloatStorage\nq\4"
        b"X\1\0\0\x000q\5X\3\0\0\0cpuq\6K\2tq\7QK\0K\2\x85q\x08K\1\x85q\t\x89ccollections\nOrderedDict\nq\n)Rq\x0bt"
        b"q\x0cRq\rs."
    )


def zipped(data: bytes, memory: bytes = b"\0\0\x80?\0\0\0@", compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/data/0", memory)
    return file.getvalue()


def rezipped(data: bytes, changed: dict[str, bytes]) -> bytes:
    """An archive with some members exchanged, and all checksums right."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(file, "w") as archive:
        for name in given.namelist():
            archive.writestr(name, changed.get(name, given.read(name)))
    return file.getvalue()


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


FORMATS = ["nbautograd", "safetensors", "pytorch", "torch.save"]


@pytest.fixture(params=FORMATS)
def whole(request: Any) -> bytes:
    return files()[request.param]


# -- damage ------------------------------------------------------------------------------------------------------------


def test_whole_files_are_read(whole: bytes) -> None:
    assert isinstance(reading(whole), dict)


def test_truncated_at_every_byte(whole: bytes) -> None:
    for end in range(len(whole)):
        assert reading(whole[:end]) is None, f"a file cut at byte {end} was read"


def test_every_byte_changed(whole: bytes) -> None:
    """Whatever is read in spite of it (the change may be in a date, or in a safetensors' value) is a dict of values."""
    for position in range(len(whole)):
        for change in (0xFF, 0x01, 0x80) if LONG else (0xFF,):
            damaged = bytearray(whole)
            damaged[position] ^= change
            assert isinstance(reading(bytes(damaged)), (dict, type(None)))


def flipped(draw: Any, data: bytes) -> bytes:
    damaged = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        kind, at = draw(st.integers(0, 4)), draw(st.integers(0, len(damaged) - 1))
        if kind == 0:
            del damaged[at : at + draw(st.integers(1, 9))]
        elif kind == 1:
            damaged[at:at] = draw(st.binary(min_size=1, max_size=9))
        elif kind == 2:
            damaged[at : at + 4] = struct.pack("<I", draw(st.sampled_from([0, 1, 2**31 - 1, 2**31, 2**32 - 1])))
        else:
            damaged[at] ^= 1 << draw(st.integers(0, 7))
        damaged = damaged or bytearray(b"\0")
    return bytes(damaged)


@fuzzed(150)
@given(data=st.data(), name=st.sampled_from(FORMATS))
def test_changed_anywhere(data: Any, name: str) -> None:
    reading(flipped(data.draw, files()[name]))


@fuzzed(150)
@given(data=st.data(), name=st.sampled_from(FORMATS))
def test_changed_inside_of_the_archive(data: Any, name: str) -> None:
    """Members are damaged and the checksums are right, so that the reader of the members has to notice."""
    whole = files()[name]
    if name == "safetensors":
        length = struct.unpack_from("<Q", whole)[0]
        header = flipped(data.draw, whole[8 : 8 + length])
        reading(struct.pack("<Q", len(header)) + header + whole[8 + length :])
        return
    inside = members(whole)
    changed = data.draw(st.sampled_from([name for name, content in inside.items() if content]))
    reading(rezipped(whole, {changed: flipped(data.draw, inside[changed])}))


@fuzzed(150)
@given(data=st.binary(max_size=60), start=st.sampled_from([b"", b"PK\3\4", b"PK\5\6", b"\x93NUMPY", b"\x80\2", b"{"]))
def test_any_bytes(data: bytes, start: bytes) -> None:
    assert reading(start + data) is None
    assert reading(struct.pack("<Q", len(data) + 1) + b"{" + data, load_safetensors) in (None, {})


# -- what a header says -------------------------------------------------------------------------------------------

ODD: list[Any] = [
    *(None, True, -1, 0, 7, 2**31, 2**62, 2**63, -(2**63), 2**70, 1e308, 0.5, "", "x", "float32", "cuda:0", "\ud800"),
    *([], {}, [[]], "F32", "9" * 5000),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def exchanged(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    value = copy.copy(value)
    value[path[0]] = exchanged(value[path[0]], path[1:], new)
    return value


@fuzzed(200)
@given(data=st.data())
def test_any_safetensors_header(data: Any) -> None:
    whole = files()["safetensors"]
    length = struct.unpack_from("<Q", whole)[0]
    header = json.loads(whole[8 : 8 + length])
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.sampled_from(list(places(header))))
        header = exchanged(header, where, data.draw(st.sampled_from(ODD)))
    text = json.dumps(header).encode()
    for read in (nb.load, load_safetensors):
        reading(struct.pack("<Q", len(text)) + text + whole[8 + length :], read)


# -- pickles -----------------------------------------------------------------------------------------------------------

GLOBALS = [
    *("os system", "builtins eval", "builtins getattr", "builtins __import__", "subprocess Popen", "posix system"),
    *("torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter", "torch Size", "torch FloatStorage"),
    *("collections OrderedDict", "builtins set", "builtins bytes", "_codecs encode", "torch float32", "torch device"),
    *("nbautograd load", "numpy.core.multiarray _reconstruct", "functools partial", "builtins complex"),
    *("torch.nn.modules.linear Linear", "torch.nn.functional relu", "torch.optim.sgd SGD", "copyreg _reconstructor"),
    *(
        "numpy memmap",
        "tempfile TemporaryDirectory",
        "tests.product.fuzz.test_files Watch",
        "torch._tensor _rebuild_from_type_v2",
    ),
]
CONSTANTS = [pickle.dumps(value, 2)[2:-1] for value in (None, True, 0, 1, 2, -1, 2**40, 1.5, "0", "cpu", "echo x", ())]
INSTRUCTIONS = st.one_of(
    st.sampled_from(CONSTANTS),
    st.sampled_from(GLOBALS).map(lambda text: b"c" + text.replace(" ", "\n").encode() + b"\n"),
    st.sampled_from(
        [b"(", b"t", b")", b"]", b"}", b"\x85", b"\x86", b"\x87", b"R", b"Q", b"a", b"e", b"s", b"u", b"d"]
    ),
    st.sampled_from([b"b", b"\x81", b"\x92", b"\x93", b"\x8f", b"\x90", b"\x91", b"o", b"i", b"0", b"1", b"2", b"l"]),
    st.integers(0, 4).map(lambda n: b"q" + bytes([n])),
    st.integers(0, 4).map(lambda n: b"h" + bytes([n])),
    st.just(written_by_hand()[2:-1]),
)


@fuzzed(500)
@given(program=st.lists(INSTRUCTIONS, max_size=25))
def test_any_pickle(program: list[bytes]) -> None:
    reading(zipped(b"\x80\x02" + b"".join(program) + b"."))
    reading(zipped(b"\x80\x02" + b"".join(program) + b"."), functools.partial(nb.load, weights_only=False))
    start = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}.\x80\x02"
    reading(start + b"".join(program) + b".\x80\x02].")


DOUBLED = b"".join(b"q%ch%ch%c\x86" % (i, i, i) for i in range(100))
"""Pair the top of the stack with itself, a hundred times: little memory, and 2 ** 100 values in it."""

BOMBS = {
    "a key of pairs of pairs": zipped(b"\x80\x02}K\1" + DOUBLED + b"Ns."),
    "a set of pairs of pairs": zipped(b"\x80\x04\x8f(K\1" + DOUBLED + b"\x90."),
    "a frozen set of pairs of pairs": zipped(b"\x80\x04(K\1" + DOUBLED + b"\x91."),
    "a set made by a call": zipped(b"\x80\x02cbuiltins\nset\n]K\1" + DOUBLED + b"a\x85R."),
    "a dict made by a call": zipped(b"\x80\x02ccollections\nOrderedDict\n]K\1" + DOUBLED + b"N\x86a\x85R."),
    "pairs of pairs as memory": zipped(b"\x80\x02K\1" + DOUBLED + b"Q."),
    "pairs of pairs as a size": zipped(written_by_hand().replace(b"K\2\x85q\x08", b"K\2" + DOUBLED + b"\x85")),
    "a key that is deep": zipped(b"\x80\x02}K\1" + b"\x85" * 10**5 + b"Ns."),
    "memory that is deep": zipped(b"\x80\x02K\1" + b"\x85" * 10**5 + b"Q."),
    "lists that are deep": zipped(b"\x80\x02" + b"]" * 10**5 + b"a" * (10**5 - 1) + b"a."),
    "a long number": zipped(b"\x80\x02I" + b"9" * 10**6 + b"\n."),
    "strides of zero": zipped(
        written_by_hand().replace(b"K\2\x85q\x08K\1\x85", b"\x8a\x05\0\0\0\0\x10\x85q\x08K\0\x85")
    ),
    "deflated": zipped(written_by_hand(), b"\0" * 10**8, zipfile.ZIP_DEFLATED),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str) -> None:
    """A small file loads or fails quickly and with little memory, for any content."""
    found = reading(BOMBS[name])
    assert found is None or name == "strides of zero"


def test_members_that_lie_in_each_other() -> None:
    """A thousand entries of the directory that mean the same megabyte are no gigabyte of memory."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", written_by_hand())
        archive.writestr("archive/data/0", bytes(2**20))
        first = archive.getinfo("archive/data/0")
        for i in range(1, 1000):
            twin = copy.copy(first)
            twin.filename = f"archive/data/{i}"
            archive.filelist.append(twin)
            archive.NameToInfo[twin.filename] = twin
    assert len(file.getvalue()) < 2 * 2**20
    assert reading(file.getvalue()) is None


def array(
    dtype: bytes,
    shape: bytes,
    data: bytes = b"abcd",
    state: bytes = b"X\1\0\0\0<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0",
) -> bytes:
    """A pickled array of NumPy's, of a dtype and a shape."""
    text = len(data).to_bytes(4, "little") + data
    kind = b"cnumpy\ndtype\n(X" + len(dtype).to_bytes(4, "little") + dtype + b"\x89\x88tR(K\3" + state + b"tb"
    begun = b"cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85N\x87R"
    return b"\x80\x02" + begun + b"(K\1" + shape + kind + b"\x89c_codecs\nencode\nX" + text + b"X\6\0\0\0latin1\x86Rtb."


ARRAYS = {
    "objects": array(b"O8", b"K\1\x85"),
    "texts": array(b"<U1", b"K\1\x85"),
    "dates": array(b"<M8[s]", b"K\1\x85"),
    "bytes of no length": array(b"V0", b"K\1\x85"),
    "a long shape": array(b"f4", b"\x8a\x07\0\0\0\0\0\0\x10\x85"),
    "a shape below zero": array(b"f4", b"J\xff\xff\xff\xff\x85"),
    "a shape of texts": array(b"f4", b"X\1\0\0\0a\x85"),
    "an enormous shape of zero": array(b"f4", b"K\0\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x86"),
    "fields": array(b"f4", b"K\1\x85", state=b"X\1\0\0\0|NK\1K\1J\xff\xff\xff\xffJ\xff\xff\xff\xffK\0"),
    "an unknown order": array(b"f4", b"K\1\x85", state=b"X\1\0\0\0xNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0"),
    "no dtype": array(b"f99", b"K\1\x85"),
}


def test_the_array_that_is_whole() -> None:
    assert reading(zipped(array(b"f4", b"K\1\x85"))).tolist() == [1.6777999408082104e22]


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_are_none(name: str) -> None:
    assert reading(zipped(ARRAYS[name])) is None


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a\nb", "-rf", "CON", "a" * 60_000])
def test_names_of_members_reach_no_file(name: str) -> None:
    """Names are looked up in the archive alone; with a slash in its name it is not PyTorch's."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{name}/data.pkl", written_by_hand())
        archive.writestr(f"{name}/data/0", b"\0\0\x80?\0\0\0@")
        archive.writestr(f"{name}x/../data/0", b"x")
    found = reading(file.getvalue())
    assert found is None if "/" in name else found["w"].tolist() == [1, 2]
