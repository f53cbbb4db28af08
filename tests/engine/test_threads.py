"""Large arrays in several threads: the same numbers, the same errors, and nothing left behind."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import nbautograd as T
from nbautograd._engine.arrays import thread_pool
from nbautograd._engine.fusion import tiling

SIZE = 2 * tiling.TILES_PER_TASK * tiling.TILE_SIZE + 1234  # three tasks, the last of which is short


@pytest.fixture
def restored():
    before = T.get_num_threads()
    yield
    T.set_num_threads(before)


def ours():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("nbautograd")]


@pytest.mark.parametrize("wrong", [0, -1, 2.0, "2", True, None])
@pytest.mark.parametrize("name", ["set_num_threads", "set_num_interop_threads"])
def test_numbers_that_are_refused(name, wrong):
    before = T.get_num_threads(), T.get_num_interop_threads()
    expected = "expects a positive integer" if wrong.__class__ is int else "expects an int, but got "
    with pytest.raises(RuntimeError, match=f"^{name} {expected}"):
        getattr(T, name)(wrong)
    assert (T.get_num_threads(), T.get_num_interop_threads()) == before


def program():
    generator = np.random.default_rng(0)
    x = T.tensor(generator.standard_normal((SIZE // 1000, 1000), np.float32), requires_grad=True)
    w = T.tensor(generator.standard_normal(1000, np.float32), requires_grad=True)
    centred = x - x.mean(1, keepdim=True)
    y = (centred / (centred * centred).mean(1, keepdim=True).sqrt() * w).sigmoid()
    y.sum().backward()
    optimizers = [T.optim.Adam([x], weight_decay=0.1), T.optim.SGD([x], momentum=0.9), T.optim.Rprop([x])]
    for optimizer in [*optimizers, *optimizers]:
        optimizer.step()
    return [t.detach().numpy().tobytes() for t in (y, x, x.grad, w.grad)]


def test_results_are_the_same_bit_for_bit(restored):
    found = []
    for count in (1, 2, 3):
        T.set_num_threads(count)
        found.append(program())
        assert len(ours()) <= count - 1
    assert found[0] == found[1] == found[2]


def test_every_call_is_made_once_and_several_threads_make_them(restored):
    T.set_num_threads(3)
    meet = threading.Barrier(3)  # which waits for three threads
    done = []

    def task(number):
        if number < 3:
            meet.wait(60)
        done.append(number)

    thread_pool.parallel_for(task, 50)
    assert sorted(done) == list(range(50))


def test_what_a_call_raises_is_raised_and_the_rest_does_not_begin(restored):
    for count in (1, 3):
        T.set_num_threads(count)
        begun = []

        def task(number, begun=begun):
            begun.append(number)
            raise MemoryError(str(number))

        with pytest.raises(MemoryError):
            thread_pool.parallel_for(task, 1000)
        assert len(begun) <= count


def test_an_interrupt_ends_it(restored):
    T.set_num_threads(2)
    here = threading.get_ident()
    begun = []

    def task(number):
        begun.append(number)
        if threading.get_ident() == here:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        thread_pool.parallel_for(task, 10**6)
    assert len(begun) < 10**6
    thread_pool.parallel_for(lambda number: None, 10)


def test_an_interrupt_is_raised_when_nothing_is_written_any_more(restored):
    T.set_num_threads(2)
    here = threading.get_ident()
    both_run, interrupted = threading.Barrier(2), threading.Event()
    written = []

    def task(number):
        both_run.wait(60)
        if threading.get_ident() == here:
            interrupted.set()
            raise KeyboardInterrupt
        interrupted.wait(60)
        time.sleep(0.1)
        written.append(number)

    with pytest.raises(KeyboardInterrupt):
        thread_pool.parallel_for(task, 2)
    assert len(written) == 1


def test_calls_inside_of_calls(restored):
    T.set_num_threads(2)
    done = []
    thread_pool.parallel_for(lambda outer: thread_pool.parallel_for(lambda inner: done.append((outer, inner)), 5), 7)
    assert sorted(done) == [(i, j) for i in range(7) for j in range(5)]


def test_several_threads_of_the_user_at_once(restored):
    T.set_num_threads(2)
    expected = program()
    found = []
    others = [threading.Thread(target=lambda: found.append(program())) for _ in range(3)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()
    assert found == [expected] * 3


def test_there_are_no_warnings_of_numpy_in_any_thread(restored):
    T.set_num_threads(3)
    with np.errstate(all="raise"):
        x = T.full((SIZE,), 1000.0)
        assert x.exp().isinf().all()
        assert (x.exp() - x.exp()).isnan().all()


def run(source, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_no_thread_before_the_first_large_array():
    source = f"""
import threading
import nbautograd as T
T.set_num_threads(2)
print(threading.active_count())
T.ones(1000).exp()
print(threading.active_count())
T.ones({SIZE}).exp()
print(threading.active_count())
"""
    assert run(source) == ["1", "1", "2"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() here")
def test_a_child_of_fork_has_threads_of_its_own():
    source = f"""
import os, sys, threading
import nbautograd as T
T.set_num_threads(2)
x = T.ones({SIZE})
x.exp()
child = os.fork()
assert threading.active_count() == 1
assert bool((x.exp() == T.ones(1).exp()).all())
if child:
    assert os.waitpid(child, 0)[1] == 0
    print("both")
"""
    assert run(source) == ["both"]


def test_the_end_of_the_program():
    source = f"""
import atexit
import nbautograd as T
T.set_num_threads(2)
x = T.ones({SIZE})
x.exp()
atexit.register(lambda: print(x.exp().sum().item() > 0))
"""
    assert run(source) == ["True"]


@pytest.mark.parametrize(("asked", "expected"), [("1", 1), ("1,2", 1), ("0", None), ("many", None), ("", None)])
def test_the_number_to_begin_with(asked, expected):
    source = "import nbautograd as T; print(T.get_num_threads(), T.get_num_interop_threads())"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert run(source, OMP_NUM_THREADS=asked) == [str(expected or cores)] * 2


def test_interop_threads_are_set_once():
    source = """
import nbautograd as T
T.set_num_interop_threads(3)
print(T.get_num_interop_threads())
try:
    T.set_num_interop_threads(3)
except RuntimeError:
    print("once")
"""
    assert run(source) == ["3", "once"]
