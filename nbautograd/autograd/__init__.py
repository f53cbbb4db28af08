"""Automatic differentiation: ``backward``, ``grad``, ``Function``, grad modes and ``gradcheck``."""

from nbautograd.autograd import function, gradcheck as _gradcheck
from nbautograd.autograd.backward import backward, grad
from nbautograd.autograd.function import Function
from nbautograd.grad_mode import enable_grad, no_grad, set_grad_enabled

gradcheck = _gradcheck.gradcheck
gradgradcheck = _gradcheck.gradgradcheck

__all__ = [
    "Function",
    "backward",
    "enable_grad",
    "function",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "no_grad",
    "set_grad_enabled",
]
