"""Derivatives in reverse mode: gradients, vector-Jacobian products, Jacobians row by row."""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import is_not
from typing import Any

from nbautograd._engine.batching.levels import batched_at, joined, split
from nbautograd._engine.batching.transform import vmap
from nbautograd._engine.core.batched import BatchLevel, transforming
from nbautograd._engine.core.grad_mode import enable_grad
from nbautograd._engine.core.pytree import tree_flatten, tree_unflatten
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import eye
from nbautograd.autograd.backward import grad as _grad
from nbautograd.errors import AutogradError, kind_of
from nbautograd.func._leaves import Function, Inputs, Places, detached, with_aux


def grad(func: Function, argnums: Places = 0, has_aux: bool = False) -> Function:
    """Return a function that computes the gradient of a scalar function.

    :param argnums: the positional arguments to differentiate by, which may be nested; a tuple returns a tuple.
    :param has_aux: ``func`` returns ``(value, aux)``, and the result is ``(gradient, aux)``.

    >>> import nbautograd as torch
    >>> torch.func.grad(torch.func.grad(lambda x: x ** 3))(torch.tensor(2.0))
    tensor(12.)
    """

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        result, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


def grad_and_value(func: Function, argnums: Places = 0, has_aux: bool = False) -> Function:
    """Return a function that computes ``(gradient, value)`` of a scalar function.

    >>> torch.func.grad_and_value(lambda x: x ** 3)(torch.tensor(2.0))
    (tensor(12.), tensor(8.))
    """

    @functools.wraps(func)
    def both(*args: Any, **kwargs: Any) -> Any:
        with enable_grad(), transforming():
            inputs = Inputs("grad_and_value", args, argnums)
            value, aux = with_aux(func(*inputs.args, **kwargs), has_aux, "grad_and_value")
            if not isinstance(value, Tensor):
                raise AutogradError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got tensor of type "
                    f"{kind_of(value)}"
                )
            if value.dim():
                raise AutogradError(
                    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            gradients = vector_jacobian([value], inputs)([None])
        result = inputs.detach(inputs.like_args(gradients))
        return result, ((inputs.detach(value), inputs.detach(aux)) if has_aux else inputs.detach(value))

    return both


def vector_jacobian(outputs: list[Any], inputs: Inputs) -> Callable[[list[Any]], list[Any]]:
    """Return the vector-Jacobian product of computed outputs: the gradient of each leaf; None stands for 1."""
    return lambda cotangents: _gradients(outputs, inputs.leaves, cotangents, inputs.stack)


def _gradients(outputs: list[Any], xs: list[Any], cotangents: list[Any], stack: tuple[BatchLevel, ...]) -> list[Any]:
    """Compute the gradients of ``xs``, leaves that are batched at all levels of ``stack``.

    One backward pass computes the gradients of all samples: each sample's leaf gets its own gradient from the sum.
    """
    if not stack:
        return _unbatched_gradients(outputs, xs, cotangents)
    level = stack[-1]
    # An output that is not batched at this level does not depend on the leaves, which are.
    pairs = [(out, g) for out, g in zip(outputs, cotangents, strict=True) if batched_at(out, level)]
    outs = [split(out, level) for out, _ in pairs]
    weights = [
        out.detach().new_ones(out.shape) if g is None else split(g, level)
        for out, (_, g) in zip(outs, pairs, strict=True)
    ]
    return [joined(d, level) for d in _gradients(outs, [split(x, level) for x in xs], weights, stack[:-1])]


def _unbatched_gradients(outputs: list[Any], xs: list[Any], cotangents: list[Any]) -> list[Any]:
    pairs = [(out, g) for out, g in zip(outputs, cotangents, strict=True) if out.requires_grad]
    result: Any = [None] * len(xs)
    if pairs:
        outs, weights = zip(*pairs, strict=True)
        ones = [out.detach().new_ones(()) if g is None and out.is_complex() else g for out, g in pairs]
        result = _grad(outs, xs, ones, create_graph=True, allow_unused=True)
        if any(d is not None for d in result) and any(map(is_not, ones, weights)):
            result = _grad(outs, xs, weights)  # raises: a complex output depends on an input
    return [x.detach().new_zeros(x.shape) if d is None else d for x, d in zip(xs, result, strict=True)]


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Return the value of ``func`` and the function that multiplies its Jacobian from the left: ``vjp_fn(cotangents)``.

    :param primals: the arguments, which may be nested. The result of ``vjp_fn`` is a tuple with a product for each.
    :param has_aux: ``func`` returns ``(value, aux)``; ``aux`` is the third result.

    >>> value, product = torch.func.vjp(torch.sin, torch.tensor([0.0, 1.0]))
    >>> product(torch.ones(2))
    (tensor([1.0000, 0.5403]),)
    """
    with enable_grad(), transforming():
        inputs = Inputs("vjp", primals, tuple(range(len(primals))))
        value, aux = with_aux(func(*inputs.args), has_aux, "vjp")
    outputs, spec = outputs_of(value, "vjp")
    multiply = vector_jacobian(outputs, inputs)

    def product(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> tuple[Any, ...]:
        """Return the vector-Jacobian product; the graph is retained, and the pass is recorded for outer transforms."""
        weights, cotangent_spec = tree_flatten(cotangents)
        if cotangent_spec != spec:
            raise AutogradError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {cotangent_spec}, primal output: {spec}"
            )
        with enable_grad():
            gradients = multiply(weights)
        return detached(inputs.like_args(gradients))  # type: ignore[no-any-return]

    return (inputs.detach(value), product, inputs.detach(aux)) if has_aux else (inputs.detach(value), product)


def outputs_of(value: Any, name: str) -> tuple[list[Any], Any]:
    """Return the tensors in a function's result, which has one or more and nothing else, and their structure."""
    outputs, spec = tree_flatten(value)
    if not outputs:
        raise AutogradError(
            f"{name}(f, *primals): Expected f to be a function that has non-empty output (got output = {value})"
        )
    for out in outputs:
        if not isinstance(out, Tensor):
            raise AutogradError(
                f"{name}(f, *primals): expected f(*primals) to return only tensors, got unsupported type {type(out)}"
            )
        if name in ("vjp", "jacrev") and out.dtype.rank < 2:
            raise AutogradError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{out.dtype}"
            )
    return outputs, spec


