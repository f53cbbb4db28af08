"""Jacobians, Hessians and their products with vectors, for functions given as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd.autograd import forward_ad
from nbautograd.autograd.backward import grad
from nbautograd.autograd.tangents import carry
from nbautograd.core.batched import ElementsError
from nbautograd.core.grad_mode import enable_grad
from nbautograd.core.tensor import Tensor
from nbautograd.errors import AutogradError
from nbautograd.ops.creation.creation import eye
from nbautograd.ops.shape.joining import stack

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Tensors = Tensor | tuple[Tensor, ...]

INDEPENDENT_OF_INPUT = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode: the function must be twice differentiable with a "
    "jacobian that depends on the inputs, which that of a linear function does not."
)


def vjp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """The result of ``func`` and the product of ``v`` with its Jacobian.

    :param v: shaped like the result; None for a result of one element.
    :param create_graph: record, so that the product can be differentiated.
    :param strict: raise where an output does not depend on an input, instead of giving zeros.
    :raises RuntimeError: ``v`` does not fit; or see ``strict``.

    >>> import nbautograd as torch
    >>> torch.autograd.functional.vjp(lambda x: x * x, torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        is_tuple, xs, _, outputs, was_tuple = _call(func, inputs, "vjp", create_graph)
        _all_require_grad(outputs, "outputs", strict)
        weights = _vectors(v, outputs, "the user-provided function returns a single Tensor")
        found = _product(outputs, xs, weights, create_graph, strict, "The output of the user-provided function")
    return _given(outputs, was_tuple, create_graph), _given(found, is_tuple, create_graph)


def jvp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """The result of ``func`` and the product of its Jacobian with ``v``, by two passes in reverse mode.

    :param v: shaped like the inputs; None for an input of one element.

    >>> import nbautograd as torch
    >>> torch.autograd.functional.jvp(lambda x: x * x, torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        _, xs, _, outputs, was_tuple = _call(func, inputs, "jvp", create_graph)
        weights = _vectors(v, xs, "the input to the user-provided function is a single Tensor")
        _all_require_grad(outputs, "outputs", strict)
        units = tuple(out.detach().new_zeros(out.shape).requires_grad_() for out in outputs)
        gradients = _product(outputs, xs, units, True, strict, "The output of the user-provided function")
        found = _transposed(gradients, units, weights, create_graph, strict, "The grad of the user-provided function")
    return _given(outputs, was_tuple, create_graph), _given(found, was_tuple, create_graph)


def jacobian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func`` at ``inputs``: for each output and input a tensor of both their shapes together.

    :param vectorize: compute all rows, or columns, in one pass.
    :param strategy: ``"reverse-mode"``, a pass per element of the outputs; or ``"forward-mode"``, a pass per element
        of the inputs, which PyTorch and so we have with ``vectorize=True`` only.

    >>> import nbautograd as torch
    >>> torch.autograd.functional.jacobian(lambda x: x.exp(), torch.tensor([0., 1.]))
    tensor([[1.0000, 0.0000],
            [0.0000, 2.7183]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            f'Expected strategy to be either "forward-mode" or "reverse-mode", not {strategy!r}. Forward mode is '
            "faster for functions with more outputs than inputs, reverse mode for others."
        )
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    if vectorize and strict:
        raise AutogradError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together."
        )
    with enable_grad():
        is_tuple, xs, _, outputs, was_tuple = _call(func, inputs, "jacobian", create_graph)
        _all_require_grad(outputs, "outputs", strict)
        if vectorize:
            rows = [_rows_at_once(out, xs, create_graph) for out in outputs]
            return _nested(rows, was_tuple, is_tuple, create_graph)
        rows = []
        for o, out in enumerate(outputs):
            columns: list[list[Tensor]] = [[] for _ in xs]
            flat = out.reshape(-1)
            for element in range(out.numel()):
                found: Any = (None,) * len(xs)
                if flat.requires_grad:
                    found = grad(flat[element], xs, retain_graph=True, create_graph=create_graph, allow_unused=True)
                for i, (x, d, column) in enumerate(zip(xs, found, columns, strict=True)):
                    if strict and d is None:
                        raise AutogradError(
                            f"Output {o} of the user-provided function is independent of input {i}. This is not "
                            "allowed in strict mode."
                        )
                    if strict and create_graph and d is not None and not d.requires_grad:
                        raise AutogradError(
                            "The jacobian of the user-provided function is independent of "
                            f"input {i}. This is not allowed in strict mode when create_graph=True."
                        )
                    column.append(x.new_zeros(x.shape) if d is None else d)
            rows.append(
                tuple(
                    _stacked(column, x).reshape((*out.shape, *x.shape)) for column, x in zip(columns, xs, strict=True)
                )
            )
    return _nested(rows, was_tuple, is_tuple, create_graph)


def _rows_at_once(out: Tensor, xs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """The Jacobian of one output by each input, by one pass for all rows."""
    count, rows = out.numel(), (None,) * len(xs)
    if count and out.requires_grad:
        units = eye(count, dtype=out.dtype, device=out.device).reshape((count, *out.shape))
        rows = grad(
            out, xs, units, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True
        )  # type: ignore[assignment]
    return tuple(
        (x.detach().new_zeros((count, *x.shape)) if d is None else d).reshape((*out.shape, *x.shape))
        for d, x in zip(rows, xs, strict=True)
    )


def hessian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The matrix of second derivatives of a scalar function.

    :raises RuntimeError: ``func`` returns anything else than one tensor of one element.

    >>> import nbautograd as torch
    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    is_tuple, _ = _as_tuple(inputs, "inputs", "hessian")

    def first(*xs: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            xs = tuple(x if x.requires_grad else _with_grad(x) for x in xs)
        result = _scalar(func(*xs), "hessian")
        if strict and not result.requires_grad:
            raise AutogradError(
                "Output 0 of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )
        found: Any = (None,) * len(xs)
        if result.requires_grad:
            found = grad(result, xs, create_graph=True, allow_unused=True)
        for i, d in enumerate(found):
            if strict and (d is None or not d.requires_grad):
                raise AutogradError(INDEPENDENT_OF_INPUT.format(i))
        return tuple(x.new_zeros(x.shape) if d is None else d for d, x in zip(found, xs, strict=True))

    rows = jacobian(first, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows if is_tuple else (rows[0] if isinstance(rows, tuple) else rows)


def vhp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """The result of a scalar function and the product of ``v`` with its Hessian.

    >>> import nbautograd as torch
    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 1.]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        is_tuple, xs, result, outputs, _ = _call(func, inputs, "vhp", create_graph)
        weights = _vectors(v, xs, "the input to the user-provided function is a single Tensor")
        _all_require_grad((_scalar(result, "vhp"),), "outputs", strict)
        first = _gradient(outputs, xs, strict)
        found = _product(first, xs, weights, create_graph, strict, None)
    return _given(outputs, False, create_graph), _given(found, is_tuple, create_graph)


