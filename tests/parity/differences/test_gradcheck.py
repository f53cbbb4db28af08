"""gradcheck's verdicts: functions that are right, and wrong in many ways, under each of the options."""

from __future__ import annotations

import importlib
import re
import warnings
from typing import Any

import pytest

from tests.parity.differences.both import agrees, differs

Function = Any


def custom(torch: Any, forward: Any, backward: Any, tangent: Any = None, materialize: bool = True) -> Any:
    """A custom function's ``apply``; the formulas get their one tensor."""

    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(materialize)
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return backward(*gradients)

    if tangent is not None:
        Custom.jvp = staticmethod(lambda ctx, t: tangent(t))
    return Custom.apply


def shifting(torch: Any) -> Any:
    calls: list[int] = []
    return custom(torch, lambda x: x * 2, lambda g: (calls.append(1), g * (2 + 1e-7 * len(calls)))[1], lambda t: t * 2)


def with_hook(torch: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda g: g * 1)
        return y

    return run


def partly(torch: Any, wrong: float) -> Any:
    """Two outputs, of which the second has a factor that may be wrong."""
    second = custom(torch, lambda x: x * 3, lambda g: g * wrong, lambda t: t * wrong)
    return lambda x: (x.sin(), second(x))


def two_outputs(torch: Any, both: Any, materialize: bool) -> Any:
    return custom(torch, lambda x: (x * 2, x * 3), both, lambda t: (t * 2, t * 3), materialize)


def last_of(x: Any) -> Any:
    return x.detach().reshape(-1)[0] if x.numel() else x


FUNCTIONS: dict[str, Any] = {
    "right": lambda t: lambda x: x.exp() * x,
    "right, custom": lambda t: custom(t, lambda x: x * 2, lambda g: g * 2, lambda d: d * 2),
    "right, two outputs": lambda t: lambda x: (x.sin(), x.sum() * 2),
    "right, one output unused": lambda t: lambda x: (x * 2, x.detach() * 3),
    "constant": lambda t: lambda x: t.ones(2, dtype=t.float64),
    "detached": lambda t: lambda a: a.detach(),
    "detached, a multiple": lambda t: lambda a: a.detach() * 2,
    "integers": lambda t: lambda a: (a > 0).long(),
    "wrong factor": lambda t: custom(t, lambda x: x * 2, lambda g: g * 2.01, lambda d: d * 2.01),
    "wrong factor, second output": lambda t: partly(t, 3.01),
    "wrong tangent": lambda t: custom(t, lambda x: x * 2, lambda g: g * 2, lambda d: d * 2.01),
    "no jvp": lambda t: custom(t, lambda x: x * 2, lambda g: g * 2),
    "slightly wrong": lambda t: custom(t, lambda x: x * 2, lambda g: g * (2 + 1e-7), lambda d: d * 2),
    "not repeatable": shifting,
    "not multiplied": lambda t: custom(
        t, lambda x: x * 1, lambda g: t.ones(2, dtype=t.float64) if not g.any() else g, lambda d: d * 1
    ),
    "None is an error": lambda t: custom(t, lambda x: x * 2, lambda g: g * 2, lambda d: d * 2, materialize=False),
    "None is seen": lambda t: custom(
        t, lambda x: x * 2, lambda g: None if g is None else g * 2, lambda d: d * 2, materialize=False
    ),
    "None comes to ones": lambda t: custom(
        t, lambda x: x * 2, lambda g: t.ones(2, dtype=t.float64) if g is None else g * 2, lambda d: d * 2, False
    ),
    "None raises": lambda t: custom(
        t, lambda x: x * 2, lambda g: raise_(RuntimeError("no None")) if g is None else g * 2, lambda d: d * 2, False
    ),
    "one None of two": lambda t: two_outputs(t, lambda a, b: a * 2 + b * 3, False),
    "two outputs": lambda t: two_outputs(t, lambda a, b: a * 2 + b * 3, True),
    "one None of two is seen": lambda t: two_outputs(
        t, lambda a, b: sum_of(None if a is None else a * 2, None if b is None else b * 3), False
    ),
    "hook that knows no None": with_hook,
    "shape changes": lambda t: lambda x: t.cat([x, x]) if bool((x >= 1).all()) else x,
    "shape changes, same size": lambda t: lambda x: x.reshape(1, 2) if bool((x >= 1).all()) else x,
    "dtype changes": lambda t: lambda x: x.float() if bool((x >= 1).all()) else x,
    "nan": lambda t: lambda x: (x - 5).log(),
    "raises": lambda t: lambda x: raise_(KeyError("mine")),
    "sum": lambda t: lambda x: x.sum(),
    "empty": lambda t: lambda x: x[:0],
    "itself": lambda t: lambda x: x,
    "view": lambda t: lambda x: x[1:],
    "list": lambda t: lambda x: [x * 2, x * 3],
    "complex output": lambda t: lambda x: t.complex(x, x * 2),
    "wrong complex output": lambda t: lambda x: t.complex(x, custom(t, lambda x: x * 2, lambda g: g, lambda d: d)(x)),
}

OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fast": {"fast_mode": True},
    "forward": {"check_forward_ad": True},
    "forward only": {"check_forward_ad": True, "check_backward_ad": False},
    "fast forward": {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": True},
    "no undefined": {"check_undefined_grad": False},
    "no exception": {"raise_exception": False},
    "tolerant": {"nondet_tol": 1e-3},
    "strict": {"rtol": 0.0, "atol": 1e-8},
    "dtypes": {"check_grad_dtypes": True},
    "batched": {"check_batched_grad": True},
    "batched forward": {"check_batched_forward_grad": True, "check_forward_ad": True},
    "masked": {"masked": True},
}
KEY_WORDS = [
    "Numerical gradient for function expected to be zero",
    "Jacobian mismatch for output 0 with respect to input 0",
    "Jacobian mismatch for output 1 with respect to input 0",
    "Jacobian computed with forward mode mismatch for output 0 with respect to input 0",
    "Jacobian computed with forward mode mismatch for output 1 with respect to input 0",
    "While considering the imaginary part of complex outputs only",
    "While considering the real part of complex outputs only",
    "While considering the imaginary part of complex inputs only",
    "Backward is not reentrant",
    "The tolerance for nondeterminism was",
    "backward not multiplied by grad_output",
    "Expected all input grads to be undefined or zero",
    "Expected backward function to handle undefined output grads",
    "return outputs with the same shape when inputs are perturbed",
    "return outputs with the same dtype when inputs are perturbed",
    "You must implement the jvp function",
    "The max per-element difference (slow mode) is",
    "Fast gradcheck failed but element-wise differences are small",
    "requires check_backward_ad to be True",
    "requires check_forward_ad to be True",
    "requires check_rev_over_rev to be True",
]


def raise_(error: BaseException) -> Any:
    raise error


def sum_of(*parts: Any) -> Any:
    there = [part for part in parts if part is not None]
    return sum(there[1:], there[0]) if there else None


def verdict(check: Any) -> Any:
    """Return whether a check passes; or its error, and which key words that has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return check()
        except (NameError, AttributeError):  # an error in the test itself
            raise
        except Exception as error:
            kind = next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")
            return kind, [words for words in KEY_WORDS if words in str(error)]


NOT_ALL_DIFFERENTIABLE = ("detached", "right, one output unused")  # at which PyTorch's fast forward mode fails
DEPENDS_ON_VALUES = ("not multiplied", "batched")  # for which PyTorch's vmap raises with this message


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradcheck(function: str, options: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        result = verdict(lambda: torch.autograd.gradcheck(FUNCTIONS[function](torch), (x,), **OPTIONS[options]))
        return result[0] if (function, options) == DEPENDS_ON_VALUES else result

    if options != "fast forward" or not function.startswith(NOT_ALL_DIFFERENTIABLE):
        agrees(program)()


@differs(
    "gradcheck takes functions of which not all outputs can be differentiated in every mode",
    pytorch=[["IndexError", []], ["IndexError", []]],
    here=[True, ["RuntimeError", KEY_WORDS[:1]]],
)
def test_fast_forward_mode_of_outputs_without_gradient(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    return [
        verdict(lambda name=name: torch.autograd.gradcheck(FUNCTIONS[name](torch), (x,), **OPTIONS["fast forward"]))
        for name in ("right, one output unused", "detached")
    ]


@differs(
    "gradgradcheck of a function that nothing can be differentiated of says so",
    pytorch=[["TypeError", []], ["TypeError", []]],
    here=[["RuntimeError", KEY_WORDS[:1]], True],
)
def test_gradgradcheck_of_what_cannot_be_differentiated(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    return [
        verdict(lambda name=name: torch.autograd.gradgradcheck(FUNCTIONS[name](torch), (x,)))
        for name in ("detached, a multiple", "constant")
    ]


SECOND: dict[str, dict[str, Any]] = {
    "default": {},
    "fast": {"fast_mode": True},
    "forward over reverse": {"check_fwd_over_rev": True},
    "forward over reverse only": {
        "check_fwd_over_rev": True,
        "check_rev_over_rev": False,
        "check_undefined_grad": False,
    },
    "forward over reverse, undefined": {"check_fwd_over_rev": True, "check_rev_over_rev": False},
    "apart": {"gen_non_contig_grad_outputs": True},
    "no undefined": {"check_undefined_grad": False},
    "batched": {"check_batched_grad": True},
    "tolerant": {"nondet_tol": 1e-3},
    "neither": {"check_rev_over_rev": False},
    "no exception": {"raise_exception": False},
}


def second(torch: Any, formula: Any) -> Any:
    """The double, whose backward's backward is a formula."""
    inner = custom(torch, lambda g: g * 2, formula, lambda t: t * 2)
    return custom(torch, lambda x: x * 2, lambda g: inner(g), lambda t: t * 2)


