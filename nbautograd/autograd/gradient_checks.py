"""The checks of ``gradcheck``: Jacobians, determinism, undefined gradients, batched gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.core.batched import NoRuleError
from nbautograd._engine.core.node import LEAF, Node, OutputGrads
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.ops.shape.joining import stack
from nbautograd.autograd import engine
from nbautograd.autograd.backward import grad, key_of
from nbautograd.autograd.full_engine import FullRun, Key
from nbautograd.autograd.function_ctx import FunctionCtx
from nbautograd.autograd.jacobians import Array, GradcheckError, Point, fetched, reals
from nbautograd.errors import warn

NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was {}; pass a "
    "larger nondet_tol if the difference is expected."
)
BATCHED = "gradcheck or gradgradcheck failed while testing batched {}"
UNDEFINED = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default: backward "
    "functions also get gradients of None, which represent zeros. Pass check_undefined_grad=False to skip this."
)


class Check:
    """The checks of one function at one point.

    :param point: the function and its inputs.
    :param atol: the absolute tolerance.
    :param rtol: the relative tolerance.
    :param nondet_tol: the allowed difference of two passes.
    :param dtypes: if True, gradients must have the dtypes of their inputs.
    """

    def __init__(self, point: Point, atol: float, rtol: float, nondet_tol: float, dtypes: bool) -> None:
        self.point, self.atol, self.rtol, self.nondet_tol, self.dtypes = point, atol, rtol, nondet_tol, dtypes
        self.rng = np.random.default_rng(0)

    # -- Jacobians ---------------------------------------------------------------------------------------------------

    def backward(self) -> None:
        """Check reverse mode: analytical against numerical Jacobians."""
        measured = self.measured()
        for o, place in enumerate(self.point.places):
            out = self.point.results[place]
            computed = self.repeated(out, lambda out=out: self.point.computed(out))  # type: ignore[misc]
            for i, a, n in zip(self.point.positions, computed, measured, strict=True):
                for part, prefix in _parts(out, "outputs"):
                    if not self.close(a[:, part], n[place][:, part]):
                        raise GradcheckError(prefix + self.report(i, o, a[:, part], n[place][:, part]))

    def forward(self) -> None:
        """Check forward mode: analytical against numerical Jacobians."""
        measured = self.measured()
        if not self.point.places:
            return
        for i, n in zip(self.point.positions, measured, strict=True):
            x, computed = self.point.inputs[i], self.point.pushed(i)
            for o, place in enumerate(self.point.places):
                for part, prefix in _parts(x, "inputs"):
                    if not self.close(computed[place][part], n[place][part]):
                        message = self.report(
                            i, o, computed[place][part], n[place][part], " computed with forward mode"
                        )
                        raise GradcheckError(prefix + message)

    def measured(self) -> list[list[Array]]:
        """Return the numerical Jacobian of each result, by input; check for zeros if no output is differentiable."""
        measured = [self.point.measured(i) for i in self.point.positions]
        if not self.point.places:
            self.nothing_changes(measured)
        return measured

    def nothing_changes(self, slopes: list[list[Array]]) -> None:
        """Check that the numerical Jacobian is zero, if no output requires grad."""
        for i, of_input in zip(self.point.positions, slopes, strict=True):
            if any(bool((of_result != 0).any()) for of_result in of_input):
                raise GradcheckError(
                    "Numerical gradient for function expected to be zero: no output requires grad, but one changes "
                    f"with input {i}"
                )

    def close(self, computed: Array, measured: Array, atol: float | None = None) -> bool:
        """Return whether two arrays agree within the tolerances."""
        return bool(np.allclose(computed, measured, self.rtol, self.atol if atol is None else atol))

    def repeated(self, out: Tensor, run: Callable[[], list[Array]]) -> list[Array]:
        """Return the result of backward passes, after checks that it is deterministic and has the right dtypes."""
        first, second = run(), run()
        if self.dtypes:
            self.check_dtypes(out)
        for a, b in zip(first, second, strict=True):
            if a.size and np.max(np.abs(a - b)) > self.nondet_tol:
                raise GradcheckError(NOT_REENTRANT.format(self.nondet_tol))
        return first

    def check_dtypes(self, out: Tensor) -> None:
        """Check that gradients have the dtypes of their inputs."""
        gradients = grad(out, self.point.variables, wrap(out._a * 0 + 1), retain_graph=True, allow_unused=True)
        for i, x, d in zip(self.point.positions, self.point.variables, gradients, strict=True):
            if d is not None and d.dtype is not x.dtype:
                raise GradcheckError(
                    f"Gradient has dtype mismatch: that of input {i} is {d.dtype!r}, the input {x.dtype!r}"
                )

    # -- along one direction -----------------------------------------------------------------------------------------

    def backward_along_a_line(self) -> None:
        """Run the fast mode of ``backward``: a random combination of each output, along a direction of each input."""
        directions = [self.direction(x) for x in self.point.variables]
        slopes = self.along(directions)
        for o, place in enumerate(self.point.places):
            out = self.point.results[place]
            for part, prefix in _parts(out, "outputs"):
                weights = self.direction(out, part)
                computed = self.repeated(out, lambda: self.point.products(out, wrap(weights)))  # noqa: B023 - run here
                v = reals(backend.fetch(weights))
                for i, d, u, slope in zip(self.point.positions, computed, directions, slopes, strict=True):
                    u = reals(backend.fetch(u))
                    a, n = d @ u, v @ slope[place]
                    if not self.close(a, n, self.atol * u.sum() * v.sum()):
                        raise GradcheckError(prefix + self.report_along(i, o, a, n))

    def forward_along_a_line(self) -> None:
        """Run the fast mode of ``forward``: along a random direction of each input."""
        if not self.point.places:
            self.along([self.direction(x) for x in self.point.variables])
            return
        for i, x in zip(self.point.positions, self.point.variables, strict=True):
            for part, prefix in _parts(x, "inputs"):
                u = self.direction(x, part)
                slopes, tangents = self.point.slopes(i, ..., u), self.point.tangents({i: wrap(u)})
                for o, place in enumerate(self.point.places):
                    tangent, n = tangents[place], slopes[place]
                    a = np.zeros_like(n) if tangent is None else reals(fetched(tangent))
                    if not self.close(a, n, self.atol * reals(backend.fetch(u)).sum()):
                        raise GradcheckError(prefix + self.report_along(i, o, a, n, " computed with forward mode"))

    def along(self, directions: list[Array]) -> list[list[Array]]:
        """Return the numerical directional derivatives, by input; zeros are checked without differentiable outputs."""
        slopes = [self.point.slopes(i, ..., u) for i, u in zip(self.point.positions, directions, strict=True)]
        if not self.point.places:
            self.nothing_changes(slopes)
        return slopes

    def direction(self, like: Tensor, part: slice | None = None) -> Array:
        """Return a random unit vector without negative elements, in the shape and on the device of a tensor.

        :param part: the nonzero parts of a complex tensor: the real or the imaginary ones.
        """
        values = self.rng.random(2 * like.numel() if like.is_complex() else like.numel())
        if part is not None:
            chosen, values = values[part].copy(), np.zeros_like(values)
            values[part] = chosen
        values /= max(float(np.linalg.norm(values)), 1e-300)
        if like.is_complex():
            values = values.view(np.complex128)
        array: Array = backend.module(like.device).asarray(values.reshape(like._a.shape).astype(like._a.dtype))
        return array

    # -- zeros and undefined gradients ---------------------------------------------------------------------------------

    def zeros(self) -> None:
        """Check that cotangents of zeros give gradients of zeros, with the right shape, dtype and device."""
        outputs = self.point.outputs
        gradients: Any = [None] * len(self.point.positions)
        if outputs:
            gradients = grad(outputs, self.point.variables, [wrap(out._a * 0) for out in outputs], allow_unused=True)
        for i, x, d in zip(self.point.positions, self.point.variables, gradients, strict=True):
            if d is None:
                continue
            if bool((d._a != 0).any()):
                raise GradcheckError(
                    f"backward not multiplied by grad_output: for zeros, the gradient of input {i} is not zero"
                )
            if d.dtype is not x.dtype:
                raise GradcheckError(f"grad is incorrect type: {d.dtype!r} for input {i} of {x.dtype!r}")

    def undefined(self) -> None:
        """Check that undefined gradients, of all outputs or of one, give None or zeros."""
        count = len(self.point.places)
        for missing in [set(range(count)), *([{o} for o in range(count)] if count > 1 else [])]:
            try:
                gradients = grad_of_undefined(self.point.again(), missing, self.point.variables)
            except RuntimeError as error:
                warn(UNDEFINED)
                raise GradcheckError(
                    f"Expected backward function to handle undefined output grads, but it raised: {error}"
                ) from error
            for i, d in zip(self.point.positions, gradients, strict=True):
                if d is not None and bool((d != 0).any()):
                    warn(UNDEFINED)
                    raise GradcheckError(
                        "Expected all input grads to be undefined or zero when all output grads are undefined or "
                        f"zero, but that of input {i} is not."
                    )

    def undefined_tangents(self) -> None:
        """Check that an input without a tangent gives the same result as one with a tangent of zeros."""
        directions: dict[int, Tensor | None] = {
            i: wrap(self.direction(x)) for i, x in zip(self.point.positions, self.point.variables, strict=True)
        }
        for i, x in zip(self.point.positions, self.point.variables, strict=True):
            expected = self.point.tangents({**directions, i: x.detach().new_zeros(x.shape)})
            for o, (a, b) in enumerate(zip(expected, self.point.tangents({**directions, i: None}), strict=True)):
                if a is not None and b is not None and not np.allclose(fetched(a), fetched(b)):
                    raise GradcheckError(
                        f"Mismatch in tangent values for output with index: {o} when input {i} has an undefined "
                        f"tangent value. Got: {b} but expected: {a}"
                    )

    # -- batches -----------------------------------------------------------------------------------------------------

    def batched(self) -> None:
        """Check that batched gradients agree with those of the elements of the batch."""
        for o, out in enumerate(self.point.outputs):
            batch = self.batch(out)

            def run(g: Tensor, **options: Any) -> Any:
                return grad(
                    out, self.point.variables, g, retain_graph=True, materialize_grads=True, **options  # noqa: B023
                )  # fmt: skip

            expected = [stack(column) for column in zip(*(run(batch[k]) for k in range(2)), strict=True)]
            try:
                results = run(batch, is_grads_batched=True)
            except RuntimeError as error:
                raise GradcheckError(
                    f"While computing batched gradients, got: {error}\n\n{BATCHED.format('gradient computation')}"
                ) from error
            for i, a, b in zip(self.point.positions, results, expected, strict=True):
                self.check_batch(o, i, a, b, "gradient computation")

    def check_batch(self, o: int, i: int, result: Tensor, expected: Tensor, how: str) -> None:
        """Check a batched result against the stacked results of its elements."""
        if not np.allclose(fetched(result.expand(expected.shape)), fetched(expected)):
            raise GradcheckError(
                f"For output {o} and input {i}:\n\n{BATCHED.format(how)}\n\nGot:\n{result}\n\nExpected:\n{expected}"
            )

    def batched_tangents(self) -> None:
        """Check that batched tangents, under ``vmap``, agree with those of the elements of the batch."""
        from nbautograd._engine.batching.transform import vmap

        for i, x in zip(self.point.positions, self.point.variables, strict=True):
            batch = self.batch(x)

            def push(direction: Tensor, i: int = i) -> list[Tensor]:
                tangents = self.point.tangents({i: direction})
                return [
                    self.point.results[place].detach() * 0 if tangents[place] is None else tangents[place]  # type: ignore[misc]
                    for place in self.point.places
                ]

            expected = [stack(list(column)) for column in zip(*(push(batch[k]) for k in range(2)), strict=True)]
            how = "forward-mode gradient computation"
            try:
                results = vmap(push)(batch)
            except NoRuleError:  # a custom Function is called for each element
                results = expected
            except RuntimeError as error:
                raise GradcheckError(
                    f"While computing batched gradients, got: {error}\n\n{BATCHED.format(how)}"
                ) from error
            for o, (a, b) in enumerate(zip(results, expected, strict=True)):
                self.check_batch(o, i, a, b, how)

    def batch(self, like: Tensor) -> Tensor:
        """Return a batch of two random directions."""
        return wrap(np.stack([self.direction(like), self.direction(like)]))

    # -- reports -----------------------------------------------------------------------------------------------------

    def report(self, i: int, o: int, a: Array, n: Array, how: str = "") -> str:
        """Return the error message: both Jacobians, the worst element, and a hint if the dtype is too narrow."""
        error, worst = _difference(a, n)
        dtype = self.point.inputs[i]._a.dtype
        hint = ""
        if dtype.itemsize < 8 or dtype == np.complex64:
            hint = f"\nThe input is {self.point.inputs[i].dtype!r}: finite differences need float64 (use .double())."
        return (
            f"Jacobian{how} mismatch for output {o} with respect to input {i}, one row per element of the input and "
            f"one column per element of the output (two where they are complex),\nnumerical:{_shown(n)}\n"
            f"analytical:{_shown(a)}\nThe largest difference is {error:.6g}, at row {worst[0]}, column {worst[1]}: "
            f"numerical {n[worst]:.6g}, analytical {a[worst]:.6g} (atol={self.atol}, rtol={self.rtol}).{hint}"
        )

    def report_along(self, i: int, o: int, a: Any, n: Any, how: str = "") -> str:
        """Return the error message of fast mode: its two numbers, and the whole Jacobians."""
        place = self.point.places[o]
        whole = self.point.measured(i)[place]
        if how:
            computed = self.point.pushed(i)[place]
        else:
            computed = self.point.computed(self.point.results[place])[self.point.positions.index(i)]
        text = (
            f"Jacobian{how} mismatch for output {o} with respect to input {i},\nnumerical:{_shown(n)}\n"
            f"analytical:{_shown(a)}\nThe above quantities are computed in fast mode, along one random direction. "
            f"The Jacobians in slow mode:\n\nNumerical:\n{_shown(whole)}\nAnalytical:\n{_shown(computed)}\n\n"
            f"The max per-element difference (slow mode) is: {_difference(computed, whole)[0]:.6g}.\n"
        )
        if self.close(computed, whole):
            text += (
                "Fast gradcheck failed but element-wise differences are small: in slow mode (fast_mode=False) the "
                "check passes."
            )
        return text


def _parts(t: Tensor, which: str) -> Iterator[tuple[slice, str]]:
    """Return the parts of a Jacobian that are compared separately (real, imaginary), with the prefix of the message."""
    if not t.is_complex():
        yield slice(None), ""
        return
    for name, start in (("imaginary", 1), ("real", 0)):
        yield slice(start, None, 2), f"While considering the {name} part of complex {which} only, "


def _difference(a: Array, n: Array) -> tuple[float, tuple[Any, ...]]:
    """Return the largest difference of two matrices, and its index."""
    if not a.size:
        return 0.0, (0, 0)
    with np.errstate(all="ignore"):
        error = np.abs(a - n)
        worst = np.unravel_index(int(np.argmax(np.nan_to_num(error, nan=np.inf))), error.shape)
    return float(error[worst]), worst


def _shown(array: Any) -> str:
    return "\n" + np.array2string(np.asarray(array), precision=4, threshold=200, edgeitems=4)


# -- passes with undefined gradients -----------------------------------------------------------------------------------


def grad_of_undefined(outputs: list[Tensor], undefined: set[int], variables: list[Tensor]) -> list[Any]:
    """Return the gradients of variables, as arrays or None; the ``undefined`` outputs get None, the others zeros.

    Hooks and custom functions with ``set_materialize_grads(False)`` get None too, and must accept it.
    """
    roots = [
        (out if out._fn is LEAF else out._fn, None if i in undefined else out._a * 0) for i, out in enumerate(outputs)
    ]
    keys: list[Key] = [key_of(x, i) for i, x in enumerate(variables)]
    gradients = copy_context().run(_run, roots, dict.fromkeys(keys))
    return [gradients.get(key) for key in keys]


def _run(roots: engine.Roots, targets: dict[Key, Any]) -> dict[Key, Any]:
    engine.enter_task(False, roots, targets)
    return _UndefinedRun(roots, True, False, targets, False).run()


class _UndefinedRun(FullRun):
    """A pass that also visits nodes without a gradient."""

    def arrive(self, target: Any, d: Any) -> Any:
        """Add a gradient to the pending sum; None adds nothing."""
        return None if d is None else super().arrive(target, d)

    def step(self, target: Any) -> None:
        """Run a ready node or leaf, with or without a gradient."""
        if target not in self.pending and (self.needed is None or target in self.needed):
            hooks = target.hooks if isinstance(target, Node) else target._hooks
            for hook in [] if hooks is None else list(hooks.tensor.values()):
                hook(None)
            if isinstance(target, FunctionCtx):
                nothing: Any = None if target.outputs() == 1 else OutputGrads({})  # type: ignore[attr-defined]
                self.send(target, self.compute(target, nothing), False)  # type: ignore[arg-type]
        super().step(target)