def hvp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """The result of a scalar function and the product of its Hessian with ``v``; :func:`vhp` is faster.

    >>> import nbautograd as torch
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 1.]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        is_tuple, xs, result, outputs, _ = _call(func, inputs, "hvp", create_graph)
        weights = _vectors(v, xs, "the input to the user-provided function is a single Tensor")
        _all_require_grad((_scalar(result, "hvp"),), "outputs", strict)
        first = _gradient(outputs, xs, strict)
        units = tuple(x.detach().new_zeros(x.shape).requires_grad_() for x in xs)
        second = _product(first, xs, units, True, strict, None)
        found = _transposed(second, units, weights, create_graph, strict, None)
    return _given(outputs, False, create_graph), _given(found, is_tuple, create_graph)


# -- what they share -------------------------------------------------------------------------------------------------


def _as_tuple(value: Any, what: str, caller: str) -> tuple[bool, tuple[Tensor, ...]]:
    if isinstance(value, Tensor):
        return False, (value,)
    wrong = "the given inputs" if what == "inputs" else "the given outputs of the user-provided function"
    whose = "outputs of the user-provided function given" if what == "outputs" else f"{what} given"
    if not isinstance(value, tuple):
        raise TypeError(
            f"The {whose} to {caller} must be either a Tensor or a tuple of Tensors but {wrong} has type {type(value)}."
        )
    for i, element in enumerate(value):
        if not isinstance(element, Tensor):
            raise TypeError(
                f"The {whose} to {caller} must be either a Tensor or a tuple of Tensors but the value at index {i} of "
                f"{wrong} has type {type(element)}."
            )
    return True, value


def _with_grad(x: Tensor) -> Tensor:
    """A view of the same values that is differentiated by, keeping a tangent that ``x`` has."""
    fresh: Tensor = x.detach().requires_grad_().view(x.shape)
    carry(x, fresh)
    return fresh


def _call(func: Function, inputs: Any, caller: str, create_graph: bool) -> tuple[Any, ...]:
    """The inputs made ready to be differentiated by, and what the function returns for them."""
    is_tuple, given = _as_tuple(inputs, "inputs", caller)
    xs = tuple(x.view(x.shape) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in given)
    result = func(*xs)
    was_tuple, outputs = _as_tuple(result, "outputs", caller)
    return is_tuple, xs, result, outputs, was_tuple


def _all_require_grad(outputs: tuple[Tensor, ...], what: str, strict: bool) -> None:
    for i, out in enumerate(outputs):
        if strict and not out.requires_grad:
            raise AutogradError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in "
                "a differentiable manner from the input when running in strict mode."
            )


def _vectors(v: Any, like: tuple[Tensor, ...], single: str) -> tuple[Tensor, ...]:
    """The vectors of a product, once they are known to fit."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise AutogradError(f"The vector v can only be None if {single} with a single element.")
        return (like[0].detach().new_ones(like[0].shape),)
    _, vectors = _as_tuple(v, "v", "the product")
    if len(vectors) != len(like):
        if len(like) == 1:
            raise AutogradError("The given v should contain a single Tensor.")
        raise AutogradError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
    for i, (a, b) in enumerate(zip(vectors, like, strict=True)):
        if a.shape != b.shape:
            where = f"Entry {i} in v" if len(like) > 1 else "v"
            raise AutogradError(f"{where} has invalid size: should be {b.shape} but got {a.shape}.")
    return vectors


