"""Tables of vectors looked up by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.size import as_int
from nbautograd._engine.compiler.op import check_option, no_method
from nbautograd._engine.core.batched import checks_values, elements, looks_at_elements
from nbautograd._engine.core.grad_mode import unrecorded
from nbautograd._engine.core.sparse import sparse_gradient, stored
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.indexing.gather import gather_back  # noqa: F401 - a formula names it
from nbautograd._engine.ops.queries import check_tensors
from nbautograd.errors import DtypeError, warn

__all__ = ["embedding", "embedding_bag", "one_hot"]


def _factors(index: Any, padding: int, by_frequency: bool, kind: Any) -> Any:
    """Return the factor of each row's gradient, shaped to broadcast; None where all are 1."""
    result = (index != padding).astype(kind) if padding >= 0 else None
    if by_frequency and index.size:
        counts = np.bincount(index.reshape((-1,)), None, int(index.max()) + 1)
        share = (1 / np.take(counts, index)).astype(kind)
        result = share if result is None else result * share
    return None if result is None else result[..., None]


@no_method(
    symbol="embedding",
    weight="sparse_rows(g, index, weight.shape, padding, by_frequency) if sparse else "
    "embedding_back(g, index, weight.shape, padding, by_frequency)",
)
def _embedding(weight: Tensor, index: Tensor, padding: int, by_frequency: bool, sparse: bool = False) -> Tensor:
    """Return the rows at ``index``."""
    return np.take(weight, index, 0)


@no_method(
    node="EmbeddingDenseBackwardBackward0",
    symbol="embedding",
    input="embedding_masked(g, index, padding, by_frequency)",
)
def embedding_back(input: Tensor, index: Tensor, shape: Any, padding: int, by_frequency: bool) -> Tensor:
    """Add rows to zeros of ``shape`` at ``index``, except padding; optionally divided by each row's frequency."""
    factors = _factors(index, padding, by_frequency, input.dtype)
    rows = input if factors is None else input * factors
    return backend.sum_of_rows(index.reshape((-1,)), rows.reshape((-1, shape[1])), shape[0])


@no_method(
    node="EmbeddingBackward0", symbol="embedding", input="embedding_back(g, index, input.shape, padding, by_frequency)"
)
def embedding_masked(input: Tensor, index: Tensor, padding: int, by_frequency: bool) -> Tensor:
    """Compute the transpose of ``embedding_back``."""
    factors = _factors(index, padding, by_frequency, input.dtype)
    rows = np.take(input, index, 0)
    return rows if factors is None else rows * factors


@checks_values
def _check_index(name: str, input: Tensor, rows: int) -> None:
    check_tensors(name, input=input)
    if input._a.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            f"{name}(): Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
            f"Int; but got {input.type()} instead"
        )
    a = elements(input)
    if a.size and (int(a.min()) < 0 or int(a.max()) >= rows):
        wrong = int(a.min()) if int(a.min()) < 0 else int(a.max())
        raise IndexError(f"{name}(): index out of range in self: {wrong} in a table of {rows} rows")


def _padding_index(padding_idx: int | None, rows: int) -> int:
    if padding_idx is None:
        return -1
    padding_idx = check_option("embedding", "padding_idx", padding_idx, "int", 2)
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"Padding_idx must be within num_embeddings: got {padding_idx} for {rows} rows")
    return padding_idx % rows


def sparse_rows(g: Any, index: Any, shape: Any, padding: int, by_frequency: bool) -> Any:
    """Compute the gradient of a table as a sparse array, or tensor: the rows at ``index``, except padding."""
    if by_frequency:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    flat, rows = stored(index).reshape((-1,)), g.reshape(-1, shape[1])
    if padding >= 0:
        (kept,) = np.nonzero(flat != padding)
        flat, rows = flat[kept], rows[wrap(kept) if isinstance(rows, Tensor) else kept]
    return sparse_gradient(flat.astype(np.int64)[None], rows, shape)


