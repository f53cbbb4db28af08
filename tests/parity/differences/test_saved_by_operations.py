"""Compare the tensors that operations save for backward, as hooks on saved tensors see them, with PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import nbautograd
from tests import oracle
from tests.oracle.answers import plain
from tests.oracle.comparison import difference

SAME = """
a*b ; a*3 ; 3*a ; a+b ; a-b ; a/b ; a/2 ; 2/a ; a**2 ; a**b ; 2**a ; -a ; a**0.5 ; a*torch.tensor(2.) ; a+a*a
a.exp() ; a.log() ; a.log1p() ; a.log2() ; a.sqrt() ; a.rsqrt() ; a.sin() ; a.cos() ; a.tan() ; a.tanh() ; a.sigmoid()
a.relu() ; a.abs() ; a.reciprocal() ; a.square() ; a.expm1() ; (a/9).asin() ; (a/9).acos() ; a.atan() ; a.sinh()
a.cosh() ; a.erf() ; a.floor() ; a.sign() ; a.clamp(1,3) ; a.clamp(min=1) ; torch.clamp(a,b,b+1) ; F.hardtanh(a)
torch.atan2(a,b) ; torch.hypot(a,b) ; torch.maximum(a,b) ; torch.minimum(a,b) ; torch.where(a>b,a,b)
torch.lerp(a,b,0.3) ; torch.lerp(a,b,w) ; torch.addcmul(a,b,w) ; torch.addcdiv(a,b,w) ; a.lgamma() ; a.digamma()
torch.xlogy(a,b) ; torch.logaddexp(a,b) ; torch.fmod(a,b) ; torch.remainder(a,b) ; a.double() ; a.masked_fill(a>2,0.)
a.sum() ; a.sum(0) ; a.mean() ; a.mean(0) ; a.max() ; a.max(0) ; a.min(0) ; a.amax(0) ; a.cumsum(0) ; a.var()
a.var(0) ; a.std() ; a.std(0) ; torch.var_mean(a) ; a.norm() ; a.norm(dim=0) ; a.norm(3,dim=0) ; a.logsumexp(0)
a.logcumsumexp(0) ; a.median() ; a.median(0) ; a.mode(0) ; a.kthvalue(1,0) ; a.sort(0) ; a.topk(1,0) ; a.nansum()
torch.linalg.vector_norm(a) ; torch.linalg.vector_norm(a,dim=1) ; a@b.T ; torch.mm(a,b.T) ; a@v ; v@v2
torch.bmm(t3,t3b) ; t3@t3b ; t3@b.T ; torch.outer(v,v2) ; torch.addmm(s,a,b.T) ; torch.addmv(v[:2],a,v2)
torch.baddbmm(t3@t3b,t3,t3b) ; torch.tensordot(a,b.T,1) ; torch.kron(a,b) ; F.linear(a,b) ; F.linear(a,b,v[:2])
F.linear(v,b) ; F.linear(t3,b,v[:2]) ; torch.linalg.inv(sq) ; torch.linalg.cholesky(sq@sq.T+3*torch.eye(3))
torch.trace(sq) ; torch.diag(sq) ; torch.tril(sq) ; torch.linalg.cross(a,b) ; torch.linalg.eigh(sq+sq.T)
torch.linalg.qr(sq) ; a.view(-1) ; a.reshape(3,2) ; a.T ; t3.permute(2,0,1) ; v.expand(2,3) ; a[None].squeeze()
a.flip(0) ; a.roll(1,0) ; torch.cat([a,b]) ; torch.stack([a,b]) ; a.split(1) ; a.unbind() ; a.chunk(2) ; a.repeat(2,1)
a.repeat_interleave(2,0) ; a.repeat_interleave(torch.tensor([1,2]),0) ; a.clone() ; a.T.contiguous() ; F.pad(a,(1,1))
a[0] ; a[:1] ; a[[0,1]] ; a[torch.tensor([1,0])] ; a[a>1] ; a[torch.tensor([1,0]),torch.tensor([1,0])] ; a[:,[0,1]]
a.index_select(0,torch.tensor([1,0])) ; a.scatter(1,ix,b) ; a.scatter_add(1,ix,b)
a.index_put((torch.tensor([0]),),b[:1]) ; SET(a*1, [0], b[:1]) ; SET(a*1, [0,1], b) ; SET(a*1, 0, 3.)
SET(a*1, 0, b[0]) ; SET(a*1, a>1, 0.) ; SET(a*1, slice(0,1), b[:1]) ; F.embedding(torch.tensor([0,1]),a) ; F.relu(a)
F.leaky_relu(a) ; F.elu(a) ; F.selu(a) ; F.celu(a) ; F.gelu(a) ; F.gelu(a,approximate='tanh') ; F.silu(a) ; F.mish(a)
F.softplus(a) ; F.hardswish(a) ; F.hardsigmoid(a) ; F.softsign(a) ; F.tanhshrink(a) ; F.softshrink(a)
F.hardshrink(a) ; F.relu6(a) ; F.prelu(a,v[:1]) ; F.threshold(a,1,0) ; F.glu(t4) ; a.softmax(1) ; a.log_softmax(1)
F.softmin(a,1) ; F.dropout(a,0.5) ; F.dropout(a,0.5,False) ; F.normalize(a) ; F.pairwise_distance(a,b)
F.mse_loss(a,b) ; F.mse_loss(a,b.detach(),reduction='sum') ; F.l1_loss(a,b) ; F.smooth_l1_loss(a,b)
F.huber_loss(a,b) ; F.binary_cross_entropy(a.sigmoid(),b.detach().sigmoid())
F.binary_cross_entropy_with_logits(a,b.detach().sigmoid()) ; F.cross_entropy(a,b.detach().softmax(1))
F.kl_div(a,b.detach()) ; F.hinge_embedding_loss(a,b.detach().sign()) ; F.margin_ranking_loss(a,b,b.detach().sign())
F.triplet_margin_loss(a,b,w) ; F.gaussian_nll_loss(a,b.detach(),w) ; F.soft_margin_loss(a,b.detach().sign())
F.multi_margin_loss(a,tg) ; F.layer_norm(a,(3,)) ; F.rms_norm(a,(3,)) ; F.rms_norm(a,(3,),v) ; F.conv1d(sig,kern1)
F.conv1d(sig,kern1,v[:2]) ; F.conv2d(im,kern2) ; F.conv2d(im,kern2,v[:2],padding=1) ; F.conv_transpose2d(im,kern2)
F.adaptive_avg_pool2d(im,1) ; F.interpolate(im,scale_factor=2) ; F.interpolate(im,scale_factor=2,mode='bilinear')
F.unfold(im,2) ; F.fold(F.unfold(im,2),(4,4),2) ; F.pixel_shuffle(im4,2) ; F.scaled_dot_product_attention(t3,t3,t3)
F.grid_sample(im,grid) ; nn.Linear(3,2)(a) ; nn.Conv2d(2,3,3)(im)
nn.Sequential(nn.Linear(3,4),nn.Tanh(),nn.Linear(4,1))(a)
nn.Sequential(nn.Linear(3,4),nn.ReLU(),nn.Dropout(0.),nn.Linear(4,1),nn.Sigmoid())(a) ; nn.Embedding(4,3)(tg)
nn.RNN(3,2)(a.detach()) ; (a*1).mul_(b) ; (a*1).mul_(3) ; (a*1).add_(b) ; (a*1).exp_() ; (a*1).relu_()
(a*1).sigmoid_() ; (a*1).div_(b) ; (a*1).pow_(2) ; (a*1).sqrt_() ; (a*1).clamp_(1,2) ; (a*1).copy_(b) ; (a*1).fill_(2)
(a*1).masked_fill_(a>1,0.) ; (a*1).addcmul_(b,w) ; (a*1)[0].mul_(b[0]) ; ISUB(a*1,b) ; a*v ; a+v
(a-a.mean(0))/a.std(0) ; a*b.double() ; a*torch.tensor([1,2,3]) ; a.half()*b.half()
F.poisson_nll_loss(a,b.detach()) ; F.cosine_embedding_loss(a,b,torch.ones(2)) ; nn.GRUCell(3,2)(a)
F.poisson_nll_loss(a,b.detach(),log_input=False) ; nn.GRU(3,2)(a.detach())
"""
"""Operations that save the same tensors in the same order."""
OTHER_ORDER = """
torch.linalg.svd(sq) ; nn.LSTMCell(3,2)(a) ; nn.RNNCell(3,2)(a)
"""
"""Operations that save them in another order: within one expression it is that of PyTorch's compiler, or of the
results' names."""
FEWER = """
a.prod() ; a.prod(0) ; a.cumprod(0) ; a.cummax(0) ; a.norm(1) ; a.argsort(0) ; torch.det(sq)
torch.linalg.solve(sq,a.T) ; torch.linalg.slogdet(sq) ; F.pad(a[None],(1,1),mode='reflect') ; a.gather(1,ix)
a.take(torch.tensor([0,1])) ; torch.take_along_dim(a,ix,1) ; a.masked_select(a>1)
a.index_add(0,torch.tensor([0,1]),b) ; F.logsigmoid(a) ; F.cross_entropy(a,tg)
F.cross_entropy(a,tg,reduction='none') ; F.cross_entropy(a,tg,weight=w3) ; F.cross_entropy(a,tg,label_smoothing=0.1)
F.nll_loss(a,tg) ; F.layer_norm(a,(3,),v,v2) ; F.batch_norm(a,torch.zeros(3),torch.ones(3),v,v2) ; F.max_pool1d(sig,2)
F.max_pool2d(im,2) ; F.avg_pool1d(sig,2) ; F.avg_pool2d(im,2) ; F.adaptive_max_pool2d(im,1) ; F.lp_pool2d(im,2,2)
nn.LayerNorm(3)(a) ; torch.complex(a,b).abs() ; torch.complex(a,b)*torch.complex(b,a) ; torch.fft.fft(v)
torch.complex(a,b).conj()*2
"""
"""Fewer than PyTorch, which keeps tensors for their shapes, or results that are computed again here."""
OTHER_STEPS = """
torch.dist(a,b) ; a@t3b ; torch.einsum('ij,kj->ik',a,b) ; torch.einsum('ij,jk',a,b.T) ; F.cosine_similarity(a,b)
torch.cdist(a,b) ; F.batch_norm(a,None,None,training=True)
F.batch_norm(a,torch.zeros(3),torch.ones(3),v,v2,training=True) ; F.group_norm(im,1) ; F.group_norm(im,1,v[:2],v2[:2])
F.instance_norm(im) ; nn.BatchNorm1d(3)(a) ; nn.Bilinear(3,3,2)(a, b) ; nn.MultiheadAttention(4,2)(row, row, row)
nn.LSTM(3,2)(a.detach()) ; torch.polar(a,b)
"""
"""Other steps, or statistics in another shape."""


