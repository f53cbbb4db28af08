"""Test misuse of linear algebra: PyTorch's kind of exception with its key words; and results outside the cases."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from tests import oracle

MISUSE = {
    "too few dimensions": (lambda T: T.linalg.inv(T.ones(2)), "at least 2 dimensions"),
    "not square": (lambda T: T.linalg.det(T.ones(2, 3)), "square matrices"),
    "integers": (lambda T: T.linalg.inv(T.ones(2, 2, dtype=T.int64)), "floating point or complex tensor"),
    "half": (lambda T: T.linalg.inv(T.ones(2, 2, dtype=T.float16)), "Low precision dtypes not supported"),
    "singular": (lambda T: T.linalg.inv(T.ones(2, 2)), "singular"),
    "singular in a batch": (
        lambda T: T.linalg.inv(T.stack([T.eye(2), T.zeros(2, 2)])),
        "diagonal element 1 is zero",
    ),
    "unsolvable": (lambda T: T.linalg.solve(T.zeros(2, 2), T.ones(2)), "input matrix is singular"),
    "unsolvable in a batch": (lambda T: T.linalg.solve(T.zeros(3, 2, 2), T.ones(3, 2, 1)), "Batch element 0"),
    "unlike shapes": (lambda T: T.linalg.solve(T.eye(2), T.ones(3, 1)), "2x2 and 3x1"),
    "unlike dtypes": (lambda T: T.linalg.solve(T.eye(2), T.ones(2, 1).double()), "same dtype"),
    "unlike batches": (lambda T: T.linalg.solve(T.ones(2, 2, 2), T.ones(3, 2, 1)), ""),
    "not positive-definite": (lambda T: T.linalg.cholesky(-T.eye(2)), ""),
    "UPLO": (lambda T: T.linalg.eigh(T.eye(2), UPLO="x"), "UPLO argument"),
    "mode of qr": (lambda T: T.linalg.qr(T.eye(2), mode="all"), "unrecognized mode"),
    "driver of lstsq": (lambda T: T.linalg.lstsq(T.eye(2), T.eye(2), driver="x"), "parameter `driver`"),
    "rows of lstsq": (lambda T: T.linalg.lstsq(T.eye(2), T.ones(3)), "should match"),
    "not finite": (lambda T: T.linalg.eig(T.full((2, 2), float("nan"))), "infs or NaNs"),
    "svd not finite": (lambda T: T.linalg.svd(T.full((2, 2), float("nan"))), "failed to converge"),
    "no pivoting": (lambda T: T.linalg.lu(T.eye(2), pivot=False), "LU without pivoting"),
    "zero in U": (lambda T: T.linalg.lu_factor(T.zeros(2, 2)), "U[1,1] is zero"),
    "order of a matrix norm": (lambda T: T.linalg.matrix_norm(T.eye(2), 3), "Order 3 not supported"),
    "norm of three dimensions": (lambda T: T.linalg.norm(T.ones(2, 2, 2), 2), "must be 1D or 2D"),
    "norm of integers": (lambda T: T.linalg.vector_norm(T.ones(2, dtype=T.int64)), "floating point or complex"),
    "norm of nothing": (lambda T: T.linalg.vector_norm(T.ones(0), float("inf")), "does not have an identity"),
    "equal dims": (lambda T: T.linalg.matrix_norm(T.eye(2), dim=(0, 0)), "dims must be different"),
    "condition": (lambda T: T.linalg.cond(T.eye(2), 3), "invalid norm type"),
    "power": (lambda T: T.linalg.matrix_power(T.eye(2), 1.5), "must be int"),
    "one factor": (lambda T: T.linalg.multi_dot([T.eye(2)]), "at least 2 tensors"),
    "factors": (lambda T: T.linalg.multi_dot([T.ones(2, 3), T.ones(2, 3)]), "cannot be multiplied"),
    "tensorinv": (lambda T: T.linalg.tensorinv(T.ones(3, 2), 1), "requirement prod"),
    "more columns than rows": (
        lambda T: T.linalg.householder_product(T.ones(2, 3), T.ones(2)),
        "greater than or equal",
    ),
    "cross of pairs": (lambda T: T.linalg.cross(T.ones(2), T.ones(2)), "must have length 3"),
    "matrices for vdot": (lambda T: T.vdot(T.ones(3, 1), T.ones(3)), "1D tensors expected"),
    "shapes of addmv": (lambda T: T.addmv(T.ones(3), T.ones(3, 2), T.ones(3)), "size mismatch"),
    "shapes of baddbmm": (lambda T: T.baddbmm(T.ones(3), T.ones(2, 3, 2), T.ones(2, 3, 3)), "batch2 tensor"),
    "float factor of integers": (
        lambda T: T.addr(T.ones(1, 1).int(), T.ones(1).int(), T.ones(1).int(), beta=0.5),
        "beta",
    ),
    "bools": (lambda T: T.ones(2, 2).bool() @ T.ones(2, 2).bool(), "not implemented for 'Bool'"),
    "tensordot": (lambda T: T.tensordot(T.ones(2, 3), T.ones(2, 3), 1), "contracted dimensions need to match"),
    "backward of geqrf": (lambda T: T.geqrf(T.eye(2).requires_grad_()).a.sum().backward(), "not implemented"),
    "backward of R alone": (lambda T: T.linalg.qr(T.eye(2).requires_grad_(), "r").R.sum().backward(), "mode='r'"),
    "backward of a complete Q": (
        lambda T: T.linalg.qr(T.ones(3, 2).requires_grad_(), "complete").R.sum().backward(),
        "mode='complete'",
    ),
    "phase of vectors": (
        lambda T: (
            T.linalg.eigh(T.tensor([[1, 2j], [-2j, 3]], dtype=T.complex128, requires_grad=True))
            .eigenvectors.sum()
            .abs()
            .backward()
        ),
        "ill-defined",
    ),
}

ALSO = {
    "singular in a batch": r"Batch element 1.*diagonal element 1 is zero",
    "unlike shapes": r"Incompatible shapes.*2x2 and 3x1",
    "unlike dtypes": "same dtype.*Float.*Double",
    "unlike batches": "broadcast|must match",
    "not positive-definite": "not positive-definite.*|order 1",
}
"""Key words that our messages have in addition, as PyTorch's do in their own order."""


