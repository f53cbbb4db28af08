"""Test hooks of all modules: what they see and replace is as in PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests import oracle
from tests.parity.differences.both import agrees

KINDS = """
    forward_pre_hook forward_hook full_backward_hook full_backward_pre_hook backward_hook parameter_registration_hook
    buffer_registration_hook module_registration_hook"""


@contextmanager
def hooked(torch: Any, kind: str, hook: Any, **options: Any) -> Iterator[None]:
    handle = getattr(torch.nn.modules.module, f"register_module_{kind}")(hook, **options)
    try:
        yield
    finally:
        handle.remove()


def net(torch: Any) -> Any:
    return oracle.fill(torch, torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.BatchNorm1d(3)))


def told(log: list[Any], answer: Any = None) -> Any:
    """A hook that notes what it is called with, and gives an answer."""

    def hook(module: Any, *rest: Any) -> Any:
        log.append(
            [type(module).__name__, *[each if isinstance(each, (str, tuple)) else type(each).__name__ for each in rest]]
        )
        return answer(*rest) if answer else None

    return hook


def test_they_have_names() -> None:
    def program(T: Any) -> Any:
        return [callable(getattr(T.nn.modules.module, f"register_module_{kind}")) for kind in KINDS.split()]

    assert all(oracle.check(program))


@agrees
def test_calls(torch: Any) -> Any:
    log: list[Any] = []
    m, x = net(torch), torch.ones(4, 2, requires_grad=True)
    with (
        hooked(torch, "forward_pre_hook", lambda m, args: (args[0] * 2,)),
        hooked(torch, "forward_hook", lambda m, args, kwargs, out: out + 1, with_kwargs=True),
        hooked(torch, "full_backward_pre_hook", told(log, lambda g: (g[0] * 3,))),
        hooked(torch, "full_backward_hook", told(log, lambda g, _: (g[0] * 2,))),
    ):
        y = m(x)
        (y * y).sum().backward()
    return y, x.grad, log, m(x)


@agrees
def test_a_hook_that_is_always_called(torch: Any) -> Any:
    log: list[Any] = []
    with hooked(torch, "forward_hook", told(log), always_call=True), pytest.raises(RuntimeError):
        net(torch)(torch.ones(5))
    return log


@agrees
def test_registrations(torch: Any) -> Any:
    log: list[Any] = []
    with (
        hooked(torch, "parameter_registration_hook", told(log)),
        hooked(torch, "buffer_registration_hook", told(log)),
        hooked(torch, "module_registration_hook", told(log)),
    ):
        m = net(torch)
        m.head = torch.nn.Identity()
        m.head = None
        m.weight = torch.nn.Parameter(torch.ones(1))
        m.weight = None
        m.register_buffer("table", None)
        m.table = torch.ones(2)
        m.add_module("last", torch.nn.ReLU())
        m.shift = torch.nn.Buffer(torch.zeros(1))
        m.append(torch.nn.ReLU())
    return log


@agrees
def test_registrations_are_replaced(torch: Any) -> Any:
    m = torch.nn.Module()
    with (
        hooked(torch, "parameter_registration_hook", lambda m, name, p: torch.nn.Parameter(p.detach() + 1)),
        hooked(torch, "buffer_registration_hook", lambda m, name, b: b * 5),
        hooked(torch, "module_registration_hook", lambda m, name, child: torch.nn.Sequential(child)),
    ):
        m.weight = torch.nn.Parameter(torch.ones(2))
        m.register_buffer("table", torch.ones(1))
        m.table = torch.ones(1)
        m.child = torch.nn.ReLU()
    return m.weight, m.table, repr(m)


@agrees(says="Cannot use both regular backward hooks and full backward hooks as a global Module hook")
def test_both_forms_at_once(torch: Any) -> Any:
    with hooked(torch, "full_backward_hook", lambda *_: None), hooked(torch, "backward_hook", lambda *_: None):
        pass
