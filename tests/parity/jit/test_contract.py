"""Check the rest of the contract of ``torch.jit.trace`` beside results: warnings, checks, errors, text.
Where it can, PyTorch is asked.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import Any

import pytest

import nbautograd as torch
from tests import oracle
from tests.parity.jit.comparing import silently

JIT = torch.jit


def torch_of(x: Any) -> Any:
    """The library of a tensor."""
    return sys.modules[type(x).__module__.partition(".")[0]]


def branching(x: Any) -> Any:
    if x.sum() > 0:
        return x * 2
    return x


CASES: dict[str, Any] = {
    "a branch": (branching, lambda t: t.ones(2), {}),
    "a number": (lambda x: x * float(x.sum()), lambda t: t.ones(2), {}),
    "an item": (lambda x: x * x.sum().item(), lambda t: t.ones(2), {}),
    "an index": (lambda x: x[int(x[0])], lambda t: t.ones(2), {}),
    "a NumPy array": (lambda x: x * x.numpy().sum(), lambda t: t.ones(2), {}),
    "a tensor of a tensor": (lambda x: x * torch_of(x).tensor(x[0]), lambda t: t.ones(2), {}),
    "a list": (lambda x: [x, x * 2], lambda t: t.ones(2), {}),
    "a dict": (lambda x: {"a": x * 2}, lambda t: t.ones(2), {}),
    "a dict that is allowed": (lambda x: {"a": x * 2}, lambda t: t.ones(2), {"strict": False}),
    "a number as result": (lambda x: 3, lambda t: t.ones(2), {}),
    "a number among results": (lambda x: (x * 1, 3), lambda t: t.ones(2), {}),
    "nothing": (lambda x: None, lambda t: t.ones(2), {}),
    "a number as argument": (lambda x, y: x * y, lambda t: (t.ones(2), 2), {}),
    "too few arguments": (lambda x, y: x * y, lambda t: t.ones(2), {}),
    "no iterable": (lambda x: x * 2, lambda t: 3, {}),
    "nothing as example": (lambda x: x * 2, lambda t: None, {}),
    "nested": (lambda d, e: d[0] * e["a"], lambda t: ([t.ones(2)], {"a": t.ones(2)}), {}),
}


def outcome(library: Any, name: str) -> Any:
    """The kind of result or error, its words, and the warnings about the trace."""
    function, examples, options = CASES[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            library.jit.trace(function, examples(library), **options)
            result: Any = "traced"
        except Exception as error:
            kind = next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")
            result = [kind.__name__, str(error)]
    return [result, {str(w.message)[:60] for w in caught if w.category.__name__ == "TracerWarning"}]


@pytest.mark.parametrize("name", CASES)
def test_it_answers_as_pytorch_does(name: str) -> None:
    (ours, our_warnings), (theirs, their_warnings) = outcome(torch, name), oracle.answer(outcome, name, exact=True)
    oracle.same(our_warnings, their_warnings)
    if isinstance(theirs, list):
        assert ours[0] == theirs[0] and ours[1].startswith(theirs[1][:40]), ours
    else:
        assert ours == theirs


def test_what_an_example_may_be_is_said() -> None:
    with pytest.raises(TypeError, match=r"examples for ReLU must be a tensor or a tuple of .* arguments, but got 3"):
        JIT.trace_module(torch.nn.ReLU(), {"forward": 3})


def test_the_signature_is_pytorchs() -> None:
    def program(T: Any) -> Any:
        return [[*inspect.signature(getattr(T.jit, name)).parameters] for name in ("trace", "trace_module")]

    oracle.check(program)


def test_a_function_that_does_something_else_each_time() -> None:
    calls: list[int] = []

    def counting(x: Any) -> Any:
        calls.append(1)
        return x * len(calls)

    differ = pytest.raises(JIT.TracingCheckError, match="Graphs differed across invocations")
    with pytest.warns(JIT.TracerWarning, match="Output nr 1. of the traced function does not match"), differ:
        JIT.trace(counting, torch.ones(2))
    assert JIT.trace(counting, torch.ones(2), check_trace=False)(torch.ones(2)).tolist() == [3.0, 3.0]


def test_check_inputs_show_what_depends_on_values() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JIT.TracerWarning)
        with pytest.raises(JIT.TracingCheckError, match="Graphs differed"):
            JIT.trace(branching, torch.ones(2), check_inputs=[(-torch.ones(2),)])


def f(x: Any, y: Any) -> Any:
    return (x * y).sum()


def test_errors_name_the_argument() -> None:
    traced = JIT.trace(f, (torch.ones(2), torch.ones(2)))
    one, two = torch.ones(2), torch.ones(3)
    with pytest.raises(RuntimeError, match=r"traced for a tensor of shape \[2\] .* as argument 'y', and was given"):
        traced(one, two)
    with pytest.raises(RuntimeError, match=r"dtype torch\.float64"):
        traced(one.double(), one)
    with pytest.raises(RuntimeError, match=r"f\(\) is missing value for argument 'y'. Declaration: f\(Tensor x,"):
        traced(one)
    with pytest.raises(RuntimeError, match=r"f\(\) expected at most 2 argument\(s\) but received 3"):
        traced(one, one, one)
    with pytest.raises(RuntimeError, match="type 'Tensor' for argument 'y' but instead found type 'int'"):
        traced(one, 3)
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'z'"):
        traced(one, z=one)
    assert traced(y=one, x=one * 3).item() == 6


def hooked(x: Any) -> Any:
    y = x * 2
    y.register_hook(lambda g: g * 2)
    return y


def passing_back(x: Any) -> Any:
    y = (x * x).sum()
    y.backward()
    return y


def through_detach(x: Any) -> Any:
    a = x * 1
    a.detach().add_(1)
    return a * 2


def making_a_parameter(x: Any) -> Any:
    with torch.inference_mode():
        x.sin()
    return x * torch.nn.Parameter(torch.ones(2))


REFUSED: dict[str, tuple[Any, str]] = {
    "hooks": (hooked, "it registers hooks on tensors"),
    "backward": (passing_back, r"it calls backward\(\), which adds to .grad"),
    "shared memory": (through_detach, r"memory is written to that tensors share by detach\(\) or .data"),
    "no operation": (
        lambda x: x * torch.nn.Parameter(torch.ones(2)),
        "a tensor is made of values without an operation",
    ),
    "no operation, after inference mode": (making_a_parameter, "a tensor is made of values without an operation"),
    "another shape": (lambda x: (x * 1).unsqueeze_(0), r"unsqueeze_\(\) gives a tensor another shape or other memory"),
    "values": (lambda x: x * torch.unique(x.detach()).sum(), "unique"),
}


@pytest.mark.parametrize("name", [name for name in REFUSED if name != "values"])
def test_what_cannot_be_recorded_is_refused(name: str) -> None:
    function, reason = REFUSED[name]
    with pytest.raises(RuntimeError, match=f"cannot be traced: {reason}"):
        JIT.trace(function, torch.ones(2, requires_grad=True))
    assert not JIT.is_tracing()
    x = torch.ones(2, requires_grad=True)
    assert (x * 2).grad_fn is not None  # the trace is completely undone


def test_a_shape_that_depends_on_values() -> None:
    traced = silently(lambda x: x[x > 0], torch.tensor([1.0, -1.0, 2.0]))
    assert traced(torch.tensor([-3.0, 1.0, 2.0])).tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="the shape depends on values, and a traced function has fixed shapes"):
        traced(torch.tensor([1.0, 1.0, 2.0]))


def test_an_argument_that_requires_grad_is_not_written_to() -> None:
    traced = silently(lambda x, w: x.mul_(w), torch.ones(2), torch.ones(2))
    x = torch.ones(2)
    traced(x, torch.full((2,), 3.0))
    assert x.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="writes into its argument what requires grad"):
        traced(torch.ones(2), torch.ones(2, requires_grad=True))


def test_is_tracing() -> None:
    traced = JIT.trace(lambda x: x * (2 if JIT.is_tracing() else 3), torch.ones(1), check_trace=False)
    assert traced(torch.ones(1)).item() == 2
    assert not JIT.is_tracing()


def test_the_code_is_shown() -> None:
    traced = JIT.trace(f, (torch.ones(2, requires_grad=True), torch.ones(2)))
    lines = ["def f(x: Tensor,", "    y: Tensor) -> Tensor:", "  _0 = torch.mul(x, y)", "  _1 = torch.sum_all(_0)"]
    assert traced.code == "\n".join([*lines, "  return _1", ""])
    assert "%_0 : Float(2) = aten::mul(%x, %y)" in traced.graph
    assert "v0 = x0 * x1" in traced.forward_code
    assert "d_x0 = np_multiply_(d_v0, x1)" in traced.backward_code
    assert (traced.name, traced.qualified_name) == ("f", f"__torch__.{__name__}.f")
    assert JIT.trace(traced, torch.ones(2)) is traced


def test_compile_changes_nothing() -> None:
    assert torch.compile(f)(torch.ones(2), torch.ones(2)).item() == 2

    @torch.compile(mode="reduce-overhead")
    def g(x: Any) -> Any:
        return x * 2

    assert g(torch.ones(1)).item() == 2
    assert "changes nothing" in inspect.getdoc(torch.compile) or "nothing changes" in inspect.getdoc(torch.compile)


def test_autocast_chooses_dtypes() -> None:
    net = torch.nn.Linear(3, 2)
    traced = silently(net, torch.ones(1, 3))
    with torch.autocast("cpu", torch.bfloat16):
        assert traced(torch.ones(1, 3)).dtype is torch.bfloat16
    assert traced(torch.ones(1, 3)).dtype is torch.float32
