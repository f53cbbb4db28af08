"""Derivatives in forward mode: Jacobian-vector products, Jacobians column by column, and Hessians."""

from __future__ import annotations

import functools
from typing import Any

from nbautograd._engine.batching.transform import vmap
from nbautograd._engine.core.batched import transforming
from nbautograd._engine.core.grad_mode import enable_grad
from nbautograd._engine.core.pytree import tree_flatten, tree_map, tree_unflatten
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import eye
from nbautograd.autograd import forward_ad
from nbautograd.errors import AutogradError, kind_of
from nbautograd.func._leaves import Function, Inputs, Places, detached, places_of, with_aux
from nbautograd.func._reverse import jacrev, no_elements, outputs_of, vector_jacobian


def jvp(
    func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False
) -> Any:
    """Return the value of ``func`` and the product of its Jacobian with ``tangents``, in forward mode.

    :param primals: the arguments, which may be nested.
    :param tangents: nested like the primals.
    :param strict: raise if an output does not depend on the inputs, instead of returning zeros.

    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    values, directions, spec = _flat(primals, tangents)
    with forward_ad.nested_level(), transforming():
        duals = [forward_ad.make_dual(x, t) for x, t in zip(values, directions, strict=True)]
        value, aux = with_aux(func(*tree_unflatten(duals, spec)), has_aux, "jvp")
        outputs, structure = outputs_of(value, "jvp")
        pairs = [forward_ad.unpack_dual(out) for out in outputs]
        aux = tree_map(lambda x: forward_ad.unpack_dual(x).primal if isinstance(x, Tensor) else x, aux)
    if strict and any(pair.tangent is None for pair in pairs):
        raise AutogradError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    result = detached(tree_unflatten([pair.primal for pair in pairs], structure))
    products = [p.primal.detach().new_zeros(p.primal.shape) if p.tangent is None else p.tangent for p in pairs]
    product = detached(tree_unflatten(products, structure))
    return (result, product, detached(aux)) if has_aux else (result, product)


def _flat(primals: Any, tangents: Any) -> tuple[list[Any], list[Any], Any]:
    """Return the tensors of ``primals`` and ``tangents``, and how both are nested."""
    if not isinstance(primals, tuple):
        raise AutogradError(f"jvp(f, primals, tangents): Expected primals to be a tuple, got {kind_of(primals)}")
    values, spec = tree_flatten(primals)
    if not values:
        raise AutogradError("jvp(f, primals, tangents): Expected primals to contain at least one Tensor.")
    directions, tangent_spec = tree_flatten(tangents)
    if spec != tangent_spec:
        raise AutogradError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, "
            f"if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and "
            f"tangents with structure {tangent_spec}"
        )
    for name, tensors in (("primals", values), ("tangents", directions)):
        for t in tensors:
            if not isinstance(t, Tensor):
                raise AutogradError(
                    f"jvp(f, primals, tangents): Expected {name} to contain only Tensors, got {kind_of(t)}"
                )
    return values, directions, spec


def jacfwd(func: Function, argnums: Places = 0, has_aux: bool = False, *, randomness: str = "error") -> Function:
    """Return a function that computes the Jacobian in one forward pass for all elements of an argument.

    :param argnums: the positional arguments to differentiate by, which may be nested; a tuple returns a tuple.
    :param has_aux: ``func`` returns ``(value, aux)``, and the result is ``(jacobian, aux)``.
    :param randomness: the option of :func:`vmap`, which runs ``func`` for all elements.

    >>> torch.func.jacfwd(torch.sin)(torch.tensor([0.0, 1.0]))
    tensor([[1.0000, 0.0000],
            [0.0000, 0.5403]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any) -> Any:
        places = places_of(args, argnums)
        leaves, spec = tree_flatten(tuple(args[p] for p in places))
        for x in leaves:
            if not isinstance(x, Tensor):
                raise ValueError(f"jacfwd(f, ...)(*args): Expected all inputs to be Tensors, got {kind_of(x)}")
        columns: list[Any] = []
        structure: Any = None
        aux: Any = None
        for number in range(len(leaves)):

            def partial(x: Any, number: int = number) -> Any:
                chosen = tree_unflatten([*leaves[:number], x, *leaves[number + 1 :]], spec)
                changed = list(args)
                for place, tree in zip(places, chosen, strict=True):
                    changed[place] = tree
                return func(*changed)

            parts, structure, aux = _columns(partial, leaves[number], has_aux, randomness)
            columns.append(parts)
        trees = [tree_unflatten(by_input, spec) for by_input in zip(*columns, strict=True)]
        result = tree_unflatten([tree[0] for tree in trees] if isinstance(argnums, int) else trees, structure)
        return (result, aux) if has_aux else result

    return jacobian


def _columns(func: Function, x: Any, has_aux: bool, randomness: str) -> tuple[list[Any], Any, Any]:
    """Compute the derivatives of each output by one tensor, the structure of the outputs, and the auxiliary value."""
    count, shape = x.numel(), tuple(x.shape)
    if not count:
        answer = jvp(func, (x,), (x.detach().new_zeros(shape),), has_aux=has_aux)
        products, structure = tree_flatten(answer[1])
        return [no_elements(d, (*d.shape, *shape)) for d in products], structure, answer[2] if has_aux else None
    structures = []

    def column(unit: Any) -> Any:
        answer = jvp(func, (x,), (unit,), has_aux=has_aux)
        parts, structure = tree_flatten(answer[1])
        structures.append(structure)
        return parts, (answer[2] if has_aux else None)

    units = eye(count, dtype=x.dtype, device=x.device).reshape(count, *shape)
    parts, aux = vmap(column, out_dims=(-1, 0 if has_aux else None), randomness=randomness)(units)
    aux = tree_map(lambda value: value[0], aux) if has_aux else None
    return [part.reshape((*part.shape[:-1], *shape)) for part in parts], structures[0], aux


def hessian(func: Function, argnums: Places = 0) -> Function:
    """Return a function that computes the matrix of second derivatives: forward over reverse.

    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """Return the value of ``func`` and its linear approximation ``jvp_fn(*tangents)``, which does not run it again.

    The product of the Jacobian with tangents is the derivative of its product with cotangents, which is linear in them.

    >>> value, product = torch.func.linearize(torch.sin, torch.tensor([0.0, 1.0]))
    >>> product(torch.tensor([1.0, 1.0]))
    tensor([1.0000, 0.5403])
    """
    with enable_grad(), transforming():
        inputs = Inputs("linearize", primals, tuple(range(len(primals))))
        value = func(*inputs.args)
        outputs, structure = outputs_of(value, "linearize")
        units = Inputs("linearize", ([out.detach().new_zeros(out.shape) for out in outputs],), 0)
        gradients = vector_jacobian(outputs, inputs)(units.leaves)
    multiply = vector_jacobian(gradients, units)
    expected = tree_flatten(primals)[1]

    def product(*tangents: Any) -> Any:
        directions, tangent_spec = tree_flatten(tangents)
        if tangent_spec != expected:
            raise AutogradError(
                "jvp_fn, returned by linearize(f, *primals): Expected tangents to have the same structure as primals, "
                f"{expected}, got {tangent_spec}"
            )
        for x, t in zip(inputs.leaves, directions, strict=True):
            if not isinstance(t, Tensor) or t.shape != x.shape or t.dtype != x.dtype:
                raise AutogradError(
                    "jvp_fn, returned by linearize(f, *primals): Expected each tangent to have the shape and dtype of "
                    f"its primal, {list(x.shape)} and {x.dtype!r}, got {t!r:.60}"
                )
        with enable_grad():
            products = multiply(directions)
        return detached(tree_unflatten(products, structure))

    units.detach(None)
    return inputs.detach(value), product
