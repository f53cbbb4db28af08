"""``%autograd --stop``: our operations and PyTorch's stop at the first NaN or infinity, and a picture shows where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests import needs

needs.package("IPython")

from nbautograd import viz
from nbautograd._engine.core import dispatch_mode
from nbautograd.errors import BadNumberError
from nbautograd.viz.notebook.tracebacks import failed_forward


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert viz.settings.stop == "off" and not dispatch_mode.is_on_anywhere()


def stopped(result: Any) -> Any:
    error = result.error_in_exec
    assert isinstance(error, BadNumberError), error
    return error.bad


def test_the_forward_pass_stops_at_the_operation(run: Any) -> None:
    run("%autograd --stop inf")
    run("w = torch.tensor([2.0, 1.0], requires_grad=True)\nh = w - 1")
    result = run("y = h.log()")
    bad = stopped(result)
    assert (bad.operation, bad.result, bad.element, bad.inputs) == ("log", "-inf", (1,), (("h", "0"),))
    assert [name for name, _ in bad.way] == ["w", "sub"] and bad.cure == "log"
    text = str(result.error_in_exec)
    assert "line 1: y = h.log()" in text and "line 2: h = w - 1" in text
    picture = failed_forward(result.error_in_exec)
    assert picture is not None and [node.name for node in picture.model.nodes if node.failed] == ["log"]
    assert "log() returned -inf at [1]" in picture.text and "log() returned -inf" in picture.svg


def test_the_backward_pass_stops_at_the_operation(run: Any) -> None:
    run("%autograd --stop nan")
    run("x = torch.tensor([0.0, 4.0], requires_grad=True)")
    result = run("y = torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum()\ny.backward()")
    bad = stopped(result)
    assert bad.backward and (bad.operation, bad.result, bad.element) == ("SqrtBackward0", "nan", (0,))
    assert bad.cure == "zero_times" and "line 1: y = torch.where" in str(result.error_in_exec)
    picture = failed_forward(result.error_in_exec)
    assert picture is not None and [node.name for node in picture.model.nodes if node.failed] == ["SqrtBackward0"]
    played = run("y = torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum()\n%backward y").error_in_exec.animation
    assert "where(x > 0, x, 1.), not its results after it" in repr(played)


def test_the_setting_says_how_much(run: Any) -> None:
    run("%autograd --stop nan")
    assert run("(torch.tensor([0.0]).log(), torch.tensor([1.0]) / 0)").success
    assert not run("torch.tensor([-1.0]).sqrt()").success
    run("%autograd --stop off")
    assert run("torch.tensor([-1.0]).sqrt()").success
    assert "--stop" in str(run("%autograd --stop maybe").error_in_exec)


def test_a_written_infinity_goes_on(run: Any) -> None:
    run("%autograd --stop inf")
    run("s, mask = torch.zeros(2, requires_grad=True), torch.tensor([False, True])")
    assert run("s.masked_fill(mask, float('-inf')).softmax(0)").success
    assert stopped(run("x = torch.tensor([1.0, 0.0])\nx.log_()")).inputs[0][1] == "0"


def test_in_chinese(run: Any) -> None:
    run("%autograd --stop nan --language zh")
    error = run("y = torch.tensor([-1.0], requires_grad=True).log()").error_in_exec
    picture = failed_forward(error)
    assert picture is not None and "办法：让参数大于 0" in picture.text and "log() 得到 nan" in picture.text
