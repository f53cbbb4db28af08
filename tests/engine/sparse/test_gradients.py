"""Gradients of sparse tensors, sparse gradients of dense ones, and who takes them; PyTorch is the oracle."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import nbautograd as nb
from tests import oracle
from tests.engine.sparse.matrices import MATRICES, check_where_pytorch_can, described, make

pytestmark = pytest.mark.filterwarnings(
    "ignore:Sparse invariant checks:UserWarning", "ignore:Sparse CSR tensor:UserWarning"
)


def leaves(T: Any, name: str, coalesced: bool) -> tuple[Any, Any, Any]:
    """A sparse matrix, and two dense ones of its shape and of one that it can be multiplied by."""
    s = make(T, name, requires_grad=True, coalesced=coalesced)
    rows, columns = s.shape
    d = (T.arange(rows * columns, dtype=T.float64).reshape(rows, columns) - 2).requires_grad_()
    m = (T.arange(columns * 2, dtype=T.float64).reshape(columns, 2) / 3 - 1).requires_grad_()
    return s, d, m


PROGRAMS: dict[str, Any] = {
    "to_dense": lambda T, s, d, m: s.to_dense(),
    "to_dense, unmasked": lambda T, s, d, m: s.to_dense(masked_grad=False),
    "dense": lambda T, s, d, m: d.to_sparse().to_dense(),
    "values of dense": lambda T, s, d, m: d.to_sparse().coalesce().values(),
    "coalesce": lambda T, s, d, m: s.coalesce().to_dense(),
    "values": lambda T, s, d, m: s.coalesce().values(),
    "@": lambda T, s, d, m: s @ m,
    "mm of a product": lambda T, s, d, m: T.mm(s * 2, m * m),
    "sparse.mm": lambda T, s, d, m: T.sparse.mm(s, m),
    "dense @ sparse": lambda T, s, d, m: d.t() @ s,
    "sparse.mm of two": lambda T, s, d, m: T.sparse.mm(s, s.detach().t().coalesce()).to_dense(),
    "mv": lambda T, s, d, m: T.mv(s, m[:, 0]),
    "addmm": lambda T, s, d, m: T.addmm(d @ m, s, m, beta=2, alpha=3),
    "sparse.addmm": lambda T, s, d, m: T.sparse.addmm(d @ m, s, m, beta=2, alpha=3),
    "sparse.sum": lambda T, s, d, m: T.sparse.sum(s),
    "sparse.sum over rows": lambda T, s, d, m: T.sparse.sum(s, 0).to_dense() if s._nnz() else s.to_dense(),
    "sum": lambda T, s, d, m: s.sum(),
    "sum of two": lambda T, s, d, m: (s + s * 3).to_dense(),
    "difference": lambda T, s, d, m: (s - s * 3).to_dense(),
    "dense + sparse": lambda T, s, d, m: d + s,
    "product": lambda T, s, d, m: (s.coalesce() * s.coalesce()).to_dense(),
    "times dense": lambda T, s, d, m: (s.coalesce() * d).to_dense(),
    "times a number": lambda T, s, d, m: (s * 2.5).to_dense(),
    "over a number": lambda T, s, d, m: (s / 4).to_dense(),
    "times a scalar": lambda T, s, d, m: (s.coalesce() * m.sum()).to_dense(),
    "neg": lambda T, s, d, m: (-s).to_dense(),
    "abs": lambda T, s, d, m: s.abs().to_dense(),
    "square": lambda T, s, d, m: (s**2).to_dense(),
    "relu": lambda T, s, d, m: s.relu().to_dense(),
    "t": lambda T, s, d, m: s.t().to_dense(),
    "stack": lambda T, s, d, m: T.stack([s, s * 2]).to_dense(),
    "clone": lambda T, s, d, m: s.clone().to_dense(),
    "float": lambda T, s, d, m: s.float().to_dense(),
    "mask": lambda T, s, d, m: d.sparse_mask(s.detach().coalesce()).to_dense(),
    "of values": lambda T, s, d, m: T.sparse_coo_tensor([[0, 1, 0], [1, 1, 1]], m[:, 0] * 2, (2, 2)).to_dense(),
    "of values, coalesced": lambda T, s, d, m: (
        T.sparse_coo_tensor([[0, 1, 0], [1, 1, 1]], m[:, 0]).coalesce().to_dense()
    ),
    "csr": lambda T, s, d, m: d.to_sparse_csr().to_dense(),
    "csr of sparse": lambda T, s, d, m: s.to_sparse_csr().to_dense(),
    "csr @": lambda T, s, d, m: s.to_sparse_csr().detach() @ m,
}


def gradients(T: Any, program: Any, name: str, coalesced: bool) -> list[Any]:
    ins = leaves(T, name, coalesced)
    result = program(T, *ins)
    weights = T.arange(1.0, 1.0 + result.numel(), dtype=result.dtype).reshape(result.shape)
    result.backward(weights)
    return [leaf.grad for leaf in ins]


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_and_their_layouts(program: str, coalesced: bool) -> None:
    check_where_pytorch_can(
        lambda T, name: gradients(T, PROGRAMS[program], name, coalesced), [(name,) for name in MATRICES]
    )


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize(("name", "dim"), [("softmax", 1), ("log_softmax", 0)])
def test_gradients_of_softmax(name: str, dim: int, coalesced: bool) -> None:
    """PyTorch computes them densely: the errors of its sparse operations are unknown."""
    for case in MATRICES:

        def program(T: Any, case: Any = case) -> Any:
            s = make(T, case, coalesced=coalesced)
            leaf = s.requires_grad_() if T is nb else s.to_dense().requires_grad_()
            is_there = T.sparse_coo_tensor(s._indices(), T.ones_like(s._values()), s.shape).to_dense() != 0
            if T is nb:
                result = getattr(T.sparse, name)(leaf, dim).to_dense()
            else:
                result = T.where(is_there, getattr(T, name)(T.where(is_there, leaf, -1e30), dim), 0.0)
            result.backward(T.arange(1.0, 1.0 + result.numel(), dtype=result.dtype).reshape(result.shape))
            assert leaf.grad.is_sparse == (T is nb)
            return result, leaf.grad.to_dense() if T is nb else leaf.grad

        oracle.check(program)


WIDER = {
    "sin": lambda s: s.sin(),
    "tanh": lambda s: s.tanh(),
    "cat": lambda s: nb.cat([s, s * 2], 1),
    "index_select": lambda s: s.index_select(1, nb.tensor([2, 0, 2])),
    "select": lambda s: s[1].unsqueeze(0),
    "unsqueeze": lambda s: s.unsqueeze(1),
    "product": lambda s: s * s * 3,
    "pow": lambda s: s**3,
    "softmax": lambda s: nb.sparse.softmax(s, 1),
    "transpose": lambda s: s.t() * 2,
}


@pytest.mark.parametrize("program", WIDER)
def test_derivatives_of_first_and_second_order_by_finite_differences(program: str) -> None:
    indices = nb.tensor([[0, 1, 1], [2, 0, 2]])

    def function(values: Any) -> Any:
        s = nb.sparse_coo_tensor(indices, values, (2, 3), is_coalesced=True)
        return WIDER[program](s).to_dense()

    values = nb.tensor([0.5, -0.7, 1.3], dtype=nb.float64, requires_grad=True)
    assert nb.autograd.gradcheck(function, values)
    assert nb.autograd.gradgradcheck(function, values)


@pytest.mark.parametrize("operation", ["mm", "sparse.mm", "addmm"])
def test_derivatives_of_products(operation: str) -> None:
    indices = nb.tensor([[0, 1, 1], [2, 0, 2]])

    def function(values: Any, m: Any) -> Any:
        s = nb.sparse_coo_tensor(indices, values, (2, 3), is_coalesced=True)
        if operation == "addmm":
            return nb.sparse.addmm(m[:2, :2], s, m, beta=0.5, alpha=2)
        return (nb.mm if operation == "mm" else nb.sparse.mm)(s, m)

    values = nb.tensor([0.5, -0.7, 1.3], dtype=nb.float64, requires_grad=True)
    m = nb.randn(3, 2, dtype=nb.float64, requires_grad=True)
    assert nb.autograd.gradcheck(function, (values, m))
    assert nb.autograd.gradgradcheck(function, (values, m))


# -- sparse gradients of dense tensors ---------------------------------------------------------------------------------


def table(T: Any) -> Any:
    return (T.arange(8, dtype=T.float64).reshape(4, 2) / 4).requires_grad_()


def _accumulated(T: Any, *parts: Any) -> Any:
    w = table(T)
    for part in parts:
        part(T, w).sum().backward()
    return w.grad


def _looked_up(T: Any, w: Any) -> Any:
    return T.nn.functional.embedding(T.tensor([[1, 1], [3, 0]]), w, sparse=True) ** 2


def _bag(mode: str, **options: Any) -> Any:
    def bag(T: Any, w: Any) -> Any:
        weights = {"per_sample_weights": T.ones(2, 2, dtype=T.float64) * 3} if "weighted" in options else {}
        index = T.tensor([[1, 1], [3, 0]])
        return T.nn.functional.embedding_bag(index, w, mode=mode, sparse=True, **weights) ** 2

    return bag


SPARSE: dict[str, Any] = {
    "embedding": lambda T: _accumulated(T, _looked_up),
    "twice": lambda T: _accumulated(T, _looked_up, _looked_up),
    "sparse, then dense": lambda T: _accumulated(T, _looked_up, lambda T, w: w * w),
    "dense, then sparse": lambda T: _accumulated(T, lambda T, w: w * w, _looked_up),
    "both in a pass": lambda T: _accumulated(T, lambda T, w: _looked_up(T, w).sum() + (w * w).sum()),
    "both in a pass, the other way": lambda T: _accumulated(T, lambda T, w: (w * w).sum() + _looked_up(T, w).sum()),
    "two tables in a pass": lambda T: _accumulated(T, lambda T, w: _looked_up(T, w) + _looked_up(T, w)),
    "padding": lambda T: _accumulated(
        T, lambda T, w: T.nn.functional.embedding(T.tensor([1, 3, 1]), w, padding_idx=1, sparse=True)
    ),
    "no index": lambda T: _accumulated(
        T, lambda T, w: T.nn.functional.embedding(T.zeros(0, dtype=T.int64), w, sparse=True)
    ),
    "of a computed table": lambda T: _accumulated(T, lambda T, w: _looked_up(T, w * 2)),
    "bag, sum": lambda T: _accumulated(T, _bag("sum")),
    "bag, mean": lambda T: _accumulated(T, _bag("mean")),
    "bag, weighted": lambda T: _accumulated(T, _bag("sum", weighted=True)),
    "gather": lambda T: _accumulated(T, lambda T, w: T.gather(w, 0, T.tensor([[0, 3], [0, 1]]), sparse_grad=True) ** 2),
    "gather of columns": lambda T: _accumulated(
        T, lambda T, w: T.gather(w, 1, T.tensor([[0, 0], [1, 0]]), sparse_grad=True) ** 2
    ),
    "grad": lambda T: (lambda w: T.autograd.grad(_looked_up(T, w).sum(), w)[0])(table(T)),
    "create_graph": lambda T: (lambda w: T.autograd.grad(_looked_up(T, w).sum(), w, create_graph=True)[0])(table(T)),
    "of second order": lambda T: (
        lambda w: T.autograd.grad(T.autograd.grad(_looked_up(T, w).sum(), w, create_graph=True)[0].to_dense().sum(), w)[
            0
        ]
    )(table(T)),
    "hook": lambda T: (lambda w: (w.register_hook(lambda g: g * 2), _looked_up(T, w).sum().backward(), w.grad)[2])(
        table(T)
    ),
    "assigned": lambda T: (lambda w: (setattr(w, "grad", w.detach().to_sparse()), w.grad)[1])(table(T)),
}


@pytest.mark.parametrize("program", SPARSE)
def test_sparse_gradients(program: str) -> None:
    oracle.check(lambda T: described(SPARSE[program](T)))


PASSES = {
    "sparse": lambda T, w: T.nn.functional.embedding(T.tensor([0, 2, 2]), w, sparse=True).sum(),
    "dense": lambda T, w: (w * T.arange(6.0).reshape(3, 2)).sum(),
}


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph=True:UserWarning")
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("order", ["sparse dense", "dense sparse", "sparse sparse"])
def test_sparse_and_dense_gradients_of_one_leaf_add_up(order: str, create_graph: bool) -> None:
    def added(T: Any) -> Any:
        w = T.ones(3, 2, requires_grad=True)
        for name in order.split():
            PASSES[name](T, w).backward(create_graph=create_graph)
        return w.grad.is_sparse, w.grad.detach().to_dense()

    oracle.check(added)


def test_the_gradient_of_an_embedding_prints_as_in_pytorch() -> None:
    def text(T: Any) -> str:
        w = T.ones(4, 2, requires_grad=True)
        T.nn.functional.embedding(T.tensor([1, 1, 3]), w, sparse=True).sum().backward()
        return repr(w.grad)

    oracle.check(text, exact=True)


def test_modules() -> None:
    layers = [nb.nn.Embedding(5, 2, sparse=True), nb.nn.EmbeddingBag(5, 2, sparse=True)]
    for layer in layers:
        layer(nb.tensor([[0, 3]])).sum().backward()
        assert layer.weight.grad.is_sparse
    with pytest.raises(ValueError, match="max mode does not support sparse weights"):
        nb.nn.EmbeddingBag(5, 2, mode="max", sparse=True)(nb.tensor([[0, 3]]))


def test_half_precision() -> None:
    w = nb.ones(4, 2, dtype=nb.float16, requires_grad=True)
    nb.nn.functional.embedding(nb.tensor([1, 1]), w, sparse=True).sum().backward()
    assert w.grad.dtype is nb.float16 and w.grad.to_dense().tolist() == [[0, 0], [2, 2], [0, 0], [0, 0]]


OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda T, p: T.optim.SGD(p, lr=0.1),
    "SGD, uphill": lambda T, p: T.optim.SGD(p, lr=0.1, maximize=True),
    "SGD with momentum": lambda T, p: T.optim.SGD(p, lr=0.1, momentum=0.9),
    "SGD with Nesterov's": lambda T, p: T.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "Adagrad": lambda T, p: T.optim.Adagrad(p, lr=0.1, lr_decay=0.1),
    "SparseAdam": lambda T, p: T.optim.SparseAdam(p, lr=0.1),
    "SparseAdam, options": lambda T, p: T.optim.SparseAdam(p, lr=0.1, betas=(0.8, 0.9), eps=1e-3, maximize=True),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_of_optimizers(optimizer: str) -> None:
    def trained(T: Any) -> Any:
        w = table(T)
        steps = OPTIMIZERS[optimizer](T, [w])
        for index in ([1, 1, 3], [0, 3], [1]):
            steps.zero_grad()
            (T.nn.functional.embedding(T.tensor(index), w, sparse=True) ** 2).sum().backward()
            steps.step()
        return w.detach()

    oracle.check(trained)


DENSE_ONLY = ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "Adafactor"]


@pytest.mark.parametrize("name", DENSE_ONLY)
def test_other_optimizers_refuse_in_the_words_of_pytorch(name: str) -> None:
    def refusal(T: Any) -> str:
        w = T.ones(4, 2, requires_grad=True)
        T.nn.functional.embedding(T.tensor([1]), w, sparse=True).sum().backward()
        before = w.detach().clone()
        with pytest.raises(RuntimeError) as caught:
            getattr(T.optim, name)([w]).step()
        assert bool((w == before).all())
        return str(caught.value)

    oracle.check(refusal)


def test_other_refusals_of_optimizers() -> None:
    w = nb.ones(4, 2, requires_grad=True)
    nb.nn.functional.embedding(nb.tensor([1]), w, sparse=True).sum().backward()
    for options in ({"weight_decay": 0.1},):
        with pytest.raises(RuntimeError, match="weight_decay"):
            nb.optim.SGD([w], **options).step()
        with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse gradients"):
            nb.optim.Adagrad([w], **options).step()
    w.grad = nb.ones(4, 2)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
        nb.optim.SparseAdam([w]).step()
    with pytest.raises(ValueError, match="SparseAdam requires dense parameter tensors"):
        nb.optim.SparseAdam([nb.ones(2).to_sparse().requires_grad_()])
    with pytest.raises(ValueError, match="Invalid learning rate"):
        nb.optim.SparseAdam([w], lr=0.0)


# -- the graph, and copies ---------------------------------------------------------------------------------------------


def test_a_graph_is_used_up_and_notices_writes() -> None:
    s, _, m = leaves(nb, "matrix", False)
    result = nb.sparse.mm(s, m).sum()
    result.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        result.backward()
    result = nb.sparse.mm(s, m)
    with nb.no_grad():
        m.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_retained_gradients_hooks_and_anomaly_detection() -> None:
    s = make(nb, "matrix", requires_grad=True)
    twice = s * 2
    twice.retain_grad()
    seen = []
    twice.register_hook(lambda g: seen.append(g.layout))
    with nb.autograd.detect_anomaly(check_nan=True):
        twice.to_dense().sum().backward()
    assert twice.grad.is_sparse and seen == [nb.sparse_coo] and s.grad.is_sparse


@pytest.mark.parametrize("name", ["duplicates", "hybrid", "empty"])
def test_copies(name: str) -> None:
    s = make(nb, name, "float32", requires_grad=True)
    for other in (copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert repr(other) == repr(s) and other is not s
    compressed = make(nb, "matrix").to_sparse_csr()
    assert repr(pickle.loads(pickle.dumps(compressed))) == repr(compressed)


def test_writes_in_place_reach_those_who_share_the_values() -> None:
    s = make(nb, "matrix")
    s.detach().mul_(2)
    assert s.coalesce().values().tolist() == [6.0, -8.0, 10.0]


def test_vmap_and_dispatch_modes_leave_sparse_tensors_alone() -> None:
    s, m = make(nb, "matrix", coalesced=True), nb.ones(4, 3, dtype=nb.float64)
    result = nb.stack([s @ row for row in m])
    assert result.shape == (4, 2)