def listed(table: str) -> list[str]:
    """The expressions of a table."""
    return [expression for line in table.strip().splitlines() for expression in line.split(" ; ")]


def operands(torch: Any) -> dict[str, Any]:
    """Return the operands of the expressions."""

    def leaf(*values: Any) -> Any:
        return torch.tensor(values, requires_grad=True)

    def steps(n: int, *shape: int) -> Any:
        return (torch.arange(float(n)) / 7 % 1.3).reshape(shape).requires_grad_()

    return {
        "a": leaf([1.0, 2.0, 3.0], [0.5, 4.0, 1.5]),
        "b": leaf([2.0, 1.0, 1.2], [3.0, 0.7, 2.1]),
        "w": leaf([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]),
        "v": leaf(1.0, 2.0, 0.5),
        "v2": leaf(0.3, 0.2, 0.1),
        "s": leaf([0.1, 0.2], [0.3, 0.4]),
        "sq": leaf([2.0, 0.1, 0.3], [0.2, 3.0, 0.1], [0.5, 0.4, 1.5]),
        "row": leaf([[1.0, 2.0, 3.0, 4.0]]),
        "t3": leaf([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]], [[0.5, 0.1, 0.2], [1.0, 0.0, 1.0]]),
        "t3b": leaf([[1.0, 2.0], [3.0, 1.0], [2.0, 2.0]], [[0.5, 0.1], [0.2, 1.0], [0.0, 1.0]]),
        "t4": leaf([1.0, 2.0, 3.0, 4.0]),
        "im": steps(32, 1, 2, 4, 4),
        "im4": steps(64, 1, 4, 4, 4),
        "sig": steps(10, 1, 2, 5),
        "kern1": steps(12, 2, 2, 3),
        "kern2": steps(36, 2, 2, 3, 3),
        "grid": (torch.arange(8.0) / 5 - 0.8).reshape(1, 2, 2, 2).requires_grad_(),
        "ix": torch.tensor([[0, 2, 1], [1, 0, 2]]),
        "tg": torch.tensor([2, 0]),
        "w3": torch.tensor([0.2, 0.3, 0.5]),
    }