def shifting_second(torch: Any) -> Any:
    calls: list[int] = []
    return second(torch, lambda g: (calls.append(1), g * (2 + 1e-6 * len(calls)))[1])


SECOND_FUNCTIONS: dict[str, Any] = {
    "right": lambda t: lambda x: x.exp() * x,
    "right, two outputs": lambda t: lambda x: (x.sin(), (x**3).sum()),
    "linear": lambda t: lambda x: x * 2,
    "right, custom": lambda t: second(t, lambda g: g * 2),
    "wrong": lambda t: second(t, lambda g: g * 2.01),
    "not repeatable": shifting_second,
    "first derivative wrong": lambda t: custom(t, lambda x: x * 2, lambda g: g * 3, lambda d: d * 3),
    "not differentiable twice": lambda t: custom(t, lambda x: x * 2, lambda g: (g * 2).detach(), lambda d: d * 2),
}


@pytest.mark.parametrize("options", SECOND)
@pytest.mark.parametrize("function", SECOND_FUNCTIONS)
def test_gradgradcheck(function: str, options: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        return verdict(lambda: torch.autograd.gradgradcheck(SECOND_FUNCTIONS[function](torch), (x,), **SECOND[options]))

    agrees(program)()


COMPLEX: dict[str, Any] = {
    "right": lambda t: lambda z: z * z.conj() * z,
    "holomorphic": lambda t: lambda z: z.exp(),
    "real output": lambda t: lambda z: z.abs(),
    "wrong": lambda t: custom(t, lambda z: z * 2j, lambda g: g * 2j, lambda d: d * -2j),
    "conjugate forgotten": lambda t: custom(t, lambda z: z.conj(), lambda g: g, lambda d: d.conj()),
    "detached": lambda t: lambda z: z.detach() * 2,
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("function", COMPLEX)
def test_gradcheck_of_complex_numbers(function: str, options: str) -> None:
    def program(torch: Any) -> Any:
        z = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)
        return verdict(lambda: torch.autograd.gradcheck(COMPLEX[function](torch), (z,), **OPTIONS[options]))

    if (function, options) not in (("detached", "fast forward"), ("right", "batched forward")):  # PyTorch fails at both
        agrees(program)()


INPUTS: dict[str, Any] = {
    "a tensor": lambda t: t.ones(2, dtype=t.float64, requires_grad=True),
    "a list": lambda t: [t.ones(2, dtype=t.float64, requires_grad=True)],
    "none requires grad": lambda t: (t.ones(2, dtype=t.float64),),
    "nothing": lambda t: (),
    "stride 0": lambda t: (t.ones(1, dtype=t.float64).expand(2).requires_grad_(),),
    "float32": lambda t: (t.tensor([0.3, 0.7], requires_grad=True),),
    "0-d": lambda t: (t.tensor(2.0, dtype=t.float64, requires_grad=True),),
    "empty": lambda t: (t.ones(0, dtype=t.float64, requires_grad=True),),
    "computed": lambda t: (t.ones(2, dtype=t.float64, requires_grad=True) * 2,),
    "transposed": lambda t: (t.arange(6.0, dtype=t.float64).reshape(2, 3).t().requires_grad_(),),
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("inputs", INPUTS)
def test_inputs(inputs: str, fast: bool) -> None:
    agrees(lambda t: verdict(lambda: t.autograd.gradcheck(t.sin, INPUTS[inputs](t), fast_mode=fast)))()


@pytest.mark.parametrize(
    "options",
    [
        {"check_backward_ad": False},
        {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True},
        {"check_batched_forward_grad": True},
    ],
    ids=str,
)
def test_options_that_exclude_each_other(options: dict[str, Any]) -> None:
    def program(torch: Any) -> Any:
        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        return verdict(lambda: torch.autograd.gradcheck(torch.sin, (x,), **options))

    agrees(program)()


@agrees
def test_inputs_of_several_kinds(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    w = torch.tensor([0.5, 3.0], dtype=torch.float64)
    index = torch.tensor([1, 0])
    return [
        verdict(lambda o=o: torch.autograd.gradcheck(lambda x, n, w, i: x[i] * w * n, (x, 3, w, index), **o))
        for o in OPTIONS.values()
    ]


@differs(
    "gradcheck leaves its inputs as they were when the function raises",
    pytorch=[["KeyError", []], [1.000001, 2.0], 0, None],
    here=[["KeyError", []], [1.0, 2.0], 0, None],
)
def test_inputs_are_left_as_they_were(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    calls = []

    def fail(x: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyError
        return x * 2

    result = verdict(lambda: torch.autograd.gradcheck(fail, (x,)))
    return result, x.tolist(), x._version, x.grad


@agrees
def test_hooks_see_undefined_gradients(torch: Any) -> Any:
    seen = []
    x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)

    def run(x: Any) -> Any:
        y = x * 2
        y.register_hook(lambda g: seen.append(g is None))
        return y

    torch.autograd.gradcheck(run, (x,), check_undefined_grad=False)
    without = any(seen)
    torch.autograd.gradcheck(run, (x,))
    return without, any(seen)


@agrees
def test_calls_of_jvp(torch: Any) -> Any:
    """With and without the check of undefined tangents."""
    counts = []
    for undefined in (False, True):
        calls: list[int] = []
        count = calls.append
        double = custom(torch, lambda x: x * 2, lambda g: g * 2, lambda t, count=count: (count(1), t * 2)[1])
        x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        options = {"check_forward_ad": True, "check_backward_ad": False, "check_undefined_grad": undefined}
        torch.autograd.gradcheck(double, (x,), **options)
        counts.append(len(calls))
    return counts


@agrees
def test_inputs_of_forward_mode_do_not_require_grad(torch: Any) -> Any:
    seen = []

    def run(x: Any) -> Any:
        if torch.autograd.forward_ad.unpack_dual(x).tangent is not None:
            seen.append(x.requires_grad)
        return x * 2

    x = torch.ones(1, dtype=torch.float64, requires_grad=True)

    def inside(x: Any) -> Any:
        try:
            return run(x)
        except RuntimeError:  # outside of a level
            return x * 2

    torch.autograd.gradcheck(inside, (x,), check_forward_ad=True, check_backward_ad=False)
    return any(seen), bool(seen)


def test_reports_show_both_matrices() -> None:
    def program(torch: Any) -> Any:
        wrong = custom(torch, lambda x: x * 2, lambda g: g * 3)
        texts = []
        for fast in (False, True):
            x = torch.ones(1, dtype=torch.float64, requires_grad=True)
            try:
                torch.autograd.gradcheck(wrong, (x,), fast_mode=fast)
            except RuntimeError as error:
                text = str(error).split("(slow mode)")[0]
                numbers = [float(n) for n in re.findall(r"\[*(\d\.\d*)[,\]]", text)]
                texts.append(
                    (sorted({round(n) for n in numbers if n > 1.5}), "numerical:" in text, "analytical:" in text)
                )
        return texts

    agrees(program)()


@differs(
    "gradcheck names an input by its place among the arguments",
    pytorch=[True, False],
    here=[False, True],
)
def test_number_of_an_input(torch: Any) -> Any:
    wrong = custom(torch, lambda x: x * 2, lambda g: g * 3)
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    try:
        torch.autograd.gradcheck(lambda n, x: wrong(x), (3, x))
    except RuntimeError as error:
        return ["with respect to input 0" in str(error), "with respect to input 1" in str(error)]


@agrees
def test_former_functions(torch: Any) -> Any:
    module = importlib.import_module(f"{torch.__name__}.autograd.gradcheck")
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))

    def fn(inputs: Any) -> Any:
        return inputs[0] * 2 * inputs[1], inputs[0] * 3

    def measured(*args: Any, **options: Any) -> Any:
        return [(jacobian * 1e6).round() for jacobian in module.get_numerical_jacobian(*args, eps=1e-6, **options)]

    return [
        measured(fn, (x, y)),
        measured(fn, (x, y), target=y),
        verdict(lambda: measured(fn, (x, y), grad_out=2.0)),
        module.get_analytical_jacobian((x, y), x * y),
        verdict(lambda: module.get_analytical_jacobian((x, y), x * y, grad_out=2.0)),
        verdict(lambda: module.get_analytical_jacobian((x, y), x * y * 1j)),
        len(module.get_numerical_jacobian_wrt_specific_input(lambda a, b: a * b, 0, (x, y), (x * y,), 1e-6)),
    ]


@agrees
def test_warning_of_undefined_gradients(torch: Any) -> Any:
    def check(g: Any) -> None:
        if g is None:
            raise RuntimeError("nothing there")

    def run(x: Any) -> Any:
        y = x.clone()
        y.register_hook(check)
        return y

    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        passes = torch.autograd.gradcheck(run, (x,), raise_exception=False)
    words = "Backwards compatibility: New undefined gradient support checking feature"
    return passes, [(w.category.__name__, str(w.message).startswith(words)) for w in caught]
