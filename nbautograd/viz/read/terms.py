"""Find the terms of a sent element: the arriving elements whose sum it is, and their factors.

A formula of a gradient is linear in ``g``, so it can be probed: with 1 for one element of ``g`` and 0 for all others,
it returns a row of the Jacobian. If elements only move, several are probed at once, each by a power of two. For a large
formula only one element is probed, by halves of ``g``. A count of the work limits all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["MAX_TERMS", "Terms", "Work", "terms_of"]

MAX_TRACED_ELEMENTS = 256  # of g, one by one
MAX_JACOBIAN_ELEMENTS = 1 << 18  # that are computed whole
MAX_STEP_TERMS = 4096  # kept of all elements of a step
MAX_TERMS = 9  # of one element, if those of all are too many
MAX_MARKED_TERMS = 256  # and how many of them are kept if a picture can mark them
SIGNIFICANT_DIGITS = 6  # of the kept elements of a local derivative
MAX_MOVED_ELEMENTS = 22  # traced at once: the bits of an integer that a float32 holds exactly
CALL_COST = 600  # elements: of a call in addition to its own

Array = np.ndarray[Any, np.dtype[np.float64]]  # as numpy.typing has it, a module less to import
Places = np.ndarray[Any, np.dtype[np.intp]]
Linear = Callable[[Array], Array]
"""From all elements of ``g`` in a row to all sent ones."""


class Work:
    """The budget of computing and keeping for a recording, so that a long one stays quick."""

    def __init__(self, elements: int = 8_000_000, terms: int = 24_000) -> None:
        self.elements, self.terms = elements, terms

    def may_call(self, times: int, size: int) -> bool:
        """Return whether this number of evaluations is allowed, and count it."""
        cost = times * (CALL_COST + size)
        if cost > self.elements:
            return False
        self.elements -= cost
        return True

    def may_keep(self, terms: int) -> bool:
        """Return whether this number of terms is allowed, and count it."""
        if terms > min(MAX_STEP_TERMS, self.terms):
            return False
        self.terms -= terms
        return True


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms ``upstream · local`` of elements that were sent, without those whose local derivative is 0."""

    ends: tuple[int, ...]
    """For each element, the end of its terms."""
    ups: tuple[int, ...]
    """For each term the arriving element, by its index among all."""
    factors: tuple[float | str, ...] = ()
    """And its local derivative; nothing where each is 1. What is not finite is a text."""
    only: int = -1
    """The one element whose terms are known; -1: they are those of all."""
    count: int = -1
    """For a single element, the number of its terms, of which the first are stored; -1: unknown."""

    def of(self, place: int) -> tuple[list[int], list[float]] | None:
        """The terms of one element; None where they are not known."""
        if self.only >= 0:
            start, end = (0, self.ends[0]) if place == self.only else (-1, -1)
        else:
            start, end = self.ends[place - 1] if place else 0, self.ends[place]
        if start < 0:
            return None
        factors = self.factors[start:end] if self.factors else (1.0,) * (end - start)
        return list(self.ups[start:end]), [float(factor) for factor in factors]