@pytest.mark.parametrize("what", MISUSE)
def test_misuse(what: str) -> None:
    call, words = MISUSE[what]
    ours = oracle.check_raises(call, says=words)
    assert re.search(ALSO.get(what, ""), str(ours), re.DOTALL), str(ours)

    def is_of_linear_algebra(T: Any) -> bool:
        try:
            call(T)
        except Exception as error:
            return isinstance(error, T.linalg.LinAlgError)
        return False

    if oracle.answer(is_of_linear_algebra):
        assert isinstance(ours, nb.linalg.LinAlgError)


# -- what the cases cannot show --------------------------------------------------------------------------------------


def matrix(*shape: int, seed: int = 0, dtype: Any = float) -> Any:
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape)
    return a + 1j * rng.standard_normal(shape) if dtype is complex else a


def minor(a: Any, i: int, j: int) -> float:
    """The determinant without row i and column j, with its sign."""
    return float(np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) * (-1) ** (i + j))


DEPRECATED = {
    "cholesky": lambda T, x: T.cholesky(x @ x.mT + T.eye(3, dtype=x.dtype)),
    "chain_matmul": lambda T, x: T.chain_matmul(x, x, x),
    "qr": lambda T, x: T.qr(x).R,
    "triangular_solve": lambda T, x: T.triangular_solve(x, x + 5 * T.eye(3, dtype=x.dtype), transpose=True).solution,
    "lu_solve": lambda T, x: T.lu_solve(x, *T.lu(x + 3 * T.eye(3, dtype=x.dtype))),
    "lobpcg": lambda T, x: T.lobpcg(x @ x.mT + T.eye(3, dtype=x.dtype), k=1)[0],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DEPRECATED)
def test_what_pytorch_warns_of(name: str) -> None:
    call = DEPRECATED[name]
    x = nb.tensor(matrix(3, 3), requires_grad=True)
    assert nb.autograd.gradcheck(lambda x: call(nb, x), (x,))
    assert nb.autograd.gradgradcheck(lambda x: call(nb, x), (x,))
    if name != "lobpcg":  # an iteration there
        oracle.check(lambda T: call(T, T.tensor(matrix(3, 3))))


