"""``Function`` in its finer points, beside PyTorch."""

from __future__ import annotations

import pytest

import nbautograd as nb
from tests import oracle


def made(T, forward, backward=lambda ctx, *g: g[0], **others):
    """A Function with these static methods."""
    members = {"forward": forward, **({} if backward is None else {"backward": backward}), **others}
    return type("Made", (T.autograd.Function,), {name: staticmethod(f) for name, f in members.items()})


def leaf(T):
    return T.tensor([4.0, 2.0], requires_grad=True)


@oracle.both
def test_what_forward_may_return(T):
    x = leaf(T)
    assert made(T, lambda ctx, x: 3).apply(x) == 3
    assert made(T, lambda ctx, x: None).apply(x) is None
    out, number, nothing, text = made(T, lambda ctx, x: (x * 2, 3, None, "a")).apply(x)
    assert out.requires_grad and (number, nothing, text) == (3, None, "a")
    assert isinstance(made(T, lambda ctx, x: [x * 2]).apply(x), list)
    first, second = made(T, lambda ctx, x: (x, x), lambda ctx, g, h: g + h).apply(x)
    (first * 2 + second).sum().backward()
    assert x.grad.tolist() == [3, 3]


@oracle.both
def test_integer_outputs_do_not_require_grad(T):
    x = leaf(T)
    seen = []
    out, whole = made(T, lambda ctx, x: (x * 2, (x * 2).long()), lambda ctx, g, h: (seen.append(h), g * 2)[1]).apply(x)
    assert not whole.requires_grad
    out.sum().backward()
    assert seen[0].tolist() == [0, 0] and x.grad.tolist() == [2, 2]


@oracle.both
def test_keyword_arguments_and_numbers(T):
    x = leaf(T)
    out = made(T, lambda ctx, x, k=1: x * k, lambda ctx, g: (g * 3, None)).apply(x, k=3)
    assert out.tolist() == [12, 6]
    seen = []
    scale = made(
        T, lambda x, k=1: x * k, lambda ctx, g: (g * ctx.k, None),
        setup_context=lambda ctx, inputs, output: (seen.append(inputs), setattr(ctx, "k", inputs[1])),
    )  # fmt: skip
    scale.apply(x, 5).sum().backward()
    assert x.grad.tolist() == [5, 5] and seen[0][1] == 5


MISUSES = [
    (
        lambda T, x: made(T, lambda ctx, x: x * 2, None).apply(x).sum().backward(),
        "You must implement either the backward",
    ),
    (
        lambda T, x: made(T, lambda ctx, x: x * 2, vjp=lambda ctx, g: g).apply(x).sum().backward(),
        "Implementing both 'backward' and 'vjp' for a custom Function is not allowed",
    ),
    (
        lambda T, x: made(T, lambda ctx, x: (ctx.mark_dirty(x), x * 2)[1]).apply(x * 1),
        "marked as dirty during the forward method were not returned as output",
    ),
    (
        lambda T, x: made(T, lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1]).apply(x),
        "a leaf Variable that requires grad .* in-place operation",
    ),
    (
        lambda T, x: made(T, lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1]).apply(x[:1]),
        "a view of a leaf Variable that requires grad is being used in an in-place operation",
    ),
    (
        lambda T, x: made(T, lambda ctx, x: (ctx.mark_dirty(3), x)[1]).apply(x * 1),
        "mark_dirty can only accept variables",
    ),
    (
        lambda T, x: made(T, lambda ctx, x: (ctx.mark_non_differentiable(3), x)[1]).apply(x * 1),
        "mark_non_differentiable only accepts variable arguments",
    ),
    (
        lambda T, x: made(T, lambda ctx, x: (ctx.save_for_backward(3), x * 1)[1]).apply(x),
        "save_for_backward can only save variables, but argument 0 is of type int",
    ),
    (
        lambda T, x: made(T, lambda ctx, x: x * 2, lambda ctx, g: 3).apply(x).sum().backward(),
        r"expected Variable or None \(got int\)",
    ),
    (
        lambda T, x: made(T, lambda ctx, x, k: x * 2, lambda ctx, g: (g, g)).apply(x, 3).sum().backward(),
        "returned a gradient different than None at position 2, but the corresponding forward input was not a Variable",
    ),
    (
        lambda T, x: made(T, lambda ctx, x: x * 2, lambda ctx, g: T.ones(3)).apply(x).sum().backward(),
        r"returned an invalid gradient at index 0 - got \[3\] but expected shape compatible with \[2\]",
    ),
    (
        lambda T, x: made(T, lambda ctx, x: x * 2, lambda ctx, g: (g, g)).apply(x).sum().backward(),
        r"returned an incorrect number of gradients \(expected 1, got 2\)",
    ),
    (lambda T, x: made(T, lambda ctx, x: x).apply(x * 1).add_(1), "created inside a custom"),
    (lambda T, x: made(T, lambda ctx, x: x.view(-1)).apply(x * 1).add_(1), "is a view and is being modified inplace"),
    (lambda T, x: T.autograd.Function.vmap(1, 2), "vmap"),
]


@oracle.both
@pytest.mark.parametrize(("call", "message"), MISUSES)
def test_misuse(T, call, message):
    with pytest.raises((RuntimeError, TypeError, NotImplementedError), match=message) as caught:
        call(T, leaf(T))
    return caught.value  # which compares the types


