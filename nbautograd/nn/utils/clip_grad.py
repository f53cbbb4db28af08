"""Gradient clipping, by norm and by value."""

from __future__ import annotations

from collections.abc import Iterable

from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.from_data import tensor
from nbautograd._engine.ops.reduction.norms import linalg_vector_norm
from nbautograd._engine.ops.shape.joining import stack
from nbautograd.errors import warn

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

Tensors = Tensor | Iterable[Tensor]


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


@no_grad()
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Compute the norm of all elements of all tensors.

    :raises RuntimeError: the norm is not finite, and ``error_if_nonfinite`` is true.

    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    listed = _listed(tensors)
    norm_type = float(norm_type)
    if not listed:
        return tensor(0.0)
    first = listed[0].device
    norms = [linalg_vector_norm(t, norm_type).to(first) for t in listed]
    total = linalg_vector_norm(stack(norms), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error, set `error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients in place: a norm ``total_norm`` larger than ``max_norm`` becomes ``max_norm``.

    >>> w = torch.zeros(2, requires_grad=True)
    >>> w.grad = torch.tensor([3., 4.])
    >>> torch.nn.utils.clip_grads_with_norm_([w], 1.0, torch.tensor(5.0))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for p in _listed(parameters):
        if p._grad is not None:
            p._grad.mul_(factor.to(p._grad.device))


def clip_grad_norm_(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """Scale the gradients of all parameters together, in place, to a norm of at most ``max_norm``.

    :returns: the norm before.
    :raises RuntimeError: the norm is not finite, and ``error_if_nonfinite`` is true.

    >>> p = torch.nn.Parameter(torch.tensor([3., 4.]))
    >>> (p * p).sum().backward()
    >>> torch.nn.utils.clip_grad_norm_(p, 1.0), p.grad
    (tensor(10.), tensor([0.6000, 0.8000]))
    """
    listed = _listed(parameters)
    grads = [p._grad for p in listed if p._grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """Warn and call :func:`clip_grad_norm_`; deprecated name.

    :returns: the norm before, a tensor of shape ().
    :raises RuntimeError: the norm is not finite, and ``error_if_nonfinite``.

    >>> import nbautograd as torch, warnings
    >>> x = torch.tensor([3.0, 4.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     torch.nn.utils.clip_grad_norm([x], 1.0)
    tensor(10.)
    """
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.", FutureWarning
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp the gradients, in place, to [-clip_value, clip_value].

    >>> w = torch.zeros(2, requires_grad=True)
    >>> w.grad = torch.tensor([3., 4.])
    >>> torch.nn.utils.clip_grad_value_([w], 3.5)
    >>> w.grad
    tensor([3.0000, 3.5000])
    """
    for p in _listed(parameters):
        if p._grad is not None:
            p._grad.clamp_(min=-float(clip_value), max=float(clip_value))