def jacrev(func: Function, argnums: Places = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Function:
    """Return a function that computes the Jacobian in one reverse pass for all elements of the result.

    :param argnums: the positional arguments to differentiate by, which may be nested; a tuple returns a tuple.
    :param has_aux: ``func`` returns ``(value, aux)``, and the result is ``(jacobian, aux)``.
    :param chunk_size: the number of elements per pass; None for all.

    >>> torch.func.jacrev(torch.sin)(torch.tensor([0.0, 1.0]))
    tensor([[1.0000, 0.0000],
            [0.0000, 0.5403]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        with enable_grad(), transforming():
            inputs = Inputs("jacrev", args, argnums)
            value, aux = with_aux(func(*inputs.args), has_aux, "jacrev")
            outputs, spec = outputs_of(value, "jacrev")
            rows = [_jacobian(out, inputs, chunk_size) for out in outputs]
            if len(outputs) > 1:  # of their own memory
                rows = [[part.contiguous() for part in row] for row in rows]
        result = inputs.detach(tree_unflatten([inputs.like_args(parts) for parts in rows], spec))
        return (result, inputs.detach(aux)) if has_aux else result

    return jacobian


def no_elements(product: Any, shape: tuple[int, ...]) -> Any:
    """Return a Jacobian without elements, which requires grad if a product with it does."""
    return (product.sum() * 0).expand(shape).view(shape) if product.requires_grad else product.new_zeros(shape)


def _jacobian(out: Any, inputs: Inputs, chunk_size: int | None) -> list[Any]:
    """Return the Jacobian of one output by each leaf."""
    multiply = vector_jacobian([out], inputs)
    count, shape = out.numel(), tuple(out.shape)
    if not count:
        products = multiply([out.detach().new_zeros(shape)])
        return [no_elements(d, (*shape, *x.shape)) for d, x in zip(products, inputs.leaves, strict=True)]
    units = eye(count, dtype=out.dtype, device=out.device).reshape(count, *shape)
    rows = vmap(lambda unit: multiply([unit]), chunk_size=chunk_size)(units)
    return [row.reshape((*shape, *x.shape)) for row, x in zip(rows, inputs.leaves, strict=True)]
