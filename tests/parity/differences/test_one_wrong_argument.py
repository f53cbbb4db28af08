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
        names = {"T": torch, "F": torch.nn.functional, "nn": torch.nn, "O": torch.optim, "np": np, "x": x, "y": x * 2}
        names |= {"c": x > 2, "i": x.long(), "w": x.clone().requires_grad_(), "p": torch.nn.Parameter(x[0].clone())}
        names |= {"s": x.T @ x + torch.eye(3), "im": torch.arange(48.0).reshape(1, 3, 4, 4) / 7}
        names |= {"stepped": stepped, "scheduled": scheduled}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = eval(call, names)
            except Exception as error:
                result = next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
        found.append([call, result])
    return found


def stepped(optimizer: Any) -> Any:
    """Return the parameter after three steps with its own values as gradients."""
    (p,) = optimizer.param_groups[0]["params"]
    for _ in range(3):
        p.grad = p.detach() / 2
        optimizer.step()
    return p


def scheduled(schedule: Any) -> Any:
    """Return the learning rates after three steps."""
    for _ in range(3):
        schedule.optimizer.step()
        schedule.step()
    return schedule.get_last_lr()


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


# -- what makes tensors, layers, optimizers and passes -----------------------------------------------------------------

CREATED = """
    T.hann_window(np.array(4)); T.kaiser_window(4, True, [0]); T.kaiser_window(4, True, T.tensor(2.0));
    T.hamming_window(4, False, T.tensor(0.5), np.float32(0.5)); T.hamming_window(4, False, 'a'); T.fft.fftfreq(4, '');
    T.fft.fftfreq(4, T.tensor(2.0)); T.linspace(0, 1, np.array(3)); T.eye(T.tensor([2]));
    T.logspace(0, 1, 3, np.array(2)); T.tril_indices(2, np.array(2)); T.range(np.array(1), 4); T.range(1, T.tensor(3));
    T.asarray([1.0], copy=0); T.asarray([1.0], requires_grad=1); T.scalar_tensor(T.tensor(1)); T.scalar_tensor('a');
    T.zeros([[1]]); T.ones(size=[[2]]); T.zeros(2, True); T.zeros(True, 2); T.zeros((2, False)); x.reshape(6, True);
    T.randint(T.tensor([1]), (2,)); T.randint(T.tensor([1, 2]), (2,)); T.randint(low=False, high=5, size=(2,));
    T.randint(5, [[1]]); T.normal(0.0, 1.0, 2); T.normal(T.tensor(1.0), 0.0, (2,)); T.full((2,), np.array(1));
    x.uniform_(np.array(1), 2); x.uniform_(1, T.tensor(1)); x.random_(0, np.array(4)); x.random_(None, 5);
    x.exponential_(np.array(1)); x.exponential_(T.tensor(1.0)).shape; x.bernoulli_(np.array(1)); x.geometric_('a');
    s.fill_diagonal_(1, 0); s.fill_diagonal_(np.array(1)); s.fill_diagonal_(T.tensor(1))
"""


@agrees
def test_arguments_of_functions_that_make_tensors(torch: Any) -> Any:
    return outcomes(torch, CREATED)


ONE = """
    T.fft.fft(x, T.tensor([2])); T.fft.fft(x, np.array(2)); T.fft.fftn(x, np.int64(2), (1,)); T.fft.fftn(x, 'a', (1,));
    T.multinomial(x[:, :1], np.array(1)); F.nll_loss(x, i[:, 0] * 0, ignore_index=np.array(1));
    T.slice_scatter(x, x, 0, 0, 2, T.tensor([1])); T.select_scatter(x, y[0], 0, np.array(1));
    F.conv2d(im, im[:, :, :2, :2], None, 1, 0, 1, np.array(1)); F.embedding(i[:, :2] * 0, x, T.tensor([1]));
    F.max_pool2d(im, 2, T.tensor(True)); F.group_norm(im, T.tensor([1])); T.polygamma(np.int64(1), x);
    T.polygamma(True, x); T.linalg.norm(x, np.array(1)); T.linalg.norm(x, T.tensor(1)); T.linalg.cond(s, np.array(1));
    T.linalg.matrix_norm(x, T.tensor([1])); T.linalg.vector_norm(x, w); T.linalg.cond(s, T.tensor(1))
"""


@agrees
def test_arrays_and_tensors_of_one_element(torch: Any) -> Any:
    return outcomes(torch, ONE)


PASSES = """
    w.sum().backward(None, 'a'); w.sum().backward(None, 2.0); w.sum().backward(None, False, None);
    w.sum().backward(None, T.tensor(True)); w.sum().backward(None, np.bool_(True));
    w.sum().backward(None, 1); w.sum().backward(None, x);
    T.autograd.backward(w.sum(), None, 'a'); T.autograd.backward(w.sum(), None, np.array([0, 1]));
    T.autograd.grad(w.sum(), w, None, 1.5); T.autograd.grad(w.sum(), w, None, None, None);
    T.autograd.grad(w.sum(), w, None, np.int64(1)); T.autograd.functional.jacobian(lambda a: a * 2, x, None)
"""


@agrees
def test_flags_of_passes(torch: Any) -> Any:
    return outcomes(torch, PASSES)


