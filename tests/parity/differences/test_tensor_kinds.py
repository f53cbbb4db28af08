"""Check the attributes that code asks for to find other kinds of tensors, and old methods, under both libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nbautograd
from tests.parity.differences.both import agrees

KINDS = """
    is_sparse is_sparse_csr is_mkldnn is_quantized is_nested is_meta is_mps is_xpu is_xla is_mtia is_maia is_ipu
    is_vulkan is_cuda is_cpu volatile name"""

PARTS = "coalesce is_coalesced indices values crow_indices col_indices ccol_indices row_indices"


@agrees
def test_kinds(torch: Any) -> Any:
    x = torch.ones(2, 3)
    return [getattr(x, name) for name in KINDS.split()] + [str(x.layout), x.grad_dtype, hasattr(x, "names")]


@agrees
def test_answers_of_a_dense_tensor(torch: Any) -> Any:
    x = torch.arange(6).view(2, 3)
    return [
        *(x.is_distributed(), x.is_shared(), x.dense_dim(), x.sparse_dim(), x.to_dense() is x, x.dequantize()),
        *(x.dim_order(), x.t().dim_order(), torch.ones(1, 1, 1).dim_order(), torch.ones(()).dim_order()),
        torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last).dim_order(),
        x.to_dense(torch.float64),
    ]


@agrees
def test_parts_of_sparse_tensors(torch: Any) -> Any:
    messages = []
    for name in PARTS.split():
        with pytest.raises(RuntimeError) as error:
            getattr(torch.ones(2), name)()
        messages.append(str(error.value))
    return messages


@agrees(says="does not have unique dim order")
def test_an_ambiguous_order(torch: Any) -> Any:
    return torch.ones(1, 1, 1).dim_order(ambiguity_check=True)


@agrees
def test_functions_of_elements(torch: Any) -> Any:
    x, ints = torch.arange(6.0).view(2, 3), torch.arange(3)
    view = x[:, 1]
    results = [x.clone().apply_(lambda v: v * 2 + 1), ints.apply_(lambda v: v * v), ints]
    results += [view.apply_(lambda v: -v), x, x.map_(torch.ones(3), lambda a, b: a + 10 * b)]
    results += [x.map2_(x, x.clone(), lambda a, b, c: a + b * c), torch.ones(()).apply_(lambda v: v + 1)]
    return results


def refused(torch: Any, call: Callable[[Any], Any]) -> str:
    with pytest.raises((TypeError, RuntimeError)) as error:
        call(torch.ones(2))
    return f"{error.type.__name__}: {error.value}"


@agrees
def test_functions_of_elements_refuse(torch: Any) -> Any:
    return [
        refused(torch, lambda x: x.requires_grad_().apply_(abs)),
        refused(torch, lambda x: x.apply_(3)),
        refused(torch, lambda x: x.map_(x.long(), max)),
    ]


@agrees
def test_old_reshaping(torch: Any) -> Any:
    x = torch.arange(6.0).requires_grad_()
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        y = x.resize(2, 3)
    with pytest.warns(UserWarning, match="non-inplace resize_as is deprecated"):
        z = y.resize_as(torch.ones(3, 2))
    return [y, z, z.requires_grad]


@agrees(says="requested resize to 4 (4 elements in total), but the given tensor has a size of 6 (6 elements)")
def test_old_reshaping_keeps_the_number_of_elements(torch: Any) -> Any:
    return torch.arange(6.0).resize(4)


def test_memory_is_not_shared_between_processes() -> None:
    with pytest.raises(NotImplementedError, match="shares no memory between processes"):
        nbautograd.ones(2).share_memory_()
