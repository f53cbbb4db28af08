"""Check PyTorch's special graphs: user functions, checkpoints, compiled code, transforms, devices."""

from __future__ import annotations

from typing import Any

import pytest

from nbautograd import viz
from nbautograd.viz.read.introspect import trace_of
from tests import needs

torch = needs.package("torch")


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Any, times: int) -> Any:
        ctx.save_for_backward(value)
        ctx.times = times
        return value * value * times

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (value,) = ctx.saved_tensors
        return 2 * ctx.times * g * value, None


def leaf() -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def picture(y: Any, **names: Any) -> viz.Picture:
    return viz.graph(y, namespace={"y": y, **names})


def test_a_function_of_the_users() -> None:
    w = leaf()
    with viz.watch():
        y = Square.apply(w, 3).sum()
    text = picture(y, w=w).text
    assert "Square.apply(w, 3)  SquareBackward  [ 3., 12.]  f32 (2,)  test_torch_special.py, line" in text
    shown = viz.animate(y, namespace={"w": w, "y": y}).text
    assert "sends w ← [ 6., 12.]" in shown and w.grad.tolist() == [6.0, 12.0]


def double(value: Any) -> Any:
    return torch.tanh(value) * 2


def test_a_checkpoint_is_drawn_as_what_it_computes() -> None:
    from torch.utils.checkpoint import checkpoint

    w = leaf()
    with viz.watch():
        y = checkpoint(double, w, use_reentrant=False).sum()
        shown = viz.animate(y, namespace={"w": w, "y": y})
    assert "torch.tanh(value)  TanhBackward0" in shown.text and w.grad is not None


def test_a_checkpoint_of_the_old_kind_says_what_it_hides() -> None:
    from torch.utils.checkpoint import checkpoint

    w = leaf()
    with viz.watch():
        y = checkpoint(double, w, use_reentrant=True).sum()
    text = picture(y, w=w).text
    assert "CheckpointFunctionBackward" in text and "use_reentrant=False" in text and "0x" not in text
    assert viz.animate(y, namespace={"w": w, "y": y}).text.count("w.grad was None") == 1


@pytest.mark.sweep
def test_a_compiled_function_is_one_operation_and_says_so() -> None:
    w = leaf()
    try:
        with viz.watch():
            y = torch.compile(double, backend="aot_eager")(w).sum() * 3
    except Exception as error:  # no compiler here, or not for this Python
        pytest.skip(f"needs torch.compile: {error}")
    text = picture(y, w=w).text
    assert "CompiledFunctionBackward" in text and "without torch.compile" in text


@pytest.mark.parametrize(
    ("name", "operation"), [("vmap", "x * x"), ("grad", "pow(w, 2)"), ("jacrev", "× w"), ("jacfwd", "w")]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTorch itself
def test_transforms_are_drawn_as_what_they_compute(name: str, operation: str) -> None:
    w = leaf()
    transform = getattr(torch.func, name)
    function = (lambda x: (x**3).sum()) if name == "grad" else lambda x: x * x
    with viz.watch():
        y = transform(function)(w).sum()
    assert operation in picture(y, w=w).text
    assert viz.animate(y, namespace={"w": w, "y": y}).frames() and w.grad is not None


def test_an_error_about_a_write_tells_its_story() -> None:
    w = leaf()
    with viz.watch():
        h = w * 2
        y = (h * h).sum()
        h.add_(1)
    with pytest.raises(RuntimeError, match="inplace") as caught:
        viz.animate(y, namespace={"w": w, "h": h, "y": y})
    (*_, last) = caught.value.animation.timeline.frames
    (_, saved, where), (_, changed, written), (_, needed, _) = last.story
    assert saved == "h, version 0: [2., 4.]" and "line" in where
    assert changed == "h.add_(1): version 1: [3., 5.]" and "line" in written and "version 0" in needed


def test_a_write_without_recording_is_found_too() -> None:
    w = leaf()
    with viz.watch():
        y = (w * w).sum()
        with torch.no_grad():
            w.sub_(0.1)
    with pytest.raises(RuntimeError, match="inplace") as caught:
        viz.animate(y, namespace={"w": w, "y": y})
    assert "w.sub_(0.1): version 1" in caught.value.animation.timeline.frames[-1].story[1][1]


def test_hooks_that_change_a_gradient() -> None:
    w = leaf()
    with viz.watch():
        h = w * 2
        h.register_hook(lambda g: g * 10)
        y = h.sum()
    text = viz.animate(y, namespace={"w": w, "h": h, "y": y}).text
    assert "tensor hook ran: [1., 1.] → [10., 10.]" in text and w.grad.tolist() == [20.0, 20.0]


def test_passes_of_a_block() -> None:
    w = leaf()
    with viz.record() as passes:
        y = (w * w).sum()
        y.backward(retain_graph=True)
        torch.autograd.backward([y, (w * 3).sum()])
        z = (w**3).sum()
        (g,) = torch.autograd.grad(z, w, create_graph=True)
        g.sum().backward()
    text = passes.text
    assert text.count("starts at") == 4 and "autograd.grad takes [ 3., 12.] for w" in text
    assert "create_graph=True" in text and torch._C._len_torch_function_stack() == 0
    assert w.grad.tolist() == [2 * 2 * 1 + 3 + 6.0, 2 * 2 * 2 + 3 + 12.0]


def test_a_failed_pass_of_a_block() -> None:
    w = leaf()
    with viz.record() as passes:
        y = (w * w).sum()
        y.backward()
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()
    assert "retain_graph=True" in passes.timeline.frames[-1].caption
    assert torch._C._len_torch_function_stack() == 0


def test_tensors_without_values() -> None:
    w = torch.ones(3, device="meta", requires_grad=True)
    with viz.watch():
        y = (w * 2).sum()
    text = picture(y, w=w).text
    assert "w * 2  MulBackward0" in text and "(3,)" in text


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "complex64"])
def test_dtypes(dtype: str) -> None:
    w = torch.tensor([1.0, 2.0], dtype=getattr(torch, dtype), requires_grad=True)
    with viz.watch():
        h = w * 2
        y = h.abs().sum()
    value = trace_of(y.grad_fn.next_functions[0][0]).operands[0].value
    assert value.tolist() == [2.0, 4.0] and h.dtype == w.dtype