COMPLEX = {
    "det": lambda T, x: T.linalg.det(x),
    "inv": lambda T, x: T.linalg.inv(x),
    "slogdet": lambda T, x: T.linalg.slogdet(x).sign + T.linalg.slogdet(x).logabsdet,
    "cholesky": lambda T, x: T.linalg.cholesky(x @ x.mT.conj() + 2 * T.eye(3, dtype=x.dtype)),
    "qr": lambda T, x: T.linalg.qr(x).Q + T.linalg.qr(x).R,
    "svdvals": lambda T, x: T.linalg.svdvals(x),
    "svd": lambda T, x: T.linalg.svd(x, full_matrices=False).U.abs(),
    "eigvalsh": lambda T, x: T.linalg.eigvalsh(x + x.mT.conj()),
    "eigh": lambda T, x: T.linalg.eigh(x + x.mT.conj()).eigenvectors.abs(),
    "eigvals": lambda T, x: T.linalg.eigvals(x).abs().sum(),
    "lu": lambda T, x: T.linalg.lu(x).L + T.linalg.lu(x).U,
    "lu_solve": lambda T, x: T.linalg.lu_solve(*T.linalg.lu_factor(x), x.mT + 1, adjoint=True),
    "pinv": lambda T, x: T.linalg.pinv(x[:, :2]),
    "matrix_exp": lambda T, x: T.linalg.matrix_exp(x),
    "householder_product": lambda T, x: T.linalg.householder_product(x[:, :2], x[0, :2]),
    "ormqr": lambda T, x: T.ormqr(x[:, :2], x[0, :2], x, transpose=True),
    "addmm": lambda T, x: T.addmm(x, x, x, beta=1 + 2j, alpha=2 - 1j),
    "vdot": lambda T, x: T.vdot(x[0], x[1]),
    "cross": lambda T, x: T.linalg.cross(x, x.mT),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_derivatives_of_complex_matrices(name: str) -> None:
    call = COMPLEX[name]
    x = nb.tensor(matrix(3, 3, dtype=complex), requires_grad=True)
    assert nb.autograd.gradcheck(lambda x: call(nb, x), (x,))
    assert nb.autograd.gradgradcheck(lambda x: call(nb, x), (x,))


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_gradient_of_the_determinant_of_singular_matrices(rank: int) -> None:
    a = matrix(3, rank, seed=1) @ matrix(rank, 3, seed=2)

    def gradient(a: Any) -> Any:
        x = nb.tensor(a, requires_grad=True)
        return nb.autograd.grad(nb.linalg.det(x), x)[0].numpy()

    oracle.agree(lambda a: np.array([[minor(a, i, j) for j in range(3)] for i in range(3)]), gradient, a)


def test_names_of_results() -> None:
    names = [
        *("eig", "eigh", "svd", "qr", "slogdet", "lu", "lu_factor", "lu_factor_ex", "inv_ex", "cholesky_ex"),
        *("ldl_factor", "ldl_factor_ex"),
    ]

    def program(T: Any) -> Any:
        results = []
        for name in names:
            result = getattr(T.linalg, name)(T.tensor([[4.0, 1.0], [1.0, 3.0]], dtype=T.float64))
            fields = re.findall(r"^(\w+)=", repr(result), re.MULTILINE)
            kind = type(result).__name__.removeprefix("torch.return_types.")
            results.append((kind, {field: getattr(result, field).abs() for field in fields}))
        return results

    assert len(oracle.check(program)[-1][1]) == 3


def test_info_of_what_failed() -> None:
    bad = nb.stack([nb.eye(2), nb.zeros(2, 2), nb.tensor([[1.0, 2.0], [2.0, 1.0]])])
    assert nb.linalg.inv_ex(bad).info.tolist() == [0, 1, 0]
    assert nb.linalg.solve_ex(bad, nb.ones(3, 2, 1)).info.tolist() == [0, 1, 0]
    assert nb.linalg.lu_factor_ex(bad).info.tolist() == [0, 1, 0]
    assert nb.linalg.cholesky_ex(bad).info.tolist() == [0, 1, 2]
    with pytest.raises(nb.linalg.LinAlgError):
        nb.linalg.cholesky_ex(bad, check_errors=True)


def test_inputs_stay_as_they_are() -> None:
    a = nb.tensor(matrix(2, 3, 3))
    before = a.clone()
    for name in ["inv", "det", "svd", "qr", "eig", "lu", "lu_factor", "matrix_exp", "pinv"]:
        getattr(nb.linalg, name)(a)
        assert nb.equal(a, before) if hasattr(nb, "equal") else bool((a == before).all())


def test_dtypes_stay_single() -> None:
    a = nb.tensor(matrix(3, 3)).float()
    for name in ["inv", "det", "svdvals", "cholesky_ex", "matrix_exp", "pinv", "cond"]:
        found = getattr(nb.linalg, name)(a @ a.mT)
        assert (found[0] if isinstance(found, tuple) else found).dtype == nb.float32
