"""``torch.func``: each transform inside each other, nested arguments, models, and errors."""

from __future__ import annotations

from typing import Any

import pytest

import nbautograd
from tests import oracle
from tests.parity.differences.both import agrees


def numbers(torch: Any, *shape: int) -> Any:
    count = 1
    for n in shape:
        count *= n
    return torch.linspace(-1.0, 1.5, count, dtype=torch.float64).reshape(shape)


# -- two deep ----------------------------------------------------------------------------------------------------------

TRANSFORMS: dict[str, Any] = {
    "vmap": lambda F, f: F.vmap(f),
    "vmap of columns": lambda F, f: F.vmap(f, in_dims=-1, out_dims=-1),
    "grad": lambda F, f: F.grad(lambda x: total(f(x))),
    "grad_and_value": lambda F, f: lambda x: sum(F.grad_and_value(lambda x: total(f(x)))(x)),
    "vjp": lambda F, f: lambda x: pulled(F, f, x),
    "jvp": lambda F, f: lambda x: F.jvp(f, (x,), (x.cos(),))[1],
    "jacrev": lambda F, f: F.jacrev(f),
    "jacfwd": lambda F, f: F.jacfwd(f),
    "hessian": lambda F, f: F.hessian(f),
}
"""Each creates a function of one tensor from another one."""


def linearized(F: Any, f: Any) -> Any:
    return lambda x: F.linearize(f, x)[1](x.cos())


def total(value: Any) -> Any:
    return (value.sin() * 1.5).sum()


def pulled(F: Any, f: Any, x: Any) -> Any:
    value, product = F.vjp(f, x)
    return product(value.cos())[0]


def function(x: Any) -> Any:
    """Not linear, and with products of elements, so that no derivative is diagonal."""
    return x.sin() * x.exp().sum() + x**2 * x.sum()


@pytest.mark.parametrize("inner", TRANSFORMS)
@pytest.mark.parametrize("outer", TRANSFORMS)
def test_two_deep(outer: str, inner: str) -> None:
    def program(torch: Any) -> Any:
        F = torch.func
        return TRANSFORMS[outer](F, TRANSFORMS[inner](F, function))(numbers(torch, 2, 3))

    agrees(program)()


@pytest.mark.parametrize("other", TRANSFORMS)
def test_linearize_inside_and_outside(other: str) -> None:
    """PyTorch's records a program, and cannot be nested in the others: it is what ``jvp`` computes."""

    def program(torch: Any, along: Any = TRANSFORMS["jvp"]) -> Any:
        F, x, transform = torch.func, numbers(torch, 2, 3), TRANSFORMS[other]
        return transform(F, along(F, function))(x), along(F, transform(F, function))(x)

    oracle.close(program(nbautograd, linearized), oracle.answer(program))


THREE = [
    ("vmap", "grad", "vmap"),
    ("grad", "vmap", "grad"),
    ("vmap", "vmap", "hessian"),
    ("vmap", "jacrev", "jacfwd"),
    ("jacfwd", "vmap", "jacrev"),
    ("jvp", "jvp", "jvp"),
    ("vmap", "jvp", "grad"),
    ("jvp", "vmap", "jvp"),
    ("jacrev", "jacrev", "vmap"),
    ("grad", "jvp", "vmap"),
]


@pytest.mark.parametrize("names", THREE, ids=" ".join)
def test_three_deep(names: tuple[str, ...]) -> None:
    def program(torch: Any) -> Any:
        f = function
        for name in reversed(names):
            f = TRANSFORMS[name](torch.func, f)
        return f(numbers(torch, 2, 2))

    agrees(program)()


# -- what is differentiated by -----------------------------------------------------------------------------------------


