"""Invariants of the coordinates, values and size of a sparse tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["check_coo", "check_csr", "check_sparse_tensor_invariants"]


def check_coo(indices: Any, values: tuple[int, ...], size: Any, is_coalesced: bool) -> tuple[int, ...]:
    """Return the shape of a sparse tensor, without a size that of its coordinates, after checking its parts."""
    if indices.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    sparse, count = indices.shape
    if count != values[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {count}, nnz from values: {values[0]}"
        )
    if count and sparse and int(indices.min()) < 0:
        raise RuntimeError(f"found negative index {int(indices.min())} for dim {int(indices.min(1).argmin())}")
    if size is None:
        lengths = (indices.max(1) + 1).tolist() if count else [0] * sparse
        shape = (*lengths, *values[1:])
    else:
        shape = tuple(map(int, size))
    if len(shape) != sparse + len(values) - 1:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: "
            f"len(size) = {len(shape)}, sparse_dim = {sparse}, dense_dim = {len(values) - 1}"
        )
    if shape[sparse:] != tuple(values[1:]):
        raise RuntimeError(f"values has incorrect size, expected {[count, *shape[sparse:]]}, got {list(values)}")
    if count:
        _check_coordinates(indices, shape[:sparse], is_coalesced)
    return tuple(shape)


def _check_coordinates(indices: Any, shape: tuple[int, ...], is_coalesced: bool) -> None:
    """Check that a shape has the coordinates; coalesced ones must be sorted, each occurring once."""
    highest = indices.max(1).tolist()
    for dim, (n, i) in enumerate(zip(shape, highest, strict=True)):
        if i >= n:
            raise RuntimeError(f"size is inconsistent with indices: for dim {dim}, size is {n} but found index {i}")
    if is_coalesced and shape and indices.shape[1] > 1:
        keys = np.ravel_multi_index(tuple(indices), shape)
        if not bool((keys[1:] > keys[:-1]).all()):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


def check_csr(crow: Any, col: Any, values: tuple[int, ...], size: Any) -> tuple[int, ...]:
    """Return the shape of a sparse matrix of compressed rows, after checking its parts."""
    if (crow.ndim, col.ndim) != (1, 1):
        raise RuntimeError("sparse_csr_tensor(): batches of sparse matrices are not supported: indices must be vectors")
    if not len(crow):
        raise RuntimeError("crow_indices must have at least 1 element")
    if len(col) != values[0]:
        raise RuntimeError(f"number of dimensions of indices and values: nnz is {len(col)} and {values[0]}")
    columns = int(col.max()) + 1 if len(col) else 0
    shape = (len(crow) - 1, columns, *values[1:]) if size is None else tuple(map(int, size))
    if len(shape) < 2 or shape[:1] + shape[2:] != (len(crow) - 1, *values[1:]):
        raise RuntimeError(f"crow_indices.shape[-1] must be equal to nrows + 1: {len(crow)} for a size of {[*shape]}")
    if (int(crow[0]), int(crow[-1])) != (0, len(col)):
        raise RuntimeError(f"`crow_indices[..., 0] == 0` and `crow_indices[..., -1] == nnz` ({len(col)}) must hold")
    if bool((crow[1:] < crow[:-1]).any()):
        raise RuntimeError("`0 <= crow_indices[..., 1:] - crow_indices[..., :-1] <= ncols` is not satisfied.")
    if len(col) and not 0 <= int(col.min()) <= int(col.max()) < shape[1]:
        raise RuntimeError("`0 <= col_indices < ncols` is not satisfied.")
    return shape


class check_sparse_tensor_invariants:  # noqa: N801 - PyTorch's name
    """A block, or a function, in which the parts of sparse tensors are checked. Here they are always checked.

    :param enable: accepted and without effect.
    :returns: a context manager; called with a function, it returns it.

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    def __init__(self, enable: bool = True) -> None:
        """Accept the argument, without effect."""

    @staticmethod
    def is_enabled() -> bool:
        """Return True."""
        return True

    @staticmethod
    def enable() -> None:
        """Do nothing: the checks are always on."""

    @staticmethod
    def disable() -> None:
        """Do nothing: the checks are always on."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *exception: object) -> None:
        """Do nothing."""

    def __call__(self, function: Any) -> Any:
        """Return the function itself."""
        return function