def _product(
    outputs: tuple[Tensor, ...],
    xs: tuple[Tensor, ...],
    weights: tuple[Tensor, ...],
    create_graph: bool,
    strict: bool,
    what: str | None,
) -> tuple[Tensor, ...]:
    """``grad`` with zeros, or an error if ``strict``, where nothing depends on an input."""
    pairs = [(out, w) for out, w in zip(outputs, weights, strict=True) if out.requires_grad]
    found: Any = (None,) * len(xs)
    if pairs:
        found = grad(
            [out for out, _ in pairs], xs, [w for _, w in pairs], create_graph=create_graph, retain_graph=True,
            allow_unused=True,
        )  # fmt: skip
    for i, d in enumerate(found):
        if strict and d is None:
            raise AutogradError(
                INDEPENDENT_OF_INPUT.format(i)
                if what is None
                else f"{what} is independent of input {i}. This is not allowed in strict mode."
            )
        if strict and create_graph and what is not None and d is not None and not d.requires_grad:
            raise AutogradError(
                f"{what.replace('The output', 'The jacobian')} is independent of input {i}. This is not allowed in "
                "strict mode when create_graph=True."
            )
    return tuple(x.detach().new_zeros(x.shape) if d is None else d for d, x in zip(found, xs, strict=True))


def _transposed(
    gradients: tuple[Tensor, ...],
    units: tuple[Tensor, ...],
    weights: tuple[Tensor, ...],
    create_graph: bool,
    strict: bool,
    what: str | None,
) -> tuple[Tensor, ...]:
    """The derivative, by ``units``, of gradients that are linear in them: the transposed product."""
    return _product(gradients, units, weights, create_graph, strict and what is not None, what)


