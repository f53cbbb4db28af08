"""Cyclic learning rate schedules, stepped after each batch; momentum moves in the opposite direction."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from nbautograd.optim.optimizer import Group, Optimizer
from nbautograd.optim.schedule import LRScheduler, Rate, State, assign, check_optimizer, per_group
from nbautograd.optim.schedules import half_wave

__all__ = ["CyclicLR", "OneCycleLR"]


class _WithMomentum(LRScheduler):
    """Base of schedules that move the momentum, or Adam's β₁, opposite to the learning rate."""

    def _prepare_momentum(
        self, optimizer: Optimizer, base: Any, most: Any, begin: bool
    ) -> tuple[list[float], list[float]]:
        """Return the lowest and the highest momentum of each group; begin with the highest."""
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        lows, highs = per_group("base_momentum", optimizer, base), per_group("max_momentum", optimizer, most)
        if begin:
            for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return lows, highs

    def _set_momentum(self, group: Group, value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_WithMomentum):
    """Cycle between ``base_lr`` and ``max_lr``, stepped after each batch (Smith, *Cyclical Learning Rates*, 2017).

    :param mode: ``"triangular"``, ``"triangular2"`` (half as high each time), or ``"exp_range"`` (times
        ``gamma ** iteration``).
    :param scale_fn: the height as a function of the cycle or, by ``scale_mode``, of the iteration.
    :raises ValueError: the mode is unknown, or the optimizer has no momentum to cycle.

    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> options = {"base_lr": 0.0, "max_lr": 1.0, "step_size_up": 2, "cycle_momentum": False}
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, **options)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> [round(rate, 3) for rate in rates]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    _hidden = ("optimizer", "_scale_fn_custom")

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        base_lrs = per_group("base_lr", optimizer, base_lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                f"mode is invalid and scale_fn is None: {mode!r} is no triangular, triangular2 or exp_range"
            )
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            momenta = self._prepare_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
            self.base_momentums, self.max_momentums = momenta
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, base_lrs, strict=True):
                assign(group, rate)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Return the height of the triangle in a cycle or an iteration."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return float({"triangular": 1.0, "triangular2": 2.0 ** (1 - x), "exp_range": self.gamma**x}[self.mode])

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of the groups in ``last_epoch``, and set the momenta."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            ends = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in ends:
                self._set_momentum(group, high - (high - low) * height * scale)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> State:
        """Return the state for a checkpoint, with the attributes of a ``scale_fn`` that is an object."""
        own = self._scale_fn_custom
        kept = None if own is None or isinstance(own, types.FunctionType) else own.__dict__.copy()
        return super().state_dict() | {"_scale_fn_custom": kept}

    def load_state_dict(self, state_dict: State) -> None:
        """Restore the state that :meth:`state_dict` returned."""
        rest = dict(state_dict)
        kept = rest.pop("_scale_fn_custom", None)
        if kept is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(kept)
        super().load_state_dict(rest)


def _checked_product(**counts: Any) -> int:
    if None in counts.values():
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, count in counts.items():
        if not isinstance(count, int) or count <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {count}")
    return math.prod(counts.values())


class OneCycleLR(_WithMomentum):
    """Anneal once up to ``max_lr``, then down to a minimum, per batch (Smith & Topin, *Super-Convergence*, 2018).

    :param total_steps: the number of steps; or pass ``epochs`` and ``steps_per_epoch``.
    :param pct_start: the fraction of steps that go up.
    :param anneal_strategy: ``"cos"`` or ``"linear"``.
    :param div_factor: the first learning rate is ``max_lr / div_factor``.
    :param final_div_factor: the last learning rate is the first over this.
    :param three_phase: go down as long as up, then to the last learning rate.
    :raises ValueError: an argument is out of its range, or ``step`` is called after the last step.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        if total_steps is None:
            self.total_steps = _checked_product(epochs=epochs, steps_per_epoch=steps_per_epoch)
        else:
            self.total_steps = _checked_product(total_steps=total_steps)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        max_lrs = per_group("max_lr", optimizer, max_lr)
        top = pct_start * self.total_steps
        end = self.total_steps - 1
        phases: list[tuple[Any, ...]] = [
            (top - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
            (end, "max_lr", "min_lr", "base_momentum", "max_momentum"),
        ]
        if three_phase:
            phases[1:] = [
                (2 * top - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                (end, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        keys = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases = [dict(zip(keys, phase, strict=True)) for phase in phases]
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._prepare_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, max_lrs, strict=True):
                group["initial_lr"], group["max_lr"] = most / div_factor, most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        super().__init__(optimizer, last_epoch)

    def _between(self, start: Any, end: Any, part: float) -> Any:
        return half_wave(end, start, part) if self._anneal_func_type == "cos" else start + (end - start) * part

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of the groups in ``last_epoch``, and set the momenta."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        begin: Any = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        part = (step - begin) / (phase["end_step"] - begin)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                low, high = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(low, high, part))
        return [self._between(group[phase["start_lr"]], group[phase["end_lr"]], part) for group in groups]
