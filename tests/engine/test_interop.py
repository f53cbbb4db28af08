"""Tensors as Python's and NumPy's values, in other libraries, copied, pickled, and in files."""

from __future__ import annotations

import copy
import operator
import pickle
import warnings

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle

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
    def outcome(library):
        names = {"T": library, "np": np, "operator": operator, "copy": copy, "pickle": pickle}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = eval(expression, names)
            except Exception as error:
                return error
        if "dlpack_device" in expression:
            value = tuple(map(int, value))
        return type(value).__name__, repr(value)

    ours, theirs = outcome(nb), oracle.answer(outcome, exact=True)
    if isinstance(theirs, oracle.Raised):
        assert theirs.kind in [cls.__name__ for cls in type(ours).__mro__], f"{ours!r} instead of {theirs}"
    else:
        oracle.same(ours, theirs)


def test_memory_is_shared_with_numpy_in_both_directions():
    a = np.zeros((2, 3))
    for t in (nb.from_numpy(a), nb.as_tensor(a), nb.asarray(a), nb.from_dlpack(a), nb.from_numpy(a.T).t()):
        t[0, 0] += 1
    assert a[0, 0] == 5
    t = nb.zeros(3)
    exchanged = np.from_dlpack(t)  # which NumPy 2.0 makes read-only
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
    torch = oracle.live()
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
