"""Sparse tensors under both libraries."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parity.differences.both import Raised, agrees, differs

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")


@differs("Coordinates are always checked", pytorch=2, here=Raised(RuntimeError))
def test_an_index_out_of_range(torch: Any) -> Any:
    return torch.sparse_coo_tensor([[0, 3]], [1.0, 2.0], (2,))._nnz()


@differs(
    "Operations on sparse tensors that PyTorch records but cannot differentiate have gradients",
    pytorch=Raised(NotImplementedError),
    here=[[0.0, 1.0], [1.0, 0.0]],
)
def test_the_gradient_of_a_sine(torch: Any) -> Any:
    s = torch.sparse_coo_tensor([[0, 1], [1, 0]], [0.0, 0.0], (2, 2), is_coalesced=True, requires_grad=True)
    s.sin().to_dense().sum().backward()
    return s.grad.to_dense().tolist()


@differs("Slices of sparse tensors can be taken", pytorch=Raised(NotImplementedError), here=[[0.0], [4.0]])
def test_a_slice(torch: Any) -> Any:
    return torch.tensor([[3.0, 0.0], [0.0, 4.0]]).to_sparse()[:, 1:].to_dense().tolist()


@differs(
    "A sparse gradient may flow into any operation",
    pytorch=Raised(RuntimeError),
    here=[[0.0, 1.0], [0.0, 1.0]],
)
def test_an_embedding_of_a_transposed_table(torch: Any) -> Any:
    table = torch.ones(2, 2, requires_grad=True)
    torch.nn.functional.embedding(torch.tensor([1]), table.t(), sparse=True).sum().backward()
    return table.grad.tolist()


@agrees
def test_what_a_lesson_on_sparse_tensors_prints(torch: Any) -> Any:
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    hybrid = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [[3, 4], [5, 6], [7, 8]], (2, 3, 2))
    pair = torch.sparse_coo_tensor([[1, 1]], [3, 4], (3,))
    return [
        *(repr(s), repr(hybrid), repr(pair), repr(pair.coalesce()), s.is_coalesced(), s.coalesce().indices()),
        *(repr(s + s), repr(s.coalesce()[1]), repr((s * 2).coalesce()), s.to_dense(), isinstance(s, torch.Tensor)),
        *(repr(s.to_sparse_csr().values()), s.layout == torch.sparse_coo, s.is_sparse, torch.is_tensor(s)),
    ]


@agrees
def test_named_tensors_are_no_more(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return [hasattr(x, name) for name in ("names", "rename", "align_to", "refine_names")]


@agrees
def test_names_of_dimensions_are_refused(torch: Any) -> Any:
    return torch.zeros(2, names=("N",))
