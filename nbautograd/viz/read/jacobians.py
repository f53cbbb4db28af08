"""Find the way in which ``g`` enters a gradient's formula; it gives the structure of the operation's Jacobian.

A formula is a vector-Jacobian product as a Python expression of ``g``, the gradient of the result:

- *diagonal*: each element of ``g`` meets one number (``g * other``, ``spread(g / n, input.shape)``), so the local
  derivative is a tensor: the formula with 1 for ``g``;
- *matrix*: ``g`` is multiplied by a matrix from one side (``mm(g, t(mat2))``, ``mv(t(input), g)``);
- *outer*: each element of ``g`` meets each of a vector (``outer_product(g, vec)``);
- *move*: elements only went to places of the result (``g.reshape(input.shape)``, ``select_back(g, ...)``), so each
  derivative is 1 where one went and 0 elsewhere;
- *other*: each element sent depends on several (softmax, convolution).

A sent element is a sum of arriving elements times factors, its *terms*. A formula is linear in ``g``, so it can be
probed: with 1 for one element of ``g`` and 0 for all others, it returns a row of the Jacobian. If elements only move,
several are probed at once, each by a power of two. For a large formula only one element is probed, by halves of ``g``.
A count of the work limits all of it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from nbautograd.viz.read import formulas

__all__ = [
    "DIAGONAL", "MATRIX", "MAX_TERMS", "MOVE", "OTHER", "OUTER", "Terms", "Work", "diagonal_parts", "entry_of",
    "factor_marks", "matrix_parts", "only_permutes", "sums_over", "terms_of",
]  # fmt: skip

DIAGONAL, MATRIX, OUTER, MOVE, OTHER = "diagonal", "matrix", "outer", "move", "other"

_ELEMENTWISE = {"conj", "cast_back", "spread", "each", "zeros_of", "sum_to"}  # of g, for any other arguments
_PRODUCTS = {"mm", "mm_like", "bmm"}
_OUTER = "outer_product"
_PERMUTES = {
    "t", "transpose", "permute", "unsqueeze", "squeeze", "movedim", "flip", "roll", "rot90", "view_as_real", "cut",
    "unstacked", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "conj",
}  # fmt: skip
"""Functions of ``g`` of which each element is one of ``g``, and no two the same."""
_MOVES = _PERMUTES | {
    "select_back", "slice_back", "diagonal_back", "rejoin", "restack", "index_back", "index_select_back", "gather_back",
    "sparse_gather_back", "pad_like", "crop_like", "take_back", "pool_scatter", "maxima_scatter", "constant_pad",
    "pad_back", "masked_back", "masked_fill", "index_fill", "zero_along", "zero_at", "put", "select", "slice_",
    "diagonal", "index", "index_select", "gather", "take", "pool_gather", "maxima_gather", "masked_select", "first_of",
    "select_scatter", "slice_scatter", "diagonal_scatter", "strided_scatter", "strided_gather", "as_strided_back",
    "tril", "triu", "shifted", "expand", "unrepeat", "unfold", "unfold_back", "im2col", "col2im", "blocks_of",
    "sum_to", "cast_back",
}  # fmt: skip
"""Functions of ``g`` of which each element is a sum of elements of ``g``, or 0."""


@lru_cache(2000)
def entry_of(source: str) -> str:
    """Return the way in which ``g`` enters a formula: ``diagonal``, ``matrix``, ``outer``, ``move`` or ``other``.

    >>> [entry_of(f) for f in ("-g * cos(input)", "mm(g, t(mat2))", "g.reshape(input.shape)", "g - sum_along(g, dim)")]
    ['diagonal', 'matrix', 'move', 'other']
    """
    try:
        tree = _read(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return OTHER
    if _is_diagonal(tree):
        return DIAGONAL
    if any(_factors(branch) for _, branch in _branches(tree)):
        return OUTER if any(isinstance(part, ast.Name) and part.id == _OUTER for part in ast.walk(tree)) else MATRIX
    return MOVE if _is_move(tree) else OTHER


@lru_cache(2000)
def sums_over(source: str) -> bool:
    """Return whether the gradient is summed over broadcast dimensions as soon as the input's shape is another than g's.

    >>> sums_over("g * conj(other)"), sums_over("spread(g, input.shape, dim, keepdim)"), sums_over("sum_to(g, p.shape)")
    (True, False, True)
    """
    if entry_of(source) != DIAGONAL:
        return False
    return not any(isinstance(part, ast.Name) and part.id in ("spread", "each") for part in ast.walk(_read(source)))


def factor_marks(source: str, names: Mapping[str, list[formulas.Mark]]) -> list[formulas.Mark]:
    """The local derivative as marks: the formula with 1 for ``g``, or the matrix; nothing where there is no factor.

    >>> formulas.plain(factor_marks("g * conj(other)", {})), formulas.plain(factor_marks("mm(g, t(mat2))", {}))
    ('other', 'mat2ᵀ')
    """
    kind = entry_of(source)
    if kind == DIAGONAL:
        return formulas.unbracketed(formulas.marks(source, {**names, "g": [["n", "1"]]}))
    if kind not in (MATRIX, OUTER):
        return []
    return formulas.marks(ast.unparse(_factor(_read(source))), names)


def _factor(tree: ast.expr) -> ast.expr:
    """A product with ``g`` without ``g``, and a choice between several such."""
    if isinstance(tree, ast.IfExp):
        return ast.IfExp(tree.test, _factor(tree.body), _factor(tree.orelse))
    factors = _factors(tree)
    if factors is None:
        return tree
    matrix, _, scale = factors
    return matrix if scale is None else ast.BinOp(matrix, ast.Mult(), scale)


@lru_cache(2000)
def only_permutes(source: str) -> bool:
    """Return whether each sent element is one of ``g``, for all values.

    >>> only_permutes("t(g)"), only_permutes("select_back(g, input.shape, dim, index)")
    (True, False)
    """
    return _is_move(_read(source), _PERMUTES)


@dataclass(frozen=True, slots=True)
class MatrixParts:
    """The parts of a product of ``g`` with a matrix, as expressions."""

    test: str | None
    """When this is the product, where a formula chooses between several."""
    matrix: str
    left: bool
    """True if the matrix is to the left of ``g``."""
    scale: str | None
    """A number by which the product is multiplied."""


@lru_cache(2000)
def diagonal_parts(source: str) -> tuple[str, str]:
    """The parts of a formula whose Jacobian is diagonal, as expressions.

    The product without the sums that undo broadcasting, and ``g`` alone, spread over the input's shape where the
    formula does that.
    """
    tree = _WithoutSums().visit(_read(source))
    return ast.unparse(tree), ast.unparse(_g_alone(tree))


@lru_cache(2000)
def matrix_parts(source: str) -> tuple[MatrixParts, ...]:
    """The products with ``g`` between which a formula chooses."""
    codes = []
    for test, branch in _branches(_read(source)):
        if factors := _factors(branch):
            matrix, left, scale = factors
            when = None if test is None else ast.unparse(test)
            codes.append(MatrixParts(when, ast.unparse(matrix), left, None if scale is None else ast.unparse(scale)))
    return tuple(codes)


def _read(source: str) -> ast.expr:
    return ast.parse(source.strip(), mode="eval").body


def _has_g(tree: ast.AST) -> bool:
    return any(isinstance(part, ast.Name) and part.id == "g" for part in ast.walk(tree))


def _is_diagonal(tree: ast.expr) -> bool:
    """Return whether the only operation on each element of ``g`` is a multiplication by one number."""
    match tree:
        case ast.Name("g"):
            return True
        case ast.UnaryOp(ast.USub(), operand):
            return _is_diagonal(operand)
        case ast.BinOp(left, ast.Mult(), right):
            with_g, other = (left, right) if _has_g(left) else (right, left)
            return _is_diagonal(with_g) and not _has_g(other)
        case ast.BinOp(left, ast.Div(), right) | ast.Call(ast.Name("times" | "ratio"), [left, right], []):
            return _is_diagonal(left) and not _has_g(right)
        case ast.IfExp(test, body, orelse) | ast.Call(ast.Name("where"), [test, body, orelse], []):
            return not _has_g(test) and _is_diagonal(body) and _is_diagonal(orelse)
        case ast.Call(ast.Name(name), [first, *rest], []) if name in _ELEMENTWISE or name.startswith("along_"):
            return _is_diagonal(first) and not any(_has_g(argument) for argument in rest)
    return False


def _is_move(tree: ast.expr, functions: Collection[str] = _MOVES) -> bool:
    """Return whether ``g``, the gradient of one of the results, passes through these functions only."""
    match tree:
        case ast.Name("g") | ast.Subscript(ast.Name("g"), ast.Constant(int())):
            return True
        case ast.Call(ast.Attribute(value, "reshape"), _, []):
            return _is_move(value, functions)
        case ast.Call(ast.Name(name), [first, *_], _) if name in functions:
            return _is_move(first, functions)
        case ast.IfExp(test, body, orelse):
            return not _has_g(test) and _is_move(body, functions) and _is_move(orelse, functions)
    return False


def _branches(tree: ast.expr) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """(the condition or None, the formula) for each of the formulas between which an expression chooses."""
    if isinstance(tree, ast.IfExp):
        yield tree.test, tree.body
        yield from _branches(tree.orelse)
    else:
        yield None, tree


def _factors(tree: ast.expr) -> tuple[ast.expr, bool, ast.expr | None] | None:
    """(the matrix, True if it is to the left of g, a scalar factor or None) of a product with ``g``."""
    match tree:
        case ast.BinOp(left, ast.Mult(), factor) if not _has_g(factor):
            inner = _factors(left)
            return None if inner is None or inner[2] is not None else (inner[0], inner[1], factor)
        case ast.Call(ast.Name(name), [ast.Name("g"), right, *_]) if name in (*_PRODUCTS, _OUTER) and not _has_g(right):
            return right, False, None
        case ast.Call(ast.Name(name), [left, ast.Name("g"), *_]) if name in (*_PRODUCTS, "mv") and not _has_g(left):
            return left, True, None
    return None


class _WithoutSums(ast.NodeTransformer):
    """Leaves out the sums over broadcast dimensions, and the rounding to the input's dtype."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("sum_to", "cast_back") and _has_g(node.args[0]):
            return node.args[0]
        return node


