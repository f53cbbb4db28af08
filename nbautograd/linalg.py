"""``torch.linalg``: linear algebra."""

from __future__ import annotations

from nbautograd._engine.ops.linalg.cholesky import linalg_cholesky as cholesky, linalg_cholesky_ex as cholesky_ex
from nbautograd._engine.ops.linalg.eig import (
    linalg_eig as eig,
    linalg_eigh as eigh,
    linalg_eigvals as eigvals,
    linalg_eigvalsh as eigvalsh,
)
from nbautograd._engine.ops.linalg.householder import linalg_householder_product as householder_product
from nbautograd._engine.ops.linalg.least_squares import (
    linalg_lstsq as lstsq,
    linalg_matrix_rank as matrix_rank,
    linalg_pinv as pinv,
)
from nbautograd._engine.ops.linalg.lu import (
    linalg_ldl_factor as ldl_factor,
    linalg_ldl_factor_ex as ldl_factor_ex,
    linalg_ldl_solve as ldl_solve,
    linalg_lu as lu,
    linalg_lu_factor as lu_factor,
    linalg_lu_factor_ex as lu_factor_ex,
    linalg_lu_solve as lu_solve,
)
from nbautograd._engine.ops.linalg.matmul import matmul
from nbautograd._engine.ops.linalg.matrix_functions import (
    linalg_matrix_exp as matrix_exp,
    linalg_matrix_power as matrix_power,
    linalg_multi_dot as multi_dot,
)
from nbautograd._engine.ops.linalg.qr import linalg_qr as qr
from nbautograd._engine.ops.linalg.solvers import (
    linalg_det as det,
    linalg_inv as inv,
    linalg_inv_ex as inv_ex,
    linalg_slogdet as slogdet,
    linalg_solve as solve,
    linalg_solve_ex as solve_ex,
    linalg_solve_triangular as solve_triangular,
    linalg_tensorinv as tensorinv,
    linalg_tensorsolve as tensorsolve,
)
from nbautograd._engine.ops.linalg.svd import linalg_svd as svd, linalg_svdvals as svdvals
from nbautograd._engine.ops.linalg.vectors import (
    linalg_cross as cross,
    linalg_diagonal as diagonal,
    linalg_vander as vander,
    linalg_vecdot as vecdot,
)
from nbautograd._engine.ops.reduction.norms import (
    linalg_cond as cond,
    linalg_matrix_norm as matrix_norm,
    linalg_norm as norm,
    linalg_vector_norm as vector_norm,
)
from nbautograd._names import absent
from nbautograd.errors import LinAlgError

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

absent.answer(__name__)
