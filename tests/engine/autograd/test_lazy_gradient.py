"""Gradients of large arrays wait to be computed with those that follow: only the time shows it."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import nbautograd as T
from nbautograd._engine.arrays import thread_pool
from nbautograd._engine.fusion import lazy_gradient, tiling
from tests import oracle

SHAPE = (tiling.MIN_TILED_SIZE // 300 + 1, 300)


@pytest.fixture
def made(monkeypatch):
    """The gradients that were left to wait."""
    known = []
    init = lazy_gradient.LazyGradient.__init__

    def noted(self, work, values, like):
        init(self, work, values, like)
        known.append(work)

    monkeypatch.setattr(lazy_gradient.LazyGradient, "__init__", noted)
    return known


def arrays():
    generator = np.random.default_rng(0)
    shapes = (SHAPE, SHAPE[1:], (SHAPE[0], 1))
    return [generator.uniform(0.5, 1.5, shape).astype(np.float32) for shape in shapes]


def leaves(*values):
    return [T.tensor(a, requires_grad=True) for a in values or arrays()]


def program(x, w, c):
    y = (x.exp().tanh() * x).sigmoid() / c
    return (y * w + y - x).sin()


def gradients(run):
    """Compare those of ``run`` with those of ``program`` by parts of few rows, where nothing waits."""

    def at_once(*values):
        tensors = leaves(*values)
        run(*tensors)
        return [t.grad for t in tensors]

    def by_parts(*values):
        x, w, c = leaves(*values)
        found = [T.zeros_like(t).detach() for t in (x, w, c)]
        for start in range(0, SHAPE[0], 50):
            rows = slice(start, start + 50)
            part = [x.detach()[rows], w.detach(), c.detach()[rows]]
            for t in part:
                t.requires_grad_()
            program(*part).sum().backward()
            found[0][rows], found[2][rows] = part[0].grad, part[2].grad
            found[1] += part[1].grad
        return found

    oracle.agree(at_once, by_parts, *arrays())


def test_a_chain_is_computed_in_one_go(made, monkeypatch):
    runs = []
    compute = tiling.compute
    monkeypatch.setattr(tiling, "compute", lambda work, *rest: runs.append(work) or compute(work, *rest))
    x = leaves()[0]
    y = (x.exp().tanh() * x).sigmoid().sum()
    runs.clear()
    y.backward()
    assert len(made) == 6
    assert len(runs) == 1
    assert not any(type(thing) is lazy_gradient.LazyGradient for thing in gc.get_objects())


def test_gradients(made):
    gradients(lambda *t: program(*t).sum().backward())
    assert made


def test_autograd_grad_gives_arrays(made):
    def run(*t):
        for leaf, g in zip(t, T.autograd.grad(program(*t).sum(), t), strict=True):
            leaf.grad = g

    gradients(run)
    assert made


def test_a_second_pass_over_the_same_graph_and_sums_across_passes(made):
    def run(*t):
        y = program(*t).sum()
        y.backward(T.tensor(0.25), retain_graph=True)
        y.backward(T.tensor(0.75))

    gradients(run)
    assert made


def test_a_graph_that_is_watched_or_recorded_has_none_that_wait(made):
    def run(*t):
        program(*t).sum().backward(create_graph=True)
        for leaf in t:
            leaf.grad = leaf.grad.detach()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of cycles and of anomaly mode
        gradients(run)
        with T.autograd.detect_anomaly(check_nan=False):
            gradients(lambda *t: program(*t).sum().backward())
    assert not made


def test_what_runs_in_between_may_write_to_what_was_saved(made):
    class Spoil(T.autograd.Function):
        @staticmethod
        def forward(ctx, t, saved):
            ctx.saved = saved
            return t.clone()

        @staticmethod
        def backward(ctx, g):
            ctx.saved[0].numpy()[...] = 0  # unnoticed
            return g, None

    def by_a_function(x):
        (x,) = leaves(x)
        saved = []
        spoilt = Spoil.apply(T.ones(3, requires_grad=True), saved).sum()
        kept = x.exp()
        saved.append(kept.detach())
        (kept.sin().sum() + spoilt).backward()  # Spoil's node is older: it runs after the others
        return x.grad

    def by_a_hook(x):
        (x,) = leaves(x)
        hooked = T.ones(3, requires_grad=True) * 2
        kept = x.exp()
        saved = kept.detach()
        hooked.register_hook(lambda g: saved.numpy().fill(0))
        (kept.sin().sum() + hooked.sum()).backward()
        return x.grad

    def expected(x):
        x = T.tensor(x)
        return x.exp() * x.exp().cos()

    oracle.agree(by_a_function, expected, arrays()[0])
    assert made
    oracle.agree(by_a_hook, expected, arrays()[0])


def test_hooks_see_numbers():
    def seen_by_hooks(x):
        seen = []
        (x,) = leaves(x)
        y = x.exp()
        y.register_hook(lambda g: seen.append(g.clone()))
        y.tanh().sum().backward()
        return seen, x.grad

    def expected(x):
        y = T.tensor(x).exp()
        gradient = 1 - y.tanh() ** 2
        return [gradient], gradient * y

    oracle.agree(seen_by_hooks, expected, arrays()[0])


def test_what_others_hold_is_not_written_to():
    x = leaves()[0]
    e = x.exp()
    t = e.tanh()
    before = [a.detach().numpy().copy() for a in (x, e, t)]
    view = e.detach().numpy()[3:]
    (t * x).sum().backward()
    for a, b in zip((x, e, t), before, strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b)
    np.testing.assert_array_equal(view, before[1][3:])


def test_long_chains_do_not_wait_for_ever(made):
    def gradient(x):
        (x,) = leaves(x)
        y = x
        for _ in range(100):
            y = y * 0.5 + y.tanh() * 0.5
        y.sum().backward()
        return x.grad[:5]

    oracle.agree(gradient, lambda x: gradient(x[:5]), arrays()[0])
    assert max(work.cost for work in made) <= lazy_gradient.MAX_FUSED_COST


def test_a_failed_pass_leaves_nothing_behind(monkeypatch):
    x = leaves()[0]
    y = x.exp().tanh()
    result = weakref.ref(y.grad_fn)

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(thread_pool, "parallel_for", fail)
    with pytest.raises(MemoryError):
        y.sum().backward()
    monkeypatch.undo()
    assert x.grad is None
    assert lazy_gradient.pending_gradients.get() is None
    del y
    gc.collect()
    assert result() is None