@agrees
def test_nested_arguments(torch: Any) -> Any:
    F = torch.func
    state = {"w": numbers(torch, 2, 3), "more": [numbers(torch, 3), (numbers(torch, 2),)]}

    def loss(state: Any, x: Any, *, power: int = 2) -> Any:
        return ((state["w"] @ x + state["more"][1][0]) ** power).sum() * state["more"][0].sum()

    x, xs = numbers(torch, 3), numbers(torch, 4, 3)
    return [
        F.grad(loss)(state, x),
        F.grad(loss, argnums=(0, 1))(state, x, power=3),
        F.grad_and_value(lambda s, x: (loss(s, x), {"x": x}), argnums=1, has_aux=True)(state, x),
        F.vmap(F.grad(loss), (None, 0))(state, xs),
        F.jacrev(lambda s: {"a": s["w"] @ x, "b": s["more"][0]})(state),
        F.jacfwd(lambda s, x: (s["w"] @ x, s["more"][0]), argnums=(0, 1))(state, x),
        F.jvp(lambda s: [s["w"] @ x], (state,), (state,)),
        F.vjp(lambda s: (s["w"] @ x, s["more"][0]), state)[1]((numbers(torch, 2), numbers(torch, 3))),
        F.hessian(lambda s: loss(s, x))(state),
    ]


@agrees
def test_auxiliary_values(torch: Any) -> Any:
    F, x = torch.func, numbers(torch, 3)
    return [
        F.grad(lambda x: (x.exp().sum(), x * 2), has_aux=True)(x),
        F.vjp(lambda x: (x.exp(), x.sum()), x, has_aux=True)[2],
        F.jvp(lambda x: (x.exp(), x.sum()), (x,), (x,), has_aux=True),
        F.jacrev(lambda x: (x.exp(), [x.sum()]), has_aux=True)(x),
        F.jacfwd(lambda x: (x.exp(), {"sum": x.sum()}), has_aux=True)(x),
        F.vmap(F.grad(lambda x: (x.exp(), x * 2), has_aux=True))(x),
    ]


@agrees
def test_what_is_captured_gets_gradients(torch: Any) -> Any:
    F, w, x = torch.func, numbers(torch, 3).requires_grad_(), numbers(torch, 3)
    g = F.grad(lambda x: (x * w).sin().sum())(x)
    (first,) = torch.autograd.grad(g.sum(), w)
    h = F.vmap(F.grad(lambda a, b: (a * b).sin()))(x, w)
    (second,) = torch.autograd.grad(h.sum(), w)
    inner = F.grad(lambda w: F.grad(lambda x: (x * w).sin().sum())(x).sum())(w.detach())
    plain = F.grad(lambda x: x.sin().sum())(x)
    return g.requires_grad, first, h.requires_grad, second, inner, plain.requires_grad


@agrees
def test_results_have_no_history(torch: Any) -> Any:
    F, x = torch.func, numbers(torch, 2)
    results = [f(x) for f in (TRANSFORMS[name](F, function) for name in TRANSFORMS) for x in (numbers(torch, 2, 2),)]
    value, product = F.vjp(function, x)
    return [r.requires_grad for r in (*results, value, *product(x), *F.jvp(function, (x,), (x,)))]


@agrees
def test_chunks(torch: Any) -> Any:
    x = numbers(torch, 5)
    return [torch.func.jacrev(function, chunk_size=n)(x) for n in (1, 2, 7)]


@agrees(exact=True)
def test_linearize(torch: Any) -> Any:
    F, x, y = torch.func, numbers(torch, 3), numbers(torch, 3).exp()
    value, product = F.linearize(lambda x, y: {"a": x * y, "b": x.sin()}, x, y)
    many = F.vmap(lambda t: F.linearize(torch.sin, x)[1](t))(torch.eye(3, dtype=torch.float64))
    return value, product(y, x), product(x, x), many


@agrees
def test_no_grad_inside_and_outside(torch: Any) -> Any:
    F, x = torch.func, numbers(torch, 3)

    def half(x: Any) -> Any:
        with torch.no_grad():
            shift = x**2
        return (x**2 - shift).sum()

    with torch.no_grad():
        outside = F.grad(lambda x: (x**2).sum())(x), F.vmap(F.grad(torch.sin))(x)
    return F.grad(half)(x), outside


