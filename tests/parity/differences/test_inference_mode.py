"""Inference mode: every way to make a tensor, in every mode, and everything that is done with it, in every mode."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.differences.both import agrees, compare

Maker = Callable[[Any], Any]


def inside(make: Maker) -> Maker:
    """Return the maker in inference mode."""

    def made(torch: Any) -> Any:
        with torch.inference_mode():
            return make(torch)

    return made


def leaf(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


def made_normally_inside(torch: Any) -> Any:
    with torch.inference_mode(), torch.inference_mode(False):
        return leaf(torch) * 2


def seen_inside(of: Maker, look: Callable[[Any], Any]) -> Maker:
    def made(torch: Any) -> Any:
        t = of(torch)
        with torch.inference_mode():
            return look(t)

    return made


def seen_outside(of: Maker, look: Callable[[Any], Any]) -> Maker:
    return lambda torch: look(of(torch))


def plain(torch: Any) -> Any:
    return torch.tensor([1.0, 2.0, 3.0])


def computed(torch: Any) -> Any:
    return leaf(torch) * 1


def seen_in_no_grad(torch: Any) -> Any:
    t = computed(torch)
    with torch.no_grad():
        return t.view(-1)


MADE: dict[str, Maker] = {
    "plain": plain,
    "leaf": leaf,
    "computed": computed,
    "view made in no_grad": seen_in_no_grad,
    "inference": inside(plain),
    "inference, requires grad": inside(leaf),
    "inference, computed": inside(computed),
    "inference, cloned inside": seen_inside(leaf, lambda t: t.clone()),
    "inference, of a leaf": seen_inside(leaf, lambda t: t * 2),
    "inference, detached": inside(lambda torch: plain(torch).detach()),
    "inference, integers": inside(lambda torch: torch.tensor([1, 2, 3])),
    "inference, viewed inside": inside(lambda torch: plain(torch).view(-1)),
    "inference, viewed outside": seen_outside(inside(plain), lambda t: t.view(-1)),
    "inference with grad, viewed outside": seen_outside(inside(leaf), lambda t: t.view(-1)),
    "inference, sliced outside": seen_outside(inside(leaf), lambda t: t[:]),
    "inference, split outside": seen_outside(inside(leaf), lambda t: t.split(3)[0]),
    "inference, detached outside": seen_outside(inside(plain), lambda t: t.detach()),
    "inference, cloned outside": seen_outside(inside(plain), lambda t: t.clone()),
    "inference, added to outside": seen_outside(inside(plain), lambda t: t + 1),
    "plain viewed inside": seen_inside(plain, lambda t: t.view(-1)),
    "leaf viewed inside": seen_inside(leaf, lambda t: t.view(-1)),
    "computed viewed inside": seen_inside(computed, lambda t: t.view(-1)),
    "computed split inside": seen_inside(computed, lambda t: t.split(3)[0]),
    "computed viewed inside and outside": seen_outside(
        seen_inside(computed, lambda t: t.view(-1)), lambda t: t.view(3)
    ),
    "computed detached inside": seen_inside(computed, lambda t: t.detach()),
    "normal within inference mode": made_normally_inside,
}  # fmt: skip


NAMES = {
    "torch::autograd::CopyBackwards": "a copy",
    "CopyBackwards": "a copy",
    "CloneBackward0": "a copy",
    "ToCopyBackward0": "a copy",
}
"""PyTorch makes some copies by another operation."""


def flags(t: Any) -> Any:
    node = t.grad_fn
    name = None if node is None else NAMES.get(node.name(), node.name()).rstrip("012")
    version = "none" if t.is_inference() else t._version
    return t.is_inference(), t.requires_grad, t.is_leaf, name, t._is_view(), t.tolist(), version


def weight(torch: Any) -> Any:
    return torch.tensor([1.0, 1.0, 2.0], requires_grad=True)


def through(torch: Any, t: Any) -> Any:
    """The gradient of a weight that a tensor is multiplied by."""
    w = weight(torch)
    (t * w).sum().backward()
    return w.grad, t.grad if t.is_leaf else None


def saved_by_function(torch: Any, t: Any) -> Any:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(b)
            return a * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, None

    y = Twice.apply(weight(torch), t)
    return y.requires_grad, y.grad_fn is None or y.grad_fn.saved_tensors[0]


def write(name: str, *args: Any) -> Callable[[Any, Any], Any]:
    return lambda torch, t: flags(getattr(t, name)(*args))


def assigned(torch: Any, t: Any) -> Any:
    t[0] = 5
    return flags(t)


def given_as_data(torch: Any, t: Any) -> Any:
    x = plain(torch)
    x.data = t
    return flags(x)


def given_data(torch: Any, t: Any) -> Any:
    t.data = torch.tensor([4.0, 5.0, 6.0])
    return flags(t)


def base_written(torch: Any, t: Any) -> Any:
    if t._base is not None:
        t._base.add_(1)
    return flags(t)


def base_written_unrecorded(torch: Any, t: Any) -> Any:
    if t._base is not None:
        with torch.no_grad():
            t._base.add_(1)
    return flags(t)


DONE: dict[str, Callable[[Any, Any], Any]] = {
    "flags": lambda torch, t: flags(t),
    "version": lambda torch, t: t._version,
    "multiplied by itself": lambda torch, t: flags(t * t),
    "multiplied by a weight": lambda torch, t: flags(t * weight(torch)),
    "backward": through,
    "added to a weight": lambda torch, t: flags(t + weight(torch)),
    "sqrt": lambda torch, t: flags(t.sqrt()),
    "saved by a Function": saved_by_function,
    "view": lambda torch, t: flags(t.view(-1)),
    "view of a view": lambda torch, t: flags(t.view(-1)[1:]),
    "split": lambda torch, t: flags(t.split(2)[0]),
    "view written": lambda torch, t: (flags(t.view(-1).add_(1)), flags(t)),
    "write": write("mul_", 2),
    "write of a weight": lambda torch, t: flags(t.mul_(weight(torch))),
    "write of a tensor": lambda torch, t: flags(t.add_(plain(torch))),
    "fill": write("fill_", 2),
    "zero": write("zero_"),
    "item assigned": assigned,
    "copied into": lambda torch, t: flags(t.copy_(plain(torch))),
    "unsqueeze_": write("unsqueeze_", 0),
    "transpose_": write("transpose_", 0, 0),
    "resize_": write("resize_", 3),
    "requires_grad_": write("requires_grad_"),
    "requires_grad_(False)": write("requires_grad_", False),
    "out=": lambda torch, t: flags(torch.mul(plain(torch), plain(torch), out=t)),
    "out= of it": lambda torch, t: flags(torch.mul(t, t, out=plain(torch))),
    "written into a normal tensor": lambda torch, t: flags(plain(torch).add_(t)),
    "copied to a normal tensor": lambda torch, t: flags(plain(torch).copy_(t)),
    "written into a computed tensor": lambda torch, t: flags(computed(torch).mul_(t)),
    "clone": lambda torch, t: flags(t.clone()),
    "detach": lambda torch, t: flags(t.detach()),
    "detach_": write("detach_"),
    "data": lambda torch, t: flags(t.data),
    "data written": lambda torch, t: flags(t.data.add_(1)),
    "assigned as data": given_as_data,
    "data assigned": given_data,
    "retain_grad": lambda torch, t: (t.retain_grad(), t.retains_grad),
    "register_hook": lambda torch, t: (t.register_hook(print), 1)[1],
    "base written": base_written,
    "base written, unrecorded": base_written_unrecorded,
    "numpy": lambda torch, t: t.detach().numpy().tolist(),
    "deepcopy": lambda torch, t: flags(copy.deepcopy(t))[:-1] if t.is_leaf else None,
    "reshape": lambda torch, t: flags(t.reshape(1, 3)),
    "contiguous": lambda torch, t: t.contiguous() is t,
    "to": lambda torch, t: flags(t.to(torch.float64)),
    "iterated": lambda torch, t: [flags(part) for part in t],
}

WHERE: dict[str, Callable[[Any], Any]] = {
    "outside": lambda torch: contextlib.nullcontext(),
    "in no_grad": lambda torch: torch.no_grad(),
    "in inference mode": lambda torch: torch.inference_mode(),
    "in inference mode, switched off": lambda torch: torch.inference_mode(False),
    "in inference mode with enable_grad": lambda torch: _grad_inside(torch),
}


@contextlib.contextmanager
def _grad_inside(torch: Any) -> Any:
    with torch.inference_mode(), torch.enable_grad():
        yield


WORDS = (
    "Inference tensors cannot be saved for backward",
    "Inference tensors do not track version counter",
    "Inplace update to inference tensor outside InferenceMode is not allowed",
    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed",
    "A view was created in inference mode and is being modified inplace in normal mode",
    "A view was created in inference mode and its base or another view of its base has been modified inplace in normal",
    "was created in inference mode",
    "A view was created in no_grad mode",
    "a view of a leaf Variable that requires grad is being used in an in-place operation",
    "a leaf Variable that requires grad is being used in an in-place operation",
    "only Tensors of floating point",
    "does not require grad",
)


def program(made: str, done: str, where: str) -> Callable[[Any], Any]:
    def run(torch: Any) -> Any:
        t = MADE[made](torch)
        try:
            with WHERE[where](torch):
                return DONE[done](torch, t)
        except RuntimeError as error:
            return "RuntimeError", next((words for words in WORDS if words in str(error)), "other words")

    return run


@agrees(says="Setting requires_grad=True on inference tensor outside InferenceMode is not allowed")
def test_what_was_computed_into_an_inference_tensor(torch: Any) -> Any:
    with torch.inference_mode():
        t = plain(torch)
    t.detach().mul_(leaf(torch)).requires_grad_()


@agrees(exact=True)
def test_turning_it_in_place(torch: Any) -> Any:
    with torch.inference_mode():
        t = plain(torch)
    cut = t.detach().mul_(leaf(torch))
    return flags(cut.unsqueeze_(0)), cut.grad_fn.name()


NOT_COMPARED = {
    # Two errors apply; PyTorch raises the other one.
    *((done, "inference, requires grad") for done in ("fill", "zero", "unsqueeze_", "transpose_")),
    *((done, "inference, integers") for done in ("write of a weight", "write of a tensor")),
    # Views of tensors detached in normal mode: PyTorch allows writes to these, but not to their views.
    *((done, "inference, detached outside") for done in ("view written", "item assigned", "data assigned")),
    # PyTorch raises for out= with an input that requires grad in name only.
    ("out= of it", "inference, requires grad"),
}


@pytest.mark.parametrize("done", DONE)
@pytest.mark.parametrize("where", WHERE)
def test_inference_mode(done: str, where: str) -> None:
    made = [made for made in MADE if (done, made) not in NOT_COMPARED]
    compare(lambda torch: {made: program(made, done, where)(torch) for made in made}, exact=True)
