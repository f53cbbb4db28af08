"""Elementwise operations on sparse tensors that keep zeros zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes
from nbautograd._engine.arrays.device import as_device
from nbautograd._engine.arrays.memory_format import preserve_format
from nbautograd._engine.arrays.sparse import SparseArray
from nbautograd._engine.compiler.schema import COMPOSITES, OPS
from nbautograd._engine.core.grad_mode import is_grad_enabled
from nbautograd._engine.core.node import LEAF
from nbautograd._engine.core.sparse import refuse, stored, wrapped
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.creation.conversion import CASTS, _target
from nbautograd._engine.ops.queries import result_type
from nbautograd.errors import InplaceError
from nbautograd.sparse.registry import OPERATIONS, handles, is_sparse, recompute, record
from nbautograd.sparse.tensors import at_places, build, coalesce, sparse_coo_tensor, to_dense, values_of

__all__ = ["same_size", "scaled"]

UNARY = """
    abs sign sgn sin asin sinh asinh tan atan tanh atanh sqrt expm1 log1p erf erfinv ceil floor round trunc frac relu
    signbit isnan isinf isposinf isneginf deg2rad rad2deg nan_to_num conj_physical"""
ALIASES = {"absolute": "abs", "fix": "trunc"} | {f"arc{name}": f"a{name}" for name in ("sin", "sinh", "tan", "tanh")}


# -- one operand -------------------------------------------------------------------------------------------------------


def _unary_operation(name: str) -> Callable[..., Any]:
    def operation(input: Any, *args: Any, **kwargs: Any) -> Any:
        if name == "conj_physical" and not input.is_complex():
            return input
        array = stored(coalesce(input.detach()))
        dense = OPS[name].function if name in OPS else COMPOSITES[name]

        def compute(s: Any) -> Any:
            return build(array.indices, dense(values_of(coalesce(s)), *args, **kwargs), array.shape, True, array.kind)

        node = (OPS[name].node_name if name in OPS else None) or f"{name.title().replace('_', '')}Backward0"
        return recompute(node, name, (input,), compute)

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = f"Compute ``{name}`` of the values of a sparse tensor, which is coalesced first."
    return operation


for _name in UNARY.split():
    handles(_name)(_unary_operation(_name))
for _alias, _name in ALIASES.items():
    handles(_alias)(OPERATIONS[_name])


@handles("neg negative __neg__")
def neg(input: Any) -> Any:
    """Negate the values."""
    return record(wrapped(-stored(input)), "NegBackward0", "−", (input,), lambda g: (-g,))


@handles("positive __pos__ resolve_conj resolve_neg")
def positive(input: Any) -> Any:
    """Return the tensor itself."""
    return input


@handles("conj")
def conj(input: Any) -> Any:
    """Return the complex conjugate."""
    return OPERATIONS["conj_physical"](input) if input.is_complex() else input


@handles("pow __pow__ float_power")
def pow_(input: Any, exponent: Any) -> Any:
    """Raise the values to a power, which is a number.

    :raises RuntimeError: the exponent is zero, which would turn zeros into ones.
    """
    if not is_sparse(input) or isinstance(exponent, Tensor) and exponent.ndim:
        refuse("pow", stored(input if is_sparse(input) else exponent).kind)
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")

    def compute(s: Any) -> Any:
        own = coalesce(s)
        array = stored(own)
        return build(array.indices, values_of(own).pow(exponent), array.shape, True, array.kind)

    return recompute("PowBackward0", "^", (input,), compute)


@handles("square")
def square(input: Any) -> Any:
    """Square the values."""
    return pow_(input, 2)


@handles("clone __clone__")
def clone(input: Any, *, memory_format: Any = preserve_format) -> Any:
    """Return a copy with its own memory."""
    return record(wrapped(stored(input).copy()), "CloneBackward0", "clone", (input,), lambda g: (g,))


@handles("to")
def to(input: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the tensor cast to a dtype and moved to a device; the tensor itself if nothing changes."""
    if not is_sparse(input):  # dense.to(sparse)
        return input.to(device=args[0].device, dtype=args[0].dtype)
    kind, place, copy, _ = _target(args, kwargs)
    kind = input.dtype if kind is None else kind
    target = input.device if place is None else as_device(place)
    array, source, origin = stored(input), input.dtype, input.device
    if kind is source and target == origin:
        return clone(input) if copy else input
    indices, values = array.indices, array.values
    if target != origin:
        module = backend.module(target)
        indices, values = (module.asarray(backend.fetch(part)) for part in (indices, values))
    result = wrapped(array.like(values.astype(kind.numpy), indices=indices))
    if kind.rank < 2:
        return result
    return record(result, "ToCopyBackward0", "to", (input,), lambda g: (g.to(origin, source),))


