"""Operations on sparse tensors, with PyTorch as the oracle."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import nbautograd as nb
from nbautograd.sparse.elementwise import UNARY
from tests import oracle
from tests.engine.sparse.matrices import CASES, MATRICES, check_where_pytorch_can, described, make

DTYPES = ["float64", "float32", "int64", "complex128", "float16"]

OF_ANY: dict[str, Any] = {
    "to_dense": lambda T, s: s.to_dense(),
    "coalesce": lambda T, s: s.coalesce(),
    "coalesced indices": lambda T, s: s.coalesce().indices(),
    "coalesced values": lambda T, s: s.coalesce().values(),
    "_indices": lambda T, s: s._indices(),
    "_values": lambda T, s: s._values(),
    "parts": lambda T, s: (s._nnz(), s.sparse_dim(), s.dense_dim(), s.is_coalesced(), s.is_sparse, s.is_sparse_csr),
    "shape": lambda T, s: (tuple(s.shape), s.size(), s.ndim, s.dim(), s.numel(), s.element_size(), s.stride()),
    "type": lambda T, s: (s.type(), s.is_contiguous(), s.storage_offset(), s.is_complex(), s.is_leaf),
    "neg": lambda T, s: -s,
    "twice": lambda T, s: s * 2,
    "twice from the left": lambda T, s: 2 * s,
    "times a scalar tensor": lambda T, s: s * T.tensor(3),
    "add itself": lambda T, s: s + s,
    "subtract itself": lambda T, s: s - s * 3,
    "add with alpha": lambda T, s: T.add(s, s, alpha=2),
    "dense and sparse": lambda T, s: s.to_dense() + s,
    "dense minus sparse": lambda T, s: s.to_dense() - s,
    "times itself": lambda T, s: s.coalesce() * s.coalesce(),
    "times dense": lambda T, s: s.coalesce() * s.to_dense(),
    "dense times": lambda T, s: s.to_dense() * s.coalesce(),
    "clone": lambda T, s: s.clone(),
    "detach": lambda T, s: s.detach(),
    "to double": lambda T, s: s.to(T.complex128 if s.is_complex() else T.float64),
    "to itself": lambda T, s: s.to(s.dtype) is s,
    "to_sparse": lambda T, s: s.to_sparse() is s,
    "from dense": lambda T, s: s.to_dense().to_sparse() if s.ndim else None,
    "from dense, rows": lambda T, s: s.to_dense().to_sparse(1) if s.ndim else None,
    "sum": lambda T, s: s.sum(),
    "sparse.sum": lambda T, s: T.sparse.sum(s),
    "sparse.sum over the first": lambda T, s: T.sparse.sum(s, 0) if s.ndim and s._nnz() else None,
    "sparse.sum over the last": lambda T, s: T.sparse.sum(s, -1) if s.ndim and s._nnz() else None,
    "sparse.sum over all": lambda T, s: T.sparse.sum(s, tuple(range(s.ndim))) if s.ndim and s._nnz() else None,
    "zeros_like": lambda T, s: T.zeros_like(s),
    "unsqueeze": lambda T, s: s.unsqueeze(0),
    "cat": lambda T, s: T.cat([s, s * 2, s]) if s.ndim else None,
    "cat of the last": lambda T, s: T.cat([s, s], -1) if s.ndim else None,
    "stack": lambda T, s: T.stack([s, s]),
    "mask": lambda T, s: T.ones_like(s.to_dense()).sparse_mask(s.coalesce()),
    "in place": lambda T, s: s.clone().mul_(2).add_(s),
    "zero_": lambda T, s: s.clone().zero_(),
    "copy_": lambda T, s: (s * 0).copy_(s),
    "dense in place": lambda T, s: s.to_dense().add_(s),
}
OF_MATRICES: dict[str, Any] = {
    "t": lambda T, s: s.t(),
    "T": lambda T, s: s.T,
    "transpose": lambda T, s: s.transpose(0, 1),
    "permute": lambda T, s: s.permute(1, 0),
    "select": lambda T, s: s.select(1, 2),
    "column": lambda T, s: s[:, 1],
    "rows": lambda T, s: list(s),
    "index_select": lambda T, s: s.index_select(1, T.tensor([2, 0, 2])),
    "mm": lambda T, s: T.mm(s, T.arange(6, dtype=s.dtype).reshape(3, 2)),
    "@": lambda T, s: s @ T.arange(6, dtype=s.dtype).reshape(3, 2),
    "matmul": lambda T, s: s.matmul(T.arange(6, dtype=s.dtype).reshape(3, 2)),
    "dense @": lambda T, s: T.arange(2 * s.shape[0], dtype=s.dtype).reshape(2, s.shape[0]) @ s,
    "sparse @": lambda T, s: s @ s.t(),
    "mv": lambda T, s: T.mv(s, T.arange(3, dtype=s.dtype)),
    "@ vector": lambda T, s: s @ T.arange(3, dtype=s.dtype),
    "sparse.mm": lambda T, s: T.sparse.mm(s, T.arange(6, dtype=s.dtype).reshape(3, 2)),
    "sparse.mm of two": lambda T, s: T.sparse.mm(s, s.t()),
    "addmm": lambda T, s: T.addmm(
        T.ones(s.shape[0], 2, dtype=s.dtype), s, T.ones(3, 2, dtype=s.dtype), beta=2, alpha=3
    ),
    "sparse.addmm": lambda T, s: T.sparse.addmm(T.ones(s.shape[0], 2, dtype=s.dtype), s, T.ones(3, 2, dtype=s.dtype)),
    "spmm": lambda T, s: T.spmm(s, T.ones(3, 2, dtype=s.dtype)),
    "hspmm": lambda T, s: T.hspmm(s, T.ones(3, 2, dtype=s.dtype)),
    "smm": lambda T, s: T.smm(s, T.ones(3, 2, dtype=s.dtype)),
    "any": lambda T, s: s.any(),
    "csr": lambda T, s: s.to_sparse_csr(),
    "csr parts": lambda T, s: (lambda c: (c.crow_indices(), c.col_indices(), c.values(), c.to_sparse()))(
        s.to_sparse_csr()
    ),
    "csr @": lambda T, s: s.to_sparse_csr() @ T.ones(3, 2, dtype=s.dtype),
    "spdiags": lambda T, s: T.sparse.spdiags(T.ones(2, 3, dtype=s.dtype), T.tensor([0, -1]), (3, 4)),
}
OF_FLOATS: dict[str, Any] = {
    "halves": lambda T, s: s / 2,
    "square": lambda T, s: s**2,
    "cube": lambda T, s: s.pow(3),
    "norm": lambda T, s: s.norm(),
    "softmax": lambda T, s: T.sparse.softmax(s, 0),
    "log_softmax": lambda T, s: T.sparse.log_softmax(s, s.ndim - 1),
    "zeros_like that requires grad": lambda T, s: (z := T.zeros_like(s, requires_grad=True), z.requires_grad),
    "softmax as": lambda T, s: T.sparse.softmax(s, 0, dtype=T.float64),
    **{name: lambda T, s, method=name: getattr(s, method)() for name in UNARY.split()},
    **{f"torch.{name}": lambda T, s, function=name: getattr(T, function)(s) for name in ("sin", "abs", "relu")},
}


pytestmark = pytest.mark.filterwarnings(
    "ignore:Sparse invariant checks:UserWarning", "ignore:Sparse CSR tensor:UserWarning"
)


def check(function: Any, names: Any, *dtypes: str) -> None:
    check_where_pytorch_can(
        lambda T, name, dtype: function(T, make(T, name, dtype)), [(name, dtype) for name in names for dtype in dtypes]
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", OF_ANY)
def test_of_any_shape(operation: str, dtype: str) -> None:
    check(OF_ANY[operation], CASES, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", OF_MATRICES)
def test_of_matrices(operation: str, dtype: str) -> None:
    check(OF_MATRICES[operation], MATRICES, dtype)


@pytest.mark.parametrize("operation", OF_FLOATS)
def test_of_floating_numbers(operation: str) -> None:
    check(OF_FLOATS[operation], CASES, "float64", "float32")


def test_bfloat16_values_add_up() -> None:
    s = nb.sparse_coo_tensor([[0, 0]], [1.5, 2.0], (2,), dtype=nb.bfloat16)
    assert s.coalesce().to_dense().tolist() == [3.5, 0.0]
    assert (s.unsqueeze(0) @ nb.ones(2, 1, dtype=nb.bfloat16)).tolist() == [[3.5]]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32", "bool", "complex64"])
def test_printed_as_pytorch_prints(name: str, dtype: str) -> None:
    def program(T: Any) -> Any:
        found = [make(T, name, dtype)]
        if dtype == "float32":
            found += [make(T, name, dtype, requires_grad=True), make(T, name, requires_grad=True) * 2]
            if name in ("matrix", "duplicates"):
                found.append(make(T, name).to_sparse_csr())
        return list(map(repr, found))

    oracle.check(program, exact=True)


def test_a_large_one_is_printed_in_part() -> None:
    oracle.check(lambda T: repr(T.arange(5000.0).reshape(50, 100).to_sparse()), exact=True)


REFUSED = {
    "exp": lambda T, s: s.exp(),
    "cos": lambda T, s: T.cos(s),
    "max": lambda T, s: s.max(),
    "mean": lambda T, s: s.mean(),
    "view": lambda T, s: s.view(-1),
    "reshape": lambda T, s: s.reshape(-1),
    "expand": lambda T, s: s.expand(2, 2, 3),
    "add a number": lambda T, s: s + 1,
    "add dense": lambda T, s: s + s.to_dense(),
    "compare": lambda T, s: s == s,
    "greater": lambda T, s: s > 0,
    "equal": lambda T, s: T.equal(s, s),
    "over": lambda T, s: 1 / s,
    "over dense": lambda T, s: s / s.to_dense(),
    "to the zeroth": lambda T, s: s**0,
    "numpy": lambda T, s: s.numpy(),
    "tolist": lambda T, s: s.tolist(),
    "item": lambda T, s: s.item(),
    "bool": lambda T, s: bool(s),
    "storage": lambda T, s: s.untyped_storage(),
    "data_ptr": lambda T, s: s.data_ptr(),
    "nbytes": lambda T, s: s.nbytes,
    "indices": lambda T, s: make(T, "duplicates").indices(),
    "values": lambda T, s: make(T, "duplicates").values(),
    "crow_indices": lambda T, s: s.crow_indices(),
    "abs_ of duplicates": lambda T, s: make(T, "duplicates").abs_(),
    "cat with dense": lambda T, s: T.cat([s, s.to_dense()]),
    "transpose of a dense dimension": lambda T, s: make(T, "hybrid").transpose(1, 2),
    "t of a hybrid": lambda T, s: make(T, "rows").t(),
    "to_dense of a dtype": lambda T, s: s.to_dense(T.float32),
    "mm of other lengths": lambda T, s: T.mm(s, T.ones(4, 2, dtype=T.float64)),
    "in place of a leaf": lambda T, s: make(T, "matrix", requires_grad=True).mul_(2),
    "ones of the layout": lambda T, s: T.ones(2, layout=T.sparse_coo),
    "ones_like": lambda T, s: T.ones_like(s),
    "integers that require grad": lambda T, s: T.sparse_coo_tensor([[0]], [1], (2,), requires_grad=True),
    "lengths of indices and values": lambda T, s: T.sparse_coo_tensor([[0, 1]], [1.0, 2.0, 3.0], (2,)),
    "dimensions": lambda T, s: T.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2, 2, 2)),
    "a vector of indices": lambda T, s: T.sparse_coo_tensor([0, 1], [1.0, 2.0]),
    "not coalesced": lambda T, s: T.sparse_coo_tensor(
        [[0, 0]], [1.0, 2.0], (2,), is_coalesced=True, check_invariants=True
    ),
    "out of range": lambda T, s: T.sparse_coo_tensor([[0, 3]], [1.0, 2.0], (2,), check_invariants=True),
    "a negative index": lambda T, s: T.sparse_coo_tensor([[0, -3]], [1.0, 2.0], (2,), check_invariants=True),
    "a dense gradient": lambda T, s: setattr(s.requires_grad_(), "grad", T.ones(2, 3, dtype=T.float64)),
    "other shapes": lambda T, s: s + make(T, "empty")[:, 0],
    "select out of range": lambda T, s: s.select(0, 7),
    "coalesce of dense": lambda T, s: s.to_dense().coalesce(),
    "_nnz of dense": lambda T, s: s.to_dense()._indices(),
}


STARTS = {
    **dict.fromkeys(("exp", "cos", "max", "mean", "view", "compare", "greater", "equal", "over"), "Could not run"),
    **dict.fromkeys(("ones_like", "_nnz of dense"), "Could not run"),
    **dict.fromkeys(("add a number", "add dense"), "add(sparse"),
    **dict.fromkeys(("indices", "values"), "Cannot get"),
    "over dense": "Sparse division",
    "to the zeroth": "pow: cannot",
    "numpy": "can't convert",
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_with_the_exception_and_the_first_words_of_pytorch(what: str) -> None:
    start = STARTS.get(what, "")
    program = REFUSED[what]
    theirs = oracle.answer(lambda T: program(T, make(T, "matrix", coalesced=True)), raises=True, says=start)
    s = make(nb, "matrix", coalesced=True)
    before = repr(s)
    with pytest.raises(Exception) as ours:
        program(nb, s)
    oracle.close(ours.value, theirs)
    assert str(ours.value).startswith(start)
    if what not in ("a dense gradient", "in place of a leaf"):
        assert repr(s) == before


def test_a_refusal_names_the_operation() -> None:
    for call, name in ((nb.exp, "exp"), (nb.sort, "sort"), (nb.linalg.svd, "svd"), (nb.nn.functional.gelu, "gelu")):
        with pytest.raises(NotImplementedError, match=rf"'aten::\w*{name}\w*' .* 'SparseCPU'.*to_dense"):
            call(make(nb, "matrix"))


@pytest.mark.parametrize("call", [nb.Tensor.exp_, nb.Tensor.squeeze_, nb.Tensor.t_, lambda s: nb.ones(2)[s]])
def test_a_refusal_names_no_function_of_the_library(call: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"Could not run ('aten::exp'|this) with .* 'SparseCPU'.*to_dense"):
        call(make(nb, "matrix"))


@pytest.mark.filterwarnings("ignore:torch.sparse.SparseTensor:UserWarning")
@pytest.mark.parametrize("kind", ["Float", "Double", "Long"])
def test_types_of_former_days(kind: str) -> None:
    def made(T: Any) -> Any:
        cls = getattr(T.sparse, f"{kind}Tensor")
        indices, values = T.tensor([[0, 1], [2, 0]]), getattr(T, f"{kind}Tensor")([3, 4])
        return described([cls(indices, values, T.Size([2, 3])), cls(indices, values), cls(2, 3)])

    oracle.check(made)


def test_products_inside_of_vmap() -> None:
    def computed(T: Any) -> list[Any]:
        s, rows = make(T, "matrix", coalesced=True), T.arange(6, dtype=T.float64).reshape(2, 3)
        return [
            T.func.vmap(lambda row: T.mv(s, row))(rows),
            T.func.vmap(lambda row: s @ row)(rows),
        ]

    oracle.check(computed)


def test_other_operations_inside_of_vmap_are_refused() -> None:
    s, rows = make(nb, "matrix", coalesced=True), nb.ones(2, 2, 3, dtype=nb.float64)
    for function in (lambda x: s * x, lambda x: s * x.sum()):
        with pytest.raises(NotImplementedError):
            nb.func.vmap(function)(rows)


def test_a_linear_layer_with_a_sparse_weight() -> None:
    def computed(T: Any) -> Any:
        s = make(T, "matrix", coalesced=True)
        return T.nn.functional.linear(T.ones(4, 3, dtype=T.float64), s)

    oracle.check(computed)


def test_what_is_wider_here() -> None:
    s = make(nb, "matrix")
    assert s.narrow(1, 1, 2).to_dense().tolist() == s.to_dense().narrow(1, 1, 2).tolist()
    assert s[:, 1:].to_dense().tolist() == s.to_dense()[:, 1:].tolist()
    assert s[None, ..., 2].to_dense().tolist() == s.to_dense()[None, ..., 2].tolist()


def test_methods_of_dense_tensors_load_what_they_need() -> None:
    code = "import nbautograd as nb; print(nb.eye(2).to_sparse().is_sparse, nb.eye(2).to_sparse_csr().is_sparse_csr)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["True"] * 2