def test_a_monitor_of_a_module() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    data = torch.rand(8, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with viz.monitor(net, record=True, namespace={"net": net}) as watch:
        for _ in range(3):
            loss = net(data).square().mean()
            optimizer.zero_grad()
            loss.backward()
            watch(loss)
            optimizer.step()
    assert list(watch.norms) == ["net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"]
    assert sorted(watch.recordings) == [1, 2, 3] and watch.losses[2] < watch.losses[0]
    text = watch.recordings[3].text
    assert "addmm(net.2.bias" in text and "net.0.weight" in text
    assert (torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack()) == (0, 0)


def test_a_leaf_of_pytorchs_can_be_nudged() -> None:
    w = leaf()
    with viz.watch():
        y = (w * w).sum()
    shown = viz.animate(y, namespace={"w": w, "y": y})
    assert shown.replay is not None and shown.replay.agrees
    (leaf_id,) = shown.replay.leaves
    outcome = shown.replay.nudged(leaf_id, 0, 3.0)
    assert outcome is not None and outcome["grads"][leaf_id] == [6.0, 4.0]
    assert w.tolist() == [1.0, 2.0]


F = torch.nn.functional
KEPT_OTHERWISE = {
    "ignored class": lambda a, b: F.cross_entropy(a, torch.tensor([0, -100, 1]), weight=torch.tensor([1.0, 2.0, 3.0])),
    "pairs": lambda a, b: F.cross_entropy(a, torch.tensor([0, 2, 1]), label_smoothing=0.1),
    "bounds": lambda a, b: a.clamp(max=0.5).sum() + a.clamp_min(-0.5).sum() + a.clamp(-0.3, 0.3).sum(),
    "a number as base": lambda a, b: (2**a).sum(),
    "a number as weight": lambda a, b: torch.lerp(a, b, 0.3).sum(),
    "the last two dimensions": lambda a, b: (a.transpose(-2, -1) * b.T).sum(),
    "joined": lambda a, b: torch.cat([a, torch.ones(3, 2), b * 2], dim=-1).pow(2).sum(),
    "means of windows": lambda a, b: F.avg_pool2d(a[None, None], 2, padding=1).pow(2).sum(),
    "attention": lambda a, b: F.scaled_dot_product_attention(*(x[None, None] for x in (a, b, a * 2))).sum(),
    "causal attention": lambda a, b: F.scaled_dot_product_attention(
        *(x[None, None] for x in (a, b, a)), is_causal=True
    ).sum(),
    "inverse": lambda a, b: torch.linalg.inv(a).sum(),
}


@pytest.mark.parametrize("what", KEPT_OTHERWISE)
def test_an_element_is_written_out_of_what_pytorch_keeps_otherwise(what: str) -> None:
    """Check nodes that keep what a formula needs under other names, in other forms, or only in part."""
    torch.manual_seed(0)
    a, b = (torch.randn(3, 3, requires_grad=True) for _ in range(2))
    y = KEPT_OTHERWISE[what](a, b)
    frames = viz.animate(y, namespace={"a": a, "b": b, "y": y}).timeline.frames
    assert [(frame.title, step.told) for frame in frames for step in frame.chain if step.element is None] == []


def test_statistics_of_before_are_not_told_as_those_of_the_batch() -> None:
    a, w, b = torch.randn(4, 3, requires_grad=True), torch.ones(3, requires_grad=True), torch.zeros(3)
    y = F.batch_norm(a, torch.zeros(3), torch.ones(3), w, b.requires_grad_()).pow(2).sum()
    frames = viz.animate(y, namespace={"a": a, "w": w, "b": b, "y": y}).timeline.frames
    (steps,) = [frame.chain for frame in frames if frame.title == "NativeBatchNormBackward0"]
    assert [(step.told, step.story) for step in steps] == [
        ("", ""), ("", "story_norm_weight"), ("", "story_bias"),
    ]  # fmt: skip
