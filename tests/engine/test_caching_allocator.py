"""The memory of large results is used again, within a bound, and only if nothing refers to it."""

import gc
import os
import pickle
import platform
import subprocess
import sys

import numpy as np
import pytest

import nbautograd as T
from nbautograd._engine.arrays import caching_allocator
from nbautograd._engine.fusion import tiling
from nbautograd.utils.allocator import keep_large_arrays

N = caching_allocator.MIN_BLOCK_BYTES // 4 + 5  # float32
DTYPE = np.dtype(np.float32)


@pytest.fixture(autouse=True)
def fresh():
    gc.collect()
    before = keep_large_arrays(0)
    keep_large_arrays(256)
    yield
    keep_large_arrays(0)
    keep_large_arrays(before)


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_once_the_last_view_of_it_is_gone():
    x = T.ones(N)
    y = x.exp()
    where = address(y.numpy())
    view = y.numpy()[3:10]
    del y
    other = x.exp()
    assert address(other.numpy()) != where
    np.testing.assert_array_equal(view, np.float32(np.e))  # ours rounds to the nearest; NumPy's own may not
    del view
    assert address(x.sin().numpy()) == where


def test_arrays_that_follow_each_other_share_no_history():
    x = T.ones(N)
    y = x.exp()
    where = address(y.numpy())
    y.add_(1)
    assert y._version == 1
    del y
    y = x.exp()
    assert address(y.numpy()) == where
    assert y._version == 0


def test_a_result_is_an_array_like_any_other():
    y = T.ones(N).exp()
    a = y.numpy()
    assert a.flags.writeable
    assert a.flags.c_contiguous
    assert np.array_equal(pickle.loads(pickle.dumps(a)), a)
    assert y[2:].untyped_storage().nbytes() == a.nbytes
    copied = T.tensor(a)
    assert not np.shares_memory(copied.numpy(), a)
    y.resize_(3)
    assert y.tolist() == T.ones(3).exp().tolist()


def test_all_blocks_together_stay_within_the_bound():
    keep_large_arrays(3)
    held = [caching_allocator.empty((N,), DTYPE) for _ in range(5)]
    assert sum(block.nbytes for block in caching_allocator.pool.blocks) <= 3 << 20
    assert sum(a.base is None for a in held) == 3
    held.clear()
    large = caching_allocator.empty((2 * N,), DTYPE)  # for which the free blocks make room
    assert large.base is not None
    assert [block.nbytes for block in caching_allocator.pool.blocks] == [large.nbytes]
    assert keep_large_arrays(0) == 3
    assert caching_allocator.pool.blocks  # still in use
    del large
    keep_large_arrays(0)
    assert not caching_allocator.pool.blocks
    assert T.ones(N).exp().numpy().base is None
    for wrong in (-1, 0.5, "1"):
        with pytest.raises(ValueError):
            keep_large_arrays(wrong)


def test_a_gradient_in_a_block_becomes_grad_without_a_copy(monkeypatch):
    x = T.ones(N, requires_grad=True)
    y = x.exp()
    empty, made = caching_allocator.empty, []

    def noted(shape, dtype):
        array = empty(shape, dtype)
        made.append(address(array))
        return array

    monkeypatch.setattr(caching_allocator, "empty", noted)
    y.backward(T.ones(N))
    assert [address(x.grad.numpy())] == made


def test_small_arrays_have_memory_of_their_own():
    assert T.ones(tiling.MIN_TILED_SIZE).exp().numpy().base is None


FAULTS = """
import resource, sys
import numpy as np
{}
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        held = [np.ones(150_000, np.float32) for _ in range(8)]
        del held
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the manual of the GNU C library says so")
def test_memory_of_smaller_arrays_is_kept_by_the_c_library():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}

    def faults(first):
        code = [sys.executable, "-c", FAULTS.format(first)]
        return int(subprocess.run(code, env=environment, capture_output=True, text=True, check=True).stdout)

    assert faults("") > 1000 > 100 > faults("import nbautograd")  # 20 times 8 arrays of 147 pages