def SET(x: Any, key: Any, value: Any) -> Any:  # noqa: N802
    x[key] = value
    return x


def ISUB(x: Any, y: Any) -> Any:  # noqa: N802
    x -= y
    return x


def saved(torch: Any, expression: str) -> list[Any]:
    """For each tensor seen by a pack hook: its operand, or that it is a parameter; shape, sizes of values."""
    torch.manual_seed(0)
    known = operands(torch)
    names = {id(t): name for name, t in known.items()}
    seen: list[Any] = []

    def pack(t: Any) -> Any:
        whose = names.get(id(t), "Parameter" if type(t).__name__ == "Parameter" else "")
        values = t.detach().flatten()[:100]
        seen.append([whose, list(t.shape), values if t.dtype == torch.bool else values.abs()])
        return t

    scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "SET": SET, "ISUB": ISUB, **known}
    with warnings.catch_warnings(), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        warnings.simplefilter("ignore")
        eval(expression, scope)
    return seen


def both(expression: str) -> tuple[list[Any], list[Any]]:
    return plain(saved(nbautograd, expression)), oracle.answer(saved, expression)


def unmatched(here: list[Any], there: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the rest of both after each of ours is removed together with an equal one of PyTorch's."""
    ours, theirs = [], [*there]
    for part in here:
        same = next((i for i, other in enumerate(theirs) if difference(part, other) is None), None)
        if same is None:
            ours.append(part)
        else:
            del theirs[same]
    return ours, theirs


@pytest.mark.parametrize("expression", listed(SAME))
def test_the_same_is_saved(expression: str) -> None:
    oracle.check(saved, expression)


@pytest.mark.parametrize("expression", listed(OTHER_ORDER))
def test_the_same_is_saved_in_another_order(expression: str) -> None:
    here, there = both(expression)
    assert difference(here, there) and unmatched(here, there) == ([], [])


@pytest.mark.parametrize("expression", listed(FEWER))
def test_fewer_tensors_are_saved(expression: str) -> None:
    here, there = both(expression)
    ours, theirs = unmatched(here, there)
    assert theirs and not ours


@pytest.mark.parametrize("expression", listed(OTHER_STEPS))
def test_other_steps_save_something_else(expression: str) -> None:
    assert unmatched(*both(expression)) != ([], [])


# -- hooks that give back other values -------------------------------------------------------------------------------


def derivatives(torch: Any, expression: str, order: int) -> list[Any]:
    """The gradients of all operands, with hooks that are no inverses around the forward pass."""
    torch.manual_seed(0)
    known = operands(torch)
    leaves = [t for t in known.values() if t.requires_grad]

    def shrink(t: Any) -> Any:
        return t * 0.8 if t.is_floating_point() or t.is_complex() else t

    scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "SET": SET, "ISUB": ISUB, **known}
    with warnings.catch_warnings(), torch.autograd.graph.saved_tensors_hooks(shrink, lambda t: t):
        warnings.simplefilter("ignore")
        results = eval(expression, scope)
    total = torch.zeros(())
    for result in results if isinstance(results, (tuple, list)) else [results]:
        if isinstance(result, torch.Tensor) and result.requires_grad:
            flat = (torch.view_as_real(result) if result.is_complex() else result).flatten()
            total = total + (flat * (torch.arange(float(flat.numel())) / 3 + 1).to(flat.dtype)).sum()
    gradients = torch.autograd.grad(total, leaves, create_graph=order == 2, allow_unused=True)
    if order == 2:
        norm = sum(((g * g).sum() for g in gradients if g is not None and g.requires_grad), torch.zeros(()))
        if not norm.requires_grad:
            return list(map(torch.zeros_like, leaves))
        gradients = torch.autograd.grad(norm, leaves, allow_unused=True)
    return [torch.zeros_like(leaf) if g is None else g.detach() for leaf, g in zip(leaves, gradients, strict=True)]


@pytest.mark.parametrize("expression", listed(SAME))
def test_hooks_that_are_no_inverses_change_derivatives_alike(expression: str) -> None:
    oracle.check(derivatives, expression, 1)
    theirs = oracle.answer(derivatives, expression, 2, raises=None)
    ours = derivatives(nbautograd, expression, 2)
    if not isinstance(theirs, oracle.Raised):  # some have no second derivative in PyTorch
        oracle.close(ours, theirs)
