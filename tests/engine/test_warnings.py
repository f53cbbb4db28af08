"""Check that a warning names the line of the program, through however many functions of the library it comes."""

from __future__ import annotations

import ast
import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd._engine.core import defaults
from tests.package_sources import SOURCES, nodes

F = nb.nn.functional
X = nb.ones(2, 3)


def anomaly() -> None:
    x = nb.zeros(1, requires_grad=True)
    with nb.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="nan"):
        (x.sqrt() * 0 / x).sum().backward()


def schedule() -> None:
    optimizer = nb.optim.SGD([nb.ones(1, requires_grad=True)], lr=0.1)
    optimizer.step()  # before there is a schedule
    nb.optim.lr_scheduler.StepLR(optimizer, 1).step()


@nb.no_grad()
def resized_under_a_decorator() -> None:
    nb.add(X, X, out=nb.ones(1))


def checkpoint() -> None:
    nb.utils.checkpoint.checkpoint(lambda x: x.T, nb.ones(1, 2, 3), use_reentrant=False)


def after_a_region() -> None:
    with nb.autocast("cpu"):
        pass
    F.kl_div(X, X)


PROGRAMS: dict[str, Callable[[], Any]] = {
    "copy of a tensor": lambda: nb.tensor(X),
    "array that cannot be written": lambda: nb.from_numpy(np.broadcast_to(np.ones(1), (3,))),
    "transpose": lambda: nb.ones(1, 2, 3).T,
    "result resized": lambda: nb.add(X, X, out=nb.ones(1)),
    "result resized, of a range": lambda: nb.arange(3, out=nb.ones(1)),
    "result resized, joined": lambda: nb.cat([X, X], out=nb.ones(1)),
    "result resized under a decorator": resized_under_a_decorator,
    "result resized in a map": lambda: nb.func.vmap(lambda x: x.T)(nb.ones(2, 1, 2, 3)),
    "former overload": lambda: nb.addcmul(X, 1, X, X),
    "former options": lambda: nb.nn.MSELoss(size_average=True),
    "former options of a function": lambda: F.mse_loss(X, X, reduce=True),
    "no dimension": lambda: nb.nn.Softmax()(X),
    "no dimension in a model": lambda: nb.nn.Sequential(nb.nn.Linear(3, 3), nb.nn.LogSoftmax())(X),
    "mean over the batch": lambda: F.kl_div(X, X),
    "loss of two shapes": lambda: nb.nn.MSELoss()(X, nb.ones(3)),
    "expanded target": lambda: nb.ones(1).expand(3).masked_fill_(nb.ones(3, dtype=nb.bool), 2),
    "meta model": lambda: nb.nn.Linear(2, 2, device="meta").load_state_dict(nb.nn.Linear(2, 2).state_dict()),
    "anomaly": anomaly,
    "schedule": schedule,
    "checkpoint": checkpoint,
    "mean over the batch, after a region": after_a_region,
    "few freedoms": lambda: nb.ones(1).std(),
}


AROUND: dict[str, Callable[[], Any]] = {
    "": contextlib.nullcontext,
    "profiled": nb.profiler.profile,
    "autocast": lambda: nb.autocast("cpu"),
    "mode": nb.overrides.BaseTorchFunctionMode,
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("around", AROUND)
def test_a_warning_names_the_program(name: str, around: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "_warned", set())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with AROUND[around]():
            PROGRAMS[name]()
    assert {warning.filename for warning in warned} == {__file__}, [str(warning) for warning in warned]


def test_each_line_of_a_program_is_warned_of_once() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        for _ in range(2):
            nb.add(X, X, out=nb.ones(1))
            nb.add(X, X, out=nb.ones(1))
    assert len(warned) == 2 and warned[1].lineno == warned[0].lineno + 1


def test_one_function_warns() -> None:
    """It alone knows the program's line; a number of frames is wrong as soon as a function is called by another one."""
    found = {
        name
        for name in SOURCES
        for node in nodes(name)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") in ("warn", "warn_explicit")
        and ast.unparse(node.func) in ("warnings.warn", "warnings.warn_explicit")
    }
    assert found == {"nbautograd.errors"}
