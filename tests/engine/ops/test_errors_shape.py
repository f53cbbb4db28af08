"""Misuse of views, indices, joining and making: PyTorch's exception type, with its key words in the message."""

from __future__ import annotations

import numpy as np
import pytest

from tests import oracle


def matrix(T):
    return T.arange(6.0).reshape(2, 3)


def assigned(x, key, value):
    x[key] = value


CALLS = [
    ("invalid for input of size 6", lambda T: matrix(T).view(4, 2)),
    ("only one dimension can be inferred", lambda T: matrix(T).view(-1, -1)),
    ("view size is not compatible", lambda T: matrix(T).t().view(6)),
    ("must be divisible by 2", lambda T: matrix(T).view(T.float64)),
    ("stride(-1) must be 1", lambda T: matrix(T).t().view(T.int16)),
    ("multiply up to the size of dim", lambda T: T.ones(6).unflatten(0, (4, 2))),
    ("start_dim cannot come after end_dim", lambda T: matrix(T).flatten(1, 0)),
    ("number of dimensions", lambda T: matrix(T).permute(0)),
    ("duplicate dims", lambda T: matrix(T).permute(0, 0)),
    ("Dimension out of range", lambda T: matrix(T).transpose(0, 2)),
    ("expects a tensor with <= 2 dimensions", lambda T: T.ones(1, 2, 3).t()),
    ("only supported on matrices", lambda T: T.ones(3).mT),
    ("repeated dim", lambda T: T.movedim(matrix(T), (0, 0), (0, 1))),
    ("Dimension out of range", lambda T: matrix(T).unsqueeze(4)),
    ("must match the existing size", lambda T: matrix(T).expand(2, 4)),
    ("must be greater or equal to the number of dimensions", lambda T: matrix(T).expand(3)),
    ("must match the size of tensor b", lambda T: T.broadcast_tensors(T.ones(2), T.ones(3))),
    ("Attempting to broadcast a dimension of length", lambda T: T.broadcast_shapes((2,), (3,))),
    ("out of bounds for storage", lambda T: matrix(T).as_strided((4, 4), (4, 1))),
    ("egative strides", lambda T: matrix(T).as_strided((2,), (-1,))),
    ("maximum size for tensor at dimension", lambda T: matrix(T).unfold(0, 3, 1)),
    ("step is 0", lambda T: matrix(T).unfold(0, 1, 0)),
    ("out of range", lambda T: matrix(T).select(0, 2)),
    ("exceeds dimension size", lambda T: matrix(T).narrow(0, 1, 2)),
    ("diagonal dimensions cannot be identical", lambda T: matrix(T).diagonal(0, 1, 1)),
    ("at least a 1-dimensional tensor", lambda T: T.tensor(1.0).split(1)),
    ("split_size", lambda T: matrix(T).split(-1)),
    ("split_sizes", lambda T: matrix(T).split([1, 2])),
    ("greater than 0", lambda T: matrix(T).chunk(0)),
    ("number of sections must be larger than 0", lambda T: matrix(T).tensor_split(0)),
    ("not divisible by", lambda T: T.hsplit(matrix(T), 2)),
    ("at least 3 dimension", lambda T: T.dsplit(matrix(T), 1)),
    ("non-empty", lambda T: T.cat([])),
    ("Sizes of tensors must match", lambda T: T.cat([matrix(T), T.ones(2, 2)])),
    ("zero-dimensional", lambda T: T.cat([T.tensor(1.0)])),
    ("must be tuple of Tensors", lambda T: T.cat(T.ones(2))),
    ("equal size", lambda T: T.stack([T.ones(2), T.ones(3)])),
    ("2 or fewer dimensions", lambda T: T.block_diag(T.ones(1, 1, 1))),
    ("indexing must be one of", lambda T: T.meshgrid(T.ones(2), indexing="ji")),
    ("Expect a 1D vector", lambda T: T.combinations(matrix(T))),
    ("shifts and dimensions must align", lambda T: T.roll(matrix(T), (1, 2), 0)),
    ("total rotation dims == 2", lambda T: T.rot90(matrix(T), 1, (0,))),
    ("Number of dimensions of repeat dims", lambda T: matrix(T).repeat(2)),
    ("same size as input along dim", lambda T: T.ones(3).repeat_interleave(T.tensor([1, 2]))),
    ("is out of bounds for dimension 0 with size 2", lambda T: matrix(T)[5]),
    ("too many indices", lambda T: matrix(T)[0, 0, 0]),
    ("step must be greater than zero", lambda T: matrix(T)[::-1]),
    ("shape of the mask", lambda T: matrix(T)[T.tensor([True, False, True])]),
    ("only integers, slices", lambda T: matrix(T)[1.5]),
    ("tensors used as indices must be", lambda T: matrix(T)[T.tensor(1.0)]),
    ("could not be broadcast together", lambda T: matrix(T)[T.tensor([0, 1]), T.tensor([0, 1, 2])]),
    ("must match the existing size", lambda T: assigned(matrix(T), 0, T.ones(2))),
    ("cannot be broadcast to indexing result", lambda T: assigned(matrix(T), T.tensor([0]), T.ones(2))),
    ("can't assign a list", lambda T: assigned(matrix(T), 0, [1, 2, 3])),
    ("without overflow", lambda T: assigned(matrix(T), 0, 1j)),
    ("dtypes match", lambda T: matrix(T).index_put((T.tensor([0]),), T.tensor(1))),
    ("Expected dtype int32/int64 for index", lambda T: matrix(T).gather(0, T.tensor([[0.0]]))),
    ("same number of dimensions", lambda T: matrix(T).gather(0, T.tensor([0]))),
    ("out of bounds", lambda T: matrix(T).gather(0, T.tensor([[5]]))),
    (
        "self.dtype to be equal to src.dtype",
        lambda T: matrix(T).scatter(0, T.tensor([[0]]), T.ones(1, 1, dtype=T.int64)),
    ),
    ("to be no larger", lambda T: matrix(T).scatter(0, T.tensor([[0, 1]]), T.ones(1, 1))),
    ("add or multiply", lambda T: matrix(T).scatter(0, T.tensor([[0]]), 1.0, reduce="max")),
    ("sum, prod, mean, amax or amin", lambda T: matrix(T).scatter_reduce(0, T.tensor([[0]]), T.ones(1, 1), "median")),
    ("index out of range in self", lambda T: matrix(T).index_select(0, T.tensor([-1]))),
    ("Number of indices", lambda T: matrix(T).index_add(0, T.tensor([0]), T.ones(2, 3))),
    ("out of bounds", lambda T: matrix(T).index_copy(0, T.tensor([5]), T.ones(1, 3))),
    ("0-dimensional value", lambda T: matrix(T).index_fill(0, T.tensor([0]), T.ones(1))),
    ("boolean masks", lambda T: matrix(T).masked_fill(matrix(T), 1.0)),
    ("0-dimensional value", lambda T: matrix(T).masked_fill(matrix(T) > 1, T.ones(1))),
    ("Number of elements of source", lambda T: matrix(T).masked_scatter(matrix(T) > 1, T.ones(2))),
    ("out of range", lambda T: matrix(T).take(T.tensor([6]))),
    ("same number of elements", lambda T: matrix(T).put(T.tensor([0, 1]), T.ones(1))),
    ("integer dtype", lambda T: T.unravel_index(T.tensor([1.0]), (2, 3))),
    ("src to have a size equal to the slice", lambda T: T.select_scatter(matrix(T), T.ones(2), 0, 0)),
    ("Supports 1D or 2D tensors", lambda T: T.diag(T.ones(1, 1, 1))),
    ("at least 2 dimensions", lambda T: T.tril(T.ones(2))),
    ("expected a matrix", lambda T: T.trace(T.ones(2))),
    ("must larger than 1", lambda T: T.ones(2).fill_diagonal_(1)),
    ("egative", lambda T: T.zeros(2, -1)),
    ("must be torch.dtype", lambda T: T.zeros(2, dtype="float")),
    ("without overflow", lambda T: T.full((2,), 1j, dtype=T.float32)),
    ("must be tuple of ints", lambda T: T.full(2, 1)),
    ("step must be nonzero", lambda T: T.arange(0, 2, 0)),
    ("inconsistent with step sign", lambda T: T.arange(3, 0)),
    ("non-negative", lambda T: T.linspace(0, 1, -1)),
    ("Duplicate dim", lambda T: T.empty_permuted((2, 3), (0, 0))),
    ("cannot resize variables that require grad", lambda T: T.ones(2, requires_grad=True).resize_(3)),
    ("preserve memory format", lambda T: matrix(T).t().contiguous(memory_format=T.preserve_format)),
    ("required rank 4 tensor", lambda T: matrix(T).clone(memory_format=T.channels_last)),
    ("leaf Variable", lambda T: T.ones(2, 3, requires_grad=True).t_()),
    ("returns multiple views", lambda T: (T.ones(2, requires_grad=True) * 1).unbind()[0].add_(1)),
]


@pytest.mark.parametrize(("words", "call"), CALLS, ids=[f"{i} {words}" for i, (words, _) in enumerate(CALLS)])
def test_refused_as_pytorch_refuses_it(words, call):
    oracle.check_raises(call, says=words)


def test_a_view_made_without_recording_is_not_written_to_while_recording():
    def program(T):
        x = T.ones(2, requires_grad=True) * 1
        with T.no_grad():
            view = x[0]
        view.add_(1)

    assert isinstance(oracle.check_raises(program, says="created in no_grad mode"), RuntimeError)


def test_arrays_that_run_backwards_are_refused():
    error = oracle.check_raises(lambda T: T.from_numpy(np.arange(3)[::-1]), says="negative")
    assert isinstance(error, ValueError)
