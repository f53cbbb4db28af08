"""Forward mode: for every operation, alone and mixed with reverse mode; levels, errors, in-place writes, functions."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest

import nbautograd as nb
import nbautograd.autograd.forward_ad as ours
from tests import oracle
from tests.engine.ops.cases import CASES


def directions_of(T, case, dtype):
    rng = np.random.default_rng(3)
    return [T.tensor(rng.standard_normal(a.shape)).to(dtype) for a in case.arrays()]


def mixed(T, case, how, *arrays):
    """A derivative of ⟨w, f⟩ in the direction v: first order, or the gradient's, by one of several ways."""
    xs = [T.tensor(a, requires_grad=how != "forward") for a in arrays]
    found = found_by(T, case, how, xs, directions_of(T, case, xs[0].dtype))
    like = [T.zeros((), dtype=xs[0].dtype)] if len(found) < len(xs) or how in SCALARS else xs
    return [T.zeros_like(x).detach() if t is None else t.detach() for t, x in zip(found, like, strict=True)]


def found_by(T, case, how, xs, directions):
    F = T.autograd.forward_ad

    def weighted(xs):
        out = case.call(T, *xs)
        parts = out if isinstance(out, (tuple, list)) else [out]
        total = 0
        for part in parts:
            weights = np.cos(1 + np.arange(part.numel())).reshape(part.shape)
            product = part * T.tensor(weights).to(xs[0].dtype)
            total = total + (product.real if product.is_complex() else product).sum()
        return total

    def duals(xs):
        return [F.make_dual(x, v) for x, v in zip(xs, directions, strict=True)]

    if how == "forward":
        with F.dual_level():
            return [F.unpack_dual(weighted(duals(xs))).tangent]
    if how == "reverse":
        found = T.autograd.grad(weighted(xs), xs, allow_unused=True)
        return [sum((g * v).sum() for g, v in zip(found, directions, strict=True) if g is not None)]
    if how == "forward over reverse":
        with F.dual_level():
            inputs = duals(xs)
            found = T.autograd.grad(weighted(inputs), inputs, create_graph=True, allow_unused=True)
            return [None if g is None else F.unpack_dual(g).tangent for g in found]
    if how == "reverse over forward":
        with F.dual_level():
            tangent = F.unpack_dual(weighted(duals(xs))).tangent
        if tangent is None or not tangent.requires_grad:
            return [None] * len(xs)
        return T.autograd.grad(tangent, xs, allow_unused=True)
    if how == "forward over forward":
        with F.nested_level() as outer:
            inputs = duals([x.detach() for x in xs])
            with F.nested_level():
                along = F.unpack_dual(weighted(duals(inputs))).tangent
            return [None if along is None else F.unpack_dual(along, level=outer).tangent]
    first = T.autograd.grad(weighted(xs), xs, create_graph=True, allow_unused=True)
    along = [(g * v).sum() for g, v in zip(first, directions, strict=True) if g is not None and g.requires_grad]
    found = T.autograd.grad(along, xs, allow_unused=True) if along else [None] * len(xs)
    if how == "reverse over reverse":
        return found
    return [
        sum(
            ((g * v).sum() for g, v in zip(found, directions, strict=True) if g is not None),
            T.zeros((), dtype=xs[0].dtype),
        )
    ]


WAYS = {
    "reverse": ["reverse", "forward"],
    "reverse over reverse": ["reverse over reverse", "forward over reverse", "reverse over forward"],
    "reverse over reverse, along": ["forward over forward"],
}
"""By the form of the question to PyTorch, the equivalent call here."""
NOT_ASKED = {
    *("digamma", "digamma negative", "polygamma 0", "lgamma"),  # PyTorch's trigamma is a short series: 9 digits
    *("mvlgamma 1", "mvlgamma 4", "special.multigammaln"),  # likewise
    *("F.binary_cross_entropy mean", "F.binary_cross_entropy sum", "F.binary_cross_entropy none"),  # 1e-12 is added
    *("det batch", "linalg.pinv wide", "linalg.lstsq wide vector"),  # PyTorch's one way loses less than the others do
}
"""Cases whose ways are compared with each other, because PyTorch's answer lacks their last digits."""
SCALARS = ("reverse", "forward", "reverse over reverse, along", "forward over forward")


