"""The base class of learning rate schedules."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._names.docstrings.classes import composed
from nbautograd.errors import kind_of, warn
from nbautograd.optim.optimizer import Group, Optimizer

__all__ = ["LRScheduler", "Rate", "State", "assign", "check_optimizer", "current", "own", "per_group", "warn_epoch"]

Rate = Any  # a float or a tensor of one element
State = dict[str, Any]


def own(value: Rate) -> Rate:
    """Return a number, or a copy of a tensor."""
    return value.clone() if isinstance(value, Tensor) else value


def current(optimizer: Optimizer, key: str = "lr") -> list[Rate]:
    """Return the present value of an option in each parameter group."""
    return [own(group[key]) for group in optimizer.param_groups]


def assign(group: Group, value: Rate, key: str = "lr") -> None:
    """Set an option of a group; a tensor in place."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """Return a value for each group, from a list or from one value for all."""
    count = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(values) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(values)} values, "
            f"param_groups has {count}."
        )
    return [own(v) for v in values]


def check_optimizer(optimizer: Any) -> None:
    """Check that the argument is an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{kind_of(optimizer)} is not an Optimizer")


@composed
class LRScheduler:
    """Base class of schedules: a subclass computes the learning rates of ``last_epoch`` in ``get_lr``.

    :param last_epoch: the epoch before the first; -1 to begin, or another epoch to resume.
    :raises TypeError: ``optimizer`` is not an optimizer.
    :raises KeyError: a group has no ``initial_lr`` when training is resumed.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        composed(cls)

    optimizer: Optimizer
    _is_initial = False
    _get_lr_called_within_step = False
    _hidden: tuple[str, ...] = ("optimizer",)  # attributes that are not part of the state

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        optimizer.__dict__.setdefault("_opt_called", False)
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{index}] when resuming a scheduler with "
                    f"last_epoch={last_epoch}: load the optimizer's state first, or begin with last_epoch=-1"
                )
        self.base_lrs: list[Rate] = current(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> State:
        """Return the state to save in a checkpoint, without functions."""
        return {key: value for key, value in self.__dict__.items() if key not in self._hidden}

    def load_state_dict(self, state_dict: State) -> None:
        """Restore the state that :meth:`state_dict` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Rate]:
        """Return the learning rates of the groups."""
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of the groups in ``last_epoch``, for ``step``."""
        raise NotImplementedError

    def _get_lr(self) -> list[Rate]:
        self._get_lr_called_within_step = True
        try:
            return self.get_lr()
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch, or (deprecated) to the given one.

        Warn if the optimizer has not made a step yet: the first learning rate would never be used.
        """
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite order: "
                "otherwise the first value of the learning rate schedule is skipped."
            )
        self._step_count += 1
        if epoch is not None:
            warn_epoch()
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        closed = getattr(self, "_get_closed_form_lr", None)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._put(self._get_lr() if epoch is None or closed is None else closed())

    def _put(self, rates: list[Rate]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            assign(group, rate)
        self._last_lr: list[Rate] = current(self.optimizer)


class _LRScheduler(LRScheduler):
    """The former name of :class:`LRScheduler`, the base class of schedules in older programs."""


def warn_epoch() -> None:
    """Warn that the argument ``epoch`` is deprecated."""
    warn(
        "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated: the closed form of the "
        "schedule is used for it. Use `scheduler.step()`."
    )
