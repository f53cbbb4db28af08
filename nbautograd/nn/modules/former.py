"""Deprecated modules, for old programs and files."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.shape.joining import stack
from nbautograd.errors import warn
from nbautograd.nn.modules.loss import NLLLoss
from nbautograd.nn.modules.module import Module
from nbautograd.nn.modules.normalization import _BatchNorm

__all__ = ["Container", "CrossMapLRN2d", "NLLLoss2d", "SyncBatchNorm"]


class Container(Module):
    """Deprecated: modules by name; use :class:`Module`.

    >>> import nbautograd as torch, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.nn.Container(act=torch.nn.ReLU()).act
    ReLU()
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that "
            "instead.",
            FutureWarning,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class NLLLoss2d(NLLLoss):
    """Deprecated: use :class:`NLLLoss`, which also supports images.

    >>> import nbautograd as torch, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     loss = torch.nn.NLLLoss2d()
    >>> loss(torch.zeros(1, 2, 3, 3), torch.zeros(1, 3, 3, dtype=torch.int64)) == 0
    tensor(True)
    """

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
        reduce: bool | None = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossMapLRN2d(Module):
    """Local response normalization of images as Torch7 computed it; see :class:`LocalResponseNorm`.

    :raises ValueError: the input is not of shape (n, c, h, w).

    >>> torch.nn.CrossMapLRN2d(2, alpha=1.)(torch.ones(1, 3, 1, 1)).flatten()
    tensor([0.7378, 0.5946, 0.5946])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """Return the input, divided by a power of the squares of the neighboring channels."""
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
        squares = list((input * input).unbind(1))
        half = int((self.size - 1) / 2 + 1)
        total = sum(squares[1:half], squares[0])
        totals = [total]
        for c in range(1, len(squares)):
            if c < len(squares) - half + 1:
                total = total + squares[c + half - 1]
            if c > half:  # as in Torch7: the first channel is never removed
                total = total - squares[c - half]
            totals.append(total)
        scale = stack(totals, 1) * (self.alpha / self.size) + self.k
        return input * scale.pow(-self.beta)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class SyncBatchNorm(_BatchNorm):
    """Batch normalization over the batches of all processes; nbautograd has one process, which uses its own batch.

    :raises ValueError: the input has one dimension.

    >>> torch.nn.SyncBatchNorm(3).num_features
    3
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace each batch normalization of a module by a SyncBatchNorm with its parameters."""
        result: Any = module
        if isinstance(module, _BatchNorm):
            options = (module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats)
            result = cls(*options, process_group)
            for members in ("_parameters", "_buffers"):
                getattr(result, members).update(getattr(module, members))
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result  # type: ignore[no-any-return]