def sparse_bag_rows(g: Any, weights: Any, index: Any, bag: Any, shape: Any) -> Any:
    """Compute the gradient of a table, like ``bag_back``, but as a sparse array or tensor."""
    rows = g[bag]
    return sparse_gradient(stored(index)[None], rows if weights is None else rows * weights[:, None], shape)


def _shrink(weight: Tensor, index: Tensor, max_norm: float, norm_type: float) -> None:
    """Shorten looked-up rows longer than ``max_norm`` to that length, in place."""
    used = wrap(np.unique(elements(index)))
    rows = weight.detach()[used]
    length = rows.norm(norm_type, 1, True)
    weight[used] = (rows * (max_norm / (length + 1e-7))).where(length > max_norm, rows)


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Return the rows of ``weight`` at the indices in ``input``.

    :param input: int64 or int32, any shape.
    :param weight: shape (n, m).
    :param padding_idx: a row that gets no gradient.
    :param max_norm: shorten looked-up rows longer than this to this length, in place.
    :param sparse: the gradient of ``weight`` is sparse: it has the looked-up rows. See
        :class:`~nbautograd.optim.SparseAdam`.
    :raises IndexError: an index is out of range.
    :raises RuntimeError: ``input`` is neither int64 nor int32.

    >>> torch.nn.functional.embedding(torch.tensor([1, 0, 1]), torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[3., 4.],
            [1., 2.],
            [3., 4.]])
    """
    check_tensors("embedding", input=input, weight=weight)
    if weight._a.ndim != 2:
        raise RuntimeError(f"embedding(): 'weight' must be 2-D, got shape {list(weight._a.shape)}")
    rows = weight._a.shape[0]
    padding = _padding_index(padding_idx, rows)
    _check_index("embedding", input, rows)
    if max_norm is not None:
        unrecorded(_shrink, weight, input, max_norm, norm_type)
    return _embedding(weight, input, padding, scale_grad_by_freq, sparse)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return one-hot vectors in a new last dimension: 1 at the class, zeros elsewhere.

    :param tensor: int64, any shape.
    :param num_classes: by default the largest class plus one.
    :raises RuntimeError: a class is negative or too large, or the dtype is not int64.

    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    check_tensors("one_hot", tensor=tensor)
    num_classes = as_int(num_classes, "one_hot(): num_classes")
    a = tensor._a
    if a.dtype != np.int64:
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, got {tensor.dtype!r}")
    if a.size == 0:
        if num_classes <= 0:
            raise RuntimeError("one_hot(): Can not infer total number of classes from empty tensor.")
    else:
        if int(a.min()) < 0:
            raise RuntimeError(f"one_hot(): Class values must be non-negative, got {int(a.min())}")
        if num_classes == -1:
            tensor.max().item()  # raises on the device meta
            num_classes = int(a.max()) + 1
        elif (top := int(a.max())) >= num_classes:
            raise RuntimeError(f"one_hot(): Class values must be smaller than num_classes, got {top} for {num_classes}")
    classes = backend.module(tensor.device).arange(num_classes)
    return wrap((a[..., None] == classes).astype(np.int64))


@no_method(
    node="EmbeddingBagBackward0",
    symbol="Σ embedding",
    weight="sparse_bag_rows(g, weights, index, bag, weight.shape) if sparse else "
    "bag_back(g, weights, index, bag, weight.shape, frequency)",
    weights="(index_select(g, 0, bag) * index_select(weight, 0, index)).sum(1)",
)
def bag_sum(
    weight: Tensor, weights: Tensor | None, index: Tensor, bag: Tensor, bags: int, frequency: Tensor | None,
    sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Add the rows at ``index``, each times its weight, to their bags."""
    rows = np.take(weight, index, 0)
    if weights is not None:
        rows = rows * weights[:, None]
    return backend.sum_of_rows(bag, rows, bags)