def terms_of(call: Linear, came: Array, sent: Array, moves: bool, work: Work) -> Terms | None:
    """The terms of the elements that were sent, of the largest one where those of all are too many.

    :param call: the formula.
    :param moves: whether each local derivative is 1 or 0.
    """
    size = came.size + sent.size
    if not sent.size:
        return None
    if not came.size:
        return Terms((0,) * sent.size, ())
    if moves and size <= 4 * MAX_TRACED_ELEMENTS and work.may_call(-(-came.size // MAX_MOVED_ELEMENTS), size):
        whole = _moved(call, came, sent)
        if whole is not None:
            return _kept(*whole, came, sent, work, True)
    is_small = came.size <= MAX_TRACED_ELEMENTS and size * came.size <= MAX_JACOBIAN_ELEMENTS
    if is_small and work.may_call(came.size, size):
        rows = np.stack([call(unit) for unit in np.eye(came.size)])
        places, ups = np.nonzero(rows.T)
        return _kept(places, ups, rows.T[places, ups], came, sent, work, bool((rows[rows != 0] == 1).all()))
    return _largest(call, came, sent, work)


def _largest_place(sent: Array) -> int:
    return int(np.argmax(np.where(np.isnan(sent), np.inf, np.abs(sent))))


def _moved(call: Linear, came: Array, sent: Array) -> tuple[Places, Places, Array] | None:
    """(element sent, element that came, 1) of each term; None where a local derivative is neither 0 nor 1."""
    pairs = []
    for first in range(0, came.size, MAX_MOVED_ELEMENTS):
        given = np.zeros(came.size)
        part = given[first : first + MAX_MOVED_ELEMENTS]
        part[:] = 2.0 ** np.arange(part.size)
        sums = call(given)
        whole = sums.astype(np.int64)
        if (whole != sums).any() or (whole < 0).any() or (whole >= 1 << part.size).any():
            return None
        places, bits = np.nonzero(whole[:, None] >> np.arange(part.size) & 1)
        pairs.append((places, bits + first))
    places, ups = (np.concatenate(side) for side in zip(*pairs, strict=True))
    order = np.lexsort((ups, places))
    places, ups = places[order], ups[order]
    other = np.cos(np.arange(came.size) + 1.0)  # a repeated number would be ambiguous
    expected = np.bincount(places, other[ups], sent.size)
    return (places, ups, np.ones(ups.size)) if np.allclose(call(other), expected, 1e-3, 1e-4) else None


def _kept(
    places: Places, ups: Places, factors: Array, came: Array, sent: Array, work: Work, ones: bool
) -> Terms | None:
    """Terms as they are kept, if they give the sent gradient."""
    products = came[ups] * factors
    sums = np.bincount(places, products, sent.size).astype(np.float64)
    if not _same(sums, sent, products):
        return None
    written = () if ones else tuple(map(_number, factors.tolist()))
    if work.may_keep(len(ups)):
        counts = np.bincount(places, minlength=sent.size)
        return Terms(tuple(np.cumsum(counts).tolist()), tuple(ups.tolist()), written)
    place = _largest_place(sent)
    held = np.nonzero(places == place)[0]
    own = held[: MAX_MARKED_TERMS if work.may_keep(min(len(held), MAX_MARKED_TERMS)) else MAX_TERMS]
    return Terms(
        (len(own),), tuple(ups[own].tolist()), tuple(written[i] for i in own) if written else (), place, len(held)
    )


def _largest(call: Linear, came: Array, sent: Array, work: Work) -> Terms | None:
    """The first terms of the largest element, found by halves of ``g`` that contribute to it."""
    place = _largest_place(sent)
    found: list[tuple[int, float]] = []
    other = 1.5 + np.cos(np.arange(came.size) + 1.0) / 2
    halves = [(0, came.size)]
    while halves and len(found) <= MAX_TERMS:
        if not work.may_call(1, came.size + sent.size):
            return None
        start, end = halves.pop()
        given = np.zeros(came.size)
        given[start:end] = other[start:end] if end - start > 1 else 1.0
        value = float(call(given)[place])
        if value == 0:
            continue
        if end - start == 1:
            found.append((start, value))
        else:
            middle = (start + end) // 2
            halves += [(middle, end), (start, middle)]
    shown, count = found[:MAX_TERMS], len(found) if len(found) <= MAX_TERMS else -1
    factors = () if all(value == 1 for _, value in shown) else tuple(_number(value) for _, value in shown)
    return Terms((len(shown),), tuple(up for up, _ in shown), factors, place, count)


def _number(value: float) -> float | str:
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if np.isfinite(value) else str(value)


def _same(result: Array, sent: Array, terms: Array) -> bool:
    """Return whether two gradients differ by rounding only; the larger the summed ``terms``, the larger the bound."""
    scale = float(np.abs(terms[np.isfinite(terms)]).max(initial=0.0))
    return bool(np.allclose(result, sent, rtol=2e-3, atol=1e-4 * scale + 1e-30, equal_nan=True))
