"""Test anomaly detection that stops at the first NaN or infinity, forward and backward, and its reports."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbautograd as torch
from nbautograd._engine.base.bad_numbers import TEXTS, BadNumber
from nbautograd._engine.core import dispatch_mode
from nbautograd.errors import BadNumberError


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
    assert not dispatch_mode.is_on_anywhere() and not dispatch_mode.followers


def report(run: Callable[[], Any], **options: bool) -> BadNumber | None:
    """Run a program; return the report of the number that stops it, or None."""
    try:
        with torch.autograd.detect_anomaly(**{"check_forward": True, "inf": True, **options}):
            run()
    except BadNumberError as error:
        assert all(line in str(error) for line in error.bad.told()[1:])
        return error.bad
    return None


def leaf(*values: float) -> Any:
    return torch.tensor(values, requires_grad=True)


def test_the_forward_pass_stops_with_line_inputs_way_and_cure() -> None:
    w = leaf(2.0, 1.0)

    def run() -> None:
        h = w - 1
        h.log()

    bad = report(run)
    assert bad is not None and bad[:5] == ("log", "-inf", (1,), 1, 2)
    assert bad.inputs == (("h", "0"),) and bad.cure == "log" and not bad.backward
    assert [name for name, _ in bad.way] == ["w", "sub"]
    assert bad.place is not None and bad.way[1][1] == (bad.place[0], bad.place[1] - 1)
    text = "\n".join(bad.told())
    assert "h.log()" in text and "h = w - 1" in text and "x.clamp(min=eps)" in text


def test_the_backward_pass_stops_with_what_the_formula_was_given() -> None:
    x = leaf(0.0, 4.0)
    bad = report(lambda: torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum().backward(), check_forward=False)
    assert bad is not None and (bad.operation, bad.result, bad.element) == ("SqrtBackward0", "nan", (0,))
    assert bad.inputs == (("g", "0"), ("result", "0")) and bad.cure == "zero_times" and x.grad is None
    assert bad.place is not None and "where" in TEXTS["cure_zero_times"]


def test_infinities_are_looked_for_where_that_is_asked_for() -> None:
    x = leaf(1e-30)
    assert report(lambda: x.pow(-2).sum(), inf=False) is None
    assert getattr(report(lambda: x.pow(-2).sum()), "result", "") == "inf"
    y = leaf(0.0)
    assert report(lambda: y.sqrt().sum().backward(), inf=False) is None
    bad = report(lambda: y.sqrt().sum().backward())
    assert bad is not None and (bad.operation, bad.result, bad.inputs) == (
        "SqrtBackward0", "inf", (("g", "1"), ("result", "0")),
    )  # fmt: skip


def test_an_infinity_that_the_program_wrote_does_not_stop_it() -> None:
    scores, mask = leaf(0.0, 4.0), torch.tensor([False, True])
    assert report(lambda: scores.masked_fill(mask, float("-inf")).softmax(0).sum().backward()) is None
    assert report(lambda: (scores + torch.tensor([0.0, float("-inf")])).softmax(0)) is None
    assert report(lambda: torch.full((2,), float("inf"))) is None


def test_a_row_that_is_masked_entirely() -> None:
    scores = leaf(0.0, 4.0)
    bad = report(lambda: (scores + torch.full((2,), float("-inf"))).softmax(0))
    assert bad is not None and (bad.operation, bad.result) == ("softmax", "nan")


def test_a_nan_of_the_data_stops_where_it_enters_the_graph() -> None:
    data, w = torch.tensor([1.0, float("nan")]), leaf(1.0, 1.0)
    assert report(lambda: (repr(data), data.isnan(), data + 1)) is None
    bad = report(lambda: (data * w).sum())
    assert bad is not None and (bad.operation, bad.outside, bad.element, bad.cure) == ("mul", "data", (1,), "outside")
    assert "data already held it" in "\n".join(bad.told())


@pytest.mark.parametrize(
    ("run", "operation", "cure"),
    [
        (lambda x: x.log_(), "log", "log"),
        (lambda x: x.div_(0.0), "true_divide", "divide"),
        (lambda x: 1 / x, "reciprocal", "divide"),
        (lambda x: (x + 1000).exp(), "exp", "exp"),
        (lambda x: (x + 2).acos(), "acos", "domain"),
        (lambda x: (x - 1).sqrt(), "sqrt", "root"),
        (lambda x: (x + 1e38) * 10, "mul", "large"),
        (lambda x: x[:0].mean(), "mean", "empty"),
    ],
)
def test_each_kind_of_operation_has_its_cure(run: Callable[[Any], Any], operation: str, cure: str) -> None:
    bad = report(lambda: run(torch.tensor([0.0, 0.0])))
    assert bad is not None and (bad.operation, bad.cure) == (operation, cure)
    assert len(bad.told()[-1]) > len(TEXTS["bad_cure"])


def test_a_long_way_is_told_by_its_ends() -> None:
    x = leaf(3.0)

    def run() -> None:
        h = x
        for _ in range(2000):  # more than functions of Python may call one another
            h = h - 0.002
        h.log()

    bad = report(run)
    assert bad is not None and len(bad.way) == 2001
    assert bad.told()[3].count("→") == 6 and "…" in bad.told()[3]


def test_memory_without_a_write_is_not_looked_at() -> None:
    assert report(lambda: [torch.empty(1000), torch.empty_like(torch.ones(1000))]) is None


def test_other_modes_are_as_before_and_blocks_nest() -> None:
    x = torch.tensor([-1.0])
    with torch.autograd.set_detect_anomaly(True, check_forward=True):
        with torch.autograd.set_detect_anomaly(False):
            x.log()
        with torch.autograd.set_detect_anomaly(True, inf=True):
            x.log()
        with pytest.raises(BadNumberError, match=r"log\(\) returned nan"):
            x.log()
    x.log()
    with pytest.raises(TypeError, match="check_forward"):
        torch.autograd.detect_anomaly(check_forward="yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        torch.autograd.detect_anomaly(True, True)  # type: ignore[misc]


def test_other_threads_stop_too() -> None:
    found: list[str] = []

    def run() -> None:
        try:
            torch.tensor([-1.0]).log()
        except BadNumberError as error:
            found.append(error.bad.operation)

    with torch.autograd.set_detect_anomaly(True, check_forward=True):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert found == ["log"]


def test_functions_transforms_and_samples_stop_at_the_operation_inside() -> None:
    x = torch.tensor([[1.0], [-1.0]])
    with torch.autograd.set_detect_anomaly(True, check_forward=True), pytest.raises(BadNumberError, match="log"):
        torch.func.grad(lambda v: v.log().sum())(x)
    with torch.autograd.set_detect_anomaly(True, check_forward=True), pytest.raises(BadNumberError, match="log"):
        torch.vmap(lambda v: v.log())(x)
