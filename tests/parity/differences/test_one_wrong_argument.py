"""Valid calls of which one argument is replaced by another: what PyTorch does not take raises the same kind of error.

They were found by a script that replaced each argument of 800 calls by 70 values under both libraries.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tests.parity.differences.both import agrees


def outcomes(torch: Any, calls: str) -> list[Any]:
    """Return the result of each call, or the built-in type of its error."""
    found: list[Any] = []
    for call in (each.strip() for each in calls.split(";")):
        x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        names = {"T": torch, "F": torch.nn.functional, "np": np, "x": x, "y": x * 2, "c": x > 2, "i": x.long()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = eval(call, names)
            except Exception as error:
                result = next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
        found.append([call, result])
    return found


LARGE = """
    T.where(c, x, 1e300); T.where(c, 1e300, x); T.where(c, x, -1e39); T.where(c, x.half(), 1e30); T.where(c, x, 2**64);
    T.where(c, x.bfloat16(), 1e300); T.where(c, i, 1e300); T.where(c, 1e300, 1); T.where(c, x.double(), 1e300);
    T.where(c, x, float('inf')); x.where(c, 1e300); T.where(c, x, 2**63); T.where(c, i.char(), 300);
    T.where(c, 300, i.char()); x ** 2**64; x ** (-2**63 - 1); x ** 2**63; x ** 1e300; (2**64) ** x; (2**63) ** x;
    (2**63) ** i; T.float_power(x, 2**64); x.pow_(2**64)
"""


@agrees
def test_numbers_that_do_not_fit_beside_tensors(torch: Any) -> Any:
    return outcomes(torch, LARGE)


LONG = """
    x.topk(2**63); x.kthvalue(2**63); T.diag(x[0], 2**63); x.tril(2**63); x.triu(diagonal=-2**63 - 1); x.roll(2**63);
    x.roll(2**63, 0); x.diagonal(2**63); x.narrow(0, 0, 2**63); x.diff(2**63); T.rot90(x, 2**63);
    x.round(decimals=2**63); T.combinations(x[0], 2**63); T.vander(x[0], 2**63); T.polygamma(2**63, x);
    x.cov(correction=2**63); F.pixel_shuffle(x, 2**63); T.bincount(i[0], minlength=2**63);
    T.matrix_power(x[:, :2], 2**63); x.topk(2**63 - 1); x.roll(2**63 - 1)
"""


@agrees
def test_integers_of_more_than_64_bits_as_options(torch: Any) -> Any:
    """Some gave a result, others named another mistake."""
    return outcomes(torch, LONG)


BOOLS = """
    x.std(dim=True); x.std(True); x.var(axis=True); T.std(x, True, keepdim=True); T.std_mean(x, dim=False);
    x.std(0, True); x.sum(axis=True); x.mean(axis=True); x.softmax(axis=True); x.cumsum(axis=True); x.flip(axis=True);
    x.sum(0, keepdim=np.bool_(True)); x.sort(descending=np.bool_(True)); T.allclose(x, x, equal_nan=np.bool_(True));
    x.topk(1, largest=np.bool_(True)); T.unique(x, np.bool_(True)); x.add_(y, alpha=True); x.sub_(y, alpha=True);
    x.add(y, alpha=True); x.add_(y, alpha=2); c.logical_or_(c)
"""


@agrees
def test_bools_in_place_of_numbers_and_the_reverse(torch: Any) -> Any:
    return outcomes(torch, BOOLS)


KEPT = """
    x.sum(keepdim=True); x.mean(keepdim=True); x.prod(keepdim=True); x.max(keepdim=True); x.min(keepdim=True);
    x.median(keepdim=True); x.nanmedian(keepdim=True); x.sum(keepdims=True); T.sum(x, keepdim=False);
    T.sum(x, dtype=T.float64, keepdim=True); x.sum(None, keepdim=True); x.sum(dim=None, keepdim=True);
    x.mean(dim=None, keepdim=True); x.std(keepdim=True); x.all(keepdim=True); x.argmax(keepdim=True);
    x.amax(keepdim=True); x.max(0, keepdim=True).values; x.sum(axis=0, keepdims=True); x.norm(keepdim=True);
    x.nansum(keepdim=True); x.nanmean(keepdim=True); x.logsumexp(0, keepdim=True); x.quantile(0.5, keepdim=True)
