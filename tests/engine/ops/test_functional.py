"""Check the rest of the functions: random streams, running statistics, and functions of which PyTorch has no second
derivative, so that first ones are compared with it and all by finite differences.
"""

from __future__ import annotations

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle
from tests.engine.ops.cases.case import case


def labels(T):
    return T.tensor([[1, 2, 2], [2, 1, 1]])


ONCE = [
    case("hardsigmoid", lambda T, x: T.nn.functional.hardsigmoid(x), (2, 3), low=-5, high=5),
    *(
        case(
            f"multi_margin_loss {reduction} {p}",
            lambda T, x, r=reduction, p=p: T.nn.functional.multi_margin_loss(
                x, T.tensor([0, 3, 1]), p, 0.7, T.tensor([0.5, 2.0, 1.0, 1.5], dtype=T.float64), reduction=r
            ),
            (3, 4),
        )
        for reduction, p in (("mean", 1), ("sum", 2), ("none", 1))
    ),
    *(
        case(
            f"multilabel_margin_loss {reduction}",
            lambda T, x, r=reduction: T.nn.functional.multilabel_margin_loss(
                x, T.tensor([[0, 3, -1, 2], [-1, 0, 0, 0], [2, 1, 0, 3]]), reduction=r
            ),
            (3, 4),
        )
        for reduction in ("mean", "sum", "none")
    ),
    *(
        case(
            f"ctc_loss {reduction}",
            lambda T, x, r=reduction: T.nn.functional.ctc_loss(
                x.log_softmax(2), labels(T), (5, 6), (2, 3), reduction=r
            ),
            (6, 2, 3),
        )
        for reduction in ("mean", "sum", "none")
    ),
    case(
        "ctc_loss of one",
        lambda T, x: T.nn.functional.ctc_loss(x.log_softmax(1), T.tensor([1, 2]), T.tensor(4), T.tensor(2), blank=3),
        (4, 4),
    ),
    case(
        "embedding_bag weights",
        lambda T, w, p: T.nn.functional.embedding_bag(
            T.tensor([0, 2, 1, 3, 1, 0]), w, T.tensor([0, 2, 2]), mode="sum", per_sample_weights=p, padding_idx=3
        ),
        (4, 3),
        (6,),
    ),
    case(
        "attention without weights",
        lambda T, q, w, o: T.nn.functional.multi_head_attention_forward(
            q, q, q, 4, 2, w, None, None, None, False, 0.0, o, None, need_weights=False
        )[0],
        (3, 4),
        (12, 4),
        (4, 4),
    ),
    case(
        "fractional_max_pool2d",
        lambda T, x: T.nn.functional.fractional_max_pool2d(
            x, 2, output_size=2, _random_samples=T.tensor([[[0.2, 0.7], [0.9, 0.1]]], dtype=T.float64)
        ),
        (1, 2, 5, 4),
    ),
    case(
        "fractional_max_pool3d",
        lambda T, x: T.nn.functional.fractional_max_pool3d(
            x, 2, output_ratio=0.5, _random_samples=T.tensor([[[0.2, 0.7, 0.4]]], dtype=T.float64)
        ),
        (1, 1, 4, 4, 5),
    ),
]


@pytest.mark.parametrize("one", ONCE, ids=str)
def test_first_derivatives_against_torch_and_all_by_differences(one):
    def program(T):
        inputs = [T.tensor(a, requires_grad=True) for a in one.arrays()]
        out = one.call(T, *inputs)
        cotangent = T.tensor(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))
        gradients = T.autograd.grad(out, inputs, cotangent)
        if one.name == "hardsigmoid":  # PyTorch's constant 1/6 has single precision
            gradients = [g.float() for g in gradients]
        return out, *gradients, out.grad_fn.name() if not one.name.startswith("attention") else ""

    oracle.check(program)
    inputs = [nb.tensor(a, requires_grad=True) for a in one.arrays()]
    assert nb.autograd.gradcheck(lambda *xs: one.call(nb, *xs), inputs)
    assert nb.autograd.gradgradcheck(lambda *xs: one.call(nb, *xs), inputs)


