"""``gradcheck`` and ``gradgradcheck``: gradients against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._names import lazy
from nbautograd.autograd.backward import grad
from nbautograd.errors import warn

if TYPE_CHECKING:
    from nbautograd.autograd.former_jacobians import (
        get_analytical_jacobian,
        get_numerical_jacobian,
        get_numerical_jacobian_wrt_specific_input,
    )
    from nbautograd.autograd.jacobians import GradcheckError

__all__ = [
    "GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input",
    "gradcheck", "gradgradcheck",
]  # fmt: skip


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check whether the gradients of ``func`` at ``inputs`` agree with central differences.

    The numerical Jacobian moves one element of one input by ``eps`` both ways; the analytical one takes a backward pass
    per element of the output. Use float64 inputs, away from points where ``func`` has no derivative.

    :param func: a function of ``inputs`` that returns a tensor or a tuple of tensors.
    :param inputs: a tensor or a tuple, of which those that require grad are checked.
    :param eps: the step of the finite differences.
    :param atol: the absolute tolerance.
    :param rtol: the relative tolerance.
    :param raise_exception: raise if a check fails; otherwise return False.
    :param nondet_tol: the allowed difference of two backward passes.
    :param check_undefined_grad: also check that undefined gradients (None) are treated as zeros.
    :param check_grad_dtypes: also check that gradients have the dtype of their inputs.
    :param check_batched_grad: also check that batched gradients agree with those of the elements of the batch.
    :param check_batched_forward_grad: also check batched tangents in this way.
    :param check_forward_ad: also check forward mode, a column of the Jacobian at a time.
    :param check_backward_ad: if True, check reverse mode.
    :param fast_mode: measure only along one random direction of each input, with one pass per output.
    :param masked: has no effect.
    :raises GradcheckError: a gradient is wrong.
    :raises AssertionError: an output's shape or dtype changes with the inputs, or options exclude each other.
    :raises ValueError: no input requires grad.

    >>> import nbautograd as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.double, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.exp, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad and check_backward_ad to be True")
    _check_option("check_batched_grad", check_batched_grad, "check_backward_ad", check_backward_ad)
    _check_option("check_batched_forward_grad", check_batched_forward_grad, "check_forward_ad", check_forward_ad)
    # Late: import nbautograd loads little.
    from nbautograd.autograd.gradient_checks import Check
    from nbautograd.autograd.jacobians import GradcheckError, Point, as_tuple

    arguments = as_tuple(inputs)
    _check_inputs(arguments)
    try:
        check = Check(Point(func, arguments, eps), atol, rtol, nondet_tol, check_grad_dtypes)
        for wanted, run in (
            (check_backward_ad, check.backward_along_a_line if fast_mode else check.backward),
            (check_forward_ad, check.forward_along_a_line if fast_mode else check.forward),
            (check_forward_ad and check_undefined_grad, check.undefined_tangents),
            (check_batched_forward_grad, check.batched_tangents),
            (check_batched_grad, check.batched),
            (check_backward_ad, check.zeros),
            (check_backward_ad and check_undefined_grad, check.undefined),
        ):
            if wanted:
                run()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_option(name: str, option: bool, needed: str, given: bool) -> None:
    if option and not given:
        raise AssertionError(f"Setting {name}=True requires {needed} to be True")


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    """Check that an input requires grad, and that inputs do not overlap themselves."""
    checked = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    for i in checked:
        x = inputs[i]
        if x._a.dtype not in (np.float64, np.complex128):
            warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                f"will likely fail if all the inputs are not of double precision floating point or complex (it is "
                f"{x.dtype!r})."
            )
        if any(stride == 0 and size > 1 for stride, size in zip(x._a.strides, x._a.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check whether the gradients of the gradients of ``func`` agree with central differences.

    :param grad_outputs: a tensor, or one per output, multiplied with the Jacobian; by default fixed numbers.
    :param gen_non_contig_grad_outputs: make them non-contiguous.
    :param check_fwd_over_rev: also check the forward-mode derivative of the gradient.
    :param check_rev_over_rev: if True, check the gradient of the gradient.
    :raises GradcheckError: a second derivative is wrong.

    >>> import nbautograd as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.double, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.exp, (x,))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev and check_rev_over_rev to be True")
    _check_option("check_undefined_grad", check_undefined_grad, "check_rev_over_rev", check_rev_over_rev)
    _check_option("check_batched_grad", check_batched_grad, "check_rev_over_rev", check_rev_over_rev)
    from nbautograd.autograd.jacobians import as_tuple

    arguments = as_tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*arguments))
        cotangents = tuple(_cotangent(out, i, gen_non_contig_grad_outputs) for i, out in enumerate(outputs))
    else:
        cotangents = as_tuple(grad_outputs)
    together = (*arguments, *cotangents)
    # Without differentiable outputs, check the function itself: its outputs must not depend on the inputs.
    first = _first_derivative(func, together, len(arguments)) if cotangents else func
    return gradcheck(
        first, together, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev, fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


def _first_derivative(func: Callable[..., Any], together: tuple[Any, ...], count: int) -> Callable[..., Any]:
    """Return the gradients of a function as a function of its ``count`` inputs and then of the cotangents."""
    required = [isinstance(x, Tensor) and x.requires_grad for x in together]

    def first(*values: Any) -> Any:
        # Forward mode passes detached inputs.
        restored = [value.requires_grad_() if wanted else value for value, wanted in zip(values, required, strict=True)]
        outputs = _differentiable(func(*restored[:count]))
        variables = [value for value, wanted in zip(restored[:count], required, strict=False) if wanted]
        if not outputs or not variables:
            return ()
        gradients = grad(outputs, variables, restored[count:], create_graph=True, allow_unused=True)
        return tuple(g for g in gradients if g is not None)

    return first


def _differentiable(answer: Any) -> list[Tensor]:
    """Return the outputs that can be differentiated."""
    from nbautograd.autograd.jacobians import tensors_of

    return [out for out in tensors_of(answer) if out.requires_grad]


def _cotangent(out: Tensor, index: int, apart: bool = False) -> Tensor:
    """Return a fixed cotangent of mixed size and sign, so that no symmetry hides a wrong formula."""
    values = np.cos(np.arange(1, out.numel() + 1) * 1.7 + index).reshape(out._a.shape)
    array = backend.module(out.device).asarray((values + 0.5).astype(out._a.dtype))
    if apart and array.ndim:
        array = np.stack([array, array], array.ndim)[..., 0]
    return wrap(array).requires_grad_()


LATE = {name: ".former_jacobians" for name in __all__ if name.startswith("get_")} | {"GradcheckError": ".jacobians"}
__getattr__, __dir__ = lazy.attributes(__name__, LATE)
