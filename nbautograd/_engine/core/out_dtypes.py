"""The dtypes that ``out=`` may have: for the operations named here only the dtype of the result."""

from __future__ import annotations

__all__ = ["COPIED", "EXACT", "IN_DTYPE_OF_OUT", "JOINING", "is_accepted"]

_NAMES = """
    addbmm addmm addmv alias_copy amax amin aminmax arange argmax argmin as_strided_copy avg_pool2d avg_pool3d
    baddbmm bitwise_not bmm bucketize ceil clamp clamp_max clamp_min complex conj_physical cross cummax cummin diag
    diagonal_copy diff dot expand_copy fft_ihfft float_power floor frac frexp gather gelu hardshrink heaviside histc
    histogram index_add index_copy index_reduce index_select inner isin isneginf isposinf kthvalue linalg_cholesky
    linalg_cholesky_ex linalg_cross linalg_det linalg_eigh linalg_eigvalsh linalg_inv linalg_inv_ex
    linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lu linalg_lu_factor linalg_lu_factor_ex
    linalg_lu_solve linalg_matrix_norm linalg_matrix_power linalg_multi_dot linalg_norm linalg_qr linalg_slogdet
    linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd linalg_svdvals linalg_vecdot linalg_vector_norm
    linear linspace log_softmax logcumsumexp logsigmoid logspace lu_solve lu_unpack masked_select matmul mm mode
    msort mv nan_to_num nanquantile narrow_copy neg nonzero norm ormqr permute_copy polar qr quantile renorm round
    scatter scatter_add scatter_reduce searchsorted sgn sign signbit slice_scatter softmax softplus softshrink sort
    split_with_sizes_copy squeeze_copy svd t_copy take take_along_dim tensordot topk transpose_copy triangular_solve
    tril triu trunc unbind_copy unfold_copy unsqueeze_copy vdot view_copy where
"""
EXACT = frozenset(_NAMES.split())
"""The operations whose kernels write their own dtype in PyTorch. Others cast, within the limits of in-place writes."""
BOOL_OR_BYTE = ("all", "any")
JOINING = ("cat", "concat", "concatenate", "stack")
"""The operations that raise a TypeError for a dtype that cannot hold the result."""
IN_DTYPE_OF_OUT = ("cumprod", "cumsum", "prod")
"""The operations that compute in the dtype of ``out=``."""
_COPIED = """
    inner linalg_cond linalg_matrix_norm linalg_norm linalg_tensorinv linalg_tensorsolve nanquantile quantile tensordot
"""
COPIED = frozenset(_COPIED.split())
"""The operations whose result is copied into ``out=``, also where it is recorded."""


def is_accepted(name: str, result: str, out: str) -> bool:
    """Return whether an operation with a result of one dtype may write into a tensor of another.

    >>> is_accepted("exp", "float32", "float64"), is_accepted("floor", "float32", "float64")
    (True, False)
    """
    if name in BOOL_OR_BYTE:
        return out == result or out in ("bool", "uint8")
    return result == out or name.lstrip("_") not in EXACT
