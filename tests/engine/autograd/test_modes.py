"""Anomaly detection, inference mode, checkpointing and the other modes, beside PyTorch."""

from __future__ import annotations

import gc
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest

import nbautograd as nb
from nbautograd._engine.core import dispatch_mode, tracing
from nbautograd.utils import checkpoint as nb_checkpoint
from tests import oracle

# -- anomaly ---------------------------------------------------------------------------------------------------------


@oracle.both
def test_anomaly_names_the_node_and_the_forward_line(T):
    with pytest.warns(UserWarning) as caught, T.autograd.detect_anomaly():
        x = T.tensor([0.0, 1.0], requires_grad=True)
        y = (x * 0).sqrt()  # the line of the call
        out = (y * 0).sum()
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"):
            out.backward()
    texts = [str(w.message) for w in caught]
    assert any("Anomaly Detection has been enabled" in text for text in texts)
    (story,) = (text for text in texts if "Error detected in SqrtBackward0" in text)
    assert "Traceback of forward call that caused the error" in story and "# the line of the call" in story
    if T is nb:
        assert not dispatch_mode.is_on()


@oracle.both
def test_anomaly_without_looking_for_nan(T):
    x = T.tensor([0.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with T.autograd.detect_anomaly(check_nan=False):
            ((x * 0).sqrt() * 0).sum().backward()
    assert x.grad.isnan().all()


@oracle.both
def test_anomaly_in_the_second_derivative_tells_both_lines(T):
    with pytest.warns(UserWarning) as caught, T.autograd.set_detect_anomaly(True):
        assert T.is_anomaly_enabled()
        x = T.tensor([0.0], requires_grad=True)
        y = x**1.5  # the first line
        (first,) = T.autograd.grad(y, x, create_graph=True)  # the second line
        with pytest.raises(RuntimeError, match="returned nan values"):
            (first * 0).sum().backward()
    story = "".join(str(w.message) for w in caught)
    assert "# the second line" in story and "Previous calculation was induced by PowBackward0" in story
    assert "# the first line" in story and not T.is_anomaly_enabled()


@oracle.both
def test_anomaly_without_a_forward_pass(T):
    x = T.tensor([0.0], requires_grad=True)
    out = ((x * 0).sqrt() * 0).sum()
    with (
        pytest.warns(UserWarning, match="No forward pass information available"),
        T.autograd.set_detect_anomaly(True),
        pytest.raises(RuntimeError, match="returned nan values"),
    ):
        out.backward()


@oracle.both
def test_setting_anomaly_detection(T):
    T.autograd.set_detect_anomaly(True, check_nan=False)
    assert T.is_anomaly_enabled() and not T.is_anomaly_check_nan_enabled()
    T.autograd.set_detect_anomaly(False)
    assert not T.is_anomaly_enabled()
    if T is nb:
        assert not dispatch_mode.is_on()


# -- inference mode --------------------------------------------------------------------------------------------------


@oracle.both
def test_inference_mode(T):
    x = T.ones(2, requires_grad=True)
    with T.inference_mode():
        assert T.is_inference_mode_enabled() and not T.is_grad_enabled()
        made, result, view = T.ones(2), x * 2, x.detach()
        result.add_(1)
        with T.enable_grad():
            assert not (x * 2).requires_grad
        with T.inference_mode(False):
            assert (x * 2).requires_grad and not T.is_inference_mode_enabled()
    assert made.is_inference() and result.is_inference() and not view.is_inference()
    assert made[0].is_inference() and not made.clone().is_inference() and not (made + 1).is_inference()
    assert not x.is_inference() and T.is_inference(made)
    for call, message in (
        (lambda: made.add_(1), "Inplace update to inference tensor outside InferenceMode is not allowed"),
        (lambda: x * made, "Inference tensors cannot be saved for backward"),
        (lambda: made.requires_grad_(), "Setting requires_grad=True on inference tensor outside InferenceMode"),
        (lambda: made._version, "Inference tensors do not track version counter"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
    (x + made).sum().backward()
    assert x.grad.tolist() == [1, 1]
    made = result = view = call = None
    gc.collect()
    with T.inference_mode():
        pass
    if T is nb:
        assert not dispatch_mode.is_on()


@oracle.both
def test_views_made_in_inference_mode(T):
    x = T.ones(2, requires_grad=True) * 1
    with T.inference_mode():
        view = x[0]
    with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified inplace"):
        view.add_(1)


@oracle.both
def test_inference_mode_decorates(T):
    x = T.ones(2, requires_grad=True)

    @T.inference_mode()
    def first():
        return x * 2

    @T.inference_mode
    def second():
        return x * 2

    @T.inference_mode()
    def third():
        yield T.is_inference_mode_enabled()

    assert first().is_inference() and second().is_inference() and list(third()) == [True]
    assert not T.is_inference_mode_enabled()


def test_a_block_that_ends_elsewhere_leaves_this_one_open():
    def run_another_block():
        with nb.inference_mode():
            pass
        return nb.ones(2) * 2

    with nb.inference_mode(), ThreadPoolExecutor(1) as pool:
        assert not pool.submit(run_another_block).result().is_inference()
        assert (nb.ones(2) * 2).is_inference()


def test_operations_are_as_fast_as_before_once_the_last_inference_tensor_is_freed():
    with nb.inference_mode():
        y = nb.ones(2) * 2
    assert dispatch_mode.is_on()
    del y
    _ = nb.ones(2) * 2
    assert not dispatch_mode.is_on()


@oracle.both
def test_views_made_without_recording(T):
    for write in (lambda y, v: v.add_(1), lambda y, v: v.__setitem__(0, 1.0)):
        y = T.ones(2, 2, requires_grad=True) * 1
        with T.no_grad():
            v = y[0]
        with pytest.raises(RuntimeError, match=r"view.* was created in no_grad mode and is being modified inplace"):
            write(y, v)
    w = T.ones(2, requires_grad=True)
    with T.no_grad():
        v = w[:1]
        v.add_(1)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        v.add_(1)


@oracle.both
def test_multithreading_can_be_switched(T):
    def gradient():
        x = T.ones(1, requires_grad=True)
        (x * 2).backward()
        return x.grad.item()

    with T.autograd.set_multithreading_enabled(False) as nothing:
        assert nothing is None and gradient() == 2
        inner = T.autograd.set_multithreading_enabled(True)  # a call switches at once; leaving a block switches back
        assert (inner.prev, inner.mode) == (False, True)
    outer = T.autograd.set_multithreading_enabled(True)
    assert (outer.prev, outer.mode, gradient()) == (True, True, 2)


# -- tracing tells where ---------------------------------------------------------------------------------------------


def test_messages_name_the_line_that_saved_and_the_line_that_wrote():
    with tracing.traced():
        x = nb.ones(2, requires_grad=True)
        y = x.exp()  # saved here
        y.add_(1)  # written here
        with pytest.raises(RuntimeError) as caught:
            y.sum().backward()
    assert "# saved here" in str(caught.value) and "# written here" in str(caught.value)


# -- checkpoints -----------------------------------------------------------------------------------------------------


def checkpoint_of(T):
    return import_module(f"{T.__name__}.utils.checkpoint")


reentrant = pytest.mark.parametrize("reentrant", [False, True])


@oracle.both
@reentrant
def test_checkpoint(T, reentrant):
    calls = []

    def block(a, b):
        calls.append(T.is_grad_enabled())
        return (a * b).exp(), a.sin()

    found = []
    for use in (True, False):
        x = T.tensor([0.5, 1.0], requires_grad=True)
        y = T.tensor([2.0, 1.5], requires_grad=True)
        p, q = checkpoint_of(T).checkpoint(block, x * 1, y, use_reentrant=reentrant) if use else block(x * 1, y)
        (p * q).sum().backward()
        found.append([x.grad.tolist(), y.grad.tolist()])
    assert found[0] == found[1] and len(calls) == 3


@oracle.both
@reentrant
def test_checkpoint_repeats_random_numbers(T, reentrant):
    T.manual_seed(0)
    x = T.ones(100, requires_grad=True)
    seen = []

    def block(x):
        seen.append(T.rand(100))
        return x * seen[-1]

    out = checkpoint_of(T).checkpoint(block, x, use_reentrant=reentrant)
    T.rand(3)
    after = T.get_rng_state()
    out.sum().backward()
    assert x.grad.tolist() == seen[0].tolist() == seen[1].tolist()
    now = T.get_rng_state()
    assert after.tolist() == now.tolist()


@oracle.both
def test_checkpoint_stops_early(T):
    reached = []

    def block(x):
        y = x.exp()
        z = y.sin() + 1
        reached.append(1)
        return z

    for stop, count in ((True, 1), (False, 2)):
        reached.clear()
        x = T.ones(2, requires_grad=True)
        with checkpoint_of(T).set_checkpoint_early_stop(stop):
            out = checkpoint_of(T).checkpoint(block, x, use_reentrant=False)
        out.sum().backward()
        assert len(reached) == count


@oracle.both
def test_nested_checkpoints(T):
    C = checkpoint_of(T)
    counts = {"inner": 0, "outer": 0}

    def inner(x):
        counts["inner"] += 1
        return (x.sin() * x).exp()

    def outer(x):
        counts["outer"] += 1
        y = C.checkpoint(inner, x * 2, use_reentrant=False)
        return C.checkpoint(inner, y, use_reentrant=False).cos()

    x = T.tensor([0.3, 0.7], dtype=T.float64, requires_grad=True)
    plain = inner(inner(x * 2)).cos()
    (expected,) = T.autograd.grad(plain.sum(), x)
    counts.update(inner=0, outer=0)
    out = C.checkpoint(outer, x, use_reentrant=False)
    (found,) = T.autograd.grad(out.sum(), x)
    assert found.tolist() == expected.tolist() and counts["outer"] == 2


@oracle.both
def test_checkpoints_keep_the_graph_and_its_derivatives(T):
    x = T.tensor([0.3, 0.7], dtype=T.float64, requires_grad=True)
    out = checkpoint_of(T).checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False).sum()
    (first,) = T.autograd.grad(out, x, create_graph=True)
    (second,) = T.autograd.grad(first.sum(), x, retain_graph=True)
    out.backward()
    assert x.grad.tolist() == first.tolist()
    return second, x.grad


@oracle.both
def test_checkpoint_sequential(T):
    x = T.tensor([0.3, 0.7], requires_grad=True)
    functions = [T.exp, T.sin, T.cos, T.tanh, T.exp]
    found = checkpoint_of(T).checkpoint_sequential(functions, 2, x, use_reentrant=False)
    expected = x
    for function in functions:
        expected = function(expected)
    assert found.tolist() == expected.tolist()
    assert T.autograd.grad(found.sum(), x)[0].tolist() == T.autograd.grad(expected.sum(), x)[0].tolist()


@oracle.both
@pytest.mark.parametrize(("segments", "error"), [(0, ZeroDivisionError), (3, ValueError)])
def test_checkpoint_sequential_with_too_few_functions(T, segments, error):
    with pytest.raises(error):
        checkpoint_of(T).checkpoint_sequential([T.exp, T.sin], segments, T.ones(2), use_reentrant=False)


def test_how_many_segments_there_may_be_is_said():
    with pytest.raises(ZeroDivisionError, match="'segments' must be from 1 to the number of functions, 1, got 0"):
        nb_checkpoint.checkpoint_sequential([nb.exp], 0, nb.ones(2), use_reentrant=False)


@oracle.both
def test_checkpoint_without_recording(T):
    with T.no_grad():
        assert not checkpoint_of(T).checkpoint(T.exp, T.ones(2, requires_grad=True), use_reentrant=False).requires_grad


@oracle.both
def test_misused_checkpoints(T):
    C = checkpoint_of(T)
    x = T.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        C.checkpoint(T.exp, T.ones(2), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: a"):
        C.checkpoint(lambda x, a: x, x, a=1, use_reentrant=True)
    with pytest.raises(ValueError, match="determinism_check"):
        C.checkpoint(lambda x: x.exp(), x, use_reentrant=False, determinism_check="always")
    with pytest.raises(RuntimeError, match=r"use_reentrant=True, torch.utils.checkpoint is incompatible"):
        T.autograd.grad(C.checkpoint(T.exp, x, use_reentrant=True).sum(), x)
    shapes = iter([2, 3, 2, 3])
    out = C.checkpoint(lambda x: (x.sum() * T.ones(next(shapes))).exp().sum(), x, use_reentrant=False)
    with pytest.raises(C.CheckpointError, match="different metadata than during the forward pass"):
        out.backward()
    more = iter([False, True])
    out = C.checkpoint(lambda x: x.exp().exp() if not next(more) else x * 1, x, use_reentrant=False)
    with pytest.raises(C.CheckpointError, match="A different number of tensors was saved"):
        out.sum().backward()
