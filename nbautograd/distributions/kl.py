"""Kullback-Leibler divergences: the registry of functions by pairs of distribution classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from nbautograd._engine.core.tensor import Tensor
from nbautograd.distributions.distribution import Distribution
from nbautograd.errors import warn

__all__ = ["kl_divergence", "register_kl"]

Divergence = Callable[[Any, Any], Tensor]
Pair = tuple[type, type]
F = TypeVar("F", bound=Divergence)

_KL_REGISTRY: dict[Pair, Divergence] = {}
_KL_MEMOIZE: dict[Pair, Divergence | None] = {}
"""The cached lookups by the classes of two distributions."""


def register_kl(type_p: type, type_q: type) -> Callable[[F], F]:
    """Return a decorator: the function computes KL(p || q) of these classes, and of subclasses without a closer match.

    :param type_p: the class of p.
    :param type_q: the class of q.
    :returns: the decorator.
    :raises TypeError: a class is not a class of distributions.

    >>> class Certain(torch.distributions.Normal):
    ...     pass
    >>> @torch.distributions.register_kl(Certain, torch.distributions.Normal)
    ... def certain_to_normal(p, q):
    ...     return torch.zeros(p.batch_shape)
    >>> torch.distributions.kl_divergence(Certain(0.0, 1.0), torch.distributions.Normal(5.0, 1.0))
    tensor(0.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):  # Pyro registers its own classes that only look like distributions
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def registered(function: F) -> F:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return registered


def _more_specific(pair: Pair, other: Pair) -> bool:
    """Return whether a pair of classes is more specific than another, by the first class that differs."""
    for kind, other_kind in zip(pair, other, strict=True):
        if kind is not other_kind:
            return issubclass(kind, other_kind)
    return False


def _most_specific(pairs: list[Pair]) -> Pair:
    best = pairs[0]
    for pair in pairs[1:]:
        if _more_specific(pair, best):
            best = pair
    return best


def _dispatch_kl(type_p: type, type_q: type) -> Divergence | None:
    """Return the function of the nearest registered classes, by p first; warn if the choice by q first differs."""
    matches = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not matches:
        return None
    left_p, left_q = _most_specific(matches)
    right_q, right_p = _most_specific([(q, p) for p, q in matches])
    function = _KL_REGISTRY[left_p, left_q]
    if function is not _KL_REGISTRY[right_p, right_q]:
        warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left_p.__name__}, {right_q.__name__})",
            RuntimeWarning,
        )
    return function


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Return the Kullback-Leibler divergence KL(p || q) = E[log p(x) - log q(x)], x drawn from p.

    :param p: a distribution.
    :param q: another distribution with the same event shape.
    :raises NotImplementedError: no formula exists for these distributions; add one with :func:`register_kl`.

    >>> d = torch.distributions
    >>> d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return function(p, q)
