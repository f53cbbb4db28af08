"""Products of matrices and vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nbautograd import dtypes
from nbautograd.declare import composite, op
from nbautograd.errors import DtypeError, ShapeError
from nbautograd.inplace import into
from nbautograd.ops.shape import unsafe_view
from nbautograd.tensor import Tensor

__all__ = [
    "addmm",
    "bmm",
    "dot",
    "einsum",
    "ger",
    "inner",
    "matmul",
    "mm",
    "mv",
    "outer",
    "tensordot",
]

Number = int | float | complex | bool


def _same_dtype(name: str, a: Any, b: Any) -> None:
    if a.dtype != b.dtype:
        raise DtypeError(
            f"{name}(): expected both tensors to have the same dtype, but got: {dtypes.of(a.dtype).name} != "
            f"{dtypes.of(b.dtype).name}"
        )


def product(a: Any, b: Any) -> Any:
    """The matrix product of two arrays (NumPy multiplies integer matrices too, only not by BLAS)."""
    return a.dot(b) if a.__class__ is np.ndarray else a @ b


def _check_mm(a: Any, b: Any) -> Any:
    if a.ndim != 2 or b.ndim != 2:
        which = "self" if a.ndim != 2 else "mat2"
        raise ShapeError(f"mm(): {which} must be a matrix, got shapes {list(a.shape)} and {list(b.shape)}")
    if a.shape[1] != b.shape[0]:
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    _same_dtype("mm", a, b)
    return product(a, b)


@op(node="MmBackward0", symbol="@", input="mm(g, conj(t(mat2)))", mat2="mm(conj(t(input)), g)")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices, without broadcasting.

    :param input: shape (n, m).
    :param mat2: shape (m, p), of the same dtype.
    :returns: shape (n, p).
    :raises RuntimeError: they are no matrices, or their shapes or dtypes do not fit.

    >>> import nbautograd as torch
    >>> torch.mm(torch.tensor([[1., 2.]]), torch.tensor([[3.], [4.]]))
    tensor([[11.]])
    """
    return _check_mm(input, mat2)


