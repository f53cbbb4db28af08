"""``torch.optim.swa_utils``: averages of a model's parameters over time (Izmailov et al., 2018)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import tensor
from nbautograd.nn.modules.module import Module
from nbautograd.optim.optimizer import Optimizer
from nbautograd.optim.schedule import LRScheduler, Rate, per_group
from nbautograd.optim.schedules import half_wave

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip

Average = Callable[[Tensor, Tensor, Any], Tensor]
Averages = Callable[[list[Tensor], list[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Return a function for the exponential average of a parameter: ``decay`` times the old, plus the rest of the new.

    :raises ValueError: ``decay`` is not between 0 and 1.
    """
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")

    @no_grad()
    def average(old: Tensor, new: Tensor, count: Any) -> Tensor:
        mixed: Tensor = old * decay + new * (1 - decay)
        return mixed

    return average


def get_swa_avg_fn() -> Average:
    """Compute a function for the mean of all values of a parameter."""

    @no_grad()
    def average(old: Tensor, new: Tensor, count: Any) -> Tensor:
        mean: Tensor = old + (new - old) / (count + 1)
        return mean

    return average


def _averages_function(average: Average) -> Averages:
    @no_grad()
    def averages(old: list[Tensor], new: list[Tensor], count: Any) -> None:
        for a, b in zip(old, new, strict=True):
            a.copy_(average(a, b, count))

    return averages


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """Return :func:`get_ema_avg_fn` for a list of parameters, in place."""
    return _averages_function(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Averages:
    """Return :func:`get_swa_avg_fn` for a list of parameters, in place."""
    return _averages_function(get_swa_avg_fn())


def _copy(targets: Iterable[Tensor], sources: Iterable[Tensor]) -> None:
    for target, source in zip(targets, sources, strict=True):
        target.detach().copy_(source.detach())


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's over time.

    :param avg_fn: ``avg_fn(average, value, count)`` gives the new average of a parameter; by default the mean.
    :param multi_avg_fn: a function like ``avg_fn`` for lists of parameters, in place.
    :param use_buffers: average the buffers instead of copying them.
    :raises AssertionError: both functions are given.

    >>> model = torch.nn.Linear(2, 1)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> bool((averaged.module.weight == model.weight).all())
    True
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Update the average with the parameters of ``model``."""
        ours: list[Tensor] = [*self.module.parameters()]
        theirs: list[Tensor] = [*model.parameters()]
        if self.use_buffers:
            ours += self.module.buffers()
            theirs += model.buffers()
        ours = [p.detach() for p in ours]
        theirs = [p.detach().to(mine.device) for p, mine in zip(theirs, ours, strict=True)]
        if int(self.n_averaged) == 0:
            _copy(ours, theirs)
        elif self.multi_avg_fn is not None:
            self.multi_avg_fn(ours, theirs, self.n_averaged)
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for mine, other in zip(ours, theirs, strict=True):
                is_averaged = self.avg_fn or mine.is_floating_point()
                mine.copy_(average(mine, other, self.n_averaged) if is_averaged else other)
        if not self.use_buffers:
            _copy(self.module.buffers(), model.buffers())
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of all batch normalizations from the inputs in ``loader``."""
    norms = [m for m in model.modules() if hasattr(m, "running_mean") and hasattr(m, "reset_running_stats")]
    momenta = {}
    for norm in norms:
        norm.reset_running_stats()
        momenta[norm] = norm.momentum
    if not norms:
        return
    was_training = model.training
    model.train()
    for norm in norms:
        norm.momentum = None
    for batch in loader:
        first = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(first if device is None else first.to(device))
    for norm, momentum in momenta.items():
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneal from the current learning rate to ``swa_lr`` in ``anneal_epochs`` epochs, then keep it constant.

    :param anneal_strategy: ``"cos"`` or ``"linear"``.
    :raises ValueError: the strategy is unknown, or the epochs are not a nonnegative int.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for group, rate in zip(optimizer.param_groups, per_group("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _weight(self, step: int) -> float:
        """Return the interpolation weight of ``swa_lr``."""
        part = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return float(half_wave(1.0, 0.0, part)) if self._anneal_strategy == "cos" else part

    def get_lr(self) -> list[Rate]:
        """Return the learning rates of the groups in ``last_epoch``."""
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._weight(step - 1), self._weight(step)
        rates = []
        for group in self.optimizer.param_groups:
            rate, goal = group["lr"], group["swa_lr"]
            start = goal if before == 1 else (rate - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
