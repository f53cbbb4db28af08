"""The adaptive softmax: few frequent classes in the head, the others in clusters of smaller and smaller layers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from nbautograd._engine.core.tensor import Tensor
from nbautograd.nn import functional as F  # noqa: N812
from nbautograd.nn.modules.container import ModuleList, Sequential
from nbautograd.nn.modules.linear import Linear
from nbautograd.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of many classes, of which few are frequent (Grave et al., 2017), and their loss.

    :param cutoffs: the first classes of the clusters: classes below the first cutoff are in the head.
    :param div_value: the factor by which each cluster's layers are smaller than the previous cluster's.
    :param head_bias: whether the head has a bias.
    :raises ValueError: the cutoffs are not increasing numbers below the number of classes.

    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 10, [2, 5])
    >>> layer.log_prob(torch.zeros(3, 16)).exp().sum(1).detach()
    tensor([1., 1., 1.])
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        increasing = all(a < b for a, b in itertools.pairwise(cutoffs)) and all(int(c) == c for c in cutoffs)
        if not increasing or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs), 1):
            size = int(in_features // div_value**i)
            inner = Linear(in_features, size, bias=False, **options)
            self.tail.append(Sequential(inner, Linear(size, high - low, bias=False, **options)))

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        self.head.reset_parameters()
        for projection in self.tail:
            for layer in projection:
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """Return the log-probability of each target, and the mean of their negatives as the loss.

        :raises RuntimeError: the shapes do not fit, or a target is not a class.
        """
        if target_.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target_.ndim == 1 and input_.shape[0] != target_.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input_.ndim != target_.ndim + 1:
            dims = f"{target_.ndim}D target tensor expects {target_.ndim + 1}D input tensors"
            raise RuntimeError(f"{dims}, but found inputs with size {input_.shape}")
        batched = target_.ndim > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        output = input.new_zeros((target.shape[0],))
        columns = target.clone()  # in the head's output
        covered = 0
        for i, (low, high) in enumerate(itertools.pairwise([0, *self.cutoffs])):
            mask = (target >= low) & (target < high)
            rows = mask.nonzero().squeeze(1)
            covered += rows.numel()
            if i == 0 or not rows.numel():
                continue
            logs = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
            columns.index_fill_(0, rows, self.shortlist_size + i - 1)
            output = output.index_copy(0, rows, logs.gather(1, (target[mask] - low).unsqueeze(1)).squeeze(1))
        if covered != target.shape[0]:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        output = output + F.log_softmax(self.head(input), dim=1).gather(1, columns.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """Return the log-probabilities of all classes, from the output of the head."""
        logs = F.log_softmax(head_output, dim=1)
        result = input.new_empty((head_output.shape[0], self.n_classes))
        result[:, : self.shortlist_size] = logs[:, : self.shortlist_size]
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            cluster = F.log_softmax(self.tail[i](input), dim=1)
            result[:, low:high] = cluster + logs[:, self.shortlist_size + i].unsqueeze(1)
        return result

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes: shape (n, in_features) to (n, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each input; faster than ``log_prob`` for classes in the head."""
        head_output = self.head(input)
        output: Tensor = head_output.argmax(dim=1)
        elsewhere = output >= self.shortlist_size
        if elsewhere.any():
            output[elsewhere] = self._get_full_log_prob(input[elsewhere], head_output[elsewhere]).argmax(dim=1)
        return output
