"""Test ``torch.autograd.functional``: results, their ``requires_grad``, errors, with every option."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import pytest

from tests.parity.differences.both import Raised, agrees, differs

SCALARS: dict[str, Any] = {
    "cubes": lambda t: lambda x, *rest: (x**3).sum(),
    "exp": lambda t: lambda x, *rest: sum((y.exp().sum() for y in rest), x.exp().sum()),
    "products": lambda t: lambda x, *rest: sum(((x.sum() * y * y).sum() for y in rest), (x * x).prod()),
    "linear": lambda t: lambda x, *rest: (x * 2).sum(),
    "constant": lambda t: lambda x, *rest: t.ones(()),
    "leaf": lambda t: lambda x, *rest: t.ones((), requires_grad=True),
    "leaf, computed with": lambda t: lambda x, *rest: t.ones((), requires_grad=True) * 2,
    "detached": lambda t: lambda x, *rest: (x.detach() ** 2).sum(),
    "one element": lambda t: lambda x, *rest: (x**3).sum().reshape(1, 1),
}
TENSORS: dict[str, Any] = {
    "cubes": lambda t: lambda x, *rest: x**3,
    "products": lambda t: lambda x, *rest: x * sum((y.sum() for y in rest), x.sum()),
    "linear": lambda t: lambda x, *rest: x * 2,
    "clone": lambda t: lambda x, *rest: x.clone(),
    "itself": lambda t: lambda x, *rest: x,
    "constant": lambda t: lambda x, *rest: t.ones(2),
    "leaf": lambda t: lambda x, *rest: t.ones(2, requires_grad=True),
    "two": lambda t: lambda x, *rest: (x.sin(), x.sum() * x),
    "two, one constant": lambda t: lambda x, *rest: (x * x, t.ones(3)),
    "two, one independent": lambda t: lambda x, *rest: (x * x, t.ones(3, requires_grad=True) * 2),
    "tuple of one": lambda t: lambda x, *rest: (x * x,),
    "scalar": lambda t: lambda x, *rest: (x * x).sum(),
    "matrix": lambda t: lambda x, *rest: x[:, None] * x,
}
INPUTS: dict[str, Any] = {
    "a tensor": lambda t: t.tensor([1.0, 2.0]),
    "a leaf": lambda t: t.tensor([1.0, 2.0], requires_grad=True),
    "a tuple of one": lambda t: (t.tensor([1.0, 2.0]),),
    "two": lambda t: (t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0, 5.0])),
    "two leaves": lambda t: (
        t.tensor([1.0, 2.0], requires_grad=True),
        t.tensor([3.0, 4.0, 5.0], requires_grad=True),
    ),
}
MODES = [
    dict(zip(("create_graph", "strict"), values, strict=True)) for values in itertools.product([False, True], repeat=2)
]
KEY_WORDS = [
    "The jacobian of the user-provided function is independent of input 0",
    "The jacobian of the user-provided function is independent of input 1",
    "The hessian of the user-provided function is independent of input 0",
    "The hessian of the user-provided function is independent of input 1",
    "The hessian of the user-provided function is independent of entry 0",
    "The hessian of the user-provided function is independent of entry 1",
    "The output of the user-provided function is independent of input 0",
    "The output of the user-provided function is independent of input 1",
    "Output 0 of the user-provided function is independent of input 0",
    "Output 0 of the user-provided function is independent of input 1",
    "Output 1 of the user-provided function is independent of input 0",
    "Output 0 of the user-provided function does not require gradients",
    "Output 1 of the user-provided function does not require gradients",
    "The grad of the user-provided function is independent of input 0",
    "The grad of the user-provided function is independent of entry 0",
    "that the jacobian of the user-provided function with respect to input",
    "This is not allowed in strict mode",
    "when create_graph=True",
    "are not supported together",
    "The vector v can only be None if",
    "only implemented for `vectorize=True`",
]


def result(run: Any, history: bool = True) -> Any:
    """Return the result of a call, with its ``requires_grad``; or its error, with its key words."""
    try:
        return described(run()) if history else values(run())
    except Exception as error:
        kind = next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")
        return kind, [words for words in KEY_WORDS if words in str(error)]


def described(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [described(part) for part in value]
    return value, value.requires_grad


def values(value: Any) -> Any:
    return [values(part) for part in value] if isinstance(value, (tuple, list)) else value.detach()


def like(torch: Any, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(like(torch, part) for part in value)
    return torch.arange(1.0, value.numel() + 1).reshape(value.shape)


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("function", SCALARS)
@pytest.mark.parametrize("product", ["vhp", "hvp"])
def test_products_with_the_hessian(product: str, function: str, inputs: str) -> None:
    def program(torch: Any) -> Any:
        results = []
        for mode in MODES:
            xs = INPUTS[inputs](torch)
            call = getattr(torch.autograd.functional, product)
            results.append(result(functools.partial(call, SCALARS[function](torch), xs, like(torch, xs), **mode)))
        return results

    agrees(program)()


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("function", TENSORS)
@pytest.mark.parametrize("product", ["vjp", "jvp"])
def test_products_with_the_jacobian(product: str, function: str, inputs: str) -> None:
    def program(torch: Any) -> Any:
        results = []
        for mode in MODES:
            xs = INPUTS[inputs](torch)
            f = TENSORS[function](torch)
            v = like(torch, xs if product == "jvp" else f(*xs) if isinstance(xs, tuple) else f(xs))
            call = getattr(torch.autograd.functional, product)
            results.append(result(functools.partial(call, f, xs, v, **mode)))
        return results

    agrees(program)()


STRATEGIES = [
    {},
    {"vectorize": True},
    {"vectorize": True, "strategy": "forward-mode"},
    {"strategy": "forward-mode"},
]


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("function", TENSORS)
def test_jacobian(function: str, inputs: str) -> None:
    def program(torch: Any) -> Any:
        results = []
        for mode, options in itertools.product(MODES, STRATEGIES):
            xs, f = INPUTS[inputs](torch), TENSORS[function](torch)
            run = functools.partial(torch.autograd.functional.jacobian, f, xs, **mode, **options)
            results.append(result(run, history="strategy" not in options))
        return results

    agrees(program)()


@differs(
    "Jacobians in forward mode are tuples of tensors without history",
    pytorch=["list", True],
    here=["tuple", False],
)
def test_jacobian_in_forward_mode(torch: Any) -> Any:
    call = functools.partial(torch.autograd.functional.jacobian, vectorize=True, strategy="forward-mode")
    x = torch.ones(2, requires_grad=True)
    return [type(call(lambda x, y: x * y, (x, x))).__name__, call(lambda x: x * x, x).requires_grad]


@differs(
    "An output without elements has a Jacobian without elements",
    pytorch=[Raised(RuntimeError), Raised(LookupError)],
    here=[[0, 2], [0, 2]],
)
def test_jacobian_of_an_empty_output(torch: Any) -> Any:
    shapes: list[Any] = []
    for vectorize in (False, True):
        try:
            jacobian = torch.autograd.functional.jacobian(lambda x: x[:0], torch.ones(2), vectorize=vectorize)
            shapes.append(list(jacobian.shape))
        except (RuntimeError, LookupError) as error:
            shapes.append(Raised(RuntimeError if isinstance(error, RuntimeError) else LookupError))
    return shapes


HESSIANS = {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("function", SCALARS)
def test_hessian_in_forward_mode(function: str, inputs: str) -> None:
    def program(torch: Any) -> Any:
        results = []
        for mode in MODES:
            xs, f = INPUTS[inputs](torch), SCALARS[function](torch)
            run = functools.partial(torch.autograd.functional.hessian, f, xs, **mode, **HESSIANS)
            results.append(result(run, history=False))
        return results

    agrees(program)()


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("function", SCALARS)
def test_hessian(function: str, inputs: str) -> None:
    def program(torch: Any) -> Any:
        results = []
        for mode, options in itertools.product(MODES, STRATEGIES[:2]):
            xs, f = INPUTS[inputs](torch), SCALARS[function](torch)
            results.append(result(functools.partial(torch.autograd.functional.hessian, f, xs, **mode, **options)))
        return results

    agrees(program)()


WRONG_V: dict[str, Any] = {
    "text": lambda t: "a",
    "list": lambda t: [t.ones(2)],
    "tuple with a number": lambda t: (t.ones(2), 3),
    "two": lambda t: (t.ones(2), t.ones(2)),
    "shape": lambda t: t.ones(3),
    "none": lambda t: None,
    "no tensor": lambda t: (),
}


def message(run: Any, words: int) -> Any:
    """The exception, and how its message begins."""
    try:
        return values(run())
    except Exception as error:
        kind = next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")
        return kind, " ".join(str(error).replace(".", " ").split()[:words])


@pytest.mark.parametrize("v", WRONG_V)
@pytest.mark.parametrize("product", ["vjp", "jvp", "vhp", "hvp"])
def test_wrong_v(product: str, v: str) -> None:
    def program(torch: Any) -> Any:
        function = SCALARS["cubes"](torch) if product.strip("vp") == "h" else TENSORS["cubes"](torch)
        call = getattr(torch.autograd.functional, product)
        return message(lambda: call(function, torch.ones(2), WRONG_V[v](torch)), 12)

    agrees(program)()


WRONG_OUTPUTS: dict[str, Any] = {
    "text": lambda x: "text",
    "tuple with a text": lambda x: (x, "text"),
    "list": lambda x: [x],
    "number": lambda x: 3,
    "none": lambda x: None,
    "two": lambda x: (x.sum(), x.sum()),
    "tuple of one": lambda x: (x.sum(),),
    "vector": lambda x: x,
}
FUNCTIONS = ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"]


@pytest.mark.parametrize("output", WRONG_OUTPUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_outputs(name: str, output: str) -> None:
    def program(torch: Any) -> Any:
        v = () if name in ("jacobian", "hessian") else (torch.ones(2),)
        return message(lambda: getattr(torch.autograd.functional, name)(WRONG_OUTPUTS[output], torch.ones(2), *v), 20)

    agrees(program)()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_inputs(name: str) -> None:
    def program(torch: Any) -> Any:
        call = getattr(torch.autograd.functional, name)
        return [
            message(lambda wrong=wrong: call(lambda *xs: xs[0].sum(), wrong), 18)
            for wrong in ("a", (torch.ones(2), 3), [torch.ones(2)], None)
        ]

    agrees(program)()


@agrees
def test_strategies(torch: Any) -> Any:
    jacobian, hessian = torch.autograd.functional.jacobian, torch.autograd.functional.hessian
    x = torch.ones(2)
    return [
        message(lambda: jacobian(lambda x: x, x, strategy="sideways"), 8),
        message(lambda: hessian(lambda x: x.sum(), x, outer_jacobian_strategy="sideways"), 8),
        message(lambda: hessian(lambda x: x.sum(), x, outer_jacobian_strategy="forward-mode"), 5),
    ]


@agrees
def test_standard_basis(torch: Any) -> Any:
    construct = torch.autograd.functional._construct_standard_basis_for
    a, b = torch.ones(2), torch.ones(3, dtype=torch.float64)
    return construct((a, b), (2, 3)), message(lambda: construct((), ()), 5)


@agrees
def test_complex_numbers(torch: Any) -> Any:
    z, x = torch.tensor([1 + 2j, 3j]), torch.tensor([1.0, 2.0])
    functional = torch.autograd.functional
    return [
        [functional.jacobian(lambda z: z * z, z, vectorize=v), functional.jacobian(lambda x: x * 1j, x, vectorize=v)]
        for v in (False, True)
    ], functional.vjp(lambda z: z * z.conj(), z, z)


@agrees
def test_vectorized_jacobian_of_mixed_dtypes(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    return torch.autograd.functional.jacobian(lambda x: (x.double() * x, x * 2), x, vectorize=True)


@agrees
def test_modes_around(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    functional = torch.autograd.functional
    with torch.no_grad():
        return [
            described(functional.jacobian(lambda x: x**2, x, create_graph=True)),
            described(functional.hessian(lambda x: (x**3).sum(), x, create_graph=True)),
            described(functional.vjp(lambda x: x**2, x, x.detach(), create_graph=True)),
        ]


@agrees
def test_vectorized_jacobians_of_custom_functions(torch: Any) -> Any:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * 2

    call = functools.partial(torch.autograd.functional.jacobian, Double.apply, torch.ones(2), vectorize=True)
    return call(), call(strategy="forward-mode")