@op(node="MvBackward0", symbol="@", input="outer_product(g, conj(vec))", vec="mv(conj(t(input)), g)")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix (n, m) and a vector (m,).

    :raises RuntimeError: the shapes or dtypes do not fit.

    >>> import nbautograd as torch
    >>> torch.mv(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 1.]))
    tensor([3., 7.])
    """
    if input.ndim != 2 or vec.ndim != 1:
        raise ShapeError(f"vector + matrix @ vector expected, got {vec.ndim}, {input.ndim}, {vec.ndim}")
    if input.shape[1] != vec.shape[0]:
        raise ShapeError(
            f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), "
            f"vec ({vec.shape[0]})"
        )
    _same_dtype("mv", input, vec)
    return product(input, vec)


@op(node="DotBackward0", symbol="·", input="g * conj(tensor)", tensor="g * conj(input)")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements.

    :raises RuntimeError: they are no vectors of equal length and dtype.

    >>> import nbautograd as torch
    >>> torch.dot(torch.tensor([2., 3.]), torch.tensor([2., 1.]))
    tensor(7.)
    """
    if input.ndim != 1 or tensor.ndim != 1:
        raise ShapeError(f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.shape != tensor.shape:
        n, m = input.shape[0], tensor.shape[0]
        raise ShapeError(
            f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number "
            "of elements, but got "
            f"{n} and {m} elements respectively"
        )
    _same_dtype("dot", input, tensor)
    return product(input, tensor)


@op(
    node="BmmBackward0",
    symbol="@",
    input="bmm(g, conj(transpose(mat2, 1, 2)))",
    mat2="bmm(conj(transpose(input, 1, 2)), g)",
)
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of pairs of matrices: (b, n, m) with (b, m, p) gives (b, n, p).

    :raises RuntimeError: the shapes or dtypes do not fit.

    >>> import nbautograd as torch
    >>> torch.bmm(torch.ones(10, 3, 4), torch.ones(10, 4, 5)).shape
    torch.Size([10, 3, 5])
    """
    if input.ndim != 3 or mat2.ndim != 3:
        raise ShapeError(f"batch1 and batch2 must be 3D tensors, got {input.ndim}D and {mat2.ndim}D")
    if input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise ShapeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{input.shape[0]}, "
            f"{input.shape[2]}] but got: "
            f"[{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    _same_dtype("bmm", input, mat2)
    return np.matmul(input, mat2)


@op(node="MulBackward0", symbol="⊗", method=False, input="mv(g, conj(vec2))", vec2="mv(t(g), conj(input))")
def outer_product(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of the elements of two vectors of one dtype."""
    return input[:, None] * vec2


@composite()
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of the elements of two vectors: (n,) with (m,) gives (n, m).

    >>> import nbautograd as torch
    >>> torch.outer(torch.tensor([1., 2.]), torch.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    for label, v in (("self", input), ("vec2", vec2)):
        if v._a.ndim != 1:
            raise ShapeError(f"outer: Expected 1-D argument {label}, but got {v._a.ndim}-D")
    product_: Tensor = input.unsqueeze(1) * vec2
    return product_


ger = outer


@composite(operators="__matmul__")
def matmul(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The matrix product: of two vectors their dot product, of a matrix and a vector or of two matrices the usual one.

    Of more dimensions, all but the last two are broadcast.

    :raises RuntimeError: the shapes or dtypes do not fit.

    >>> import nbautograd as torch
    >>> torch.tensor([[1, 2], [3, 4]]) @ torch.tensor([1, 1])
    tensor([3, 7])
    """
    if not isinstance(other, Tensor):
        return NotImplemented
    result = _matmul(input, other)
    return into(out, result, "matmul")


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    n, m = a._a.ndim, b._a.ndim
    if n == 2 and m == 2:
        return mm(a, b)
    if n == 1 and m == 1:
        return dot(a, b)
    if n == 2 and m == 1:
        return mv(a, b)
    if n == 1 and m == 2:
        return mm(a.unsqueeze(0), b).squeeze(0)
    if not n or not m:
        raise ShapeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    return _batched(a, b)


def _batched(a: Tensor, b: Tensor) -> Tensor:
    left = a.unsqueeze(0) if a._a.ndim == 1 else a
    right = b.unsqueeze(1) if b._a.ndim == 1 else b
    (*batch_a, n, k), (*batch_b, k2, p) = left._a.shape, right._a.shape
    if k != k2:
        raise ShapeError(
            f"matmul(): shapes {list(a._a.shape)} and {list(b._a.shape)} cannot be multiplied ({k} != {k2})"
        )
    if not batch_b:  # many rows by one matrix: a single product
        result = unsafe_view(mm(left.reshape(math.prod(batch_a) * n, k), right), (*batch_a, n, p))
    else:
        try:
            batch = np.broadcast_shapes(tuple(batch_a), tuple(batch_b))
        except ValueError:
            raise ShapeError(
                f"matmul(): the batch dimensions of {list(a._a.shape)} and {list(b._a.shape)} do not broadcast"
            ) from None
        count = math.prod(batch)
        rows, columns = left.expand(*batch, n, k), right.expand(*batch, k, p)
        result = bmm(rows.reshape(count, n, k), columns.reshape(count, k, p))
        result = unsafe_view(result, (*batch, n, p))
    if a._a.ndim == 1:
        result = result.squeeze(-2)
    return result.squeeze(-1) if b._a.ndim == 1 else result


@composite(operators="__rmatmul__", method=False)
def _rmatmul(input: Tensor, other: Tensor) -> Tensor:
    return matmul(other, input)


@op(
    node="AddmmBackward0",
    symbol="+ @",
    input="sum_to(g, input.shape) if beta == 1 else sum_to(g, input.shape) * beta",
    mat1="mm(g, conj(t(mat2))) if alpha == 1 else mm(g, conj(t(mat2))) * alpha",
    mat2="mm(conj(t(mat1)), g) if alpha == 1 else mm(conj(t(mat1)), g) * alpha",
    inplace_method=True,
)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``, ``input`` being broadcast.

    >>> import nbautograd as torch
    >>> torch.addmm(torch.tensor([1., 2.]), torch.eye(2), torch.eye(2))
    tensor([[2., 2.],
            [1., 3.]])
    """
    found = _check_mm(mat1, mat2)
    _same_dtype("addmm", input, found)
    return (input if beta == 1 else input * beta) + (found if alpha == 1 else found * alpha)


@composite()
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Dot products over the last dimension of both.

    >>> import nbautograd as torch
    >>> torch.inner(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 1]))
    tensor(7)
    """
    if not input._a.ndim or not other._a.ndim:
        return input * other
    if input._a.shape[-1] != other._a.shape[-1]:
        raise ShapeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input._a.shape)} and "
            f"{list(other._a.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sums of products over several dimensions: the last ``dims`` of ``a`` and the first of ``b``, or two lists.

    >>> import nbautograd as torch
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    n, m = a._a.ndim, b._a.ndim
    if isinstance(dims, int):
        dims = (list(range(n - dims, n)), list(range(dims)))
    left, right = ([d % k for d in one] for one, k in zip(dims, (n, m), strict=True))
    for i, j in zip(left, right, strict=True):
        if a._a.shape[i] != b._a.shape[j]:
            raise ShapeError(
                f"contracted dimensions need to match, but first has size {a._a.shape[i]} in dim {i} and "
                f"second has size {b._a.shape[j]} in dim {j}"
            )
    keep_a, keep_b = [d for d in range(n) if d not in left], [d for d in range(m) if d not in right]
    shape_a, shape_b = [a._a.shape[d] for d in keep_a], [b._a.shape[d] for d in keep_b]
    k = int(np.prod([a._a.shape[d] for d in left], dtype=np.int64))
    rows = a.permute(*keep_a, *left).reshape(int(np.prod(shape_a, dtype=np.int64)), k)
    columns = b.permute(*right, *keep_b).reshape(k, int(np.prod(shape_b, dtype=np.int64)))
    result: Tensor = mm(rows, columns).reshape(*shape_a, *shape_b)
    return result


# -- einsum ----------------------------------------------------------------------------------------------------------


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products in Einstein's notation: ``einsum("bij,bjk->bik", a, b)``.

    Letters name dimensions; those missing after ``->`` are summed over; ``...`` stands for further ones. Without
    ``->`` the result has the letters that occur once, in alphabetical order.

    :raises RuntimeError: the equation is malformed, or does not fit the operands.

    >>> import nbautograd as torch
    >>> torch.einsum("ij,j->i", torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 10.]))
    tensor([21., 43.])
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    inputs, output = _parse(equation, operands)
    parts = [_only_letters(x, letters) for x, letters in zip(operands, inputs, strict=True)]
    sizes: dict[str, int] = {}
    for x, letters in parts:
        for letter, n in zip(letters, x._a.shape, strict=True):
            if sizes.setdefault(letter, n) != n:
                if 1 not in (n, sizes[letter]):
                    raise ShapeError(
                        "einsum(): operands do not broadcast with remapped shapes [original->remapped]: "
                        f"subscript {letter} "
                        f"has size {n} which does not broadcast with previously seen size {sizes[letter]}"
                    )
                sizes[letter] = max(n, sizes[letter])
    result, letters = parts[0]
    for i, (x, theirs) in enumerate(parts[1:], 1):
        needed = set(output).union(*(later for _, later in parts[i + 1 :]))
        result, letters = _contract(result, letters, x, theirs, needed)
    gone = [i for i, letter in enumerate(letters) if letter not in output]
    if gone:
        result = result.sum(gone)
        letters = "".join(letter for letter in letters if letter in output)
    if letters != output:
        result = result.permute(*(letters.index(letter) for letter in output))
    if any(result._a.shape[i] != sizes[letter] for i, letter in enumerate(output)):
        result = result.expand(*(sizes[letter] for letter in output))
    return result


def _parse(equation: str, operands: Sequence[Any]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, the ellipsis replaced by letters of its own."""
    for i, x in enumerate(operands):
        if not isinstance(x, Tensor):
            raise TypeError(f"einsum(): operand {i} must be Tensor, not {type(x).__name__}")
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands) or not operands:
        raise RuntimeError(
            f"einsum(): {'fewer' if len(operands) < len(terms) else 'more'} operands were provided "
            f"than specified in the equation: {len(operands)} for {equation!r}"
        )
    widths = []
    for i, (term, x) in enumerate(zip(terms, operands, strict=True)):
        letters = term.replace("...", "", 1)
        if not all(c.isascii() and c.isalpha() for c in letters):
            raise RuntimeError(
                f"einsum(): invalid subscript given at operand {i} in the equation string {equation!r}, "
                "subscripts must be in [a-zA-Z]"
            )
        width = x._a.ndim - len(letters)
        if width < 0 or width and "..." not in term:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(letters)}) does not match the number of "
                f"dimensions ({x._a.ndim}) for operand {i}"
            )
        widths.append(width)
    most = max(widths)
    used = {c for c in text if c.isalpha()}
    spare = [chr(c) for c in range(0x3B1, 0x3B1 + 64)]
    dots = "".join(spare[:most])
    inputs = [term.replace("...", dots[most - width :]) for term, width in zip(terms, widths, strict=True)]
    if arrow:
        output = right.replace("...", dots)
        for letter in output:
            if output.count(letter) > 1 or not any(letter in term for term in inputs):
                raise RuntimeError(
                    f"einsum(): output subscript {letter} "
                    + (
                        "appears more than once in the output"
                        if output.count(letter) > 1
                        else "does not appear in the equation for any input operand"
                    )
                )
    else:
        joined = left.replace("...", "").replace(",", "")
        output = dots + "".join(sorted(letter for letter in used if joined.count(letter) == 1))
    return inputs, output


