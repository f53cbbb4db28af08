"""Jacobians, Hessians and their products with vectors, for functions passed as arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.core.batched import ElementsError, NoRuleError
from nbautograd._engine.core.grad_mode import enable_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import eye
from nbautograd._engine.ops.shape.joining import stack
from nbautograd._names import docstrings
from nbautograd._names.docstrings import packages
from nbautograd.autograd import forward_ad
from nbautograd.autograd.backward import grad
from nbautograd.autograd.passed_through import _grad_postprocess, _grad_preprocess, _tuple_postprocess
from nbautograd.autograd.tangents import carry
from nbautograd.errors import AutogradError

_FOR_OTHERS = (_grad_postprocess, _grad_preprocess, _tuple_postprocess)
__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Function = Callable[..., Any]
Tensors = Tensor | tuple[Tensor, ...]

INDEPENDENT_OF_INPUT = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode: the function must be twice differentiable with a "
    "jacobian that depends on the inputs, unlike that of a linear function."
)


def vjp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the result of ``func`` and the product of ``v`` with its Jacobian.

    :param v: shaped like the result; None for a result of one element.
    :param create_graph: record the computation, so that the product can be differentiated.
    :param strict: raise if an output does not depend on an input, instead of returning zeros.
    :raises RuntimeError: ``v`` does not match; or see ``strict``.

    >>> torch.autograd.functional.vjp(lambda x: x * x, torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        is_tuple, xs, _, outputs, was_tuple = _call(func, inputs, "vjp", create_graph)
        _all_require_grad(outputs, strict)
        weights = _vectors(v, outputs, was_tuple, "the user-provided function returns a single Tensor", "vjp")
        product = _product(outputs, xs, weights, create_graph, strict, "The output of the user-provided function")
    return _returned(outputs, was_tuple, create_graph), _returned(product, is_tuple, create_graph)


def jvp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the result of ``func`` and the product of its Jacobian with ``v``, by two passes in reverse mode.

    :param v: shaped like the inputs; None for an input of one element.

    >>> torch.autograd.functional.jvp(lambda x: x * x, torch.tensor([1., 2.]), torch.tensor([1., 10.]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        is_tuple, xs, _, outputs, was_tuple = _call(func, inputs, "jvp", create_graph)
        weights = _vectors(v, xs, is_tuple, "the input to the user-provided function is a single Tensor", "jvp")
        _all_require_grad(outputs, strict)
        cotangents = tuple(out.detach().new_zeros(out.shape).requires_grad_() for out in outputs)
        gradients = _product(outputs, xs, cotangents, True, strict, "The output of the user-provided function")
        of_gradient = "The grad of the user-provided function"  # which is linear in the cotangents
        product = _product(gradients, cotangents, weights, create_graph, strict, of_gradient)
    return _returned(outputs, was_tuple, create_graph), _returned(product, was_tuple, create_graph)


def jacobian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """Return the Jacobian of ``func`` at ``inputs``: for each output and input a tensor with both their shapes joined.

    :param vectorize: compute all rows, or columns, in one pass.
    :param strategy: ``"reverse-mode"``, a pass per element of the outputs; or ``"forward-mode"``, a pass per element
        of the inputs, supported, as in PyTorch, only with ``vectorize=True``.

    >>> torch.autograd.functional.jacobian(lambda x: x.exp(), torch.tensor([0., 1.]))
    tensor([[1.0000, 0.0000],
            [0.0000, 2.7183]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: "forward-mode" is faster for '
            f'functions with more outputs than inputs, "reverse-mode" for others. It was {strategy!r}.'
        )
    if strategy == "forward-mode":
        return _forward_jacobian(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        is_tuple, xs, _, outputs, was_tuple = _call(func, inputs, "jacobian", create_graph)
        _all_require_grad(outputs, strict)
        if vectorize:
            return _nested(_all_rows(outputs, xs, create_graph, strict), was_tuple, is_tuple, create_graph)
        rows = []
        for o, out in enumerate(outputs):
            columns: list[list[Tensor]] = [[] for _ in xs]
            flat = out.reshape(-1)
            for element in range(out.numel()):
                gradients: Any = (None,) * len(xs)
                if flat.requires_grad:
                    gradients = grad(flat[element], xs, retain_graph=True, create_graph=create_graph, allow_unused=True)
                if strict:
                    _check_dependent(gradients, f"Output {o} of the user-provided function", create_graph)
                for d, column in zip(_filled(gradients, xs), columns, strict=True):
                    column.append(d)
            pairs = zip(columns, xs, strict=True)
            rows.append(tuple(_stacked(column, x).reshape((*out.shape, *x.shape)) for column, x in pairs))
    return _nested(rows, was_tuple, is_tuple, create_graph)


def _all_rows(
    outputs: tuple[Tensor, ...], xs: tuple[Tensor, ...], create_graph: bool, strict: bool
) -> list[tuple[Tensor, ...]]:
    """Return the Jacobian of each output, from one batch of gradients: the unit vectors of all outputs together."""
    if strict:
        raise AutogradError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
            "Please either set `strict=False` or `vectorize=False`."
        )
    sizes = [out.numel() for out in outputs]
    columns: Any = (None,) * len(xs)
    bases = _construct_standard_basis_for(outputs, sizes)
    pairs = [(out.reshape(-1), units) for out, units in zip(outputs, bases, strict=True) if out.requires_grad]
    if pairs and sum(sizes):
        flat, units = zip(*pairs, strict=True)
        columns = grad(
            flat, xs, units, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True
        )
    parts = [
        (x.new_zeros((sum(sizes), *x.shape)) if column is None else column).split(sizes)
        for column, x in zip(columns, xs, strict=True)
    ]
    return [
        tuple(part[o].reshape((*out.shape, *x.shape)) for part, x in zip(parts, xs, strict=True))
        for o, out in enumerate(outputs)
    ]


def _construct_standard_basis_for(tensors: Any, tensor_numels: Any) -> tuple[Tensor, ...]:
    """Return the unit vectors of the joint space of all elements of some tensors: for each tensor its columns."""
    if not tensors:
        raise AssertionError("Expected at least one tensor")
    if len(tensors) != len(tensor_numels):
        raise AssertionError(f"Expected one number of elements per tensor, got {len(tensor_numels)} of {len(tensors)}")
    total = sum(tensor_numels)
    bases, first = [], 0
    for tensor, count in zip(tensors, tensor_numels, strict=True):
        basis = tensor.detach().new_zeros((total, count))
        basis[first : first + count].fill_diagonal_(1)
        bases.append(basis)
        first += count
    return tuple(bases)


def hessian(
    func: Function,
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """Return the matrix of second derivatives of a scalar function.

    :raises RuntimeError: ``func`` does not return one tensor of one element.

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
        answer = func(*xs)
        _, outputs = _as_tuple(answer, OUTPUTS, "hessian")
        _all_require_grad(outputs, strict)
        result = _as_scalar(answer, "hessian")
        gradients: Any = (None,) * len(xs)
        if result.requires_grad:
            gradients = grad(result, xs, create_graph=True, allow_unused=True)
        for i, d in enumerate(gradients):
            if strict and (d is None or not d.requires_grad):
                raise AutogradError(INDEPENDENT_OF_INPUT.format(i))
        return _filled(gradients, xs)

    if outer_jacobian_strategy == "forward-mode":
        rows = _forward_jacobian(first, inputs, create_graph, strict, vectorize, _one_by_one)
    else:
        rows = jacobian(first, inputs, create_graph, strict, vectorize)
    return rows if is_tuple else (rows[0] if isinstance(rows, tuple) else rows)


def vhp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the result of a scalar function and the product of ``v`` with its Hessian.

    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 1.]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        is_tuple, xs, result, outputs, _ = _call(func, inputs, "vhp", create_graph)
        weights = _vectors(v, xs, is_tuple, "the input to the user-provided function is a single Tensor", "vhp")
        _all_require_grad((_as_scalar(result, "vhp"),), strict)
        product = _product(_gradient(outputs, xs, strict), xs, weights, create_graph, strict, None)
    return _returned(outputs, False, create_graph), _returned(product, is_tuple, create_graph)


def hvp(
    func: Function, inputs: Tensors, v: Tensors | None = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """Return the result of a scalar function and the product of its Hessian with ``v``; :func:`vhp` is faster.

    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1., 2.]), torch.tensor([1., 1.]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        is_tuple, xs, result, outputs, _ = _call(func, inputs, "hvp", create_graph)
        weights = _vectors(v, xs, is_tuple, "the input to the user-provided function is a single Tensor", "hvp")
        _all_require_grad((_as_scalar(result, "hvp"),), strict)
        first = _gradient(outputs, xs, strict)
        cotangents = tuple(x.detach().new_zeros(x.shape).requires_grad_() for x in xs)
        second = _product(first, xs, cotangents, True, strict, None)
        product = _product(second, cotangents, weights, create_graph, False, None)
    return _returned(outputs, False, create_graph), _returned(product, is_tuple, create_graph)


# -- what they share -------------------------------------------------------------------------------------------------


OUTPUTS = "outputs of the user-provided function"


def _as_tuple(value: Any, what: str, caller: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Return whether the value is a tuple rather than a tensor, and the value as a tuple; errors call it ``what``."""
    if isinstance(value, Tensor):
        return False, (value,)
    expected = f"The {what} given to {caller} must be either a Tensor or a tuple of Tensors but"
    if not isinstance(value, tuple):
        raise TypeError(f"{expected} the given {what} has type {type(value)}.")
    for i, element in enumerate(value):
        if not isinstance(element, Tensor):
            raise TypeError(f"{expected} the value at index {i} has type {type(element)}.")
    return True, value


def _with_grad(x: Tensor) -> Tensor:
    """Return a view of the same values to differentiate by, keeping a tangent of ``x``."""
    fresh: Tensor = x.detach().requires_grad_().view(x.shape)
    carry(x, fresh)
    return fresh


def _call(func: Function, inputs: Any, caller: str, create_graph: bool) -> tuple[Any, ...]:
    """Return the inputs prepared for differentiation, and the function's results for them."""
    is_tuple, tensors = _as_tuple(inputs, "inputs", caller)
    xs = tuple(x.view(x.shape) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in tensors)
    result = func(*xs)
    was_tuple, outputs = _as_tuple(result, OUTPUTS, caller)
    return is_tuple, xs, result, outputs, was_tuple


def _all_require_grad(outputs: tuple[Tensor, ...], strict: bool) -> None:
    for i, out in enumerate(outputs):
        if strict and not out.requires_grad:
            raise AutogradError(
                f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in "
                "a differentiable manner from the input when running in strict mode."
            )


def _vectors(v: Any, like: tuple[Tensor, ...], is_tuple: bool, single: str, caller: str) -> tuple[Tensor, ...]:
    """Return the vectors of a product, after checking that they match."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise AutogradError(f"The vector v can only be None if {single} with a single element.")
        return (like[0].detach().new_ones(like[0].shape),)
    _, vectors = _as_tuple(v, "v", caller)
    if len(vectors) != len(like):
        if not is_tuple:
            raise AutogradError("The given v should contain a single Tensor.")
        raise AutogradError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
    for i, (a, b) in enumerate(zip(vectors, like, strict=True)):
        if a.shape != b.shape:
            where = f"Entry {i} in v" if is_tuple else "v"
            raise AutogradError(f"{where} has invalid size: should be {b.shape} but got {a.shape}.")
    return vectors


def _product(
    outputs: tuple[Tensor, ...], xs: tuple[Tensor, ...], weights: tuple[Tensor, ...], create_graph: bool, strict: bool,
    what: str | None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Compute ``grad`` with zeros, or an error if ``strict``, for an independent input."""
    pairs = [(out, w) for out, w in zip(outputs, weights, strict=True) if out.requires_grad]
    gradients: Any = (None,) * len(xs)
    if pairs:
        gradients = grad(
            [out for out, _ in pairs], xs, [w for _, w in pairs], create_graph=create_graph, retain_graph=True,
            allow_unused=True,
        )  # fmt: skip
    if strict:
        _check_dependent(gradients, what, create_graph)
    return _filled(gradients, xs)


def _check_dependent(gradients: Any, what: str | None, create_graph: bool) -> None:
    """Check that there is a gradient by each input, which depends on the inputs if the graph is recorded.

    :param what: what is differentiated; None for a derivative.
    """
    for i, d in enumerate(gradients):
        if d is None and what is None:
            raise AutogradError(INDEPENDENT_OF_INPUT.format(i))
        if d is None:
            raise AutogradError(f"{what} is independent of input {i}. This is not allowed in strict mode.")
        if create_graph and what is not None and not d.requires_grad:
            raise AutogradError(
                f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in "
                "strict mode when create_graph=True."
            )


def _filled(gradients: Any, xs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(x.detach().new_zeros(x.shape) if d is None else d for d, x in zip(gradients, xs, strict=True))


def _gradient(outputs: tuple[Tensor, ...], xs: tuple[Tensor, ...], strict: bool) -> tuple[Tensor, ...]:
    if not outputs[0].requires_grad:
        return _filled((None,) * len(xs), xs)
    gradients = grad(outputs[0], xs, create_graph=True, allow_unused=True)
    for i, d in enumerate(gradients if strict else ()):
        if d is None:
            raise AutogradError(
                f"The output of the user-provided function is independent of input {i}. This is not allowed in strict "
                "mode."
            )
        if not d.requires_grad:
            raise AutogradError(INDEPENDENT_OF_INPUT.format(i))
    return _filled(gradients, xs)


def _as_scalar(result: Any, caller: str) -> Tensor:
    if not isinstance(result, Tensor):
        raise AutogradError(f"The function given to {caller} should return a single Tensor")
    if result.numel() != 1:
        raise AutogradError(f"The Tensor returned by the function given to {caller} should contain a single element")
    scalar: Tensor = result.reshape(())
    return scalar


def _stacked(rows: list[Tensor], x: Tensor) -> Tensor:
    stacked: Tensor = stack(rows) if rows else x.detach().new_zeros((0, *x.shape))
    return stacked


def _returned(values: tuple[Tensor, ...], is_tuple: bool, create_graph: bool) -> Any:
    results = values if create_graph else tuple(value.detach() for value in values)
    return results if is_tuple else results[0]


def _nested(rows: list[tuple[Tensor, ...]], was_tuple: bool, is_tuple: bool, create_graph: bool) -> Any:
    """Return a tensor, a tuple, or a tuple of tuples, like the function's outputs and inputs."""
    nested = tuple(_returned(row, is_tuple, create_graph) for row in rows)
    return nested if was_tuple else nested[0]


Column = Callable[[Any], list[Any]]
"""The derivatives of the outputs in a direction of an input."""


def _forward_jacobian(
    func: Function, inputs: Any, create_graph: bool, strict: bool, vectorize: bool,
    for_each: Callable[[Column, Any], list[Any]] | None = None,
) -> Any:  # fmt: skip
    """Compute the Jacobian by columns.

    :param for_each: the method: ``_at_once``, by one evaluation of the function, or ``_one_by_one``.
    """
    together = 'torch.autograd.functional.jacobian: `{}=True` and `strategy="forward-mode"` are not supported together'
    instead = ' (yet). Please either set `{}=False` or `strategy="reverse-mode"`.'
    if create_graph:
        raise NotImplementedError((together + instead).format("create_graph", "create_graph"))
    if strict:
        raise AutogradError((together + instead).format("strict", "strict"))
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )
    is_tuple, tensors = _as_tuple(inputs, "inputs", "jacobian")
    xs = tuple(x.detach() for x in tensors)
    columns = []  # by input, then by output
    was_tuple = False
    for i, x in enumerate(xs):

        def column(unit: Any, i: int = i, x: Tensor = x) -> list[Any]:
            """Return the derivatives of the outputs in one direction."""
            nonlocal was_tuple
            with forward_ad.dual_level():
                duals = [*xs[:i], forward_ad.make_dual(x, unit), *xs[i + 1 :]]
                was_tuple, outputs = _as_tuple(func(*duals), OUTPUTS, "jacobian")
                pairs = [forward_ad.unpack_dual(out) for out in outputs]
                return [p.primal.new_zeros(p.primal.shape) if p.tangent is None else p.tangent.detach() for p in pairs]

        count = x.numel()
        units = eye(count, dtype=x.dtype, device=x.device).reshape((count, *x.shape))
        if count:
            columns.append((for_each or _at_once)(column, units))
        else:
            columns.append([part.new_zeros((*part.shape, 0)) for part in column(x)])
    rows = [
        tuple(part.reshape((*part.shape[:-1], *x.shape)) for part, x in zip(by_input, xs, strict=True))
        for by_input in zip(*columns, strict=True)
    ]
    return _nested(rows, was_tuple, is_tuple, False)


def _at_once(column: Column, units: Tensor) -> list[Any]:
    """Return the columns for all units, in a last dimension; one by one if the function does not support batches."""
    from nbautograd._engine.batching.transform import vmap

    try:
        parts: list[Any] = vmap(column, out_dims=-1, randomness="same")(units)
    except (ElementsError, NoRuleError):
        parts = _one_by_one(column, units)
    return parts


def _one_by_one(column: Column, units: Tensor) -> list[Any]:
    """Return these columns by an evaluation for each; the function may differentiate by its inputs."""
    return [stack(list(several), -1) for several in zip(*map(column, units.unbind()), strict=True)]


docstrings.describe_all([globals()[name] for name in __all__], *packages.DERIVATIVES)
