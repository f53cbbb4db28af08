"""``torch.func``: derivatives of functions as functions, which can be put into each other.

There is no ``vmap``. Forward mode has one level only, so ``jvp`` and ``jacfwd`` cannot be put into themselves;
everything else can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd.autograd import forward_ad
from nbautograd.autograd.backward import grad as _grad
from nbautograd.autograd.tangents import carry, has_tangent
from nbautograd.core.grad_mode import enable_grad
from nbautograd.core.tensor import Tensor
from nbautograd.errors import AutogradError, kind_of
from nbautograd.ops.shape.joining import stack

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp"]

Function = Callable[..., Any]
Places = int | tuple[int, ...]


def _chosen(args: tuple[Any, ...], argnums: Places) -> tuple[list[int], tuple[Any, ...], bool]:
    """The positions in ``argnums``, the arguments with leaves there, and whether an outer derivative is recorded."""
    places = [argnums] if isinstance(argnums, int) else list(argnums)
    places = [p + len(args) if p < 0 else p for p in places]
    fresh, outer = list(args), False
    for place in places:
        if not 0 <= place < len(args):
            raise AutogradError(f"argnums={argnums} is out of range: there are {len(args)} positional arguments")
        x = args[place]
        if not isinstance(x, Tensor):
            raise ValueError(f"argument {place} must be a Tensor to be differentiated by, not {kind_of(x)}")
        outer = outer or x.requires_grad
        fresh[place] = x.view(x.shape) if x.requires_grad else _with_grad(x)
    outer = outer or any(isinstance(a, Tensor) and a.requires_grad for a in args)
    return places, tuple(fresh), outer


def _with_grad(x: Tensor) -> Tensor:
    """The values of ``x`` as a leaf; a dual tensor if ``x`` has a tangent."""
    fresh: Tensor = x.detach().requires_grad_()
    if has_tangent(x):
        fresh = fresh.view(x.shape)
        carry(x, fresh)
    return fresh


def _kept(value: Any, outer: bool) -> Any:
    """Detach a result, unless an outer derivative goes through it."""
    if isinstance(value, (tuple, list)):
        return type(value)(_kept(v, outer) for v in value)
    if not isinstance(value, Tensor) or outer or has_tangent(value):
        return value
    return value.detach()


def grad(func: Function, argnums: Places = 0, has_aux: bool = False) -> Function:
    """The function that computes the gradient of a scalar function.

    :param argnums: by which positional arguments; a tuple gives a tuple.
    :param has_aux: ``func`` returns ``(value, aux)``, and the gradient comes as ``(gradient, aux)``.

    >>> import nbautograd as torch
    >>> torch.func.grad(torch.func.grad(lambda x: x ** 3))(torch.tensor(2.0))
    tensor(12.)
    """

    def gradient(*args: Any, **kwargs: Any) -> Any:
        result, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


def grad_and_value(func: Function, argnums: Places = 0, has_aux: bool = False) -> Function:
    """The function that computes ``(gradient, value)`` of a scalar function.

    >>> import nbautograd as torch
    >>> torch.func.grad_and_value(lambda x: x ** 3)(torch.tensor(2.0))
    (tensor(12.), tensor(8.))
    """

    def both(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            places, fresh, outer = _chosen(args, argnums)
            answer = func(*fresh, **kwargs)
            if has_aux and not (isinstance(answer, tuple) and len(answer) == 2):
                raise AutogradError("grad_and_value(f)(*args): output of function f should be a tuple (output, aux)")
            value, aux = answer if has_aux else (answer, None)
            if not isinstance(value, Tensor):
                raise AutogradError(f"Expected f(*args) to return a Tensor, got {kind_of(value)}")
            if value.dim():
                raise AutogradError(
                    "Expected f(*args) to return a scalar Tensor, got tensor with "
                    f"{value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            gradients = _gradients([value], [fresh[p] for p in places], [None])
        result = gradients[0] if isinstance(argnums, int) else tuple(gradients)
        return _kept(result, outer), ((_kept(value, outer), _kept(aux, outer)) if has_aux else _kept(value, outer))

    return both


def _gradients(outputs: list[Tensor], xs: list[Tensor], weights: list[Any]) -> list[Tensor]:
    pairs = [(out, w) for out, w in zip(outputs, weights, strict=True) if out.requires_grad]
    result: Any = [None] * len(xs)
    if pairs:
        result = _grad([out for out, _ in pairs], xs, [w for _, w in pairs], create_graph=True, allow_unused=True)
    return [x.detach().new_zeros(x.shape) if d is None else d for x, d in zip(xs, result, strict=True)]


def vjp(func: Function, *primals: Tensor, has_aux: bool = False) -> Any:
    """The value of ``func`` and the function that multiplies its Jacobian from the left: ``vjp_fn(*cotangents)``.

    >>> import nbautograd as torch
    >>> value, product = torch.func.vjp(torch.sin, torch.tensor([0.0, 1.0]))
    >>> product(torch.ones(2))
    (tensor([1.0000, 0.5403]),)
    """
    with enable_grad():
        _, fresh, outer = _chosen(primals, tuple(range(len(primals))))
        answer = func(*fresh)
    value, aux = answer if has_aux else (answer, None)
    outputs = list(value) if isinstance(value, (tuple, list)) else [value]

    def product(*cotangents: Any) -> tuple[Tensor, ...]:
        given = cotangents[0] if len(cotangents) == 1 and isinstance(cotangents[0], (tuple, list)) else cotangents
        inner = outer or any(isinstance(c, Tensor) and c.requires_grad for c in given)
        with enable_grad():
            result = _gradients(outputs, list(fresh), list(given))
        return tuple(_kept(result, inner))

    return (_kept(value, outer), product, _kept(aux, outer)) if has_aux else (_kept(value, outer), product)


def jvp(func: Function, primals: tuple[Tensor, ...], tangents: tuple[Tensor, ...], *, has_aux: bool = False) -> Any:
    """The value of ``func`` and the product of its Jacobian with ``tangents``, in forward mode.

    >>> import nbautograd as torch
    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple) or len(primals) != len(tangents):
        raise AutogradError("jvp(f, primals, tangents): Expected primals and tangents to be tuples of the same length")
    with forward_ad.dual_level():
        answer = func(*map(forward_ad.make_dual, primals, tangents))
        value, aux = answer if has_aux else (answer, None)
        outputs = value if isinstance(value, (tuple, list)) else (value,)
        pairs = [forward_ad.unpack_dual(out) for out in outputs]
        values = tuple(pair.primal for pair in pairs)
        result = tuple(p.primal.new_zeros(p.primal.shape) if p.tangent is None else p.tangent for p in pairs)
    outer = any(t.requires_grad for t in (*primals, *tangents))
    values, result, aux = _kept(values, outer), _kept(result, outer), _kept(aux, outer)
    if not isinstance(value, (tuple, list)):
        return (values[0], result[0], aux) if has_aux else (values[0], result[0])
    return (values, result, aux) if has_aux else (values, result)