def _g_alone(tree: ast.expr) -> ast.expr:
    """Return a diagonal formula without its factors: ``g``, broadcast to the input's shape where it is."""
    g = ast.Name("g", ast.Load())
    for part in ast.walk(tree):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "spread" and _has_g(part):
            return ast.Call(part.func, [g, *part.args[1:]], part.keywords)
    return g


# -- the terms of a sent element ---------------------------------------------------------------------


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


@dataclass(slots=True)
class Work:
    """The budget of computing and keeping for a recording, so that a long one stays quick."""

    elements: int = 8_000_000
    terms: int = 24_000

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
    if not is_rounded(sums, sent, products):
        return None
    written = () if ones else tuple(map(_number, factors.tolist()))
    if work.may_keep(len(ups)):
        counts = np.bincount(places, minlength=sent.size)
        return Terms(tuple(np.cumsum(counts).tolist()), tuple(ups.tolist()), written)
    place = _largest_place(sent)
    held = np.nonzero(places == place)[0]
    own = held[: MAX_MARKED_TERMS if work.may_keep(min(len(held), MAX_MARKED_TERMS)) else MAX_TERMS]
    shown = tuple(written[i] for i in own) if written else ()
    return Terms((len(own),), tuple(ups[own].tolist()), shown, place, len(held))


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


def is_rounded(result: Array, sent: Array, terms: Array) -> bool:
    """Return whether two gradients differ by rounding only; the larger the summed ``terms``, the larger the bound."""
    scale = float(np.abs(terms[np.isfinite(terms)]).max(initial=0.0))
    return bool(np.allclose(result, sent, rtol=2e-3, atol=1e-4 * scale + 1e-30, equal_nan=True))
