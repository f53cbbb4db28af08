"""Sequences of different lengths in one tensor: padded to the same length, or packed without padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbautograd._engine.arrays import dtypes
from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.compiler.op import no_method, with_argument_errors
from nbautograd._engine.core.tensor import Tensor, array_of
from nbautograd._engine.ops.creation.creation import full
from nbautograd._engine.ops.creation.from_data import as_tensor, tensor
from nbautograd._engine.ops.indexing.indexing import Key, index_back  # noqa: F401  a formula names it
from nbautograd._engine.ops.shape.joining import stack
from nbautograd.errors import kind_of

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """A packed batch of sequences, longest first: all first elements, then all second ones, and so on.

    Made by :func:`pack_padded_sequence` or :func:`pack_sequence`.

    :param data: the rows.
    :param batch_sizes: for each time step, the number of sequences that reach it; int64.
    :param sorted_indices: the indices of the given sequences, longest first.
    :param unsorted_indices: the inverse permutation.
    """

    __slots__ = ()

    def __new__(
        cls, data: Tensor, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:  # fmt: skip
        """Create a sequence; compute ``unsorted_indices`` if it is None."""
        if batch_sizes is None:
            raise ValueError("PackedSequence: batch_sizes must be given: use pack_padded_sequence to make one")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequence in another dtype or on another device."""
        return PackedSequence(self.data.to(*args, **kwargs), *self[1:])

    def _with(self, data: Tensor) -> PackedSequence:
        return self if data is self.data else PackedSequence(data, *self[1:])

    def float(self) -> PackedSequence:
        """Return the sequence in float32."""
        return self._with(self.data.float())

    def double(self) -> PackedSequence:
        """Return the sequence in float64."""
        return self._with(self.data.double())

    def half(self) -> PackedSequence:
        """Return the sequence in float16."""
        return self._with(self.data.half())

    def cpu(self) -> PackedSequence:
        """Return the sequence on the CPU."""
        return self._with(self.data.cpu())

    @property
    def is_cuda(self) -> bool:
        """True if the sequence is on a CUDA device."""
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the inverse of a permutation.

    >>> import nbautograd as torch
    >>> invert_permutation(torch.tensor([1, 2, 0]))
    tensor([2, 0, 1])
    """
    return None if permutation is None else permutation.argsort()


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences without their padding.

    :param input: shape (length, batch, ...), or (batch, length, ...) if ``batch_first``.
    :param lengths: the length of each, a list or a tensor on the CPU.
    :param enforce_sorted: whether the sequences must be sorted, longest first.
    :raises RuntimeError: a length is not positive, the lengths are not sorted, their number is wrong, or the input is
        empty.

    >>> import nbautograd as torch
    >>> pack_padded_sequence(torch.tensor([[1., 2.], [3., 0.]]), [2, 1]).data
    tensor([1., 2., 3.])
    """
    order = None
    if not enforce_sorted:
        lengths = as_tensor(lengths)
        order = lengths.argsort(descending=True)
        input, lengths = input.index_select(0 if batch_first else 1, order), lengths[order]
    counts = np.asarray(lengths.tolist() if isinstance(lengths, Tensor) else lengths, np.int64)
    _check_lengths(input, counts, batch_first)
    there = np.arange(counts[0])[:, None] < counts
    times, sequences = _indices(there)
    data = _pack(input, (sequences, times) if batch_first else (times, sequences))
    return PackedSequence(data, tensor(there.sum(1).tolist(), dtype=dtypes.int64), order)


@no_method(node="PackPaddedSequenceBackward0", symbol="pack", input="index_back(g, input.shape, key)")
def _pack(input: Tensor, key: Key) -> Tensor:
    """Return the elements at two arrays of indices."""
    return input[tuple(array_of(item) for item in key)]


def _check_lengths(input: Tensor, counts: np.ndarray[Any, Any], batch_first: bool) -> None:
    """Check that the lengths fit a padded batch, longest first."""
    shape = input.shape
    length, batch = shape[dimension(int(batch_first), len(shape))], shape[dimension(int(not batch_first), len(shape))]
    if counts.ndim != 1:
        raise RuntimeError(f"'lengths' argument should be a 1D int64 tensor or a list, but got {counts.ndim}D")
    if not input.numel():
        raise RuntimeError(f"Cannot pack empty tensors: the shape of the input is {tuple(input.shape)}")
    if len(counts) != batch:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size {batch}, but got {len(counts)}")
    if counts[-1] <= 0:
        raise RuntimeError(
            f"Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0: "
            f"{counts[-1]}"
        )
    if (np.diff(counts) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True; pass "
            "enforce_sorted=False to have the sequences sorted"
        )
    if counts[0] > length:
        raise RuntimeError(f"Expected lengths of at most {length}, the padded length, but got {counts[0]}")


def _indices(there: np.ndarray[Any, Any]) -> tuple[Tensor, Tensor]:
    """Return the time steps and the sequence numbers of all elements, as two index tensors."""
    times, sequences = np.nonzero(there)
    return tensor(times), tensor(sequences)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Pad a packed sequence: the inverse of :func:`pack_padded_sequence`.

    :param total_length: pad to this length instead of the longest sequence's.
    :returns: the padded sequences and their lengths.
    :raises ValueError: ``total_length`` is less than the longest sequence's length.
    """
    sizes = np.asarray(sequence.batch_sizes.tolist())
    longest = len(sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(
            f"Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    data = sequence.data
    there = np.arange(sizes[0]) < sizes[:, None]
    shape = (total_length or longest, int(sizes[0]), *data.shape[1:])
    padded = full(shape, padding_value, dtype=data.dtype, device=data.device)
    padded[_indices(there)] = data
    lengths = tensor(there.sum(0).tolist(), dtype=dtypes.int64)
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is not None:
        back = sequence.unsorted_indices
        padded, lengths = padded.index_select(0 if batch_first else 1, back), lengths[back]
    return padded, lengths


@with_argument_errors
def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Pad sequences of different lengths to one tensor.

    :param sequences: tensors of shape (length, ...).
    :param padding_side: ``"right"`` or ``"left"``.
    :returns: shape (length, batch, ...), or (batch, length, ...) if ``batch_first``.
    :raises RuntimeError: ``sequences`` is not a list of tensors.

    >>> import nbautograd as torch
    >>> pad_sequence([torch.ones(2), torch.ones(1)], batch_first=True)
    tensor([[1., 1.],
            [1., 0.]])
    """
    from nbautograd.nn.functional import pad

    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got {kind_of(sequences)}")
    tensors = list(sequences.unbind(0) if isinstance(sequences, Tensor) else sequences)
    if not tensors:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    if padding_side not in ("right", "left"):
        raise RuntimeError(f"padding_side should be one of 'right' or 'left', got {padding_side!r}")
    longest, sizes = max(s.shape[0] for s in tensors), tuple(tensors[0].shape[1:])
    padded = []
    for s in tensors:
        if s.shape[1:] != sizes:
            raise RuntimeError(f"pad_sequence: the sizes after the first must match: {tuple(s.shape[1:])}, {sizes}")
        rest = longest - s.shape[0]
        sides = [0] * (2 * (s.ndim - 1)) + ([rest, 0] if padding_side == "left" else [0, rest])
        padded.append(pad(s, sides, "constant", padding_value))
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences of a padded tensor, each of its own length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [s[: int(n)] for s, n in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths."""
    lengths = tensor([s.shape[0] for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Unpack sequences: the inverse of :func:`pack_sequence`."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
