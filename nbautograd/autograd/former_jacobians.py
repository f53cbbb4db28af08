"""PyTorch's former functions that give Jacobians, which ``autograd.gradcheck`` has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.autograd.jacobians import Point, as_tuple
from nbautograd.errors import warn


def _warn_former(name: str, grad_out: float) -> None:
    warn(
        f"{name} was part of PyTorch's private API and not meant to be exposed: use gradcheck(), or "
        "autograd.functional.jacobian()",
        FutureWarning,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, ...]:
    """Return the Jacobian of the first output by central differences, for each input that requires grad.

    :param fn: a function of the inputs as one tuple.
    :param target: a tensor or tuple of the requested inputs; by default all.
    :param inputs: a tensor, or a tuple of them.
    :param eps: the step of the differences.
    :param grad_out: accepted only as 1.
    :returns: a tuple of tensors of shape (elements of the input, elements of the output).
    :raises ValueError: ``grad_out`` is not 1.

    >>> import warnings
    >>> import nbautograd as torch
    >>> from nbautograd.autograd.gradcheck import get_numerical_jacobian
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> with warnings.catch_warnings():  # that it is a former name
    ...     warnings.simplefilter("ignore")
    ...     (jacobian,) = get_numerical_jacobian(lambda xs: xs[0] ** 2, (x,))
    >>> torch.allclose(jacobian, torch.tensor([[2.0, 0.0], [0.0, 4.0]], dtype=torch.float64))
    True
    """
    _warn_former("get_numerical_jacobian", grad_out)
    point = Point(lambda *xs: fn(xs), as_tuple(inputs), eps)
    wanted = point.variables if target is None else as_tuple(target)
    chosen = [i for i in point.positions if any(point.inputs[i] is tensor for tensor in wanted)]
    return tuple(wrap(point.measured(i)[0]) for i in chosen)


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any], input_idx: int, inputs: Any, outputs: Any, eps: float, input: Any = None
) -> tuple[Tensor, ...]:
    """Return the Jacobian of each output with respect to one input by central differences; (inputs, outputs).

    :param fn: a function of the inputs.
    :param input_idx: the index of the input.
    :param inputs: a tensor, or a tuple of them.
    :param outputs: has no effect: ``fn`` is called.
    :param eps: the step of the differences.
    :param input: has no effect.
    :returns: a tuple of tensors of shape (elements of the input, elements of the output).
    :raises IndexError: the input does not exist.

    >>> import nbautograd as torch
    >>> from nbautograd.autograd.gradcheck import get_numerical_jacobian_wrt_specific_input
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> (jacobian,) = get_numerical_jacobian_wrt_specific_input(torch.square, 0, (x,), None, 1e-6)
    >>> torch.allclose(jacobian, torch.tensor([[2.0, 0.0], [0.0, 4.0]], dtype=torch.float64))
    True
    """
    return tuple(map(wrap, Point(fn, as_tuple(inputs), eps).measured(input_idx)))


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """Return the Jacobians of an output by reverse mode; and checks of repeatability, shapes and dtypes.

    :param inputs: a tensor, or a tuple of them.
    :param output: a tensor computed from them.
    :param nondet_tol: the allowed difference of two backward passes.
    :param grad_out: accepted only as 1.
    :returns: a tuple of tensors of shape (elements of the input, elements of the output), and three bools.
    :raises ValueError: the output is complex, or ``grad_out`` is not 1.

    >>> import warnings
    >>> import nbautograd as torch
    >>> from nbautograd.autograd.gradcheck import get_analytical_jacobian
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> with warnings.catch_warnings():  # that it is a former name
    ...     warnings.simplefilter("ignore")
    ...     get_analytical_jacobian((x,), x ** 2)
    ((tensor([[2., 0.],
            [0., 4.]], dtype=torch.float64),), True, True, True)
    """
    _warn_former("get_analytical_jacobian", grad_out)
    if output.is_complex():
        raise ValueError(
            "Expected output to be non-complex. get_analytical_jacobian no longer supports functions that return "
            "complex outputs."
        )
    point = Point(lambda *_: output, as_tuple(inputs), 1e-6)
    first, second = point.computed(output), point.computed(output)
    same = all(np.allclose(a, b, 0, nondet_tol) for a, b in zip(first, second, strict=True))
    return tuple(map(wrap, first)), same, True, True
