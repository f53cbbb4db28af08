"""Learning rate schedules with one formula each: multiplicative, by user-defined functions, and cosine annealing."""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from nbautograd.errors import kind_of
from nbautograd.optim.optimizer import Optimizer
from nbautograd.optim.schedule import LRScheduler, Rate, State, check_optimizer, current

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR", "LambdaLR", "LinearLR",
    "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "StepLR",
]  # fmt: skip


# -- multiples of the current learning rate ----------------------------------------------------------------------------


class _Multiples(LRScheduler):
    """Base of schedules that multiply the learning rates of all groups by the same factor."""

    def _factor(self) -> float | None:
        """Return the factor from the last epoch's learning rates to this epoch's; None: unchanged."""
        raise NotImplementedError

    def _share(self) -> float:
        """Return the factor from the initial learning rates to this epoch's."""
        raise NotImplementedError

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of the groups in ``last_epoch``."""
        self._warn_outside_step()
        factor = self._factor()
        rates = current(self.optimizer)
        return rates if factor is None else [rate * factor for rate in rates]

    def _get_closed_form_lr(self) -> list[Rate]:
        share = self._share()
        return [base * share for base in self.base_lrs]


class StepLR(_Multiples):
    """Multiply the learning rate by ``gamma`` every ``step_size`` epochs.

    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> torch.optim.lr_scheduler.StepLR(optimizer, 30).get_last_lr()
    [1.0]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma * 1

    def _share(self) -> float:
        return float(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(_Multiples):
    """Multiply the learning rate by ``gamma`` at each of the ``milestones``; a repeated one counts twice."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        times = self.milestones.get(self.last_epoch)
        return None if times is None else float(self.gamma**times)

    def _share(self) -> float:
        return float(self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch))


class ConstantLR(_Multiples):
    """Multiply the learning rate by ``factor`` until epoch ``total_iters``.

    :raises ValueError: the factor is not between 0 and 1.
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"Constant multiplicative factor expected to be between 0 and 1, not {factor}.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _share(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(_Multiples):
    """Interpolate linearly from ``start_factor`` to ``end_factor`` times the learning rate in ``total_iters`` epochs.

    :raises ValueError: a factor is not between 0 and 1, or the first is 0.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(
                f"Starting multiplicative factor expected to be greater than 0 and at most 1, not {start_factor}."
            )
        if not 0 <= end_factor <= 1:
            raise ValueError(f"Ending multiplicative factor expected to be between 0 and 1, not {end_factor}.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        return 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _share(self) -> float:
        part = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * part


class ExponentialLR(_Multiples):
    """Multiply the learning rate by ``gamma`` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        return None if self._is_initial else self.gamma * 1

    def _share(self) -> float:
        return float(self.gamma**self.last_epoch)


class PolynomialLR(_Multiples):
    """Decay the learning rate by ``(1 − epoch / total_iters) ** power``, to 0 at ``total_iters``."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _factor(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        now, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return float((now / before) ** self.power)

    def _share(self) -> float:
        return float((1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power)


# -- user-defined functions --------------------------------------------------------------------------------------------


class _OfFunctions(LRScheduler):
    """Base of schedules by functions; only the attributes of callable objects are saved as state."""

    _hidden = ("optimizer", "lr_lambdas")

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        count = len(optimizer.param_groups)
        functions = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(functions) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(functions)}")
        for function in functions:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {kind_of(function)}")
        self.lr_lambdas: list[Callable[[int], float]] = functions
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> State:
        """Return the state for a checkpoint, with the attributes of functions that are objects."""
        kept = [None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in self.lr_lambdas]
        return super().state_dict() | {"lr_lambdas": kept}

    def load_state_dict(self, state_dict: State) -> None:
        """Restore the state that :meth:`state_dict` returned."""
        rest = dict(state_dict)
        for function, kept in zip(self.lr_lambdas, rest.pop("lr_lambdas"), strict=True):
            if kept is not None:
                function.__dict__.update(kept)
        super().load_state_dict(rest)


class LambdaLR(_OfFunctions):
    """Set the learning rate to the initial one times ``lr_lambda(epoch)``.

    :param lr_lambda: a function, or one for each group.

    >>> optimizer = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=1.0)
    >>> torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** (epoch + 1)).get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of the groups in ``last_epoch``."""
        self._warn_outside_step()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_OfFunctions):
    """Multiply the learning rate of the previous epoch by ``lr_lambda(epoch)``."""

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of the groups in ``last_epoch``."""
        self._warn_outside_step()
        rates = current(self.optimizer)
        if self._is_initial:
            return rates
        return [rate * f(self.last_epoch) for f, rate in zip(self.lr_lambdas, rates, strict=True)]


# -- cosine annealing --------------------------------------------------------------------------------------------------


def half_wave(low: Rate, high: Rate, part: float) -> Rate:
    """Return half a cosine wave, from ``high`` at 0 to ``low`` at 1."""
    return low + (high - low) * (1 + math.cos(math.pi * part)) / 2


class CosineAnnealingLR(LRScheduler):
    """Anneal along a cosine to ``eta_min`` in ``T_max`` epochs and back (Loshchilov & Hutter, *SGDR*, 2017)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of the groups in ``last_epoch``."""
        self._warn_outside_step()
        rates, epoch, least = current(self.optimizer), self.last_epoch, self.eta_min
        if self._is_initial:
            return rates
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        turn = math.pi / self.T_max
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # one after the minimum, where the quotient is 0 / 0
            rise = (1 - math.cos(turn)) / 2
            return [rate + (base - least) * rise for base, rate in zip(self.base_lrs, rates, strict=True)]
        quotient = (1 + math.cos(turn * epoch)) / (1 + math.cos(turn * (epoch - 1)))
        return [quotient * (rate - least) + least for rate in rates]

    def _get_closed_form_lr(self) -> list[Rate]:
        return [half_wave(self.eta_min, base, self.last_epoch / self.T_max) for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing with restarts: to ``eta_min`` in ``T_0`` epochs, then in ``T_0 · T_mult``, and so on.

    Loshchilov & Hutter, *SGDR*, 2017. ``step`` also accepts fractions of epochs.

    :raises ValueError: ``T_0`` or ``T_mult`` is not a positive int, or ``eta_min`` is not a number.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,  # noqa: N803
        T_mult: int = 1,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (int, float)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of the groups in ``last_epoch``."""
        self._warn_outside_step()
        return [half_wave(self.eta_min, base, self.T_cur / self.T_i) for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Advance to the next epoch, or to the given one.

        :raises ValueError: the epoch is negative.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._put(self._get_lr())

    def _go_to(self, epoch: float) -> None:
        """Set the position in the cycle and its length: the n-th begins after ``T_0 · (mⁿ − 1) / (m − 1)`` epochs."""
        factor = self.T_mult
        if epoch < self.T_0:
            self.T_cur, self.T_i = epoch, self.T_0  # type: ignore[assignment]
        elif factor == 1:
            self.T_cur = epoch % self.T_0  # type: ignore[assignment]
        else:
            cycle = int(math.log(epoch / self.T_0 * (factor - 1) + 1, factor))
            self.T_cur = epoch - self.T_0 * (factor**cycle - 1) / (factor - 1)
            self.T_i = self.T_0 * factor**cycle
