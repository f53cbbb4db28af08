"""Name the differences that the random programs of ``tests/product/fuzz`` have found, and that stay."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tests.parity.differences.both import Raised, agrees, differs


@differs("There is no `torch.complex32`", pytorch=True, here=False)
def test_complex32(torch: Any) -> Any:
    return hasattr(torch, "complex32")


@differs(
    "Operations take half precision wherever their formula does",
    pytorch=Raised(NotImplementedError),
    here=[5.0],
)
def test_half_precision(torch: Any) -> Any:
    return torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=torch.float16)).tolist()


@differs("Fourier transforms of no signals have no elements", pytorch=Raised(RuntimeError), here=[0, 3])
def test_transforms_of_nothing(torch: Any) -> Any:
    return list(torch.fft.fft(torch.ones(0, 3)).shape)


@differs("An index out of range raises also where nothing is selected", pytorch=[1, 0], here=Raised(IndexError))
def test_indices_of_nothing(torch: Any) -> Any:
    return list(torch.zeros(3)[False, torch.tensor([[9]])].shape)


@differs("Converting a tensor that requires grad to a number gives no warning", pytorch=1, here=0)
def test_numbers_of_tensors_that_require_grad(torch: Any) -> Any:
    torch.set_warn_always(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        float(torch.ones((), requires_grad=True))
    torch.set_warn_always(False)
    return len(caught)


@differs(
    "`dist`, `cdist` and an LSTM are several nodes",
    pytorch=["DistBackward0", "MkldnnRnnLayerBackward0"],
    here=["LinalgVectorNormBackward0", "StackBackward0"],
)
def test_several_nodes(torch: Any) -> Any:
    distance = torch.dist(torch.ones(2, requires_grad=True), torch.zeros(2))
    return [type(y.grad_fn).__name__ for y in (distance, torch.nn.LSTM(3, 2)(torch.ones(4, 1, 3))[0])]


@differs("The gradient of `soft_margin_loss` by its target is computed", pytorch=Raised(RuntimeError), here=True)
def test_gradients_of_targets(torch: Any) -> Any:
    x, target = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    loss = torch.nn.functional.soft_margin_loss(x, target)
    return torch.equal(*torch.autograd.grad(loss, (x, target)))


@differs("`mode` takes NaN for the largest number", pytorch="nan", here="1.0")
def test_modes_of_nan(torch: Any) -> Any:
    return str(torch.mode(torch.tensor([float("nan"), 1.0, float("nan")])).values.item())


@differs("Derivatives of `digamma` are 0 at infinity", pytorch="nan", here="0.0")
def test_polygamma_at_infinity(torch: Any) -> Any:
    return str(abs(torch.polygamma(3, torch.tensor(float("inf"))).item()))


@differs(
    "A NumPy number keeps its kind beside a tensor",
    pytorch=["torch.float32", "torch.float32"],
    here=["torch.int64", "torch.complex64"],
)
def test_kinds_of_numpys_numbers(torch: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [str((torch.tensor(2) + other).dtype) for other in (np.bool_(True), np.complex64(1j))]


@differs("`acosh_`, `asinh_` and `atanh_` have derivatives", pytorch=Raised(NotImplementedError), here=[4.0])
def test_inverse_hyperbolic_functions_in_place(torch: Any) -> Any:
    x = torch.tensor([0.75**0.5], dtype=torch.float64, requires_grad=True)
    (x * 1).atanh_().sum().backward()
    return [round(x.grad.item(), 6)]


@agrees(exact=True)
def test_dimensions_that_are_no_tuple(torch: Any) -> Any:
    x = torch.ones(2, 3)
    calls = (
        lambda: torch.permute(x, 1, 0),
        lambda: torch.flip(x, 0),
        lambda: torch.reshape(x, 6),
        lambda: torch.tile(x, 2),
    )
    return [shape_or_error(call) for call in calls]


def shape_or_error(call: Any) -> Any:
    """Return the shape of a result, or the name of an error."""
    try:
        return list(call().shape)
    except TypeError as error:
        return type(error).__name__


@differs("Methods take `out=` as their functions do", pytorch=Raised(TypeError), here=1.0)
def test_out_of_methods(torch: Any) -> Any:
    return torch.ones(2).amax(0, out=torch.zeros(())).item()


@agrees
def test_absolute_values_in_place(torch: Any) -> Any:
    x = torch.tensor([3 + 4j])
    try:
        x.abs_()
    except RuntimeError:
        return torch.tensor([-1.0]).abs_(), torch.abs(x, out=torch.zeros(1))
