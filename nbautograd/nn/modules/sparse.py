"""Embeddings: rows of a table, looked up by index."""

from __future__ import annotations

from typing import Any, Self

from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd.errors import kind_of
from nbautograd.nn import functional as F, init  # noqa: N812
from nbautograd.nn.modules._options import differing
from nbautograd.nn.modules.linear import new_parameter
from nbautograd.nn.modules.module import Module
from nbautograd.nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """Base of embeddings: a table of vectors, with an optional padding row that is not trained."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _make(self, weight: Tensor | None, freeze: bool, device: Any, dtype: Any) -> None:
        padding = self.padding_idx
        if padding is not None:
            if not -self.num_embeddings <= padding < self.num_embeddings:
                raise AssertionError(f"padding_idx must be within num_embeddings ({self.num_embeddings}): {padding}")
            self.padding_idx = padding + self.num_embeddings if padding < 0 else padding
        if weight is None:
            self.weight = new_parameter(self.num_embeddings, self.embedding_dim, device=device, dtype=dtype)
            self.weight.requires_grad = not freeze
            self.reset_parameters()
        else:
            if not isinstance(weight, Tensor):
                raise TypeError(f"{type(self).__name__}: _weight must be Tensor, not {kind_of(weight)}")
            if list(weight.shape) != [self.num_embeddings, self.embedding_dim]:
                raise AssertionError(
                    f"Shape of weight {list(weight.shape)} does not match num_embeddings and embedding_dim "
                    f"({self.num_embeddings}, {self.embedding_dim})"
                )
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw a new table from the normal distribution."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **options: Any) -> Self:
        """Return a layer with the given table, which is trained only if ``freeze=False``.

        :raises AssertionError: the table is not two-dimensional.
        """
        if embeddings.ndim != 2:
            raise AssertionError(f"Embeddings parameter is expected to be 2-dimensional, got {embeddings.ndim}")
        rows, columns = embeddings.shape
        result = cls(rows, columns, _weight=embeddings, **options)
        result.weight.requires_grad = not freeze
        return result


class Embedding(_Table):
    """Rows of a table: integers of any shape to (..., embedding_dim).

    :param padding_idx: a row that is initially zero and has no gradient.
    :param sparse: compute a sparse gradient of the table: see :func:`~nbautograd.nn.functional.embedding`.

    >>> torch.nn.Embedding(10, 3)(torch.tensor([1, 2])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None,
        _freeze: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._make(_weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """Return the rows at these indices."""
        options = (self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)
        return F.embedding(input, self.weight, self.padding_idx, *options)

    def extra_repr(self) -> str:
        """Return the sizes, and the options that differ from the default."""
        usual = {"padding_idx": None, "max_norm": None, "norm_type": 2.0}
        text = f"{self.num_embeddings}, {self.embedding_dim}{differing(self, usual)}"
        for name in ("scale_grad_by_freq", "sparse"):
            if getattr(self, name) is not False:
                text += f", {name}={getattr(self, name)}"
        return text


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows of a table.

    >>> bags = torch.nn.EmbeddingBag.from_pretrained(torch.tensor([[1., 2.], [3., 4.]]))
    >>> bags(torch.tensor([[0, 1]]))
    tensor([[2., 3.]])
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.max_norm, self.norm_type, self.mode = max_norm, norm_type, mode
        self.scale_grad_by_freq, self.sparse, self.include_last_offset = scale_grad_by_freq, sparse, include_last_offset
        self._make(_weight, False, device, dtype)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Return a row per bag: rows of a 2-D input, or pieces of a 1-D input that begin at ``offsets``."""
        options = (self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse)
        more = (per_sample_weights, self.include_last_offset, self.padding_idx)
        pooled: Tensor = F.embedding_bag(input, self.weight, offsets, *options, *more)
        return pooled

    def extra_repr(self) -> str:
        """Return the sizes, and the options that differ from the default."""
        usual = {"max_norm": None, "norm_type": 2.0, "scale_grad_by_freq": False}
        text = f"{self.num_embeddings}, {self.embedding_dim}{differing(self, usual)}, mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"
