"""SGD, RMSprop, Adagrad, Adadelta, Rprop and ASGD. Each declares its options and its elementwise update rule."""

from __future__ import annotations

import numpy as np

from nbautograd._engine.arrays.axpy import axpy
from nbautograd._engine.core.tensor import Tensor
from nbautograd.optim.elementwise import (
    Array,
    Elementwise,
    Rule,
    State,
    add_ratio,
    change_of,
    count_step,
    decay_square,
    number,
    toward,
    write,
)
from nbautograd.optim.optimizer import Group, Params, options

__all__ = ["ASGD", "SGD", "Adadelta", "Adagrad", "RMSprop", "Rprop"]

Number = float | Tensor


class SGD(Elementwise):
    """Gradient descent: ``w ← w − lr · v``, where the velocity v is the gradient, or with momentum μ a sum of them.

    ``v ← μ · v + (1 − dampening) · g``, and for Nesterov's momentum the step goes along ``g + μ · v`` (Sutskever et
    al., *On the importance of initialization and momentum in deep learning*, 2013).

    :param foreach, fused: hints about speed, which are accepted; ``differentiable=True`` raises an error.
    :raises ValueError: an option is negative, or Nesterov's momentum is used without momentum or with dampening.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> for _ in range(3):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w
    tensor([0.0620], requires_grad=True)
    """

    _numbers: dict[str, float] = {}  # noqa: RUF012
    _takes_sparse = True

    def __init__(
        self,
        params: Params,
        lr: Number = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Number = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        names = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
        super().__init__(params, options(locals(), names))

    def _check_options(self, options: Group) -> None:
        super()._check_options(options)
        if options["nesterov"] and (options["momentum"] <= 0 or options["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def _sparse_step(self, p: Tensor, grad: Tensor, group: Group, slots: dict[str, float]) -> None:
        if group["weight_decay"]:
            raise RuntimeError("add(sparse, dense) is not supported: weight_decay needs dense gradients")
        if slots:  # every row moves with its velocity
            self._step(p, grad.to_dense(), group, slots, change_of(group))
        else:
            super()._sparse_step(p, grad, group, slots)

    def _slots(self, group: Group) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if group["momentum"] != 0 else {}

    def _plan(self, state: State, group: Group, fresh: bool) -> Rule:
        rate, momentum, dampening = -number(group["lr"]), group["momentum"], group["dampening"]
        nesterov = group["nesterov"]

        def rule(p: Array, g: Array, a: Array, b: Array, velocity: Array | None = None) -> None:
            if velocity is not None:
                if fresh:
                    velocity[...] = g
                else:
                    velocity *= momentum
                    if dampening:
                        axpy(1 - dampening, g, velocity, a)
                    else:
                        velocity += g
                if nesterov:
                    np.multiply(velocity, momentum, out=a)
                    g = np.add(g, a, out=a)
                else:
                    g = velocity
            axpy(rate, g, p, b)

        return rule


class RMSprop(Elementwise):
    """Gradients divided by the root of their mean square (Hinton, *Neural Networks for Machine Learning*, lecture 6).

    ``v ← α v + (1 − α) g²``, ``w ← w − lr · g / (√v + ε)``; ``centered`` subtracts the squared mean gradient from v
    (Graves, 2013), and with ``momentum`` the quotients are summed.
    """

    def __init__(
        self,
        params: Params,
        lr: Number = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        names = "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
        super().__init__(params, options(locals(), names))

    def _slots(self, group: Group) -> dict[str, float]:
        wanted = {"square_avg": True, "momentum_buffer": group["momentum"] > 0, "grad_avg": group["centered"]}
        return {name: 0.0 for name, is_wanted in wanted.items() if is_wanted}

    def _plan(self, state: State, group: Group, fresh: bool) -> Rule:
        count_step(state)
        rate, alpha, eps, momentum = -number(group["lr"]), group["alpha"], group["eps"], group["momentum"]
        centered = group["centered"]

        def rule(p: Array, g: Array, a: Array, b: Array, square: Array, *more: Array) -> None:
            decay_square(square, g, alpha, a)
            if centered:
                mean = more[-1]
                toward(mean, g, 1 - alpha, a)
                np.multiply(mean, mean, out=a)
                square = np.subtract(square, a, out=a)
            np.sqrt(square, out=a)
            a += eps
            if momentum > 0:
                velocity = more[0]
                velocity *= momentum
                np.divide(g, a, out=b)
                velocity += b
                axpy(rate, velocity, p, b)
            else:
                add_ratio(p, g, a, rate, b)

        return rule


class Adagrad(Elementwise):
    """Gradients divided by the root of the sum of their squares (Duchi, Hazan & Singer, 2011).

    ``s ← s + g²``, ``w ← w − lr / (1 + (t − 1) lr_decay) · g / (√s + ε)``.
    """

    def __init__(
        self,
        params: Params,
        lr: Number = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        names = "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused"
        super().__init__(params, options(locals(), names))

    _takes_sparse = True

    def _slots(self, group: Group) -> dict[str, float]:
        return {"sum": number(self.defaults["initial_accumulator_value"])}

    def _plan(self, state: State, group: Group, fresh: bool) -> Rule:
        step = count_step(state)
        rate, eps = -number(group["lr"]) / (1 + (step - 1) * group["lr_decay"]), group["eps"]

        def rule(p: Array, g: Array, a: Array, b: Array, total: Array) -> None:
            np.multiply(g, g, out=a)
            total += a
            np.sqrt(total, out=a)
            a += eps
            add_ratio(p, g, a, rate, b)

        return rule


class Adadelta(Elementwise):
    """Steps of the size of recent steps, along the gradient over its recent size (Zeiler, 2012).

    ``v ← ρ v + (1 − ρ) g²``, ``d = √(u + ε) / √(v + ε) · g``, ``u ← ρ u + (1 − ρ) d²``, ``w ← w − lr · d``.
    """

    _moments = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: Params,
        lr: Number = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        names = "lr rho eps weight_decay maximize capturable foreach differentiable"
        super().__init__(params, options(locals(), names))

    def _plan(self, state: State, group: Group, fresh: bool) -> Rule:
        count_step(state)
        rate, rho, eps = -number(group["lr"]), group["rho"], group["eps"]

        def rule(p: Array, g: Array, a: Array, b: Array, square: Array, moved: Array) -> None:
            decay_square(square, g, rho, a)
            np.add(square, eps, out=a)
            np.sqrt(a, out=a)
            np.add(moved, eps, out=b)
            np.sqrt(b, out=b)
            b /= a
            b *= g
            decay_square(moved, b, rho, a)
            axpy(rate, b, p, a)

        return rule


class Rprop(Elementwise):
    """Steps that grow while the gradient keeps its sign and shrink when it changes (Riedmiller & Braun, 1993).

    :param etas: the factors by which a step shrinks and grows.
    :param step_sizes: the smallest and the largest step.
    :raises ValueError: the learning rate is negative, or the first factor is not in (0, 1) or the second not above 1.
    """

    def __init__(
        self,
        params: Params,
        lr: Number = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}; expected 0 < etas[0] < 1 < etas[1]")
        super().__init__(params, options(locals(), "lr etas step_sizes foreach maximize differentiable capturable"))

    def _slots(self, group: Group) -> dict[str, float]:
        return {"prev": 0.0, "step_size": number(group["lr"])}

    def _plan(self, state: State, group: Group, fresh: bool) -> Rule:
        count_step(state)
        shrink, grow = group["etas"]
        least, most = group["step_sizes"]

        def rule(p: Array, g: Array, a: Array, b: Array, before: Array, size: Array) -> None:
            np.multiply(g, before, out=a)
            turned = a < 0
            np.multiply(size, np.where(turned, shrink, np.where(a > 0, grow, 1)).astype(size.dtype), out=size)
            np.clip(size, least, most, out=size)
            before[...] = g
            before[turned] = 0
            np.sign(before, out=a)
            a *= size
            p -= a

        return rule


class ASGD(Elementwise):
    """Gradient descent whose steps shrink, with the average of the parameters (Polyak & Juditsky, 1992).

    The step size is ``η = lr / (1 + λ · lr · t)^α``, and from step ``t0`` on ``state[p]["ax"]`` is the average.

    :raises ValueError: the learning rate or the weight decay is negative.
    """

    _numbers: dict[str, float] = {"step": 0.0, "eta": -1.0, "mu": 1.0}  # noqa: RUF012 - eta: the learning rate
    _moments = ("ax",)
    _free = frozenset({"alpha"})

    def __init__(
        self,
        params: Params,
        lr: Number = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        names = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
        super().__init__(params, options(locals(), names))

    def _plan(self, state: State, group: Group, fresh: bool) -> Rule:
        step, lr, lambd = count_step(state), number(group["lr"]), group["lambd"]
        if fresh:
            write([state["eta"]], lambda: state["eta"]._shared_array().fill(lr))
        eta = state["eta"].item()
        mu = state["mu"].item()
        keep, is_first = 1 - lambd * eta, mu == 1

        def forward() -> None:
            state["eta"]._shared_array()[...] = lr / (1 + lambd * lr * step) ** group["alpha"]
            state["mu"]._shared_array()[...] = 1 / max(1, step - group["t0"])

        write([state["eta"], state["mu"]], forward)

        def rule(p: Array, g: Array, a: Array, b: Array, average: Array) -> None:
            p *= keep
            axpy(-eta, g, p, a)
            if is_first:
                average[...] = p
            else:
                toward(average, p, mu, a)

        return rule
