"""Tensor contractions: ``einsum``, ``tensordot``, ``inner``."""

from __future__ import annotations

import functools
import math
from collections.abc import Container, Iterable, Sequence
from typing import Any

from nbautograd._engine.arrays.size import dimension
from nbautograd._engine.compiler.op import check_option, composite
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.linalg.matmul import bmm, check_same_dtype, dot, mm
from nbautograd._engine.ops.queries import check_tensors
from nbautograd._engine.ops.shape.shape import temporarily_reshaped
from nbautograd._engine.ops.shape.transpose import temporarily_permuted
from nbautograd._names.docstrings import described
from nbautograd.errors import ShapeError, kind_of


@composite(out=True)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Compute the inner product: sums of products over the last dimension of both tensors.

    >>> torch.inner(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 1]))
    tensor(7)
    """
    check_tensors("inner", input=input, other=other)
    if not input._a.ndim or not other._a.ndim:
        return input * other
    if input._a.shape[-1] != other._a.shape[-1]:
        raise ShapeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input._a.shape)} and "
            f"{list(other._a.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@composite(method=False, out=True)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Contract two tensors over several dimensions.

    :param dims: the number of dimensions, the last of ``a`` and the first of ``b``; or two lists, one for each tensor.
    :raises RuntimeError: the sizes of two such dimensions differ, and neither is 1.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    n, m = a._a.ndim, b._a.ndim
    first, second = _contracted(dims, n, m)
    check_same_dtype("tensordot", a._a, b._a)
    left, right = [dimension(d, n) for d in first], [dimension(d, m) for d in second]
    a, b = _with_equal_sizes(a, left, b, right)
    keep_a, keep_b = [d for d in range(n) if d not in left], [d for d in range(m) if d not in right]
    shape_a, shape_b = [a._a.shape[d] for d in keep_a], [b._a.shape[d] for d in keep_b]
    k = math.prod(a._a.shape[d] for d in left)
    rows = a.permute(*keep_a, *left).reshape(math.prod(shape_a), k)
    columns = b.permute(*right, *keep_b).reshape(k, math.prod(shape_b))
    result: Tensor = mm(rows, columns) if keep_a or keep_b else dot(rows.reshape(k), columns.reshape(k))
    return result.view((*shape_a, *shape_b))


def _with_equal_sizes(a: Tensor, left: list[int], b: Tensor, right: list[int]) -> tuple[Tensor, Tensor]:
    """Sum each dimension beside one of size 1, which is broadcast, and return both tensors."""
    for i, j in zip(left, right, strict=True):
        p, q = a._a.shape[i], b._a.shape[j]
        if p != q and p != 1 and q != 1:
            raise ShapeError(
                f"contracted dimensions need to match, but first has size {p} in dim {i} and second has size {q} "
                f"in dim {j}"
            )
        if q == 1 != p:
            a = a.sum(i, True, dtype=a.dtype)
        elif p == 1 != q:
            b = b.sum(j, True, dtype=b.dtype)
    return a, b


def _contracted(dims: Any, n: int, m: int) -> tuple[list[int], list[int]]:
    """Return the dimensions that ``tensordot`` sums over, of tensors of ``n`` and ``m`` dimensions."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if not isinstance(dims, (int, tuple, list)):
        raise RuntimeError(f"tensordot expects dims to be int or two lists of ints, but got dims={dims}")
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(n, m):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims} for {n}D and {m}D")
        dims = (list(range(n - dims, n)), list(range(dims)))
    for label, given in zip(("dims_self", "dims_other"), dims, strict=True):
        check_option("tensordot", label, given, "Sequence[int]")
    first, second = (list(given) for given in dims)
    if len(first) != len(second):
        raise RuntimeError(f"both dimension lists should have same length, got {first} and {second}")
    return first, second


# -- einsum ----------------------------------------------------------------------------------------------------------


