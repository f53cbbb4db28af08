"""Small calls whose result was another, or no error: indices, bounds, hooks, inference mode, gradients of Functions."""

from __future__ import annotations

import warnings
from typing import Any

from tests.parity.differences.both import agrees


def outcome(call: Any) -> Any:
    """Return the result of a call, or the kind of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()
    except Exception as error:
        return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")


@agrees
def test_indices_out_of_range_of_the_flattened_tensor(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3)
    return [outcome(lambda i=i: torch.take_along_dim(x, torch.tensor([i]))) for i in (7, 6, 5, -6, -7)]


@agrees
def test_bounds_of_two_kinds(torch: Any) -> Any:
    """A 0-d tensor beside a number is a number; any other tensor raises."""
    found = []
    for dtype in (torch.int64, torch.float32, torch.bool):
        x = torch.arange(4).to(dtype)
        for low, high in (
            (0, torch.tensor(2.0)),
            (0.5, torch.tensor(2)),
            (torch.tensor(1), 2.5),
            (torch.tensor([1, 1, 1, 1]), 2),
            (0, torch.tensor(2.0, requires_grad=True)),
        ):
            found.append(outcome(lambda x=x, low=low, high=high: torch.clamp(x, low, high)))
    y = torch.arange(4.0, requires_grad=True)
    y.clamp(min=0.5, max=torch.tensor(2.0)).sum().backward()
    return found, y.grad


@agrees
def test_ranges_of_integers(torch: Any) -> Any:
    """Ends are rounded to integers first; out= gives the dtype."""
    found = [
        torch.linspace(start, end, steps, dtype=torch.int64)
        for start in (-7, 9, 1.5)
        for end in (-9, 3, 0.5)
        for steps in (1, 3, 5, 8)
    ]
    outs = (torch.float64, torch.int64, torch.complex64)
    found += [torch.linspace(0, 1, 3, out=torch.zeros(3, dtype=dtype)) for dtype in outs]
    return found + [torch.logspace(0, 1, 3, out=torch.zeros(3, dtype=dtype)) for dtype in outs]


@agrees
def test_nan_in_complex_logcumsumexp(torch: Any) -> Any:
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([complex(-inf, 0), 1 + 2j, complex(inf, 0), complex(nan, 0)])
    return torch.view_as_real(torch.logcumsumexp(x, 0))


@agrees
def test_inputs_of_a_pass_retain_their_gradients(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    before = y.retains_grad
    (y * 3).sum().backward(inputs=[y], retain_graph=True)
    first = y.grad.clone()
    (y * 3).sum().backward()
    return before, y.retains_grad, first, y.grad, x.grad


@agrees
def test_names_that_are_printed(torch: Any) -> Any:
    linear = torch.nn.Linear(1, 1)
    linear.register_forward_hook(print)
    iterators = ("parameters", "named_parameters", "buffers", "named_buffers", "children", "named_children", "modules")
    names = [getattr(linear, name)().__qualname__ for name in iterators]
    return names, repr(linear._forward_hooks).partition("[")[0], "volatile" in dir(torch.ones(1))


def described(node: Any) -> str:
    """Return the graph behind a node, by names."""
    if node is None:
        return "None"
    return f"{type(node).__name__}({', '.join(described(following) for following, _ in node.next_functions)})"


@agrees
def test_graph_of_a_gradient_that_has_no_derivative(torch: Any) -> Any:
    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, factor: int, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x + factor * y + x * y

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g + g * y, None, g * 2 + g * x

    x, y = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    Once.apply(x, 2, y).sum().backward(torch.ones((), requires_grad=True), create_graph=True)
    return described(x.grad.grad_fn), described(y.grad.grad_fn), outcome(lambda: x.grad.sum().backward())


@agrees
def test_attributes_that_cannot_be_deleted(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    before = x._backward_hooks
    x.register_hook(print)
    names = ("data", "requires_grad", "_grad_fn", "_backward_hooks")
    return before, len(x._backward_hooks), [outcome(lambda name=name: delattr(x, name)) for name in names]


@agrees
def test_writes_to_inference_tensors(torch: Any) -> Any:
    calls = (
        lambda t: t.resize_(4).shape,
        lambda t: t.resize_as_(torch.ones(4)).shape,
        lambda t: torch.nn.Parameter(t).requires_grad,
        lambda t: torch.nn.Parameter(t, requires_grad=False).requires_grad,
        lambda t: t.detach().add_(1),
    )
    found = []
    for call in calls:
        with torch.inference_mode():
            t = torch.ones(3)
        found.append(outcome(lambda call=call, t=t: call(t)))
    return found


@agrees
def test_sparse_gradients_of_functions(torch: Any) -> Any:
    class Sparse(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return (torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.ones(2, 3), (4, 3)),) * 2

    x, y = (torch.ones(4, 3, requires_grad=True) for _ in range(2))
    Sparse.apply(x, y).sum().backward()
    Sparse.apply(x * 2, y).sum().backward()
    return [(t.grad.is_sparse, t.grad.to_dense()) for t in (x, y)]


@agrees
def test_sparse_gradients_that_functions_get(torch: Any) -> Any:
    """The former order of the arguments of embedding_bag is taken with a warning."""

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    x, y = (torch.ones(10, 3, requires_grad=True) for _ in range(2))
    rows, offsets = torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 4])
    loss = torch.nn.functional.embedding_bag(Same.apply(x, y), rows, offsets, sparse=True).sum()
    for _ in range(3):
        loss.backward(retain_graph=True)
    return [(t.grad.is_sparse, t.grad.to_dense()) for t in (x, y)]


@agrees
def test_renorm_in_place(torch: Any) -> Any:
    x = torch.tensor([[3.0, 4.0], [0.3, 0.4]], dtype=torch.float64, requires_grad=True)
    y = x * 1
    y.renorm_(2, 0, 1)
    (y * torch.tensor([1.0, 2.0])).sum().backward()
    return y, x.grad


OUT_OF_THEMSELVES = (
    "T.masked_select(x, x > -1, out=x)",
    "T.kthvalue(x, 1, out=(x, T.zeros((), dtype=T.int64)))",
    "T.take_along_dim(x, T.tensor([2, 1, 0]), 0, out=x)",
    "T.scatter(x, 0, T.tensor([0]), x, out=x)",
    "T.outer(x, x, out=x)",
)


@agrees
def test_out_that_is_an_operand(torch: Any) -> Any:
    return [outcome(lambda text=text: eval(text, {"T": torch, "x": torch.arange(3.0)})) for text in OUT_OF_THEMSELVES]


LOSSES = ("binary_cross_entropy_with_logits", "huber_loss", "soft_margin_loss", "hinge_embedding_loss", "kl_div")


@agrees
def test_losses_of_integers(torch: Any) -> Any:
    found = []
    for name in LOSSES:
        for first in (torch.int64, torch.bool, torch.float32):
            for second in (torch.int64, torch.float32):
                x, y = torch.ones(2, 2).to(first), torch.ones(2, 2).to(second)
                result = outcome(lambda name=name, x=x, y=y: getattr(torch.nn.functional, name)(x, y).dtype)
                found.append((name, first, second, "no" if isinstance(result, str) else result))
    return found


@agrees
def test_names_of_optimizers(torch: Any) -> Any:
    return [name for name in dir(torch.optim) if not name.startswith("_") and name[0].isupper()]
