"""Forward mode: for every operation, alone and mixed with reverse mode; levels, errors, in-place writes, functions."""

from __future__ import annotations

import numpy as np
import pytest

import nbautograd as nb
import nbautograd.autograd.forward_ad as ours
from tests import needs
from tests.ops.cases import CASES

torch = needs.optional("torch")
theirs = needs.optional("torch.autograd.forward_ad")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
both = pytest.mark.parametrize(
    ("T", "F"), [(nb, ours)] if torch is None else [(nb, ours), (torch, theirs)], ids=lambda value: value.__name__
)


def directions_of(case):
    rng = np.random.default_rng(3)
    return [nb.tensor(rng.standard_normal(a.shape)) for a in case.arrays()]


def mixed(case, how):
    """A derivative of ⟨w, f⟩ in the direction v: first order, or the gradient's, by one of three ways."""
    arrays = case.arrays()
    directions = directions_of(case)

    def weighted(xs):
        out = case.call(nb, *xs)
        parts = out if isinstance(out, (tuple, list)) else [out]
        total = 0
        for part in parts:
            weights = np.cos(1 + np.arange(part.numel())).reshape(part.shape)
            product = part * nb.tensor(weights)
            total = total + (product.real if product.is_complex() else product).sum()
        return total

    xs = [nb.tensor(a, requires_grad=how != "forward") for a in arrays]
    if how == "forward":
        with ours.dual_level():
            return [
                ours.unpack_dual(weighted([ours.make_dual(x, v) for x, v in zip(xs, directions, strict=True)])).tangent
            ]
    if how == "reverse":
        found = nb.autograd.grad(weighted(xs), xs, allow_unused=True)
        return [sum((g * v).sum() for g, v in zip(found, directions, strict=True) if g is not None)]
    if how == "forward over reverse":
        with ours.dual_level():
            duals = [ours.make_dual(x, v) for x, v in zip(xs, directions, strict=True)]
            found = nb.autograd.grad(weighted(duals), duals, create_graph=True, allow_unused=True)
            return [None if g is None else ours.unpack_dual(g).tangent for g in found]
    if how == "reverse over forward":
        with ours.dual_level():
            tangent = ours.unpack_dual(
                weighted([ours.make_dual(x, v) for x, v in zip(xs, directions, strict=True)])
            ).tangent
        if tangent is None or not tangent.requires_grad:
            return [None] * len(xs)
        return nb.autograd.grad(tangent, xs, allow_unused=True)
    if how == "forward over forward":
        with ours.nested_level() as outer:
            duals = [ours.make_dual(x.detach(), v) for x, v in zip(xs, directions, strict=True)]
            with ours.nested_level():
                inner = [ours.make_dual(x, v) for x, v in zip(duals, directions, strict=True)]
                along = ours.unpack_dual(weighted(inner)).tangent
            return [None if along is None else ours.unpack_dual(along, level=outer).tangent]
    first = nb.autograd.grad(weighted(xs), xs, create_graph=True, allow_unused=True)
    along = [(g * v).sum() for g, v in zip(first, directions, strict=True) if g is not None and g.requires_grad]
    return nb.autograd.grad(along, xs, allow_unused=True) if along else [None] * len(xs)


def same(found, expected):
    for a, b in zip(found, expected, strict=True):
        a, b = (np.zeros(()) if t is None else np.asarray(t.detach().numpy(), float) for t in (a, b))
        np.testing.assert_allclose(*np.broadcast_arrays(a, b), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_first_and_second_derivatives_agree_all_ways(case):
    same(mixed(case, "forward"), mixed(case, "reverse"))
    expected = mixed(case, "reverse over reverse")
    same(mixed(case, "forward over reverse"), expected)
    same(mixed(case, "reverse over forward"), expected)
    (along,) = mixed(case, "forward over forward")
    pairs = zip(expected, directions_of(case), strict=True)
    same([along], [sum(((g * v).real.sum() for g, v in pairs if g is not None), nb.zeros(()))])


@both
def test_levels(T, F):
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


@both
def test_bad_tangents(T, F):
    with F.dual_level():
        for primal, tangent in ((T.ones(2).long(), T.ones(2)), (T.ones(2), T.ones(2).long())):
            with pytest.raises(ValueError, match="to be floating point or complex, but got"):
                F.make_dual(primal, tangent)
        with pytest.raises(RuntimeError, match="different size than that of the original Tensor"):
            F.make_dual(T.ones(2), T.ones(3))


@both
def test_a_write_to_a_view_reaches_the_tangent_of_its_base(T, F):
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


@both
def test_functions_with_jvp(T, F):
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
    from nbautograd.compiler import op
    from nbautograd.core import dispatch_mode

    code = op.OPS["mul"].function.__code__
    with ours.dual_level():
        x = ours.make_dual(nb.ones(2), nb.ones(2))
        level = ours.levels[0]
        y = x * x
        assert op.OPS["mul"].function.__code__ is not code
        assert len(level.tangents.entries) == 2
        del y
        assert len(level.tangents.entries) == len(level.arrays.entries) == 1
    assert op.OPS["mul"].function.__code__ is code and not dispatch_mode.is_on()
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
    """``linear`` transposes its weight, which is computed here, by a view that nobody sees."""
    x, v = (nb.tensor(np.random.default_rng(i).normal(size=(3, 3))) for i in range(2))
    zeros = nb.zeros(3, dtype=nb.float64)

    def along(function):
        return lambda z: nb.func.jvp(function, (z,), (v,))[1]

    seen, unseen = (
        along(along(lambda z, product=product: product(z, z * z.sin()).sin().sum()))(x)
        for product in (lambda a, b: a @ b.t(), lambda a, b: nb.nn.functional.linear(a, b, zeros))
    )
    np.testing.assert_allclose(unseen.numpy(), seen.numpy(), 1e-12)