def test_a_backward_that_writes_into_its_gradient_harms_nobody():
    for depth in range(3):
        x, y = (nb.tensor([4.0, 2.0], requires_grad=True) for _ in range(2))
        scale = made(nb, lambda ctx, x: x * 2, lambda ctx, g: g.mul_(2))
        z = scale.apply(x * 1)
        for _ in range(depth):
            z = z + 0
        out = (z + y) if depth < 2 else (y + z)
        out.sum().backward()
        assert x.grad.tolist() == [2, 2] and y.grad.tolist() == [1, 1]
    given = nb.ones(2)
    scale.apply(x).backward(given)
    assert given.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="modified its incoming gradient by an inplace operation"):
        nb.autograd.grad(scale.apply(x), x, nb.ones(2), create_graph=True)


@oracle.both
def test_a_backward_that_raises_can_be_tried_again(T):
    tries = []

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        tries.append(1)
        if len(tries) == 1:
            raise KeyError("on purpose")
        return g * x

    x = leaf(T)
    y = made(T, lambda ctx, x: (ctx.save_for_backward(x), x * 1)[1], backward).apply(x).sum()
    with pytest.raises(KeyError):
        y.backward()
    assert x.grad is None
    y.backward()
    assert x.grad.tolist() == [4, 2]


def test_a_formula_that_raises_can_be_tried_again(monkeypatch):
    x = nb.tensor([4.0, 2.0], requires_grad=True)
    y = x.exp() * x

    class Bad:
        """An array that cannot be multiplied."""

        shape, dtype, ndim = (2,), x._a.dtype, 1

        def __mul__(self, other):
            raise KeyError("on purpose")

    with pytest.raises(KeyError):
        y.grad_fn.vjp(Bad(), False)
    y.sum().backward()
    assert x.grad is not None


@oracle.both
def test_in_place_functions_follow_the_version(T):
    x = leaf(T)
    y = x * 1
    z = made(T, lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1], lambda ctx, g: g * 2).apply(y)
    assert z is y and y._version == 2  # marking counts as a write
    z.sum().backward()
    assert x.grad.tolist() == [2, 2]


@oracle.both
def test_once_differentiable_says_so_where_a_gradient_requires_grad(T):
    square = made(T, lambda ctx, x: x * x, T.autograd.function.once_differentiable(lambda ctx, g: g * 2))
    x, v = T.ones(2, requires_grad=True), T.ones(2, requires_grad=True)
    (constant,) = T.autograd.grad(square.apply(x).sum(), x, create_graph=True)
    assert not constant.requires_grad
    (first,) = T.autograd.grad(square.apply(x), x, v, create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        first.sum().backward()


@oracle.both
def test_names(T):
    F = T.autograd.function
    assert all(hasattr(F, name) for name in ("FunctionCtx", "FunctionMeta", "BackwardCFunction", "InplaceFunction"))
    for name in ("name", "metadata", "next_functions", "register_hook", "saved_tensors", "needs_input_grad", "jvp"):
        assert hasattr(T.autograd.Function, name)


class Exp(nb.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        return grad_output * result


class TwoOutputs(nb.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, y):
        ctx.factor = factor
        ctx.save_for_backward(x, y)
        assert not nb.is_grad_enabled()
        return x * factor, x * y

    @staticmethod
    def backward(ctx, g1, g2):
        x, y = ctx.saved_tensors
        assert ctx.needs_input_grad == (True, False, True)
        return g1 * ctx.factor + g2 * y, None, g2 * x


def test_functions_differentiate_to_every_order():
    x = nb.tensor([0.3, 1.2], dtype=nb.float64, requires_grad=True)
    assert nb.autograd.gradcheck(Exp.apply, (x,)) and nb.autograd.gradgradcheck(Exp.apply, (x,))
    y = nb.tensor([2.0, -1.0], dtype=nb.float64, requires_grad=True)
    assert nb.autograd.gradcheck(lambda a, b: TwoOutputs.apply(a, 3.0, b), (x, y))
    assert nb.autograd.gradgradcheck(lambda a, b: TwoOutputs.apply(a, 3.0, b), (x, y))
    first, second = TwoOutputs.apply(x, 3.0, y)
    assert first.grad_fn is second.grad_fn and (first.output_nr, second.output_nr) == (0, 1)
    assert type(first.grad_fn).__name__ == "TwoOutputsBackward"
    first.sum().backward()  # the gradient of the unused output is zeros
    assert x.grad.tolist() == [3, 3] and y.grad.tolist() == [0, 0]


def test_functions_with_setup_context_and_marks():
    class Split(nb.autograd.Function):
        @staticmethod
        def forward(x):
            return x.clone(), x > 0

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.mark_non_differentiable(output[1])
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx, g, unused):
            assert unused is None
            return g * 7

    x = nb.tensor([1.0, -1.0], requires_grad=True)
    out, sign = Split.apply(x)
    assert out.requires_grad and not sign.requires_grad
    out.sum().backward()
    assert x.grad.tolist() == [7, 7]

    class Double(nb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    y = nb.ones(2, requires_grad=True)
    z = y * 1
    same = Double.apply(z)
    assert same is z and type(z.grad_fn).__name__ == "DoubleBackward"
    z.sum().backward()
    assert y.grad.tolist() == [2, 2]


def test_once_differentiable():
    class Square(nb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @nb.autograd.function.once_differentiable
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 * x

    x = nb.tensor(3.0, requires_grad=True)
    g = nb.tensor(1.0, requires_grad=True)
    (first,) = nb.autograd.grad(Square.apply(x), x, g, create_graph=True)
    assert first.item() == 6
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        first.backward()


def test_functions_should_not_be_instantiated():
    with pytest.warns(DeprecationWarning, match="Exp'> should not be instantiated"):
        instance = Exp()
    with pytest.raises(RuntimeError, match=r"Legacy autograd function.*Exp\.apply"):
        instance(nb.ones(1))