@no_method(
    node="EmbeddingBagBackwardBackward0",
    symbol="embedding",
    input="bag_sum(g if frequency is None else g * frequency, weights, index, bag, input.shape[0], None)",
    weights="(index_select(input, 0, bag) * index_select(g if frequency is None else g * frequency, 0, index)).sum(1)",
)
def bag_back(
    input: Tensor, weights: Tensor | None, index: Tensor, bag: Tensor, shape: Any, frequency: Tensor | None
) -> Tensor:
    """Compute the transpose of ``bag_sum``: each bag's gradient is added to the rows in it."""
    rows = np.take(input, bag, 0)
    if weights is not None:
        rows = rows * weights[:, None]
    result = backend.sum_of_rows(index, rows, shape[0])
    return result if frequency is None else result * frequency


@no_method(
    node="EmbeddingBagBackward0", symbol="max embedding", weight="gather_back(g * filled, weight.shape, 0, rows)"
)
def _bag_max(weight: Tensor, rows: Tensor, filled: Tensor) -> Tensor:
    """Return the elements of ``weight`` at ``rows``, column by column, 0 for empty bags."""
    return np.take_along_axis(weight, rows, 0) * filled


def _winners(weight: Any, index: Any, bag: Any, counted: Any, bags: int) -> tuple[Any, Any]:
    """Return the row with the largest element of each bag and column; and 1 for each bag that is not empty."""
    module = backend.module(backend.device_of(weight))
    if backend.is_bare(weight):
        return np.empty_like(index, shape=(bags, weight.shape[1])), np.empty_like(weight, shape=(bags, 1))
    index, bag = index[counted], bag[counted]
    sizes = np.bincount(bag, None, bags)
    first = np.cumsum(sizes) - sizes
    place = module.arange(len(index)) - np.take(first, bag)
    longest = int(sizes.max()) if sizes.size else 0
    values = np.full_like(weight, -np.inf, shape=(bags, max(longest, 1), weight.shape[1]), order="C")
    names = np.zeros_like(index, shape=(bags, max(longest, 1)), order="C")
    values[bag, place] = np.take(weight, index, 0)
    names[bag, place] = index
    return np.take_along_axis(names, values.argmax(1), 1), (sizes > 0).astype(weight.dtype)[:, None]