@agrees
def test_decisions_outside_of_maps(torch: Any) -> Any:
    return torch.func.grad(lambda x: (x**2).sum() if x.sum() > 0 else x.sum())(numbers(torch, 3))


# -- models ------------------------------------------------------------------------------------------------------------


def filled(torch: Any, model: Any) -> Any:
    """The model with the same parameters under both libraries."""
    with torch.no_grad():
        for k, p in enumerate(model.parameters()):
            p.copy_((numbers(torch, p.numel()) * (k + 1)).sin().reshape(p.shape) / 2)
    return model


MODELS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "MLP": (lambda nn: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)), (5, 4)),
    "layer norm": (lambda nn: nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3)), (5, 4)),
    "CNN": (
        lambda nn: nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 2, 2, groups=2, bias=False),
            nn.GroupNorm(2, 2), nn.Flatten(), nn.Linear(2, 3),
        ),
        (3, 2, 4, 4),
    ),
    "transposed": (
        lambda nn: nn.Sequential(nn.ConvTranspose1d(2, 3, 3, stride=2), nn.AvgPool1d(3), nn.Flatten(), nn.Linear(9, 3)),
        (3, 2, 4),
    ),
    "attention": (lambda nn: nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True), (3, 5, 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_gradients_per_sample(name: str) -> None:
    make, shape = MODELS[name]

    def program(torch: Any) -> Any:
        F, model = torch.func, filled(torch, make(torch.nn).double())
        parameters = {key: p.detach() for key, p in model.named_parameters()}

        def loss(parameters: Any, x: Any, t: Any) -> Any:
            scores = F.functional_call(model, parameters, (x[None],)).reshape(1, -1)[:, :3]
            return torch.nn.functional.cross_entropy(scores, t[None])

        targets = torch.arange(shape[0]) % 3
        gradient = F.vmap(F.grad_and_value(loss), (None, 0, 0))
        return gradient(parameters, numbers(torch, *shape), targets)

    agrees(program)()


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_gradients_per_sample_of_recurrent_networks(kind: str) -> None:
    """PyTorch has no rules for these: each sample alone."""

    def program(torch: Any) -> Any:
        F, model = torch.func, filled(torch, getattr(torch.nn, kind)(3, 4).double())
        parameters = {key: p.detach() for key, p in model.named_parameters()}

        def loss(parameters: Any, x: Any) -> Any:
            return (F.functional_call(model, parameters, (x,))[0] ** 2).sum()

        xs = numbers(torch, 4, 5, 3)
        if torch.__name__ == "torch":
            return [torch.stack([F.grad(loss)(parameters, x)[key] for x in xs]) for key in parameters]
        return list(F.vmap(F.grad(loss), (None, 0))(parameters, xs).values())

    agrees(program)()


@agrees
def test_ensembles(torch: Any) -> Any:
    F = torch.func
    models = [
        filled(torch, torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).double()) for _ in range(4)
    ]
    for k, model in enumerate(models):
        model.eval()
        with torch.no_grad():
            model[0].weight.mul_(k)
    parameters, buffers = F.stack_module_state(models)
    x = numbers(torch, 5, 3)

    def call(parameters: Any, buffers: Any, x: Any) -> Any:
        return F.functional_call(models[0], (parameters, buffers), (x,))

    flags = [(name, p.requires_grad, p.is_leaf) for name, p in (*parameters.items(), *buffers.items())]
    return (
        flags,
        F.vmap(call, (0, 0, None))(parameters, buffers, x),
        F.vmap(call, (0, 0, 0))(parameters, buffers, numbers(torch, 4, 5, 3)),
    )


