"""On a GPU: graphs of every kind. Hooks, second derivatives, checkpoints, streams, threads, traces, two devices."""

from __future__ import annotations

import contextlib
import gc
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import nbautograd as nb
from nbautograd.errors import TracingError
from tests import needs, oracle
from tests.engine.cuda.on_device import agree, host, real, two_devices

needs.cuda_device()
pytestmark = pytest.mark.cuda
F = nb.nn.functional


def array(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape)


def values(*shape: int, seed: int = 0, grad: bool = True, kind: Any = nb.float64) -> nb.Tensor:
    return nb.tensor(array(*shape, seed=seed), device="cuda", dtype=kind).requires_grad_(grad)


CHECKED = [
    lambda x: x.exp().log1p().tanh() * x.sigmoid(),
    lambda x: x.pow(3) / (x.abs() + 1),
    lambda x: F.gelu(x) + F.silu(x) + F.softplus(x) + F.elu(x),
    lambda x: x.logsumexp(1) + x.std(0) + x.var(1),
    lambda x: F.log_softmax(x, 1),
    lambda x: F.layer_norm(x, (4,)) * F.rms_norm(x, (4,)),
    lambda x: F.batch_norm(x, None, None, training=True),
    lambda x: F.group_norm(x[None], 2),
    lambda x: F.conv1d(x[None], x[:2, :2].reshape(1, 4, 1)),
    lambda x: F.conv_transpose2d(x.reshape(1, 1, 4, 4), x[:2, :2].reshape(1, 1, 2, 2), stride=2),
    lambda x: F.avg_pool2d(x[None], 2) + F.adaptive_avg_pool2d(x[None], 2),
    lambda x: F.max_pool2d(x[None], 2),
    lambda x: F.interpolate(x[None, None], scale_factor=2.0, mode="bilinear"),
    lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
    lambda x: F.cross_entropy(x, nb.tensor([0, 1, 3, 3], device="cuda")),
    lambda x: F.mse_loss(x, nb.ones_like(x)) + F.huber_loss(x, 2 * nb.ones_like(x)),
    lambda x: F.embedding(nb.tensor([0, 0, 2], device="cuda"), x),
    lambda x: F.pad(x, (1, 2)) @ F.pad(x, (1, 2)).T,
    lambda x: x[x.detach() > 0].cumsum(0) * 2,
    lambda x: x.gather(1, nb.tensor([[0, 0], [1, 1], [3, 2], [0, 3]], device="cuda")).prod(1),
    lambda x: nb.linalg.inv(x @ x.T + 4 * nb.eye(4, dtype=x.dtype, device="cuda")),
    lambda x: nb.linalg.cholesky(x @ x.T + 4 * nb.eye(4, dtype=x.dtype, device="cuda")),
    lambda x: nb.linalg.slogdet(x @ x.T + 4 * nb.eye(4, dtype=x.dtype, device="cuda"))[1],
    lambda x: nb.einsum("ij,jk,kl->il", x, x, x),
    lambda x: nb.fft.rfft(x).abs(),
    lambda x: nb.cat([x, x.T]).flip(0).roll(1).tril().amax(1),
    lambda x: nb.where(x > 0, x, x.exp()).sort(1).values.diff(),
    lambda x: nb.complex(x, x.T).abs(),
    lambda x: x.erf() + x.lgamma() * 0.1 + x.sinc(),
    lambda x: nb.cdist(x, x + 1),
]


@pytest.mark.parametrize("function", CHECKED)
def test_gradcheck(function: Any) -> None:
    x = values(4, 4)
    assert nb.autograd.gradcheck(function, (x,))
    assert nb.autograd.gradgradcheck(function, (x,))


@pytest.mark.parametrize("how", ["jacobian", "hessian", "jacrev", "jacfwd", "vjp", "jvp", "hvp"])
def test_functional(how: str) -> None:
    def function(x: nb.Tensor) -> nb.Tensor:
        return (x.exp() * x.sin()).sum()

    def program(place: str, x: Any) -> Any:
        x = nb.tensor(x, device=place)
        if how in ("jacrev", "jacfwd"):
            return [getattr(nb.func, how)(function)(x)]
        more = () if how in ("jacobian", "hessian", "vjp") else (nb.ones_like(x),)
        result = getattr(nb.autograd.functional, how)(function, x, *more)
        return [result[1] if isinstance(result, tuple) else result]

    agree(program, np.linspace(0, 1, 5))


def test_vmap() -> None:
    agree(lambda place, x: [nb.vmap(lambda row: row.softmax(0) @ row)(nb.tensor(x, device=place))], array(5, 3))


def test_hooks_and_retained_gradients() -> None:
    def program(place: str, x: Any) -> Any:
        x = nb.tensor(x, device=place, requires_grad=True)
        seen: list[Any] = []
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: seen.append(g.device.type) or g * 3)
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.device.type))
        (y**2).sum().backward()
        assert seen == [place, place]
        return x.grad, y.grad

    agree(program, array(3))


def test_gradients_add_up_and_are_freed() -> None:
    x = values(1000)
    for _ in range(3):
        (x * 2).sum().backward()
    assert (x.grad == 6).all()
    y = x.exp()
    saved = weakref.ref(y)
    loss = y.sum()
    loss.backward(retain_graph=True)
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    del y, loss
    gc.collect()
    assert saved() is None