@described
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Compute sums of products in the Einstein summation convention: ``einsum("bij,bjk->bik", a, b)``.

    Subscripts label dimensions; those missing after ``->`` are summed over; ``...`` stands for the other dimensions.
    Without ``->`` the result has the subscripts that occur once, in alphabetical order. The sublist format has numbers
    from 0 to 51 as subscripts, in a list after each operand: ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.

    :raises RuntimeError: the equation is malformed, or does not fit the operands.

    >>> torch.einsum("ij,j->i", torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 10.]))
    tensor([21., 43.])
    """
    if not isinstance(equation, (str, Tensor)):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {kind_of(equation)}")
    if not isinstance(equation, str):
        equation, operands = _from_lists((equation, *operands))
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    for i, x in enumerate(operands):
        if not isinstance(x, Tensor):
            raise TypeError(f"einsum(): operand {i} must be Tensor, not {kind_of(x)}")
    inputs, output = _subscripts(equation, *[x._a.ndim for x in operands])
    parts = [_only_letters(i, x, letters) for i, (x, letters) in enumerate(zip(operands, inputs, strict=True))]
    sizes = _sizes(parts)
    result, letters = parts[0]
    for i, (x, theirs) in enumerate(parts[1:], 1):
        needed = set(output).union(*(later for _, later in parts[i + 1 :]))
        result, letters = _contract(result, letters, x, theirs, needed, output)
    return _summed_and_permuted(result, letters, output, sizes)


def _summed_and_permuted(result: Tensor, letters: str, output: str, sizes: dict[str, int]) -> Tensor:
    result, letters = _sum_lonely(result, letters, {*output})
    if letters != output:
        result = result.permute(*(letters.index(letter) for letter in output))
    if any(result._a.shape[i] != sizes[letter] for i, letter in enumerate(output)):
        result = result.expand(*(sizes[letter] for letter in output))
    return result


def _sizes(parts: Sequence[tuple[Tensor, str]]) -> dict[str, int]:
    """Return the size of each subscript."""
    sizes: dict[str, int] = {}
    for x, letters in parts:
        for letter, n in zip(letters, x._a.shape, strict=True):
            if sizes.setdefault(letter, n) != n:
                if 1 not in (n, sizes[letter]):
                    raise ShapeError(
                        "einsum(): operands do not broadcast with remapped shapes [original->remapped]: subscript "
                        f"{letter} has size {n} which does not broadcast with previously seen size {sizes[letter]}"
                    )
                sizes[letter] = max(n, sizes[letter])
    return sizes


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _from_lists(arguments: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Return the equation and the operands of the sublist format ``(operand, list, operand, list, ..., list)``."""
    if len(arguments) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand "
            "and its subscripts list"
        )

    def term(numbers: Any) -> str:
        text = ""
        for n in numbers:
            if n is not Ellipsis and not (isinstance(n, int) and 0 <= n < len(LETTERS)):
                raise ValueError(
                    f"einsum(): subscripts in subscript list must be in the range [0, {len(LETTERS)}) or an ellipsis, "
                    f"got {n!r}"
                )
            text += "..." if n is Ellipsis else LETTERS[n]
        return text

    pairs = len(arguments) // 2
    equation = ",".join(term(arguments[2 * i + 1]) for i in range(pairs))
    if len(arguments) % 2:
        equation += "->" + term(arguments[-1])
    return equation, tuple(arguments[2 * i] for i in range(pairs))


def _check_output(output: str, inputs: str) -> None:
    for c in output:
        if output.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
        if c not in inputs:
            raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")


