"""SparseAdam: Adam for sparse gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nbautograd._engine.core.sparse import SparseTensor
from nbautograd._engine.core.tensor import Tensor
from nbautograd.optim.elementwise import (
    Array,
    Change,
    Elementwise,
    Rule,
    State,
    count_step,
    decay_square,
    number,
    toward,
)
from nbautograd.optim.optimizer import Group, Params

__all__ = ["SparseAdam"]


class SparseAdam(Elementwise):
    """Adam for the rows, or elements, of a sparse gradient; other moments stay unchanged.

    :raises ValueError: an option is out of its range, or a parameter is sparse.
    :raises RuntimeError: a gradient is dense, at the step.

    >>> table = torch.nn.Embedding.from_pretrained(torch.ones(3, 1), freeze=False, sparse=True)
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(torch.tensor([1])).sum().backward()
    >>> optimizer.step()
    >>> table.weight.detach().flatten()
    tensor([1.0000, 0.9000, 1.0000])
    """

    _moments = ("exp_avg", "exp_avg_sq")
    _takes_sparse = True

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        for name, value in (("learning rate", number(lr)), ("epsilon value", eps)):
            if not value > 0:
                raise ValueError(f"Invalid {name}: {value}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        rows = enumerate(group["params"] for group in self.param_groups)
        sparse = [[i, j] for i, row in rows for j, p in enumerate(row) if p.__class__ is SparseTensor]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")

    def _step(self, p: Tensor, grad: Tensor, group: Group, slots: dict[str, float], change: Change | None) -> None:
        if grad.__class__ is not SparseTensor:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        self._sparse_step(p, grad, group, slots)

    def _plan(self, state: State, group: Group, fresh: bool) -> Rule:
        step = count_step(state)
        beta1, beta2 = group["betas"]
        size, eps = number(group["lr"]) * math.sqrt(1 - beta2**step) / (1 - beta1**step), group["eps"]

        def rule(p: Array, g: Array, a: Array, b: Array, *moments: Any) -> None:
            mean, square = moments
            toward(mean, g, 1 - beta1, a)
            decay_square(square, g, beta2, a)
            np.sqrt(square, out=a)
            a += eps
            np.divide(mean, a, out=a)
            a *= size
            p -= a

        return rule