@agrees
def test_functional_call(torch: Any) -> Any:
    F, nn = torch.func, torch.nn
    model = filled(torch, nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).double())
    before = {key: value.clone() for key, value in model.state_dict().items()}
    x, state = numbers(torch, 3, 2), {"0.weight": numbers(torch, 2, 2), "1.running_mean": numbers(torch, 2)}
    result = F.functional_call(model, state, (x,))
    after = {key: bool((value == before[key]).all()) for key, value in model.state_dict().items()}
    keyword = F.functional_call(model[0], {}, args=None, kwargs={"input": x})
    tied = nn.Linear(2, 2, bias=False).double()
    both = nn.Sequential(tied, tied)
    through = F.functional_call(both, {"0.weight": numbers(torch, 2, 2)}, x)
    one = F.functional_call(nn.Linear(2, 1).double(), [{"weight": x[:1]}, {"bias": x[0, :1]}], x[0])
    return result, after, state, keyword, through, one


WRONG: list[tuple[str, Any, str]] = [
    (
        "vector",
        lambda T, F: F.grad(lambda x: x)(T.ones(2)),
        "Expected f(*args) to return a scalar Tensor, got tensor with",
    ),
    ("number", lambda T, F: F.grad(lambda x: 3)(T.ones(2)), "Expected f(*args) to return a Tensor"),
    ("argnum", lambda T, F: F.grad(T.sum, argnums=2)(T.ones(2)), "Got argnum=2, but only 1 positional inputs"),
    ("argnums", lambda T, F: F.grad(T.sum, argnums=(0, 0))(T.ones(2)), "argnums elements must be unique"),
    ("none", lambda T, F: F.grad(T.sum, argnums=())(T.ones(2)), "argnums must be non-empty"),
    ("aux", lambda T, F: F.grad(lambda x: x.sum(), has_aux=True)(T.ones(2)), "output of function f should be a tuple"),
    ("tangents", lambda T, F: F.jvp(T.sin, (T.ones(2),), ()), "Expected primals and tangents to have the same python"),
    ("primals", lambda T, F: F.jvp(T.sin, T.ones(2), T.ones(2)), "Expected primals to be a tuple"),
    ("int", lambda T, F: F.grad(T.sum)(T.ones(2, dtype=T.int64)), ""),
    ("output", lambda T, F: F.vjp(lambda x: 3, T.ones(2)), ""),
    ("cotangents", lambda T, F: F.vjp(T.sin, T.ones(2))[1]([T.ones(2)]), "Expected pytree structure of cotangents"),
    ("chunk", lambda T, F: F.jacrev(T.sin, chunk_size=0)(T.ones(2)), "`chunk_size` should be greater than 0"),
    ("no models", lambda T, F: F.stack_module_state([]), "Expected at least one model, got 0"),
    (
        "kinds of models",
        lambda T, F: F.stack_module_state([T.nn.Linear(1, 1), T.nn.Identity()]),
        "Expected all models to be of the same class",
    ),
    (
        "modes",
        lambda T, F: F.stack_module_state([T.nn.Linear(1, 1), T.nn.Linear(1, 1).eval()]),
        "Expected all models to have the same training/eval mode",
    ),
    (
        "state",
        lambda T, F: F.functional_call(T.nn.Linear(1, 1), 3, T.ones(1)),
        "Expected parameter_and_buffer_dicts to",
    ),
    ("twice", lambda T, F: F.functional_call(T.nn.Linear(1, 1), ({"bias": 1}, {"bias": 2}), 3), "appeared in multiple"),
    (
        "strict",
        lambda T, F: F.functional_call(T.nn.Linear(1, 1), {"weight": T.ones(1, 1)}, T.ones(1), strict=True),
        "Error(s) in reparametrizing for Linear",
    ),
    ("remove", lambda T, F: F.functionalize(T.sin, remove="x")(T.ones(1)), "received invalid argument for remove=x"),
    ("strict jvp", lambda T, F: F.jvp(lambda x: T.ones(2), (T.ones(2),), (T.ones(2),), strict=True), "strict"),
]


@pytest.mark.parametrize(("program", "says"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_refused(program: Any, says: str) -> None:
    agrees(lambda torch: program(torch, torch.func), says=says)()


@agrees
def test_functionalize(torch: Any) -> Any:
    return torch.func.functionalize(lambda x: x.clone().add_(1).view(-1))(torch.ones(2, 2))
