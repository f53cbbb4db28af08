"""Learning rate schedules composed of others, and ReduceLROnPlateau, which follows a metric."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd.optim.optimizer import Optimizer
from nbautograd.optim.schedule import LRScheduler, State, assign, check_optimizer, current, warn_epoch

__all__ = ["ChainedScheduler", "ReduceLROnPlateau", "SequentialLR"]


class _Several(LRScheduler):
    """Base of the schedules that are composed of others."""

    _hidden = ("optimizer", "_schedulers")
    _schedulers: Sequence[LRScheduler]

    def _check(self, schedulers: Sequence[Any], optimizer: Any) -> Any:
        name = type(self).__name__
        if not schedulers:
            raise ValueError(f"{name} expects at least one scheduler, but got no scheduler.")
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name}: what is at index {index} should have `optimizer` as its attribute.")
            optimizer = scheduler.optimizer if optimizer is None else optimizer
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau`, whose `step` takes a metric, but got one "
                    f"at index {index}."
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but that of "
                    f"{type(scheduler).__name__} at index {index} is another."
                )
        return optimizer

    def state_dict(self) -> State:
        """Return the state to save in a checkpoint, including the states of the schedules."""
        return super().state_dict() | {"_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: State) -> None:
        """Restore the state that :meth:`state_dict` returned."""
        rest = dict(state_dict)
        for scheduler, kept in zip(self._schedulers, rest.pop("_schedulers"), strict=True):
            scheduler.load_state_dict(kept)
        super().load_state_dict(rest)


class ChainedScheduler(_Several):
    """Apply several schedules at each step, each to the learning rate of the previous one.

    :raises ValueError: no schedule is given, or they belong to different optimizers.

    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> schedules = torch.optim.lr_scheduler
    >>> parts = [schedules.ConstantLR(optimizer, 0.5), schedules.ExponentialLR(optimizer, 0.9)]
    >>> schedules.ChainedScheduler(parts).get_last_lr()
    [0.5]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self.optimizer = self._check(schedulers, optimizer)
        self._schedulers = schedulers
        self._last_lr = current(self.optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Advance all schedules to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = current(self.optimizer)


class SequentialLR(_Several):
    """Run one schedule after the other, switching at the ``milestones``.

    :raises ValueError: the number of milestones is not one less than the schedules', or the optimizers differ.

    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> first = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> then = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [first, then], milestones=[2])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.5, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got {len(schedulers)} schedulers and {len(milestones)} milestones"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:  # each schedule has made its first step: undo it and start again
            assign(group, group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Undo the first step, which every schedule takes when it is constructed."""
        what = self if sched is None else sched
        if hasattr(what, "_schedulers"):
            for scheduler in what._schedulers:
                self.recursive_undo(scheduler)
        elif hasattr(what, "last_epoch"):
            what.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Advance the active schedule to the next epoch."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ReduceLROnPlateau(LRScheduler):
    """Multiply the learning rate by ``factor`` when a metric has not improved for ``patience`` epochs.

    :param mode: ``"min"`` or ``"max"``: the better direction.
    :param threshold: the smallest improvement that counts, relative (``threshold_mode="rel"``) or absolute (``"abs"``).
    :param cooldown: epochs after a reduction in which bad epochs are not counted.
    :param eps: the smallest change of a learning rate; smaller ones are skipped.
    :raises ValueError: the factor is 1 or more, a mode is unknown, or the length of ``min_lr`` is wrong.

    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (3.0, 2.0, 2.0, 2.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"Factor should be < 1.0, and is {factor}.")
        check_optimizer(optimizer)
        count = len(optimizer.param_groups)
        several = isinstance(min_lr, (list, tuple))
        if several and len(min_lr) != count:
            raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown! Expected 'min' or 'max'")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown! Expected 'rel' or 'abs'")
        self.factor, self.optimizer = factor, optimizer
        self.default_min_lr = None if several else min_lr
        self.min_lrs = list(min_lr) if several else [min_lr] * count
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch = 0
        self._last_lr = current(optimizer)
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """True if bad epochs are not counted yet after a reduction."""
        return self.cooldown_counter > 0

    def _is_better(self, value: float, best: float) -> bool:
        sign = 1 if self.mode == "max" else -1
        by = best * (1 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return value > by if self.mode == "max" else value < by

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Record the metric of the last epoch, and reduce the learning rate if the metric has stopped improving."""
        value = float(metrics.item() if isinstance(metrics, Tensor) else metrics)
        if epoch is not None:
            warn_epoch()
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = current(self.optimizer)

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}): set `min_lrs` to one for each group."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                assign(group, new)