def jacrev(func: Function, argnums: Places = 0, has_aux: bool = False) -> Function:
    """The function that computes the Jacobian, a reverse pass per element of the result.

    >>> import nbautograd as torch
    >>> torch.func.jacrev(torch.sin)(torch.tensor([0.0, 1.0]))
    tensor([[1.0000, 0.0000],
            [0.0000, 0.5403]])
    """

    def jacobian(*args: Any) -> Any:
        with enable_grad():
            places, fresh, outer = _chosen(args, argnums)
            answer = func(*fresh)
            value, aux = answer if has_aux else (answer, None)
            xs = [fresh[p] for p in places]

            def of(out: Tensor) -> Any:
                flat = out.reshape(-1)
                rows = [_gradients([flat[i]], xs, [None]) for i in range(out.numel())]
                parts = [
                    (stack([row[k] for row in rows]) if rows else x.new_zeros(0)).reshape((*out.shape, *x.shape))
                    for k, x in enumerate(xs)
                ]
                return parts[0] if isinstance(argnums, int) else tuple(parts)

            result = tuple(map(of, value)) if isinstance(value, (tuple, list)) else of(value)
        return (_kept(result, outer), _kept(aux, outer)) if has_aux else _kept(result, outer)

    return jacobian


def jacfwd(func: Function, argnums: Places = 0, has_aux: bool = False) -> Function:
    """The function that computes the Jacobian, a forward pass per element of the arguments.

    >>> import nbautograd as torch
    >>> torch.func.jacfwd(torch.sin)(torch.tensor([0.0, 1.0]))
    tensor([[1.0000, 0.0000],
            [0.0000, 0.5403]])
    """

    def jacobian(*args: Any) -> Any:
        places = [argnums] if isinstance(argnums, int) else list(argnums)
        places = [p + len(args) if p < 0 else p for p in places]
        by_input, several, aux = [], False, None
        for place in places:
            columns = []
            for element in range(args[place].numel()):
                unit = args[place].detach().new_zeros((args[place].numel(),))
                unit[element] = 1

                def partial(x: Tensor, place: int = place) -> Any:
                    return func(*args[:place], x, *args[place + 1 :])

                found = jvp(partial, (args[place],), (unit.reshape(args[place].shape),), has_aux=has_aux)
                tangent, aux = found[1], found[2] if has_aux else None
                several = isinstance(tangent, tuple)
                columns.append(tangent if several else (tangent,))
            shape = args[place].shape
            by_input.append(
                [stack(list(parts), -1).reshape((*parts[0].shape, *shape)) for parts in zip(*columns, strict=True)]
            )
        rows = [parts[0] if isinstance(argnums, int) else tuple(parts) for parts in zip(*by_input, strict=True)]
        result = tuple(rows) if several else rows[0]
        return (result, aux) if has_aux else result

    return jacobian


def hessian(func: Function, argnums: Places = 0) -> Function:
    """The function that computes the matrix of second derivatives: forward over reverse.

    >>> import nbautograd as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
