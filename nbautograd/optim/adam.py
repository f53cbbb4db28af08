"""Adam and its variants: AdamW, NAdam, RAdam, Adamax. Each declares its options and its elementwise update rule."""

from __future__ import annotations

import math

import numpy as np

from nbautograd._engine.arrays.axpy import axpy
from nbautograd._engine.core.tensor import Tensor
from nbautograd.optim.elementwise import (
    Array,
    Elementwise,
    Rule,
    State,
    add_ratio,
    betas_of,
    count_step,
    decay_square,
    number,
    toward,
)
from nbautograd.optim.optimizer import Group, Params, options

__all__ = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"]

Number = float | Tensor


class Adam(Elementwise):
    """Steps along the mean gradient over the root of the mean square gradient (Kingma & Ba, 2015).

    ``m ← β₁ m + (1 − β₁) g``, ``v ← β₂ v + (1 − β₂) g²``, ``w ← w − lr · m̂ / (√v̂ + ε)``, where the hats divide by
    ``1 − βᵗ``. With ``amsgrad`` the largest v so far divides (Reddi et al., 2018).

    :param foreach, fused: hints about speed, which are accepted; ``capturable`` and ``differentiable`` raise an error.
    """

    def __init__(
        self,
        params: Params,
        lr: Number = 1e-3,
        betas: tuple[Number, Number] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if not any(all(isinstance(b, kind) for b in betas) for kind in (float, Tensor)):
            raise ValueError(f"betas must be either both floats or both Tensors, not {betas!r}")
        for index, beta in enumerate(betas):
            if isinstance(beta, Tensor) and beta.numel() != 1:
                raise ValueError(f"Tensor betas[{index}] must be 1-element, and this one has {beta.numel()}")
        names = (
            "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused decoupled_weight_decay"
        )
        super().__init__(params, options(locals(), names) | {"betas": tuple(map(number, betas))})

    _no_sparse = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def _slots(self, group: Group) -> dict[str, float]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
        return dict.fromkeys(names if group["amsgrad"] else names[:2], 0.0)

    def _plan(self, state: State, group: Group, fresh: bool) -> Rule:
        step = count_step(state)
        beta1, beta2 = betas_of(group)
        root = math.sqrt(1 - beta2**step)  # both sides of the fraction times a number: saves one pass
        size, eps = -number(group["lr"]) * root / (1 - beta1**step), group["eps"] * root

        def rule(p: Array, g: Array, a: Array, b: Array, mean: Array, square: Array, top: Array | None = None) -> None:
            toward(mean, g, 1 - beta1, a)
            decay_square(square, g, beta2, a)
            if top is not None:
                square = np.maximum(top, square, out=top)
            np.sqrt(square, out=a)
            a += eps
            add_ratio(p, mean, a, size, b)

        return rule


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters themselves (Loshchilov & Hutter, 2019)."""

    def __init__(
        self,
        params: Params,
        lr: Number = 1e-3,
        betas: tuple[Number, Number] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        names = "lr betas eps weight_decay amsgrad foreach maximize capturable differentiable fused"
        super().__init__(params, **options(locals(), names), decoupled_weight_decay=True)


class NAdam(Elementwise):
    """Adam with Nesterov's momentum (Dozat, *Incorporating Nesterov Momentum into Adam*, 2016).

    The momentum at step t is ``μₜ = β₁ (1 − ½ · 0.96^(t · momentum_decay))``, and the step goes along
    ``(1 − μₜ) g / (1 − Πμ) + μₜ₊₁ m / (1 − Πμ · μₜ₊₁)`` over ``√v̂ + ε``.
    """

    _numbers: dict[str, float] = {"step": 0.0, "mu_product": 1.0}  # noqa: RUF012
    _moments = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Params,
        lr: Number = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        names = (
            "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach capturable differentiable"
        )
        super().__init__(params, options(locals(), names))

    def _plan(self, state: State, group: Group, fresh: bool) -> Rule:
        step = count_step(state)
        beta1, beta2 = betas_of(group)
        now, following = (beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        product = count_step(state, "mu_product", now)
        rate, eps, correction = -number(group["lr"]), group["eps"], 1 - beta2**step
        of_gradient = rate * (1 - now) / (1 - product)
        of_mean = rate * following / (1 - product * following)

        def rule(p: Array, g: Array, a: Array, b: Array, mean: Array, square: Array) -> None:
            toward(mean, g, 1 - beta1, a)
            decay_square(square, g, beta2, a)
            np.divide(square, correction, out=a)
            np.sqrt(a, out=a)
            a += eps
            add_ratio(p, g, a, of_gradient, b)
            add_ratio(p, mean, a, of_mean, b)

        return rule


class RAdam(Elementwise):
    """Adam that divides by the root of the mean square only after enough steps to estimate it (Liu et al., 2020).

    With ``ρ∞ = 2 / (1 − β₂) − 1`` and ``ρₜ = ρ∞ − 2t β₂ᵗ / (1 − β₂ᵗ)``, steps with ``ρₜ ≤ 5`` use momentum
    alone, and later ones are multiplied by ``√((ρₜ − 4)(ρₜ − 2)ρ∞ / ((ρ∞ − 4)(ρ∞ − 2)ρₜ))``.
    """

    _moments = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Params,
        lr: Number = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        names = "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable"
        super().__init__(params, options(locals(), names))

    def _plan(self, state: State, group: Group, fresh: bool) -> Rule:
        step = count_step(state)
        beta1, beta2 = betas_of(group)
        eps, correction = group["eps"], 1 - beta2**step
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * beta2**step / correction
        rate = -number(group["lr"]) / (1 - beta1**step)
        is_told = length > 5
        if is_told:
            part = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
            rate *= math.sqrt(part) * math.sqrt(correction)

        def rule(p: Array, g: Array, a: Array, b: Array, mean: Array, square: Array) -> None:
            toward(mean, g, 1 - beta1, a)
            decay_square(square, g, beta2, a)
            if is_told:
                np.sqrt(square, out=a)
                a += eps
                add_ratio(p, mean, a, rate, b)
            else:
                axpy(rate, mean, p, a)

        return rule


class Adamax(Elementwise):
    """Adam with the largest recent gradient in place of the root of the mean square (Kingma & Ba, 2015, section 7.1).

    ``u ← max(β₂ u, |g| + ε)``, ``w ← w − lr / (1 − β₁ᵗ) · m / u``.
    """

    _moments = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: Params,
        lr: Number = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        names = "lr betas eps weight_decay foreach maximize differentiable capturable"
        super().__init__(params, options(locals(), names))

    def _plan(self, state: State, group: Group, fresh: bool) -> Rule:
        step = count_step(state)
        beta1, beta2 = betas_of(group)
        eps, rate = group["eps"], -number(group["lr"]) / (1 - beta1**step)

        def rule(p: Array, g: Array, a: Array, b: Array, mean: Array, largest: Array) -> None:
            toward(mean, g, 1 - beta1, a)
            largest *= beta2
            np.abs(g, out=a)
            a += eps
            np.maximum(largest, a, out=largest)
            add_ratio(p, mean, largest, rate, a)

        return rule
