"""Check the objects that files may name and build: allowed calls, rejected calls, errors."""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import Any

import pytest

import nbautograd
from nbautograd import nn
from nbautograd.serialization import FileFormatError, add_safe_globals, clear_safe_globals, safe_globals
from nbautograd.serialization.files import UnsafeFileError
from tests import oracle
from tests.engine.serialized import written

CALLS: list[str] = []


class Acting:
    """Does something whenever Python's own unpickler would touch it."""

    def __new__(cls, *args: Any) -> Acting:
        CALLS.append("new")
        return super().__new__(cls)

    def __reduce__(self) -> Any:
        return Acting, (1,)


class WithState:
    def __init__(self) -> None:
        self.value = 3

    def __setstate__(self, state: Any) -> None:
        CALLS.append("state")
        vars(self).update(state)


class Ending:
    def __del__(self) -> None:
        CALLS.append("end")


class Ordinary:
    pass


class Slotted:
    __slots__ = ("a", "b")


def test_nothing_of_a_class_is_called() -> None:
    files = [written(Acting()), written(WithState()), written(Ending())]
    CALLS.clear()
    for file, words in zip(
        files, ("are not called", "__setstate__ of its own", "acts when it is deleted"), strict=True
    ):
        with pytest.raises(UnsafeFileError, match=words):
            nbautograd.load(file, weights_only=False)
    assert CALLS == []


@pytest.mark.parametrize(
    "program",
    [
        b"cbuiltins\nbytes\n(I100000000000\ntR.",
        b"cbuiltins\nbytearray\n(I100000000000\ntR.",
        b"cbuiltins\nlist\n(cbuiltins\nrange\n(I100000000000\ntRtR.",
        b"cfractions\nFraction\n(X\x0c\0\0\x001e1000000000tR.",
    ],
)
def test_nothing_is_larger_than_its_file(program: bytes) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + program)
    file.seek(0)
    with pytest.raises(UnsafeFileError, match="more than it holds"):
        nbautograd.load(file, weights_only=False)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (b"csubprocess\nPopen\n(X\x04\0\0\0truetR.", "a Python class that does more than hold data"),
        (b"cos\nsystem\n(X\x04\0\0\0truetR.", "not a class"),
        (b"cnumpy\nmemmap\n(X\x01\0\0\0xtR.", "are not called"),
        (b"cantigravity\nx\n.", "no module antigravity has been imported"),
        (b"ctests\nNothing\n.", "has no Nothing"),
        (b"ctorch.ao.quantization\nQConfig\n.", "which nbautograd does not have"),
        (b"cnbautograd\nsave\n.", "not a class|names"),
        (b"cbuiltins\ngetattr\ncbuiltins\nstr\nX\x04\0\0\0join\x86R.", "asks for the attribute 'join'"),
        (b"cbuiltins\neval\n(X\x01\0\0\x001tR.", "not a class"),
        (b"cnbautograd.serialization\nload\n.", "not a class|names"),
    ],
)
def test_what_a_file_may_not_name(program: bytes, words: str) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + program)
    file.seek(0)
    with pytest.raises(UnsafeFileError, match=words):
        nbautograd.load(file, weights_only=False)


def test_safe_globals() -> None:
    s = nbautograd.serialization
    clear_safe_globals()
    slotted = Slotted()
    slotted.a = [1]
    file = written([Acting(), WithState(), slotted])
    CALLS.clear()
    with safe_globals([Acting, WithState, Slotted]):
        found = nbautograd.load(file)
        assert s.get_safe_globals() == [Acting, WithState, Slotted]
    assert CALLS == ["new", "state"] and found[1].value == 3 and found[2].a == [1] and s.get_safe_globals() == []
    add_safe_globals([(Acting, "other.Name")])
    assert s.get_safe_globals() == [(Acting, "other.Name")]
    clear_safe_globals()
    with safe_globals([nn.Linear]):
        file = oracle.answer(lambda T: written(T.nn.Linear(2, 2), T, pickle_protocol=2).getvalue())
        assert type(nbautograd.load(io.BytesIO(file))) is nn.Linear
    with pytest.raises(TypeError, match="each item must be a class or function"):
        add_safe_globals([3])
    with pytest.raises(ZeroDivisionError), safe_globals([fails]):
        nbautograd.load(written(Failing()))


def fails() -> None:
    raise ZeroDivisionError


class Failing:
    def __reduce__(self) -> Any:
        return fails, ()


def test_errors_are_those_of_the_unpickler() -> None:
    def program(T: Any) -> None:
        with pytest.raises(
            pickle.UnpicklingError, match=r"(?s)Weights only load failed.*was not an allowed global by default"
        ):
            T.load(written(Ordinary(), T))
        with pytest.raises(pickle.UnpicklingError, match=r"invalid load key|Unsupported operand"):
            T.load(io.BytesIO(b"\xff\xd8 a picture"))
        with pytest.raises(EOFError, match=r"Ran out of input|^$"):
            T.load(io.BytesIO(b""))
        with pytest.raises(FileNotFoundError):
            T.load("/nowhere/x.pt")

    oracle.check(program)


def test_strings_of_python_2() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02U\x02\xc3\xbc.")
    for encoding, expected in (("utf-8", "ü"), ("latin1", "Ã¼"), ("bytes", b"\xc3\xbc")):
        file.seek(0)
        assert nbautograd.load(file, weights_only=False, encoding=encoding) == expected


def test_streams_that_are_damaged() -> None:
    def program(T: Any) -> bytes:
        return written({"a": T.arange(3.0), "b": T.ones(2)}, T, _use_new_zipfile_serialization=False).getvalue()

    data = oracle.answer(program)
    for end in range(1, len(data)):
        with pytest.raises((FileFormatError, EOFError)):
            nbautograd.load(io.BytesIO(data[:end]))
    for words, old, new in (
        ("Invalid magic number", b"l\xfc\x9cF", b"l\xfc\x9cG"),
        ("Invalid protocol version", b"M\xe9\x03", b"M\xe8\x03"),
        ("its contents exceed its size", b"K\x03Nt", b"M\xff\xffNt"),
    ):
        with pytest.raises(FileFormatError, match=words):
            nbautograd.load(io.BytesIO(data.replace(old, new, 1)))