def _cast(kind: dtypes.dtype) -> Callable[..., Any]:
    def cast(input: Any, memory_format: Any = preserve_format) -> Any:
        return to(input, kind)

    return cast


@handles("is_same_size")
def is_same_size(input: Any, other: Any) -> bool:
    """Return whether the shapes are equal."""
    return bool(input.shape == other.shape)


@handles("zeros_like empty_like")
def zeros_like(
    input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **options: Any
) -> Any:
    """Return a sparse tensor of the same shape without values."""
    array = stored(input)
    result = wrapped(array.like(array.values[:0], indices=array.indices[:, :0], is_coalesced=True))
    return to(result, device=device, dtype=dtype).requires_grad_(requires_grad)


@handles("new_zeros new_empty")
def new_zeros(input: Any, *size: Any, **options: Any) -> Any:
    """Return a sparse tensor of another shape without values."""
    shape = options.pop("size", size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size)
    return sparse_coo_tensor(shape, **{"dtype": input.dtype, "device": input.device, **options})


@handles("new_ones new_full new_tensor ones_like full_like rand_like randn_like randint_like")
def _filled(input: Any, *args: Any, **options: Any) -> Any:
    """Raise: a sparse tensor cannot be filled.

    :raises NotImplementedError: always.
    """
    refuse("fill", stored(input).kind)


# -- two operands ------------------------------------------------------------------------------------------------------


def same_size(name: str, input: Any, other: Any) -> None:
    """Check that two tensors have the same shape: sparse tensors do not broadcast."""
    if input.shape != other.shape:
        raise RuntimeError(
            f"{name}: expected sizes of 'self' and 'other' to match, but {list(input.shape)} != {list(other.shape)}: "
            "sparse tensors do not broadcast"
        )


def _alike(input: Any, other: Any) -> tuple[Any, Any]:
    kind = result_type(wrap(np.zeros(1, input.dtype.numpy)), wrap(np.zeros(1, other.dtype.numpy)))
    return input.to(kind), other.to(kind)


def _dense_sum(a: Any, b: Any) -> Any:
    total = backend.module(backend.device_of(a)).array(a)
    if b.sparse_dim:
        backend.add_at(total, tuple(b.indices), b.values)
    else:
        total += b.dense()
    return total


def _sum(name: str, node: str, input: Any, other: Any, alpha: Any) -> Any:
    if is_sparse(input) and not is_sparse(other):
        raise RuntimeError(
            f"{name}(sparse, dense) is not supported. Use {name}(dense, sparse) instead.".replace("sub", "add")
        )
    if not isinstance(input, Tensor):
        input = wrap(np.asarray(input))
    if input.shape != other.shape:
        if is_sparse(input):
            same_size(name, input, other)
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(input.shape)} while other "
            f"has size {list(other.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    input, other = _alike(input, other)
    a, b = stored(input), stored(other)
    b = b if alpha == 1 else b.like((b.values * alpha).astype(b.dtype, copy=False))
    if a.__class__ is SparseArray and (a.sparse_dim, a.kind) != (b.sparse_dim, b.kind):
        raise RuntimeError(
            f"{name}: expected 'self' and 'other' to have same number of sparse dimensions and the same layout, but "
            f"got {a.sparse_dim} and {b.sparse_dim}, {a.kind!r} and {b.kind!r}"
        )
    result = wrapped(a.plus(b)) if a.__class__ is SparseArray else wrap(_dense_sum(a, b))
    symbol = "+" if name == "add" else "−"
    return record(result, node, symbol, (input, other), lambda g: (g, g if alpha == 1 else g * alpha))