def asked(T, case, how):
    """The derivative; None where PyTorch has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return mixed(T, case, how, *case.arrays())
        except RuntimeError:
            return None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_first_and_second_derivatives_agree_all_ways(case):
    if case.oracle and case.name not in NOT_ASKED:
        answers = oracle.answer(lambda T: {how: asked(T, case, how) for how in WAYS}).parts
    else:
        answers = [[how, None] for how in WAYS]
    for how, theirs in answers:
        for way in WAYS[how]:
            if theirs is not None:
                oracle.close(mixed(nb, case, way, *case.arrays()), theirs)
            elif way != how:
                oracle.agree(partial(mixed, nb, case, way), partial(mixed, nb, case, how), *case.arrays())


@oracle.both
def test_levels(T):
    F = T.autograd.forward_ad
    with pytest.raises(RuntimeError, match="no level exists"):
        F.make_dual(T.ones(2), T.ones(2))
    with F.dual_level() as level:
        assert level == 0
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"), F.dual_level():
            pass
        x = F.make_dual(T.ones(2), T.full((2,), 3.0))
        y = F.unpack_dual(x * x)
        assert y.primal.tolist() == [1, 1] and y.tangent.tolist() == [6, 6]
        assert F.unpack_dual(T.ones(2)).tangent is None and F.unpack_dual(x.detach()).tangent is None
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level"):
            F.make_dual(x, T.ones(2))
        with pytest.raises(RuntimeError, match="not the last one"):
            F.exit_dual_level(level=3)
    assert F.unpack_dual(x * x).tangent is None
    with pytest.raises(RuntimeError):
        F.exit_dual_level()
    level = F.enter_dual_level()
    F.exit_dual_level(level=level)


@oracle.both
def test_bad_tangents(T):
    F = T.autograd.forward_ad
    with F.dual_level():
        for primal, tangent in ((T.ones(2).long(), T.ones(2)), (T.ones(2), T.ones(2).long())):
            with pytest.raises(ValueError, match="to be floating point or complex, but got"):
                F.make_dual(primal, tangent)
        with pytest.raises(RuntimeError, match="different size than that of the original Tensor"):
            F.make_dual(T.ones(2), T.ones(3))


@oracle.both
def test_a_write_to_a_view_reaches_the_tangent_of_its_base(T):
    F = T.autograd.forward_ad
    with F.dual_level():
        x = T.ones(2, 2)
        x[0].mul_(F.make_dual(T.full((2,), 2.0), T.full((2,), 5.0)))
        found = F.unpack_dual(x * x)
        assert found.tangent.tolist() == [[20, 20], [0, 0]]
        y = F.make_dual(T.ones(3), T.arange(3.0))
        row = y[1:]
        y.mul_(2)
        assert F.unpack_dual(row).tangent.tolist() == [2, 4]
        y.zero_()
        assert F.unpack_dual(y).tangent.tolist() == [0, 0, 0]


@oracle.both
def test_functions_with_jvp(T):
    F = T.autograd.forward_ad

    class Power(T.autograd.Function):
        @staticmethod
        def forward(x, n):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(inputs[0])
            ctx.n = inputs[1]

        @staticmethod
        def jvp(ctx, tangent, n):
            assert n is None
            (x,) = ctx.saved_tensors
            return ctx.n * x ** (ctx.n - 1) * tangent

    class Without(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Many(Without):
        @staticmethod
        def jvp(ctx, tangent):
            return tangent, tangent

    with F.dual_level():
        x = F.make_dual(T.tensor([2.0, 3.0]), T.tensor([1.0, 10.0]))
        assert F.unpack_dual(Power.apply(x, 3)).tangent.tolist() == [12, 270]
        with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
            Without.apply(x)
        with pytest.raises(RuntimeError, match="invalid number of forward gradients"):
            Many.apply(x)


def test_a_level_leaves_nothing_behind():
    from nbautograd._engine.compiler import op
    from nbautograd._engine.core import dispatch_mode

    _ = nb.mul(nb.ones(2), 2)  # an operation returns to its own code at its first call without a mode
    code = op.OPS["mul"].function.__code__
    with ours.dual_level():
        x = ours.make_dual(nb.ones(2), nb.ones(2))
        level = ours.levels[0]
        y = x * x
        assert op.OPS["mul"].function.__code__ is not code
        assert len(level.tangents.entries) == 2
        del y
        assert len(level.tangents.entries) == len(level.arrays.entries) == 1
    assert not dispatch_mode.is_on() and (x * x)._tangent() is None  # the next call ends the detour
    assert op.OPS["mul"].function.__code__ is code
    assert not ours.levels and not level.tangents.entries and not level.arrays.entries and x._tangent() is None
    with pytest.raises(KeyError), ours.dual_level():
        raise KeyError
    assert not dispatch_mode.is_on()


def test_observers_see_the_passes_of_the_user_alone():
    from nbautograd import protocol

    events = []
    with ours.dual_level(), protocol.observe(events.append):
        x = ours.make_dual(nb.ones(2, requires_grad=True), nb.ones(2))
        y = (x * x).sin().sum()
        assert not events
        nb.autograd.grad(y, x)
    assert sum(isinstance(event, protocol.PassStarted) for event in events) == 1


def test_tangents_of_two_levels_pass_through_views_inside_of_operations() -> None:
    """``linear`` transposes its weight, which is computed here, by a hidden view."""

    def second(T, product, x, v):
        def along(function):
            return lambda z: T.func.jvp(function, (z,), (T.tensor(v),))[1]

        return along(along(lambda z: product(z, z * z.sin()).sin().sum()))(T.tensor(x))

    def program(T, x, v):
        zeros = T.zeros(3, dtype=T.float64)
        products = lambda a, b: a @ b.t(), lambda a, b: T.nn.functional.linear(a, b, zeros)
        return [second(T, product, x, v) for product in products]

    oracle.check(program, *(np.random.default_rng(i).normal(size=(3, 3)) for i in range(2)))