def test_saved_tensors_on_the_cpu() -> None:
    def gradient(x: Any, how: Any = contextlib.nullcontext) -> Any:
        x = nb.tensor(x, device="cuda", requires_grad=True)
        with how():
            loss = (x @ x).exp().mean()
        loss.backward()
        assert x.grad.device.type == "cuda"
        return x.grad.cpu()

    oracle.agree(lambda x: gradient(x, nb.autograd.graph.save_on_cpu), gradient, array(10, 10))


def test_checkpoints() -> None:
    from nbautograd.utils.checkpoint import checkpoint

    block = nb.nn.Sequential(nb.nn.Linear(8, 8), nb.nn.Dropout(0.5), nb.nn.Tanh()).double().cuda()

    def gradient(x: Any, run: Any = block) -> Any:
        x = nb.tensor(x, device="cuda", requires_grad=True)
        nb.manual_seed(0)
        return nb.autograd.grad(run(x).sum(), x)[0].cpu()

    oracle.agree(lambda x: gradient(x, lambda x: checkpoint(block, x, use_reentrant=False)), gradient, array(8, 8))


def test_anomalies_name_the_operation() -> None:
    x = nb.tensor([0.0, 1.0], device="cuda", requires_grad=True)
    with warnings.catch_warnings(action="ignore"), nb.autograd.detect_anomaly(check_nan=True):
        loss = ((x * 0).sqrt() * 0).sum()
        with pytest.raises(RuntimeError, match="nan"):
            loss.backward()


def test_writing_in_place() -> None:
    x = values(4, 4)
    y = x * 1
    y[1:, 0].mul_(3)
    y.t()[0].add_(1)
    y.sum().backward()
    expected = np.ones((4, 4))
    expected[1:, 0] = 3
    np.testing.assert_array_equal(host(x.grad), expected)
    z = x.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match="inplace"):
        z.sum().backward()
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)
    with nb.no_grad():
        x.add_(1)
    assert x._version == 1


def test_threads() -> None:
    def gradient(x: Any, w: Any) -> Any:
        x, w = nb.tensor(x, device="cuda"), nb.tensor(w, device="cuda", requires_grad=True)
        (x @ w).tanh().sum().backward()
        return w.grad.cpu()

    def at_once(x: Any, *weights: Any) -> Any:
        results = {}

        def work(place: int) -> None:
            results[place] = gradient(x, weights[place])

        threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [results[place] for place in range(4)]

    arrays = [array(100, 100, seed=seed) for seed in range(5)]
    oracle.agree(at_once, lambda x, *weights: [gradient(x, w) for w in weights], *arrays)


def test_a_backward_pass_on_the_stream_of_its_caller() -> None:
    def gradient(x: Any) -> Any:
        x = nb.tensor(x, device="cuda", requires_grad=True)
        (x @ x).tanh().sum().backward()
        return x.grad.cpu()

    def on_streams(x: Any) -> Any:
        x = nb.tensor(x, device="cuda", requires_grad=True)
        first, second = nb.cuda.Stream(), nb.cuda.Stream()
        first.wait_stream(nb.cuda.current_stream())
        with nb.cuda.stream(first):
            loss = (x @ x).tanh().sum()
        second.wait_stream(first)
        with nb.cuda.stream(second):
            loss.backward()
        nb.cuda.current_stream().wait_stream(second)
        return x.grad.cpu()

    oracle.agree(on_streams, gradient, array(500, 500))


@real
def test_events_put_streams_in_order() -> None:
    first, second = nb.cuda.Stream(), nb.cuda.Stream()
    x = nb.zeros(1 << 22, device="cuda")
    nb.cuda.synchronize()
    for _ in range(20):
        with nb.cuda.stream(first):
            for _ in range(10):
                x += 1
            done = first.record_event()
        second.wait_event(done)
        with nb.cuda.stream(second):
            x *= 1
            back = second.record_event()
        first.wait_event(back)
    nb.cuda.synchronize()
    assert (x == 200).all()


def test_traces_are_for_the_cpu() -> None:
    x = values(10, kind=nb.float32)
    with pytest.raises(TracingError, match="a tensor on cuda:0"):
        nb.jit.trace(lambda x: x.exp().sum(), (x,))
    function = nb.jit.trace(lambda x: x.exp().sum(), (nb.ones(10),))
    with pytest.raises(TracingError, match="traced for the CPU"):
        function(x)


def test_a_graph_over_cpu_and_device() -> None:
    w, x = nb.ones(3, requires_grad=True), values(3, kind=nb.float32)
    y = (w.cuda() * x).cpu() * w
    y.sum().backward()
    np.testing.assert_array_equal(host(w.grad), 2 * host(x))
    assert (w.grad.device.type, x.grad.device.type) == ("cpu", "cuda")


@two_devices
@real
def test_peer_copies() -> None:
    x = nb.arange(1_000_000.0, device="cuda:0").requires_grad_()
    y = x.to("cuda:1")
    assert (y.device.index, y.grad_fn.name()) == (1, "ToCopyBackward0")
    ((y * 2).sum()).backward()
    assert x.grad.device.index == 0 and (x.grad == 2).all()
    view = x.detach().reshape(1000, 1000).T[::2]
    assert (view.to("cuda:1").cpu() == view.cpu()).all()
    with pytest.raises(RuntimeError, match=r"same device.*cuda:0.*cuda:1|same device.*cuda:1.*cuda:0"):
        x + y
    with nb.cuda.device(1):
        assert nb.ones(2, device="cuda").device.index == 1
    model = nb.nn.Linear(4, 4).to("cuda:1")
    model(nb.ones(2, 4, device="cuda:1")).sum().backward()
    assert model.weight.grad.device.index == 1
