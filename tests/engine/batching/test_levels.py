"""Test levels: each entered level is left, per thread; escaped tensors raise; no memory is kept."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.core import batched, dispatch_mode
from nbautograd.func import grad, jacrev, vmap
from tests import oracle


@pytest.mark.parametrize("name, args", [("t_", ()), ("unsqueeze_", (0,)), ("resize_", (3, 2)), ("set_", (nb.ones(6),))])
def test_a_tensor_that_is_not_batched_gets_another_shape(name, args):
    def f(x):
        t = nb.ones(2, 3)
        getattr(t, name)(*args)
        return x * t.sum()

    assert vmap(f)(nb.ones(2)).tolist() == [6.0, 6.0]


def test_nothing_stays_behind():
    was_on = dispatch_mode.is_on_anywhere()

    def fails(x):
        vmap(lambda y: y.sin())(x)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vmap(fails)(nb.ones(2, 3))
    vmap(grad(nb.sin))(nb.ones(3))
    assert batched.levels() == () and (was_on or not dispatch_mode.is_on_anywhere()) and not dispatch_mode.followers


def test_levels_belong_to_their_thread():
    inside, done, seen = threading.Event(), threading.Event(), []

    def other():
        inside.wait(10)
        seen.append((batched.levels(), (nb.ones(2) * 3).tolist(), nb.zeros(2).add_(1).tolist(), nb.rand(1).shape))
        done.set()

    thread = threading.Thread(target=other)
    thread.start()

    def waits(x):
        inside.set()
        done.wait(10)
        return x * 2

    result = vmap(waits)(nb.ones(3))
    thread.join()
    assert result.tolist() == [2, 2, 2] and seen == [((), [3.0, 3.0], [1.0, 1.0], (1,))]


def test_many_threads():
    x = nb.arange(12.0).reshape(4, 3)
    expected = (2 * x).tolist()
    results = []
    gradient = vmap(grad(lambda a: (a * a).sum()))
    threads = [threading.Thread(target=lambda: results.append(gradient(x).tolist())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


def test_what_escapes_says_so():
    escaped = []
    vmap(lambda x: (escaped.append(x), x)[1])(nb.ones(3, 2))
    assert "BatchedTensor(lvl=1, bdim=0" in repr(escaped[0])
    for use in (lambda t: t + 1, lambda t: t.sum(), lambda t: nb.ones(2) * t, lambda t: t.clone(), lambda t: t @ t):
        with pytest.raises(RuntimeError, match="after vmap, it is no longer valid"):
            use(escaped[0])


def test_memory_goes_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        x = nb.ones(3, 2)
        kept = weakref.ref(x)
        result = vmap(grad(lambda a: (a * 2).sin().sum()))(x)
        result = jacrev(lambda a: a.exp())(x[0])
        seen = []
        vmap(lambda a: (seen.append(weakref.ref(a)), a * 2)[1])(x)
        del x, result
        assert kept() is None and seen[0]() is None
    finally:
        gc.enable()


def test_arrays_of_samples_have_no_elements():
    def look(x):
        array = x._a
        assert array.shape == (2,) and array.dtype == np.float32 and not array.flags.writeable
        for use in (np.sum, np.sin, np.asarray([1]).__add__, list, float, np.concatenate):
            with pytest.raises((RuntimeError, TypeError)):
                use(array)
        return x

    vmap(look)(nb.ones(3, 2))


@pytest.mark.parametrize("dim", [0, 1])
def test_both_libraries_take_each_others_functions(dim):
    """Check that a function written for both libraries can be mapped."""

    def program(T, x):
        return T.vmap(lambda a: T.linalg.norm(a) * a.flip(0), in_dims=dim)(T.tensor(x))

    oracle.check(program, np.random.default_rng(0).standard_normal((3, 3)))


def test_a_mapped_pass_is_a_graph_like_others():
    x = nb.ones(3, 2, requires_grad=True)
    y = vmap(lambda a: (a * 2).sum())(x)
    names = [node.name() for node in (y.grad_fn, y.grad_fn.next_functions[0][0])]
    assert names == ["SumBackward1", "MulBackward0"]
    y.sum().backward()
    assert x.grad.tolist() == [[2, 2]] * 3