def _only_letters(x: Tensor, letters: str) -> tuple[Tensor, str]:
    """The operand with repeated letters replaced by diagonals."""
    while len(set(letters)) < len(letters):
        letter = next(c for c in letters if letters.count(c) > 1)
        i = letters.index(letter)
        j = letters.index(letter, i + 1)
        x = x.diagonal(0, i, j)
        letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + letter
    return x, letters


def _contract(a: Tensor, la: str, b: Tensor, lb: str, needed: set[str]) -> tuple[Tensor, str]:
    """The product of two operands, summed over letters that nothing needs any more: one matrix product."""
    a, la = _sum_lonely(a, la, needed | set(lb))
    b, lb = _sum_lonely(b, lb, needed | set(la))
    both = [c for c in la if c in lb]
    summed = [c for c in both if c not in needed]
    batch = [c for c in both if c in needed]
    rows, columns = [c for c in la if c not in both], [c for c in lb if c not in both]
    a, b = _equal_sizes(a, la, b, lb, both)
    size = {**dict(zip(la, a._a.shape, strict=True)), **dict(zip(lb, b._a.shape, strict=True))}

    def shaped(x: Tensor, letters: str, *groups: list[str]) -> Tensor:
        flat = [int(np.prod([size[c] for c in group], dtype=np.int64)) for group in groups]
        return x.permute(*(letters.index(c) for group in groups for c in group)).reshape(*flat)

    if not batch:
        product_ = mm(shaped(a, la, rows, summed), shaped(b, lb, summed, columns))
    else:
        product_ = bmm(shaped(a, la, batch, rows, summed), shaped(b, lb, batch, summed, columns))
    letters = batch + rows + columns
    return product_.reshape(*(size[c] for c in letters)), "".join(letters)


def _sum_lonely(x: Tensor, letters: str, needed: set[str]) -> tuple[Tensor, str]:
    gone = [i for i, c in enumerate(letters) if c not in needed]
    return (x.sum(gone), "".join(c for c in letters if c in needed)) if gone else (x, letters)


def _equal_sizes(a: Tensor, la: str, b: Tensor, lb: str, both: list[str]) -> tuple[Tensor, Tensor]:
    """Dimensions of length 1 expanded to the other operand's length."""
    size = {c: max(a._a.shape[la.index(c)], b._a.shape[lb.index(c)]) for c in both}
    wanted_a = [size.get(c, n) for c, n in zip(la, a._a.shape, strict=True)]
    wanted_b = [size.get(c, n) for c, n in zip(lb, b._a.shape, strict=True)]
    return (
        a if list(a._a.shape) == wanted_a else a.expand(*wanted_a),
        b if list(b._a.shape) == wanted_b else b.expand(*wanted_b),
    )