def _gradient(outputs: tuple[Tensor, ...], xs: tuple[Tensor, ...], strict: bool) -> tuple[Tensor, ...]:
    if not outputs[0].requires_grad:
        return tuple(x.detach().new_zeros(x.shape) for x in xs)
    found = grad(outputs[0], xs, create_graph=True, allow_unused=True)
    for i, d in enumerate(found):
        if strict and d is None:
            raise AutogradError(
                f"The output of the user-provided function is independent of input {i}. This is not allowed in strict "
                "mode."
            )
        if strict and not d.requires_grad:
            raise AutogradError(INDEPENDENT_OF_INPUT.format(i))
    return tuple(x.detach().new_zeros(x.shape) if d is None else d for d, x in zip(found, xs, strict=True))


def _scalar(result: Any, caller: str) -> Tensor:
    if not isinstance(result, Tensor):
        raise AutogradError(f"The function given to {caller} should return a single Tensor")
    if result.numel() != 1:
        raise AutogradError(f"The Tensor returned by the function given to {caller} should contain a single element")
    scalar: Tensor = result.reshape(())
    return scalar


def _stacked(rows: list[Tensor], x: Tensor) -> Tensor:
    found: Tensor = stack(rows) if rows else x.detach().new_zeros((0, *x.shape))
    return found


def _given(values: tuple[Tensor, ...], is_tuple: bool, create_graph: bool) -> Any:
    found = values if create_graph else tuple(value.detach() for value in values)
    return found if is_tuple else found[0]


def _nested(rows: list[tuple[Tensor, ...]], was_tuple: bool, is_tuple: bool, create_graph: bool) -> Any:
    """A tensor, a tuple, or a tuple of tuples: as the function's outputs and inputs were."""
    found = tuple(_given(row, is_tuple, create_graph) for row in rows)
    return found if was_tuple else found[0]


def _forward_jacobian(func: Function, inputs: Any, create_graph: bool, strict: bool, vectorize: bool) -> Any:
    """The Jacobian by columns: one evaluation of the function per element of the inputs."""
    if strict:
        raise AutogradError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported '
            "together."
        )
    if create_graph:
        raise NotImplementedError(
            'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
            "together."
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )
    is_tuple, given = _as_tuple(inputs, "inputs", "jacobian")
    xs = tuple(x.detach() for x in given)
    columns = []  # by input, then by output
    was_tuple = False
    for i, x in enumerate(xs):

        def column(unit: Any, i: int = i, x: Tensor = x) -> list[Any]:
            """The derivatives of the outputs in one direction."""
            nonlocal was_tuple
            with forward_ad.dual_level():
                duals = [*xs[:i], forward_ad.make_dual(x, unit), *xs[i + 1 :]]
                was_tuple, outputs = _as_tuple(func(*duals), "outputs", "jacobian")
                pairs = [forward_ad.unpack_dual(out) for out in outputs]
                return [p.primal.new_zeros(p.primal.shape) if p.tangent is None else p.tangent.detach() for p in pairs]

        columns.append(_for_each_unit(column, x))
    rows = [
        tuple(part.reshape((*part.shape[:-1], *x.shape)) for part, x in zip(by_input, xs, strict=True))
        for by_input in zip(*columns, strict=True)
    ]
    return _nested(rows, was_tuple, is_tuple, False)


def _for_each_unit(column: Callable[[Any], list[Any]], x: Tensor) -> list[Any]:
    """What ``column`` gives for each unit vector in the shape of ``x``, in a last dimension: for all at once, if it can.

    A function that looks at elements is called for each.
    """
    from nbautograd.batching.transform import vmap

    count = x.numel()
    if not count:
        return [part.new_zeros((*part.shape, 0)) for part in column(x.new_zeros(x.shape))]
    units = eye(count, dtype=x.dtype, device=x.device).reshape((count, *x.shape))
    try:
        parts: list[Any] = vmap(column, out_dims=-1, randomness="same")(units)
    except ElementsError:
        parts = [stack(list(several), -1) for several in zip(*map(column, units.unbind()), strict=True)]
    return parts
