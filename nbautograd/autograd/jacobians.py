"""Jacobians at a point: numerical (finite differences), and analytical by backward passes or by forward mode.

A complex number counts as two real ones. So a Jacobian is a real matrix, with a row for each number of the input and a
column for each number of the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.autograd import forward_ad
from nbautograd.autograd.backward import grad
from nbautograd.errors import NbautogradError, kind_of

Array = np.ndarray[Any, Any]


class GradcheckError(NbautogradError, RuntimeError):
    """An error for a gradient that does not agree with finite differences; the message shows both Jacobians.

    :param args: the message.
    :param kwargs: none are accepted.
    :returns: an exception, which is a RuntimeError.
    :raises TypeError: an argument has a name.

    >>> import nbautograd as torch
    >>> from nbautograd.autograd.jacobians import GradcheckError
    >>> x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    >>> try:
    ...     torch.autograd.gradcheck(lambda x: x.detach() * x, (x,))
    ... except GradcheckError:
    ...     print("the gradients are wrong")
    the gradients are wrong
    """


def tensors_of(answer: Any) -> list[Tensor]:
    """Return the tensors in a function's result; raise AttributeError if something else is in it."""
    values = answer if isinstance(answer, (tuple, list)) else (answer,)
    for value in values:
        if not isinstance(value, Tensor):
            raise AttributeError(f"'{kind_of(value)}' object has no attribute 'requires_grad'")
    return [*values]