def _factors_of_rows(factors: Tensor, input: Tensor, weight: Tensor, mode: str) -> Tensor:
    """Check the ``per_sample_weights`` of ``embedding_bag``, and return them in one dimension."""
    check_tensors("embedding_bag", per_sample_weights=factors)
    if factors._a.shape != input._a.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({factors.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights is only supported for mode='sum' (got {mode=})")
    if factors.dtype is not weight.dtype:
        kinds = f"{weight.dtype!r} and {factors.dtype!r}"
        raise DtypeError(f"embedding_bag: Expected weight and per_sample_weights of one dtype, but got {kinds}")
    return factors.reshape(-1)


def _shares(bag: Any, counted: Any, bags: int) -> Any:
    """Return one over the size of its bag for each row that is counted, else 0."""
    sizes = np.bincount(bag if backend.is_bare(bag) else bag[counted], None, bags)
    return counted / np.take(np.maximum(sizes, 1), bag)


def _by_frequency(weight: Tensor, index: Any) -> Tensor | None:
    """Return a factor for the gradient of each row: one over how often it is looked up; None if nothing is."""
    if not index.size:
        return None
    counts = backend.module(weight.device).asarray(np.bincount(backend.fetch(index), None, weight._a.shape[0]))
    return wrap((1 / np.maximum(counts, 1)).astype(weight._a.dtype)[:, None])


def _check_bag_options(input: Tensor, offsets: Tensor | None, by_frequency: bool, mode: str, sparse: bool) -> None:
    """Check that the options of ``embedding_bag`` fit each other."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum, mean or max, got {mode!r}")
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    if input._a.ndim == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
            f"sequences. However, found offsets of type {type(offsets).__name__}"
        )
    if sparse and by_frequency:
        raise RuntimeError("embedding_bag(): scale_grad_by_freq not supported with sparse gradients")


def _check_table(weight: Tensor) -> None:
    """Check that the rows of ``embedding_bag`` are of floating numbers."""
    if weight._a.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight._a.ndim}")
    if weight._a.dtype.kind not in "fV":
        raise DtypeError(
            "embedding_bag(): Expected tensor for argument #1 'weight' to have one of the scalar types: Half, "
            f"BFloat16, Float, Double; but got {weight.type()} instead"
        )


@looks_at_elements
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Compute the sums, means or maxima of bags of rows of ``weight``.

    :param input: indices, shape (bags, size), or (n,) with ``offsets``.
    :param offsets: the start of each bag; with ``include_last_offset`` also the end of the last one.
    :param mode: ``"mean"``, ``"sum"`` or ``"max"``; an empty bag gives 0.
    :param per_sample_weights: a factor for each row, shape as ``input``; only for ``"sum"``.
    :param padding_idx: a row to leave out.
    :param sparse: the gradient of ``weight`` is sparse; not for ``"max"``.
    :raises ValueError: the arguments do not fit each other.
    :raises RuntimeError: the dtypes or offsets do not fit.

    >>> w = torch.tensor([[1., 2.], [3., 4.]])
    >>> torch.nn.functional.embedding_bag(torch.tensor([0, 1, 1]), w, torch.tensor([0, 2]))
    tensor([[2., 3.],
            [3., 4.]])
    """
    name = "embedding_bag"
    check_tensors(name, input=input, weight=weight)
    if weight._a.dtype.char in "ilq" and input._a.dtype.kind in dtypes.INEXACT:
        warn("embedding_bag(weight, input) is deprecated: the indices come first")
        input, weight = weight, input
    _check_bag_options(input, offsets, scale_grad_by_freq, mode, sparse)
    weights = None if per_sample_weights is None else _factors_of_rows(per_sample_weights, input, weight, mode)
    _check_table(weight)
    if scale_grad_by_freq and mode == "max":
        raise RuntimeError("embedding_bag: scaling the gradient by frequency is not supported for mode='max'")
    index, bag, bags = _bags(input, offsets, include_last_offset)
    _check_index(name, input, weight._a.shape[0])
    padding = _padding_index(padding_idx, weight._a.shape[0])
    if max_norm is not None:
        unrecorded(_shrink, weight, input, max_norm, norm_type)
    kind = weight._a.dtype
    counted = index != padding
    if mode == "max":
        rows, filled = _winners(weight._a, index, bag, counted, bags)
        return _bag_max(weight, wrap(rows), wrap(filled))
    if mode == "mean":
        weights = wrap(_shares(bag, counted, bags).astype(kind))
    elif not bool(counted.all()):
        mask = wrap(counted.astype(kind))
        weights = mask if weights is None else weights * mask
    frequency = _by_frequency(weight, index) if scale_grad_by_freq else None
    return bag_sum(weight, weights, wrap(index), wrap(bag), bags, frequency, sparse)


def _bags(input: Tensor, offsets: Tensor | None, include_last: bool) -> tuple[Any, Any, int]:
    """Return the flat indices, the number of each index's bag, and the number of bags."""
    a, module = input._a, backend.module(input.device)
    index = a.reshape((-1,)).astype(np.int64)
    if a.ndim == 2:
        return index, np.repeat(module.arange(a.shape[0]), a.shape[1]), a.shape[0]
    if a.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {a.ndim}")
    if offsets is None or offsets._a.ndim != 1:
        dimensions = None if offsets is None else f"{offsets._a.ndim}D"
        raise ValueError(f"offsets has to be a 1D Tensor but got {dimensions}")
    starts = offsets._a
    if len(starts) and int(starts[0]) != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {int(starts[0])}"
        )
    if len(starts) and int(starts[-1]) > len(index):
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {len(index)} but got offsets[-1] of {int(starts[-1])}"
        )
    if include_last:
        if not len(starts):
            raise RuntimeError("include_last_offset: numBags should be at least 1")
        starts = starts[:-1]
    return index, np.searchsorted(starts, module.arange(len(index)), "right") - 1, len(starts)