"""


@agrees
def test_keepdim_without_a_dimension(torch: Any) -> Any:
    """Of all elements, ``max``, ``min``, ``prod`` and ``median`` dropped it without a word."""
    return outcomes(torch, KEPT)


TWICE = """
    x.argmax(0, axis=1); x.argmax(axis=1); x.amax(0, axis=1); x.amax(axis=1); x.unsqueeze(0, axis=1);
    x.unbind(1, axis=1); x.unsqueeze(axis=1); x.gather(1, i * 0, axis=1); x.all(0, axis=1);
    T.cat((x, x), axis=1); x.sum(0, axis=1); x.reshape(1, shape=(3, 2)); x.reshape(shape=(3, 2));
    x.view(3, 2, size=(3, 2)); x.flip(0, dims=(0,)); x.view(size=(3, 2)); x.view(T.int32);
    x.permute(1, 0, dims=(0, 1)); x.tile(2, dims=(2,)); T.rand(2, size=(2,)); x.flip(); T.flip(x, [[1]]);
    T.flip(x, (0, 1)); x.flip(())
"""


@agrees
def test_what_is_given_twice_or_not_at_all(torch: Any) -> Any:
    return outcomes(torch, TWICE)


KINDS = """
    x.add_(y, alpha=np.array(1)); x.add_(y, alpha=T.float32); x.addcmul_(y, y, value=np.array(1)); x.add_(y, alpha='a');
    x.add_(y, alpha=np.float32(2)); x.add_(y, alpha=T.tensor(2)); x.masked_fill(c, T.float32);
    x.masked_fill(c, np.float32(2)); x.masked_fill(c, T.tensor(2));
    x.index_fill(1, T.tensor([0]), [1]); x.index_fill(0, T.tensor([0]), 2);
    x.movedim(np.int64(1), 0); x.movedim(T.tensor(1), 0); x.movedim(0, T.tensor(-1)); x.movedim(True, 0);
    x.movedim(1.5, 0); x.movedim(0, (1,)); x.movedim(T.tensor([0, 1]), (1, 0)); x.movedim([0], [1]); x.roll(1, [[1]]);
    x.roll([[1]], 0); x.roll(T.tensor([0, 1]), 0); x.roll(T.tensor(1), 0); T.where(1); T.where([1]); c.kthvalue(1);
    x.sort(stable=None)[0]; x.hsplit(T.tensor([1])); x.hsplit(T.tensor(3)); x.hsplit(False)
"""


@agrees
def test_arguments_of_other_kinds(torch: Any) -> Any:
    return outcomes(torch, KINDS)


FLAGS = """
    T.hann_window(4, 1); T.hann_window(4, None); T.hann_window(4, 'a'); T.hamming_window(4, 0.5, 0.4);
    T.kaiser_window(4, 12.0); T.hann_window(4, True);
    T.bartlett_window(4, periodic=0); T.blackman_window(4.0);
    T.zeros(3, 3).fill_diagonal_(1, True); F.affine_grid(T.ones(1, 2, 3), (1, 1, 2, 2), 1);
    F.affine_grid(T.ones(1, 2, 3), (1, 1, 2, 2), True); F.poisson_nll_loss(x, x, 1); F.poisson_nll_loss(x, x, full='a');
    F.poisson_nll_loss(x, x, eps=None); F.poisson_nll_loss(x, x, True, True); T.nn.Parameter(x, 0);
    T.nn.Parameter(x, None); T.nn.Parameter(x, False); T.nn.utils.rnn.pad_sequence([x, x[:1]], 0.0);
    T.nn.utils.rnn.pad_sequence([x, x[:1]], 1); T.nn.utils.rnn.pad_sequence([x, x[:1]], True, 5);
    T.nn.utils.rnn.pad_sequence([x, x[:1]], True, None); T.nn.utils.rnn.pad_sequence([x, x[:1]], padding_side='left')
"""


@agrees
def test_flags(torch: Any) -> Any:
    """``pad_sequence(sequences, 0.0)`` took the filling for ``batch_first``."""
    return outcomes(torch, FLAGS)


VALUES = """
    T.searchsorted(x[0], [1, 2]); T.searchsorted(x[0], 'a'); T.searchsorted(x[0], 2); T.searchsorted(x[0], 2.5);
    T.searchsorted(x[0], np.array([1, 2])); T.searchsorted(x[0], np.float32(2)); T.bucketize([1.0], x[0]);
    T.bucketize('a', x[0]); T.bucketize(2, x[0]); T.func.grad(lambda a, b: (a * b).sum(), argnums=[0])(x, y);
    T.func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, y);
    T.func.grad(lambda a, b: (a * b).sum(), argnums=1.5)(x, y)
"""


@agrees
def test_lists_in_place_of_tensors_and_tuples(torch: Any) -> Any:
    return outcomes(torch, VALUES)