@functools.lru_cache(maxsize=256)
def _subscripts(equation: str, *ndims: int) -> tuple[tuple[str, ...], str]:
    """Return the subscripts of each operand and of the result, with the ellipsis replaced by unused letters."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims) or not ndims:
        raise RuntimeError(
            f"einsum(): {'fewer' if len(ndims) < len(terms) else 'more'} operands were provided "
            f"than specified in the equation: {len(ndims)} for {equation!r}"
        )
    widths = [_width(equation, i, term, ndim) for i, (term, ndim) in enumerate(zip(terms, ndims, strict=True))]
    most = max(widths)
    dots = "".join(chr(c) for c in range(0x3B1, 0x3B1 + most))
    inputs = [term.replace("...", dots[most - width :]) for term, width in zip(terms, widths, strict=True)]
    if arrow:
        output = right.replace("...", dots)
        _check_output(output, "".join(inputs))
    else:
        joined = left.replace("...", "").replace(",", "")
        output = dots + "".join(sorted(c for c in joined if c.isalpha() and joined.count(c) == 1))
    return tuple(inputs), output


def _width(equation: str, operand: int, term: str, ndim: int) -> int:
    """Return for how many dimensions ``...`` stands in the subscripts of an operand."""
    letters = term.replace("...", "", 1)
    if not all(c.isascii() and c.isalpha() for c in letters):
        raise RuntimeError(
            f"einsum(): invalid subscript given at operand {operand} in the equation string {equation!r}, "
            "subscripts must be in [a-zA-Z]"
        )
    width = ndim - len(letters)
    if width < 0 or width and "..." not in term:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({len(letters)}) does not match the number of "
            f"dimensions ({ndim}) for operand {operand}"
        )
    return width


def _only_letters(operand: int, x: Tensor, letters: str) -> tuple[Tensor, str]:
    """Replace the repeated subscripts of an operand by diagonals."""
    while len(set(letters)) < len(letters):
        letter = next(c for c in letters if letters.count(c) > 1)
        i = letters.index(letter)
        j = letters.index(letter, i + 1)
        n, other = x._a.shape[i], x._a.shape[j]
        if n != other:
            raise ShapeError(
                f"einsum(): subscript {letter} is repeated for operand {operand} but the sizes don't match, "
                f"{other} != {n}"
            )
        x = x.diagonal(0, i, j)
        letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + letter
    return x, letters


def _contract(a: Tensor, la: str, b: Tensor, lb: str, needed: set[str], output: str) -> tuple[Tensor, str]:
    """Contract two operands over the subscripts that are no longer needed, by one batched matrix product."""
    a, la = _sum_lonely(a, la, needed | set(lb))
    b, lb = _sum_lonely(b, lb, needed | set(la))
    both, rows = _divided(la, lb)
    batch, summed = _divided(both, needed)
    _, columns = _divided(lb, la)
    a, b = _equal_sizes(a, la, b, lb, both)
    size = {**dict(zip(la, a._a.shape, strict=True)), **dict(zip(lb, b._a.shape, strict=True))}

    def shaped(x: Tensor, letters: str, *groups: list[str]) -> Tensor:
        flat = [math.prod([size[c] for c in group if c in letters]) for group in groups]
        order = [letters.index(c) for group in groups for c in group if c in letters]
        return temporarily_reshaped(temporarily_permuted(x, order), tuple(flat))

    letters = batch + rows + columns
    if all(size[c] == 1 for c in summed):  # nothing to sum: in the output's order
        letters = sorted(letters, key=output.find)
        groups = [[c] for c in letters + summed]
        product_ = shaped(a, la, *groups) * shaped(b, lb, *groups)
        return (product_.reshape([size[c] for c in letters]) if summed else product_), "".join(letters)
    if not batch:
        product_ = mm(shaped(a, la, rows, summed), shaped(b, lb, summed, columns))
    else:
        product_ = bmm(shaped(a, la, batch, rows, summed), shaped(b, lb, batch, summed, columns))
    return product_.reshape([size[c] for c in letters]), "".join(letters)


def _divided(letters: Iterable[str], chosen: Container[str]) -> tuple[list[str], list[str]]:
    """Return the subscripts that are among the chosen ones, and the others."""
    return [c for c in letters if c in chosen], [c for c in letters if c not in chosen]


def _sum_lonely(x: Tensor, letters: str, needed: set[str]) -> tuple[Tensor, str]:
    gone = [i for i, c in enumerate(letters) if c not in needed]
    return (x.sum(gone), "".join(c for c in letters if c in needed)) if gone else (x, letters)


def _equal_sizes(a: Tensor, la: str, b: Tensor, lb: str, both: list[str]) -> tuple[Tensor, Tensor]:
    """Expand dimensions of size 1 to the size of the other operand."""
    size = {c: max(a._a.shape[la.index(c)], b._a.shape[lb.index(c)]) for c in both}

    def expanded(x: Tensor, letters: str) -> Tensor:
        wanted = tuple(size.get(c, n) for c, n in zip(letters, x._a.shape, strict=True))
        return x if x._a.shape == wanted else x.expand(*wanted)

    return expanded(a, la), expanded(b, lb)
