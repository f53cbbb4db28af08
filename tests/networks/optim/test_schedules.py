"""Learning rates equal to PyTorch's, epoch by epoch, for every schedule."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle

SCHEDULES: dict[str, list[dict[str, Any]]] = {
    "LambdaLR": [{"lr_lambda": lambda e: 0.95**e}, {"lr_lambda": [lambda e: 1 / (e + 1), lambda e: 0.5 + e]}],
    "MultiplicativeLR": [{"lr_lambda": lambda e: 0.9 + 0.01 * e}],
    "StepLR": [{"step_size": 4}, {"step_size": 1, "gamma": 0.5}],
    "MultiStepLR": [{"milestones": [3, 7, 7]}, {"milestones": [1], "gamma": 2.0}],
    "ConstantLR": [{}, {"factor": 0.25, "total_iters": 3}],
    "LinearLR": [{}, {"start_factor": 0.1, "end_factor": 0.5, "total_iters": 8}],
    "ExponentialLR": [{"gamma": 0.9}],
    "PolynomialLR": [{}, {"total_iters": 12, "power": 2.0}],
    "CosineAnnealingLR": [{"T_max": 6}, {"T_max": 10, "eta_min": 0.01}],
    "CosineAnnealingWarmRestarts": [{"T_0": 4}, {"T_0": 3, "T_mult": 2, "eta_min": 0.01}],
    "CyclicLR": [
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 4},
        {"base_lr": [0.01, 0.02], "max_lr": 0.1, "step_size_up": 3, "step_size_down": 5, "mode": "triangular2"},
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9},
        {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "scale_fn": lambda x: 1 / x, "cycle_momentum": False},
    ],
    "OneCycleLR": [
        {"max_lr": 0.5, "total_steps": 25},
        {"max_lr": [0.5, 1.0], "epochs": 5, "steps_per_epoch": 5, "anneal_strategy": "linear"},
        {"max_lr": 0.5, "total_steps": 30, "three_phase": True, "pct_start": 0.2, "cycle_momentum": False},
    ],
}
CASES = [(name, options) for name, all_options in SCHEDULES.items() for options in all_options]


def optimizer_of(T: Any, kind: str = "SGD", lr: Any = 0.1) -> Any:
    a, b = T.ones(2, requires_grad=True), T.ones(3, requires_grad=True)
    options = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(T.optim, kind)([{"params": [a]}, {"params": [b], "lr": lr * 2}], lr=lr, **options)


def schedule_of(T: Any, name: str) -> Any:
    return getattr(T.optim.lr_scheduler, name)


def followed(optimizer: Any, scheduler: Any, epochs: int = 20) -> list[list[float]]:
    rows = []
    for _ in range(epochs):
        rows.append([float(lr) for lr in scheduler.get_last_lr()])
        rows[-1] += [group["betas"][0] if "betas" in group else group["momentum"] for group in optimizer.param_groups]
        assert [float(g["lr"]) for g in optimizer.param_groups] == rows[-1][:2]
        optimizer.step()
        scheduler.step()
    return rows


def columns(T: Any, rows: list[list[float]]) -> Any:
    """Compare each rate and momentum over the epochs: each depends on the one before, so all have the largest error."""
    return [T.tensor(column, dtype=T.float64) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda v: v if isinstance(v, str) else "-".join(map(str, v)))
def test_rates(name: str, options: dict[str, Any], kind: str) -> None:
    def program(T: Any) -> Any:
        optimizer = optimizer_of(T, kind)
        return columns(T, followed(optimizer, schedule_of(T, name)(optimizer, **options)))

    oracle.check(program, steps=20)  # this many of Python's numbers accumulate errors: nothing measures them


@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda v: v if isinstance(v, str) else "-".join(map(str, v)))
def test_resumed_by_state_dicts_and_by_last_epoch(name: str, options: dict[str, Any]) -> None:
    optimizer = optimizer_of(nb)
    scheduler = schedule_of(nb, name)(optimizer, **options)
    followed(optimizer, scheduler, 5)
    saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
    rest = followed(optimizer, scheduler, 8)
    again = optimizer_of(nb)
    other = schedule_of(nb, name)(again, **options)
    other.load_state_dict(saved[1])
    again.load_state_dict(saved[0])
    assert followed(again, other, 8) == rest

    def program(T: Any) -> Any:
        optimizer = optimizer_of(T)
        for group in optimizer.param_groups:
            group.update(initial_lr=group["lr"], max_lr=0.5, min_lr=0.001, max_momentum=0.95, base_momentum=0.85)
        return columns(T, followed(optimizer, schedule_of(T, name)(optimizer, **options, last_epoch=3), 6))

    oracle.check(program)


CLOSED = ["StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR", "CosineAnnealingLR"]


@pytest.mark.parametrize("name", CLOSED)
def test_the_closed_form_by_an_epoch(name: str) -> None:
    def program(T: Any) -> Any:
        optimizer = optimizer_of(T)
        scheduler = schedule_of(T, name)(optimizer, **SCHEDULES[name][0])
        optimizer.step()
        row = []
        for epoch in (5, 2, 9):
            with pytest.warns(UserWarning, match="epoch parameter"):
                scheduler.step(epoch)
            row.append([float(lr) for lr in scheduler.get_last_lr()])
        return row

    oracle.check(program)


def test_warm_restarts_at_fractions_of_epochs() -> None:
    for options in ({"T_0": 4}, {"T_0": 3, "T_mult": 2}):

        def program(T: Any, options: Any = options) -> Any:
            scheduler = T.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer_of(T), **options)
            row = []
            for epoch in (0.0, 0.5, 2.75, 4.0, 9.25, 3, 22):
                scheduler.step(epoch)
                row.append(list(map(float, scheduler.get_last_lr())))
            scheduler.step()
            with pytest.raises(ValueError, match="non-negative"):
                scheduler.step(-1)
            return columns(T, [*row, list(map(float, scheduler.get_last_lr()))])

        oracle.check(program)


def combined(T: Any, what: str) -> Callable[[Any], Any]:
    s = T.optim.lr_scheduler
    return {
        "chained": lambda o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 3), s.ExponentialLR(o, 0.9)]),
        "sequential": lambda o: s.SequentialLR(
            o, [s.LinearLR(o, 0.1, total_iters=4), s.CosineAnnealingLR(o, 6), s.ExponentialLR(o, 0.5)], [4, 10]
        ),
        "nested": lambda o: s.SequentialLR(
            o, [s.SequentialLR(o, [s.ConstantLR(o, 0.5, 2), s.StepLR(o, 2)], [3]), s.ExponentialLR(o, 0.9)], [6]
        ),
    }[what]


@pytest.mark.filterwarnings("ignore:Detected call")  # also PyTorch's, for schedules in schedules
@pytest.mark.parametrize("what", ["chained", "sequential", "nested"])
def test_several_together(what: str) -> None:
    def program(T: Any) -> Any:
        optimizer = optimizer_of(T)
        return columns(T, followed(optimizer, combined(T, what)(optimizer), 16))

    oracle.check(program)
    optimizer, again = optimizer_of(nb), optimizer_of(nb)
    scheduler = combined(nb, what)(optimizer)
    followed(optimizer, scheduler, 5)
    saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
    rest = followed(optimizer, scheduler, 8)
    other = combined(nb, what)(again)
    other.load_state_dict(saved[1])
    again.load_state_dict(saved[0])
    assert followed(again, other, 8) == rest


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
@pytest.mark.parametrize(
    "options", [{}, {"cooldown": 3}, {"min_lr": [0.02, 0.05]}, {"threshold": 0.3, "eps": 0.05}], ids=str
)
def test_reduce_on_plateau(mode: str, threshold_mode: str, options: dict[str, Any]) -> None:
    values = [5, 4, 4, 4, 4, 3.9, 3, 3, 3, 3, 3, 3, 2.9, 2.9, 2.9, 7, 8, 8, 8, 8, 8, 8]

    def program(T: Any) -> Any:
        optimizer = optimizer_of(T)
        scheduler = T.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, mode, factor=0.5, patience=1, threshold_mode=threshold_mode, **options
        )
        row = []
        for value in values:
            scheduler.step(T.tensor(float(value)))
            row.append([*scheduler.get_last_lr(), scheduler.num_bad_epochs, scheduler.best])
        again = T.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        again.load_state_dict(scheduler.state_dict())
        assert again.best == scheduler.best and again.mode == mode
        return row

    oracle.check(program)


def test_swa() -> None:
    for options in ({"anneal_epochs": 5}, {"anneal_epochs": 3, "anneal_strategy": "linear"}, {"anneal_epochs": 0}):

        def program(T: Any, options: Any = options) -> Any:
            optimizer = optimizer_of(T)
            return columns(T, followed(optimizer, T.optim.swa_utils.SWALR(optimizer, swa_lr=[0.01, 0.5], **options), 9))

        oracle.check(program)


@pytest.mark.parametrize("how", ["mean", "ema", "multi"])
def test_averaged_models(how: str) -> None:
    def program(T: Any) -> Any:
        model = oracle.fill(T, T.nn.Sequential(T.nn.Linear(3, 2), T.nn.BatchNorm1d(2)))
        utils = T.optim.swa_utils
        options = {
            "mean": {},
            "ema": {"avg_fn": utils.get_ema_avg_fn(0.9)},
            "multi": {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9), "use_buffers": False},
        }[how]
        averaged = utils.AveragedModel(model, **options)
        optimizer = T.optim.SGD(model.parameters(), lr=0.1)
        x = T.tensor(np.random.default_rng(0).normal(size=(6, 3)), dtype=T.float32)
        for _ in range(4):
            optimizer.zero_grad()
            (model(x) ** 2).sum().backward()
            optimizer.step()
            averaged.update_parameters(model)
        utils.update_bn([x, x * 2], averaged)
        averaged.eval()
        return averaged(x), list(averaged.state_dict())

    oracle.check(program)


# -- warnings and errors -----------------------------------------------------------------------------------------------


def test_step_before_the_optimizers_step_warns() -> None:
    def program(T: Any) -> Any:
        scheduler = T.optim.lr_scheduler.StepLR(optimizer_of(T), 1)
        with pytest.warns(UserWarning, match=r"lr_scheduler.step\(\)` before `optimizer.step"):
            scheduler.step()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scheduler.step()
        return scheduler.get_last_lr()

    oracle.check(program)


def test_get_lr_outside_of_step_warns() -> None:
    scheduler = nb.optim.lr_scheduler.ExponentialLR(optimizer_of(nb), 0.5)
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()


def test_a_schedule_of_ones_own() -> None:
    def program(T: Any) -> Any:
        class Halves(T.optim.lr_scheduler.LRScheduler):
            def get_lr(self) -> list[Any]:
                return [base / (self.last_epoch + 1) for base in self.base_lrs]

        optimizer = optimizer_of(T)
        return columns(T, followed(optimizer, Halves(optimizer), 3))

    rates, *_ = oracle.check(program)
    assert rates.tolist() == [0.1 / epoch for epoch in (1, 2, 3)]


def test_learning_rates_that_are_tensors_change_in_place() -> None:
    w = nb.ones(1, requires_grad=True)
    lr = nb.tensor(1.0)
    optimizer = nb.optim.SGD([w], lr=lr)
    scheduler = nb.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is lr and lr.item() == 0.5


BAD: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("LambdaLR", ([lambda e: 1],), {}),
    ("MultiplicativeLR", (3,), {}),
    ("ConstantLR", (1.5,), {}),
    ("LinearLR", (0.0,), {}),
    ("LinearLR", (0.5, 2.0), {}),
    ("CosineAnnealingWarmRestarts", (0,), {}),
    ("CosineAnnealingWarmRestarts", (2, 0), {}),
    ("CosineAnnealingWarmRestarts", (2, 1, "0"), {}),
    ("CyclicLR", (0.1, 0.2), {"mode": "square"}),
    ("CyclicLR", ([0.1], 0.2), {}),
    ("OneCycleLR", (0.1,), {}),
    ("OneCycleLR", (0.1,), {"total_steps": 0}),
    ("OneCycleLR", (0.1,), {"epochs": 0, "steps_per_epoch": 3}),
    ("OneCycleLR", (0.1,), {"total_steps": 5, "pct_start": 2.0}),
    ("OneCycleLR", (0.1,), {"total_steps": 5, "anneal_strategy": "step"}),
    ("ReduceLROnPlateau", ("best",), {}),
    ("ReduceLROnPlateau", (), {"factor": 1.0}),
    ("ReduceLROnPlateau", (), {"threshold_mode": "some"}),
    ("ReduceLROnPlateau", (), {"min_lr": [0.1]}),
    ("SequentialLR", ([], []), {}),
    ("StepLR", (3,), {"last_epoch": 4}),
]


@pytest.mark.parametrize(("name", "arguments", "options"), BAD, ids=lambda value: re.sub(r" at 0x\w+", "", str(value)))
def test_bad_arguments(name: str, arguments: Any, options: Any) -> None:
    def program(T: Any) -> Any:
        return schedule_of(T, name)(optimizer_of(T), *arguments, **options)

    def first_words(T: Any) -> list[str]:
        with pytest.raises((TypeError, ValueError, KeyError)) as info:
            program(T)
        return str(info.value).split()[:2]

    oracle.check_raises(program)
    oracle.check(first_words)


def test_more_bad_arguments() -> None:
    s = nb.optim.lr_scheduler
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        s.StepLR(3, 1)
    one, two = optimizer_of(nb), optimizer_of(nb)
    with pytest.raises(ValueError, match="same optimizer"):
        s.ChainedScheduler([s.StepLR(one, 1), s.StepLR(two, 1)])
    with pytest.raises(ValueError, match="milestone"):
        s.SequentialLR(one, [s.StepLR(one, 1)], [3])
    with pytest.raises(ValueError, match="ReduceLROnPlateau"):
        s.ChainedScheduler([s.ReduceLROnPlateau(one)])
    scheduler = s.OneCycleLR(one, 0.1, total_steps=1)
    one.step()
    scheduler.step()
    with pytest.raises(ValueError, match="Tried to step 2 times"):
        scheduler.step()
    adagrad = nb.optim.Adagrad([nb.ones(1, requires_grad=True)])
    with pytest.raises(ValueError, match="momentum or beta1"):
        s.CyclicLR(adagrad, 0.1, 0.2)


def test_names() -> None:
    for name in ("lr_scheduler", "swa_utils"):
        theirs = oracle.answer(lambda T, name=name: getattr(T.optim, name).__all__)
        assert {n for n in theirs if not hasattr(getattr(nb.optim, name), n)} == set()