@handles("add __add__")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Add two sparse tensors, which gives a sparse one, or a dense and a sparse one.

    :raises RuntimeError: the first is sparse and the second dense, or the shapes differ.
    """
    return _sum("add", "AddBackward0", input, other, 1 if alpha is None else alpha)


@handles("sub subtract __sub__")
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Subtract two sparse tensors, which gives a sparse one, or a dense and a sparse one."""
    return _sum("sub", "SubBackward0", input, other, -1 if alpha is None else -alpha)


@handles("__radd__")
def radd(input: Any, other: Any) -> Any:
    """Return ``other + input``."""
    return add(other, input)


@handles("__rsub__ rsub")
def rsub(input: Any, other: Any) -> Any:
    """Return ``other - input``."""
    return sub(other, input)


def scaled(input: Any, factor: Any, name: str, symbol: str, operation: Callable[[Any, Any], Any]) -> Any:
    """Return the values multiplied, or divided, by a number or a tensor of one element."""
    number = isinstance(factor, Tensor)
    array = stored(input)
    scalar = factor.detach().reshape(()) if number else factor
    result = wrapped(array.like(operation(wrap(array.values), scalar)._a))
    if not number:
        return record(result, name, symbol, (input,), lambda g: (operation(g, factor).to(input.dtype),))

    def rule(g: Any) -> tuple[Any, Any]:
        first = operation(g, factor)
        if factor._fn is None:
            return first, None
        product = values_of(coalesce(at_places(g, stored(coalesce(input))))) * values_of(coalesce(input))
        slope = product.sum() if symbol == "×" else -(product.sum() / (factor * factor))
        return first, slope.reshape(factor.shape).to(factor.dtype)

    return record(result, name, symbol, (input, factor), rule)


@handles("mul multiply __mul__ __rmul__")
def mul(input: Any, other: Any) -> Any:
    """Multiply a sparse tensor, element by element, with a number, a dense tensor or a sparse one."""
    if not is_sparse(input):
        input, other = other, input
    if not isinstance(other, Tensor) or not is_sparse(other) and other.numel() == 1 and other.ndim <= input.ndim:
        return scaled(input, other, "MulBackward0", "×", lambda x, y: x * y)
    if not is_sparse(other) and other.shape != input.shape:
        other = other.expand(input.shape)
    same_size("mul", input, other)
    given = input, other
    input, other = _alike(input, other)
    array = stored(coalesce(input.detach()))
    partner = values_of(at_places(other.detach(), array)) if not is_sparse(other) else None
    if partner is None:
        theirs = stored(coalesce(other.detach()))
        _, is_there = theirs.places(array.keys())
        array = array.like(array.values[is_there], indices=array.indices[:, is_there])
        partner = wrap(theirs.at(array))
    result = wrapped(array.like((wrap(array.values) * partner)._a, is_coalesced=True))

    def rule(g: Any) -> tuple[Any, Any]:
        first = None if given[0]._fn is None else mul(at_places(g, stored(coalesce(input))), other)
        return first, None if given[1]._fn is None else mul(input, g)

    return record(result, "MulBackward0", "×", (input, other), rule)