def as_tuple(inputs: Any) -> tuple[Any, ...]:
    """Return a list or tuple as a tuple, and anything else as a tuple of one."""
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def reals(array: Array) -> Array:
    """Return the elements in one dimension, complex ones as pairs."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def units(t: Tensor) -> list[complex]:
    """Return the directions in which an element can move: 1, and 1j if it is complex."""
    return [1.0, 1.0j] if t.is_complex() else [1.0]


class Point:
    """A function at its inputs: its outputs there, and its derivatives by the inputs that require grad.

    :param eps: the step of finite differences.
    """

    def __init__(self, func: Callable[..., Any], inputs: Sequence[Any], eps: float) -> None:
        self.func, self.inputs, self.eps = func, inputs, eps
        self.positions = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        self.results = tensors_of(func(*inputs))
        self.places = [i for i, out in enumerate(self.results) if out.requires_grad]

    @property
    def outputs(self) -> list[Tensor]:
        """The outputs that can be differentiated."""
        return [self.results[i] for i in self.places]

    @property
    def variables(self) -> list[Tensor]:
        """The inputs that require grad."""
        return [self.inputs[i] for i in self.positions]

    def again(self) -> list[Tensor]:
        """Recompute the differentiable outputs, with a new graph."""
        return [out for out in tensors_of(self.func(*self.inputs)) if out.requires_grad]

    # -- finite differences ----------------------------------------------------------------------------------------

    def measured(self, position: int) -> list[Array]:
        """Return the numerical Jacobian of each result with respect to one input."""
        x = self.inputs[position]
        rows = [self.slopes(position, index, unit) for index in np.ndindex(*x.shape) for unit in units(x)]
        return self._by_result([list(column) for column in zip(*rows, strict=True)] or [[] for _ in self.results])

    def _by_result(self, rows: list[list[Array]]) -> list[Array]:
        """Return the Jacobian of each result, from its rows."""
        pairs = zip(rows, self.results, strict=True)
        return [np.stack(own) if own else np.zeros((0, reals(backend.fetch(out._a)).size)) for own, out in pairs]

    def slopes(self, position: int, where: Any, step: Any) -> list[Array]:
        """Return the central differences of each result when elements of an input move in a direction.

        :param where: the index of an element; ``...`` for all.
        :param step: the direction.
        :raises AssertionError: the shape or dtype of a result changes.
        """
        array = self.inputs[position]._shared_array()
        original = array[where].copy()
        try:
            array[where] = original - self.eps * step
            below = self._values()
            array[where] = original + self.eps * step
            above = self._values()
        finally:
            array[where] = original
        self._check_alike(below, above, "" if where is ... else f"on index {where} ")
        # Integer and bool results are also compared: their derivative should be 0.
        pairs = [(a if a.dtype.kind in "fc" else a.astype(float), b) for a, b in zip(above, below, strict=True)]
        return [reals((a - b) / (2 * self.eps)) for a, b in pairs]

    def _values(self) -> list[Array]:
        return [backend.fetch(out._a).copy() for out in tensors_of(self.func(*self.inputs))]

    def _check_alike(self, below: list[Array], above: list[Array], where: str) -> None:
        expected = "Expected `func` to return outputs with the same"
        moved = f"when inputs are perturbed {where}by {self.eps}, but got:"
        if not len(below) == len(above) == len(self.results):
            raise AssertionError(f"{expected} number {moved} {len(below)} and {len(above)}.")
        for a, b, out in zip(below, above, self.results, strict=True):
            if not a.shape == b.shape == out._a.shape:
                raise AssertionError(f"{expected} shape {moved} shapes {list(a.shape)} and {list(b.shape)}.")
            if not a.dtype == b.dtype == out._a.dtype:
                raise AssertionError(f"{expected} dtype {moved} dtypes {a.dtype} and {b.dtype}.")

    # -- backward passes -------------------------------------------------------------------------------------------

    def computed(self, out: Tensor) -> list[Array]:
        """Return the analytical Jacobian of an output by each variable: a pass per number of the output."""
        columns: list[list[Array]] = [[] for _ in self.positions]
        for element in range(out.numel()):
            for unit in units(out):
                for column, d in zip(columns, self.products(out, unit_vector(out, element, unit)), strict=True):
                    column.append(d)
        pairs = zip(columns, self.variables, strict=True)
        return [np.stack(own, 1) if own else np.zeros((reals(backend.fetch(x._a)).size, 0)) for own, x in pairs]

    def products(self, out: Tensor, cotangent: Tensor) -> list[Array]:
        """Return the vector-Jacobian products, by one pass; zeros for a variable that the output does not depend on."""
        gradients = grad(out, self.variables, cotangent, retain_graph=True, allow_unused=True)
        pairs = zip(gradients, self.variables, strict=True)
        return [reals(np.zeros(x._a.shape, x._a.dtype) if d is None else backend.fetch(d._a)) for d, x in pairs]

    # -- forward mode ----------------------------------------------------------------------------------------------

    def pushed(self, position: int) -> list[Array]:
        """Return the forward-mode Jacobian of each result by one input: a call per number of the input."""
        x = self.inputs[position]
        rows: list[list[Array]] = [[] for _ in self.results]
        for element in range(x.numel()):
            for unit in units(x):
                along = self.tangents({position: unit_vector(x, element, unit)})
                for row, tangent, out in zip(rows, along, self.results, strict=True):
                    row.append(reals(np.zeros(out._a.shape, out._a.dtype) if tangent is None else fetched(tangent)))
        return self._by_result(rows)

    def tangents(self, directions: dict[int, Tensor | None]) -> list[Tensor | None]:
        """Return the derivatives of all results in a direction of the inputs.

        :param directions: the tangents of some inputs, None for one without; the other variables have zeros.
        """
        with forward_ad.dual_level():
            duals = []
            for i, x in enumerate(self.inputs):
                value = x.detach() if i in self.positions else x
                if i in self.positions:
                    direction = directions.get(i, value.new_zeros(value.shape))
                    value = value if direction is None else forward_ad.make_dual(value, direction)
                duals.append(value)
            return [forward_ad.unpack_dual(out).tangent for out in tensors_of(self.func(*duals))]


def fetched(t: Tensor) -> Array:
    """Return a tensor's values on the host."""
    return backend.fetch(t._a)


def unit_vector(like: Tensor, element: int, unit: complex) -> Tensor:
    """Return zeros in the shape of a tensor, except for one element."""
    values = np.zeros(like.numel(), like._a.dtype)
    values[element] = unit
    return wrap(backend.module(like.device).asarray(values.reshape(like._a.shape)))
