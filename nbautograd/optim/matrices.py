"""Optimizers with an update rule for whole matrices: Adafactor and Muon."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.core.grad_mode import unrecorded
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.optim.elementwise import Elementwise, count_step, number, run_closure, write
from nbautograd.optim.optimizer import Group, Optimizer, Params, options

__all__ = ["Adafactor", "Muon"]

Array = Any


class _Whole(Optimizer):
    """Base of optimizers that update each parameter as a whole."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        :param closure: computes the loss and its gradients again and returns the loss, which the step returns.
        :raises RuntimeError: a parameter is complex.
        """
        loss = run_closure(closure)
        ready = [(p, p.grad, group) for group in self.param_groups for p in group["params"] if p.grad is not None]
        for p, grad, _ in ready:
            if grad.is_sparse:
                raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")
            if p.is_complex():
                raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
        unrecorded(backend.run_quietly, self._update_all, ready)
        return loss

    def _update_all(self, ready: list[tuple[Tensor, Tensor, Group]]) -> None:
        for p, grad, group in ready:
            write([p], partial(self._update, p._shared_array(), grad._a, self.state[p], group))

    def _update(self, p: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        raise NotImplementedError


def _at_least(*limits: tuple[str, Any, float]) -> None:
    for name, value, limit in limits:
        if not value >= limit:
            raise ValueError(f"{name} should be >= {limit:g} but is: {value}")


def _norm(a: Array) -> float:
    return math.sqrt(float((a * a).sum()))


class Adafactor(_Whole):
    """Adam without momentum, its second moment factored into row and column means (Shazeer & Stern, 2018).

    :param beta2_decay: the weight of a new gradient in the mean squares is ``t ** beta2_decay``.
    :param eps: lower bounds of the mean squares (None: the dtype's eps) and of the size of the parameter.
    :param d: the largest root mean square of an update.
    >>> w = torch.ones(2, 3, requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w[0, 0].item(), 3)
    0.9
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError(f"Tensor lr must be 1-element, and this one has {lr.numel()}")
        if not beta2_decay <= 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        _at_least(
            ("Learning rate", number(lr), 0),
            ("epsilon1", 0 if eps[0] is None else eps[0], 0),
            ("epsilon2", eps[1], 0),
            ("Clipping threshold d", d, 1),
            ("weight_decay", weight_decay, 0),
        )
        super().__init__(params, options(locals(), "lr beta2_decay eps d weight_decay foreach maximize"))

    def _update(self, p: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        if "step" not in state:
            state["step"] = Elementwise._scalar(0.0)
            if grad.ndim > 1:
                state["row_var"], state["col_var"] = (wrap(np.zeros_like(grad.take([0], axis))) for axis in (-1, -2))
            else:
                state["variance"] = wrap(np.zeros_like(grad))
        step, lr = count_step(state), number(group["lr"])
        g = -grad if group["maximize"] else grad
        cut, least = group["eps"]
        cut = dtypes.finfo(dtypes.of(p.dtype)).eps if cut is None else cut
        weight = step ** group["beta2_decay"]
        size = max(least, _norm(p) / math.sqrt(p.size)) * min(lr, 1 / math.sqrt(step))
        if group["weight_decay"]:
            p *= 1 - lr * group["weight_decay"]
        square = g * g

        def learn(name: str, value: Array) -> Array:
            kept = state[name]._shared_array()
            kept += (value - kept) * weight
            return kept

        if g.ndim > 1:
            rows = learn("row_var", square.mean(-1, keepdims=True))
            estimate = rows @ learn("col_var", square.mean(-2, keepdims=True))
            estimate /= np.maximum(rows.mean(-2, keepdims=True), cut)
        else:
            estimate = learn("variance", square).copy()
        update = g / np.sqrt(np.maximum(estimate, cut * cut))
        update *= -size / max(1.0, _norm(update) / (math.sqrt(update.size) * group["d"]))
        p += update.astype(p.dtype, copy=False)


class Muon(_Whole):
    """Momentum orthogonalized by Newton-Schulz iteration, for matrices only (Jordan et al., 2024).

    :param ns_coefficients: the coefficients of the iterated polynomial.
    :param ns_steps: the number of iterations.
    :param adjust_lr_fn: ``"original"`` (or None) scales by ``√max(1, rows / columns)``, ``"match_rms_adamw"`` by
        ``0.2 · √max(rows, columns)``.
    :raises ValueError: an option is out of its range, or a parameter is not a matrix.

    >>> w = torch.eye(2).requires_grad_()
    >>> optimizer = torch.optim.Muon([w], lr=0.1, weight_decay=0.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> bool((w.diagonal() < 1).all())
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError(f"Tensor lr must be 1-element, and this one has {lr.numel()}")
        _at_least(("Learning rate", number(lr), 0), ("momentum", momentum, 0), ("weight decay", weight_decay, 0))
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn!r} is not supported: expected None, 'original' or "
                "'match_rms_adamw'"
            )
        names = "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn"
        super().__init__(params, options(locals(), names))
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(f"Muon only supports 2D parameters, and one is of shape {p.shape}")

    def _update(self, p: Array, grad: Array, state: dict[str, Any], group: Group) -> None:
        if len(group["ns_coefficients"]) != 3:
            raise ValueError(f"ns_coefficients must be a tuple of exactly 3 values, not {group['ns_coefficients']!r}")
        if group["ns_steps"] >= 100:
            raise ValueError(f"ns_steps: the number of steps must be less than 100, not {group['ns_steps']}")
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = wrap(np.zeros_like(grad))
        velocity = state["momentum_buffer"]._shared_array()
        velocity += (grad - velocity) * (1 - group["momentum"])
        g = grad + (velocity - grad) * group["momentum"] if group["nesterov"] else velocity
        update = _orthogonal(g, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = p.shape
        matched = group["adjust_lr_fn"] == "match_rms_adamw"
        ratio = 0.2 * math.sqrt(max(rows, columns)) if matched else math.sqrt(max(1, rows / columns))
        lr = number(group["lr"])
        p *= 1 - lr * group["weight_decay"]
        p -= (lr * ratio * update).astype(p.dtype, copy=False)


def _orthogonal(g: Array, coefficients: tuple[float, float, float], steps: int, eps: float) -> Array:
    """Return the nearest matrix with singular values around 1, in single precision (PyTorch computes in bfloat16)."""
    first, third, fifth = coefficients
    tall = g.shape[0] > g.shape[1]
    x = (g.T if tall else g).astype(np.float32)
    x = x / max(_norm(x), eps)
    for _ in range(steps):
        gram = x @ x.T
        x = first * x + (third * gram + fifth * (gram @ gram)) @ x
    return x.T if tall else x