@handles("div divide true_divide __truediv__")
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """Divide the values by a number or a tensor of one element.

    :raises RuntimeError: the divisor is another tensor.
    """
    if is_sparse(other) or isinstance(other, Tensor) and other.ndim:
        raise RuntimeError(
            f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {list(other.shape)} for "
            "divisor)"
        )
    if rounding_mode is not None:
        own = coalesce(input)
        return wrapped(stored(own).like(wrap(stored(own).values).div(other, rounding_mode=rounding_mode)._a))
    return scaled(input, other, "DivBackward0", "÷", lambda x, y: x / y)


@handles("floor_divide __floordiv__")
def floor_divide(input: Any, other: Any) -> Any:
    """Return the quotients, rounded down."""
    return div(input, other, rounding_mode="floor")


@handles("__rtruediv__ __rdiv__ reciprocal")
def reciprocal(input: Any, other: Any = 1) -> Any:
    """Raise: zeros would become infinite.

    :raises NotImplementedError: always.
    """
    refuse("reciprocal", stored(input).kind)


# -- in place ----------------------------------------------------------------------------------------------------------


def _write(input: Any, result: Any, name: str) -> Any:
    """Give a sparse tensor the values and the history of another."""
    if input._fn is LEAF and is_grad_enabled():
        raise InplaceError(f"a leaf Variable that requires grad is being used in an in-place operation ({name}).")
    old, now = stored(input), stored(result)
    if now.dtype != old.dtype:
        if dtypes.of(now.dtype).rank > input.dtype.rank:
            raise RuntimeError(
                f"{name}(): result type {result.dtype} can't be cast to the desired output type {input.dtype}"
            )
        now = now.astype(old.dtype)
    if now.indices is old.indices:
        old.values[...] = now.values  # others may share them
    else:
        input._sparse = now
    input._fn = result._fn
    return input


def _in_place_method(name: str) -> Callable[..., Any]:
    operation = OPERATIONS[name]
    needs_order = name in UNARY.split()

    def method(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_sparse(input):  # a dense tensor, and a sparse operand
            return input.copy_(operation(input, *args, **kwargs))
        if needs_order and not stored(input).is_coalesced:
            raise RuntimeError(f"{name}_ requires coalesced input")
        return _write(input, operation(input, *args, **kwargs), f"{name}_")

    method.__name__ = method.__qualname__ = f"{name}_"
    method.__doc__ = f"In-place version of ``{name}``."
    return method


for _name in (*UNARY.split(), "neg", "add", "sub", "mul", "div", "pow", "square", "floor_divide"):
    if hasattr(Tensor, f"{_name}_"):
        handles(f"{_name}_")(_in_place_method(_name))
for _operator, _name in {"iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_"}.items():
    handles(f"__{_operator}__")(OPERATIONS[_name])


@handles("zero_")
def zero_(input: Any) -> Any:
    """Drop all values."""
    return _write(input, zeros_like(input), "zero_")


@handles("copy_")
def copy_(input: Any, source: Any, non_blocking: bool = False) -> Any:
    """Copy the values of another tensor.

    :raises RuntimeError: the tensor is sparse and the source is dense.
    """
    if not is_sparse(input):
        return input.copy_(to_dense(source))
    if not is_sparse(source):
        raise RuntimeError("copy_() between dense and sparse Tensors is not implemented! Found self type = sparse")
    return _write(input, clone(to(source, input.device, input.dtype)), "copy_")


for _name, _kind in CASTS.items():
    handles(_name)(_cast(_kind))


@handles("cpu")
def cpu(input: Any, memory_format: Any = preserve_format) -> Any:
    """Return the tensor on the CPU."""
    return to(input, "cpu")


@handles("cuda")
def cuda(input: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = preserve_format) -> Any:
    """Return the tensor on a CUDA device."""
    return to(input, "cuda" if device is None else device)


@handles("type_as")
def type_as(input: Any, other: Any) -> Any:
    """Return the tensor in the dtype of another."""
    return to(input, other.dtype)