# -- random streams --------------------------------------------------------------------------------------------------

RANDOM = ["dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "rrelu"]


@pytest.mark.parametrize("inplace", [False, True], ids=["", "in place"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_are_pytorchs(name, kind, inplace):
    """Check for the same mask after the same seed, in any layout, and the same state of the generator afterwards."""
    for shape in ((3, 5), (4, 3, 5), (2, 3, 4, 5), (30, 41)):
        for turned in (False, True):

            def program(T, shape, turned):
                T.manual_seed(3)
                x = T.tensor(np.linspace(-1, 1, int(np.prod(shape))).reshape(shape).astype(kind))
                x = x.transpose(0, -1) if turned else x
                function = getattr(T.nn.functional, name)
                options = (0.1, 0.4) if name == "rrelu" else (0.3,)
                out = function(x, *options, training=True, inplace=inplace)
                return out.clone(), x, T.rand(3), out is x or name in ("dropout1d", "dropout3d")

            oracle.check_either(program, shape, turned, exact=True)


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax(hard):
    def program(T):
        T.manual_seed(1)
        x = T.tensor(np.linspace(-1, 1, 12).reshape(3, 4), requires_grad=True)
        out = T.nn.functional.gumbel_softmax(x, 0.7, hard)
        return out, *T.autograd.grad(out, x, T.tensor(np.cos(np.arange(12.0)).reshape(3, 4)))

    oracle.check(program)


# -- state -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics_follow(name):
    def program(T):
        x = T.tensor(np.cos(np.arange(24.0)).reshape(2, 3, 4), requires_grad=True)
        mean, var = T.zeros(3, dtype=T.float64), T.ones(3, dtype=T.float64)
        function = getattr(T.nn.functional, name)
        function(x, mean, var, None, None, True, 0.3)
        after = function(x, mean, var, None, None, False)
        (g,) = T.autograd.grad(after, x, T.tensor(np.sin(np.arange(24.0)).reshape(2, 3, 4)))
        return mean, var, after, g

    oracle.check(program)


def test_embedding_options():
    def program(T):
        w = T.tensor(np.linspace(-2, 2, 12).reshape(4, 3), requires_grad=True)
        index = T.tensor([[0, 1, 1], [3, 1, 0]])
        out = T.nn.functional.embedding(index, w, padding_idx=-1, max_norm=1.0, scale_grad_by_freq=True)
        (g,) = T.autograd.grad(out, w, T.tensor(np.cos(np.arange(18.0)).reshape(2, 3, 3)))
        return out, w, g

    oracle.check(program)


def test_every_public_name_is_there():
    ours = set(nb.nn.functional.__all__)
    assert len(ours) == 126
    assert ours <= set(oracle.answer(lambda T: sorted(vars(T.nn.functional))))


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "hardtanh", "relu6", "hardshrink", "softshrink"])
def test_a_slope_that_is_constant_can_be_differentiated_again(name):
    def program(T):
        x = T.tensor([-1.0, 0.7, 2.0], requires_grad=True)
        (slope,) = T.autograd.grad(getattr(T.nn.functional, name)(x).sum(), x, create_graph=True)
        (curvature,) = T.autograd.grad(slope.sum(), x)
        return slope.grad_fn.name(), slope, curvature

    oracle.check(program, exact=True)


@pytest.mark.parametrize(
    ("shape", "target"), [((3,), -100), ((2, 3), [-100, -100]), ((2, 3), [-100, 1]), ((1, 3, 2), [[-100, -100]])]
)
@pytest.mark.parametrize("weight", [None, [1.0, 0.0, 2.0]])
def test_ignored_targets_get_no_gradient(shape, target, weight):
    def program(T):
        x = T.arange(6.0 if len(shape) > 1 else 3.0).reshape(shape).requires_grad_()
        weights = None if weight is None else T.tensor(weight)
        loss = T.nn.functional.nll_loss(x, T.tensor(target), weights)
        loss.backward()
        return loss, x.grad

    oracle.check(program)
