"""Test anomaly detection: the named place, and the error of a modified saved tensor."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tests.parity.differences.both import agrees, differs


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def complaint(run: Callable[[], Any]) -> str:
    """The message of the RuntimeError that something raises, without the report below that is only given here."""
    try:
        run()
    except RuntimeError as error:
        return str(error).partition("\n  ")[0]
    return ""


def beginning(message: str) -> str:
    """Return PyTorch's words on a changed tensor: the message before the advice that is only given here."""
    return message.partition("check_nan=False).")[0].partition("Good luck!")[0]


# -- the error of a changed saved tensor -----------------------------------------------------------------------------


def changed_results(torch: Any) -> list[Callable[[], Any]]:
    def result(dtype: Any = torch.float32) -> Any:
        y = torch.ones(3, dtype=dtype, requires_grad=True).sigmoid()
        y.mul_(2)
        return y.abs().sum().backward()

    def leaf_written_to() -> None:
        x = leaf(torch, 1.0, 2.0)
        y = x * x
        with torch.no_grad():
            x.mul_(2)
            x.mul_(2)
        y.sum().backward()

    def constant() -> None:
        w = torch.ones(2, 3, dtype=torch.float64)
        y = w @ torch.ones(3, 1, dtype=torch.float64, requires_grad=True)
        w.mul_(2)
        y.sum().backward()

    def product() -> None:
        y = leaf(torch, 1.0, 2.0) * 2
        z = y * y
        y.mul_(2)
        z.sum().backward()

    def function() -> None:
        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                y = x.exp()
                ctx.save_for_backward(x, y)
                return y

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * ctx.saved_tensors[1]

        y = Exp.apply(leaf(torch, 1.0, 2.0))
        y.mul_(2)
        y.sum().backward()

    def index() -> None:
        i = torch.tensor([0, 1])
        y = leaf(torch, 1.0, 2.0)[i]
        i.fill_(0)
        y.sum().backward()

    halves = [lambda: result(torch.float16), lambda: result(torch.complex64)]
    return [result, *halves, leaf_written_to, constant, product, function, index]


@agrees
def test_words_of_a_changed_saved_tensor(torch: Any) -> Any:
    return [beginning(complaint(run)) for run in changed_results(torch)]


@agrees
def test_words_while_anomaly_detection_is_on(torch: Any) -> Any:
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("ignore")
        return [beginning(complaint(run)) for run in changed_results(torch)]


@agrees
def test_words_after_it_has_been_switched_off(torch: Any) -> Any:
    with torch.autograd.set_detect_anomaly(True):
        pass
    return beginning(complaint(changed_results(torch)[0]))


@differs("The error of a changed saved tensor names the operation that made it", pytorch="Add", here="Exp")
def test_who_made_the_tensor_that_was_changed(torch: Any) -> Any:
    y = leaf(torch, 1.0, 2.0).exp()
    z = y * y
    y.add_(1)
    return complaint(lambda: z.sum().backward()).partition("output 0 of ")[2].partition(",")[0]


# -- where it comes from ---------------------------------------------------------------------------------------------


def told(run: Callable[[], Any]) -> list[str]:
    """The first line of each warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        said = complaint(run)
    texts = [str(w.message).lstrip("\n").partition("\n")[0] for w in caught]
    return [said, *(text.partition(" (Triggered internally")[0] for text in texts if "has been enabled" not in text)]


def functions(torch: Any) -> Any:
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * float("nan")

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return Inner.apply(g * x)

    return Outer


@agrees
def test_calculations_that_a_backward_pass_induced(torch: Any) -> Any:
    def of_functions() -> None:
        with torch.autograd.detect_anomaly():
            x = leaf(torch, 1.0, 2.0)
            (g,) = torch.autograd.grad(functions(torch).apply(x).sum(), x, create_graph=True)
            g.sum().backward()

    def of_operations() -> None:
        with torch.autograd.detect_anomaly():
            x = leaf(torch, 0.0, 1.0)
            (g,) = torch.autograd.grad((x**1.5).sum(), x, create_graph=True)
            torch.autograd.grad(g.sum() * 0, x)

    def made_before() -> None:
        x = leaf(torch, 1.0, 2.0)
        (g,) = torch.autograd.grad(functions(torch).apply(x).sum(), x, create_graph=True)
        with torch.autograd.detect_anomaly():
            g.sum().backward()

    return [told(run) for run in (of_functions, of_operations, made_before)]


@agrees(says="returned nan values in its 0th output")
def test_warnings_that_are_errors_do_not_hide_the_error(torch: Any) -> Any:
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        (leaf(torch, 0.0) * 0).sqrt().mul(0).sum().backward()