FUNCTIONAL = """
    F.leaky_relu(x, 1e300); F.leaky_relu(x.double(), 1e300); F.leaky_relu(x.half(), 1e5); F.leaky_relu(x, float('inf'));
    F.elu(x, 1e300); F.elu(x, 2**70); F.celu(x, -1e39); F.softplus(x, 1, 1e300); F.hardshrink(x, 1e300);
    F.rrelu(x, 0.1, 0.3, 0); F.rrelu(x, 0.1, np.array(1.0)); F.threshold(x, 2, 20, 1);
    F.dropout(x, np.array(1)); F.dropout(x, T.tensor(1.0)); F.dropout(x, 'a'); F.dropout(x, 0.0, True, x);
    F.softmax(x, 0, dtype='cpu'); F.softmax(x, 0, dtype=x); F.log_softmax(x, 0, dtype=1); F.softmax(x, 0, dtype=float);
    F.gumbel_softmax(x, dim=None); F.unfold(im, [2]); F.unfold(im, 2, padding=(0,)); F.unfold(im, (2, 2));
    F.fold(T.ones(1, 12, 4), (3, 3), 2, 1, [0]); F.lp_pool2d(im, 2, 2, 1, 0); F.lp_pool2d(im, 2, 2, 1, True);
    F.embedding(i * 0, x, True);
    F.mse_loss(x, y, size_average=0); F.mse_loss(x, y, reduce=0); F.mse_loss(x, y, 1, 0); F.mse_loss(x, y, x);
    F.soft_margin_loss(x[0], x); F.soft_margin_loss(x, x[0])
"""


@agrees
def test_arguments_of_functional(torch: Any) -> Any:
    """``size_average=0`` meant the mean, and a target of more dimensions than the input was taken."""
    return outcomes(torch, FUNCTIONAL)


LAYERS = """
    nn.Conv2d(3, 4, 2, padding=[0])(im).shape; nn.Conv2d(3, 4, 2, padding=(1,))(im).shape; nn.Conv2d(3, 4, np.array(2));
    nn.Conv2d(3, 4, T.tensor([2, 2]))(im).shape; nn.Conv2d(3, 4, range(2, 4))(im).shape; nn.Conv2d(3, 4, 2.0);
    nn.Conv2d(3, 4, 3, padding='same', dilation=(2, 1))(im).shape; nn.Conv2d(3, 4, 2, T.tensor(1));
    nn.Conv2d(3, 4, True)(im).shape; nn.ConvTranspose2d(3, 4, 2, padding=[0])(im).shape; nn.Linear(3, True);
    nn.Linear(True, 3)(x[:, :1]).shape; nn.Embedding(5, True)(i[0] % 5).shape; nn.Embedding(5, 3, True)(i % 5);
    nn.ZeroPad2d(np.array(1)); nn.ZeroPad2d(np.array([1, 0]))(im); nn.ZeroPad2d(T.tensor([1]))(im);
    nn.RNN(3, 2, 1, bidirectional=1)(x); nn.RNN(3, 2, True)(x); nn.LSTM(3, 2, T.tensor(2))(x)[0].shape;
    nn.GRU(3, 2, np.int64(2))(x)[0].shape; nn.LeakyReLU(1e300)(x); nn.Threshold(2, 20, None)(x); nn.Dropout('a')(x);
    nn.ZeroPad2d(range(2))(im)
"""


@agrees
def test_options_of_layers(torch: Any) -> Any:
    return outcomes(torch, LAYERS)


OPTIMIZERS = """
    O.SGD([p], np.array(0.5), T.tensor(0.9), 0.1, np.float32(0.5)); O.SGD([p], 0.1, weight_decay=True);
    O.SGD([p], 0.1, True); O.SGD([p], 0.1, True, nesterov=True);
    O.SGD([p], 0.1, 0, None); O.SGD([p], np.array([0, 1])); O.SGD([p], 'a'); O.Adam([p], 0.1, (0.9, 0.99), 0.1, True);
    O.Adam([p], 0.1, eps=T.tensor(0.5)); O.Adam([p], 0.1, weight_decay=np.float64(0.5));
    O.AdamW([p], 0.1, weight_decay=True); O.Adam([p], 0.1, eps='a');
    O.NAdam([p], 0.1, momentum_decay=T.tensor(0.5)); O.RMSprop([p], 0.1, alpha=T.tensor(0.5));
    O.ASGD([p], 0.1, lambd=T.tensor(0.5)); O.Adagrad([p], 0.1, initial_accumulator_value=T.tensor(0.5));
    O.Adagrad([p], 0.1, lr_decay=np.array(0.5)); O.Rprop([p], 0.1, step_sizes=np.array([1e-6, 50.0]))
"""


@agrees
def test_options_of_optimizers(torch: Any) -> Any:
    """Three steps: what PyTorch finds in the second one may raise before it here."""
    calls = ";".join(f"stepped({call.strip()})" for call in OPTIMIZERS.split(";"))
    made = ("StepLR(O.SGD([p]), 1, None)", "ExponentialLR(O.SGD([p]), None)", "ExponentialLR(O.SGD([p]), 0.5)")
    return outcomes(torch, ";".join([calls, *(f"scheduled(O.lr_scheduler.{each})" for each in made)]))
