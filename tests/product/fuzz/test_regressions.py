"""Check findings of fuzzing that no other test covers: one small test each."""

from __future__ import annotations

import pytest

import nbautograd as nb
from nbautograd.protocol import declaration


def test_the_permutation_of_lu_is_constant() -> None:
    a = nb.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    p, low, up = nb.linalg.lu(a)
    assert [t.requires_grad for t in (p, low, up)] == [False, True, True]


def test_a_leaf_frozen_after_its_use_gets_no_gradient() -> None:
    x, w = nb.ones(2, requires_grad=True), nb.ones(2, requires_grad=True)
    y = x * w
    x.requires_grad_(False)
    y.sum().backward()
    assert x.grad is None and w.grad.tolist() == [1, 1]


def test_pooling_to_nothing() -> None:
    assert nb.nn.functional.adaptive_max_pool1d(nb.ones(1, 1), 0).shape == (1, 0)


@pytest.mark.parametrize("p", [None, 2])
def test_out_of_random_numbers_that_cannot_be_drawn_keeps_its_shape(p: float | None) -> None:
    out = nb.zeros(())
    with pytest.raises(RuntimeError, match="expects p to be in"):
        nb.bernoulli(nb.full((2,), 2.0), p, out=out)
    assert out.shape == () and out.item() == 0


def test_copy_of_a_shape_that_does_not_fit() -> None:
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[2, 2\]"):
        nb.zeros(2).copy_(nb.ones(2, 2))
    with pytest.raises(RuntimeError, match=r"tensor a \(2\) must match the size of tensor b \(3\)"):
        nb.zeros(2).copy_(nb.ones(3))


def test_complex_rrelu_is_refused_before_numbers_are_drawn() -> None:
    nb.manual_seed(0)
    expected = nb.rand(1)
    nb.manual_seed(0)
    with pytest.raises(NotImplementedError, match="rrelu"):
        nb.nn.functional.rrelu(nb.tensor([1j]), training=True)
    assert nb.rand(1).item() == expected.item()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nb.nn.init.trunc_normal_(nb.ones(2), std=0.0), "std must be positive"),
        (lambda: nb.nn.functional.lp_pool1d(nb.ones(1, 4), 0, 1), "norm_type must not be 0"),
        (lambda: nb.nn.GroupNorm(0, 4), "num_groups must be positive"),
    ],
)
def test_divisions_by_zero_are_told_as_what_they_are(call, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=message):
        call()


def test_frequencies_of_no_spacing() -> None:
    first, second = nb.fft.rfftfreq(2, 0.0).tolist()
    assert first != first and second == float("inf")


@pytest.mark.parametrize(("node", "operation"), [("Cumprod", "cumprod_over"), ("ConstantPadNd", "constant_pad")])
def test_a_node_that_several_operations_share_shows_the_one_of_its_name(node: str, operation: str) -> None:
    """PyTorch's nodes are shown with this operation's formula."""
    declared = declaration(f"{node}Backward0")
    assert declared is not None and declared.func.__self__.name == operation  # type: ignore[attr-defined]


def test_an_operation_under_another_node_has_its_formulas() -> None:
    x = nb.tensor([1.0, 3.0], requires_grad=True)
    clamped, least = nb.clamp(x, nb.tensor(2.0)), nb.clamp_min(x, nb.tensor(2.0))
    assert [t.grad_fn.name() for t in (clamped, least)] == ["ClampBackward0", "ClampMinBackward1"]
    clamped.sum().backward()
    assert x.grad.tolist() == [0, 1]


def test_device_0_is_no_missing_device() -> None:
    """It raises without an accelerator, as in ``zeros``, which does not have a device by default."""

    def place(make):  # type: ignore[no-untyped-def]
        try:
            return str(make().device)
        except RuntimeError as error:
            return type(error).__name__

    x, expected = nb.ones(2), place(lambda: nb.zeros(2, device=0))
    assert place(lambda: x.new_zeros((2,), device=0)) == expected
    assert place(lambda: x.new_empty_strided((2,), (1,), device=0)) == expected
