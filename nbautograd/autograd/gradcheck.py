"""Checking gradients against finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nbautograd.arrays import backend
from nbautograd.autograd import forward_ad
from nbautograd.autograd.backward import grad
from nbautograd.core.grad_mode import enable_grad, no_grad
from nbautograd.core.tensor import Tensor, wrap
from nbautograd.errors import NbautogradError

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
    "gradcheck",
    "gradgradcheck",
]

Array = np.ndarray[Any, Any]


class GradcheckError(NbautogradError, RuntimeError):
    """A gradient does not agree with finite differences; the message shows both Jacobians."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of ``func`` at ``inputs`` agree with central differences.

    Every column of the Jacobian is measured by moving one element of one input by ``eps`` both ways, and every row is
    computed by a backward pass. Inputs should be float64, and away from points where ``func`` has no derivative.

    :param func: takes ``inputs`` and returns a tensor or a tuple of tensors.
    :param inputs: a tensor or a tuple, of which those that require grad are checked.
    :param eps: the step of the finite differences.
    :param atol: the absolute tolerance.
    :param rtol: the relative tolerance.
    :param raise_exception: raise where a check fails; otherwise return False.
    :param nondet_tol: by how much two backward passes may differ.
    :param check_undefined_grad: also check that an output that nothing used, or a gradient of None, is taken as zeros.
    :param check_grad_dtypes: also check that gradients have the dtype of their inputs.
    :param check_batched_grad: must be False, as there is no vmap; so must ``check_batched_forward_grad``.
    :param check_forward_ad: also check forward mode, a column of the Jacobian at a time.
    :param check_backward_ad: whether to check reverse mode.
    :param fast_mode: measure along one random direction only, with one pass per output.
    :param masked: must not be True, as there are no sparse tensors.
    :raises GradcheckError: a gradient is wrong.
    :raises ValueError: no input requires grad.

    >>> import nbautograd as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.double, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.exp, (x,))
    True
    """
    if check_batched_grad or check_batched_forward_grad or masked:
        raise NotImplementedError("check_batched_grad, check_batched_forward_grad and masked are not supported")
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad and check_backward_ad to be True")
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    try:
        check = _Check(func, arguments, eps, atol, rtol)
        if fast_mode:
            check.compare_along_a_line(check_backward_ad, check_forward_ad)
        else:
            check.compare(check_backward_ad, check_forward_ad)
        if check_backward_ad:
            check.repeatable(nondet_tol)
            if check_grad_dtypes:
                check.dtypes()
            if check_undefined_grad:
                check.undefined()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the gradients of the gradients of ``func`` agree with central differences.

    :param grad_outputs: a tensor, or one per output, with which the Jacobian is multiplied; by default fixed numbers.
    :param gen_non_contig_grad_outputs: make those numbers lie apart in memory.
    :param check_fwd_over_rev: also check the forward-mode derivative of the gradient.
    :param check_rev_over_rev: whether to check the gradient of the gradient.
    :raises GradcheckError: a second derivative is wrong.

    >>> import nbautograd as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.double, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.exp, (x,))
    True
    """
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    wanted = [x for x in arguments if isinstance(x, Tensor) and x.requires_grad]
    if grad_outputs is None:
        cotangents = tuple(
            _cotangent(out, i, gen_non_contig_grad_outputs) for i, out in enumerate(_outputs(func(*arguments)))
        )
    else:
        cotangents = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)
    n = len(cotangents)

    def first(*values: Any) -> Any:
        outputs = _outputs(func(*values[:-n]))
        if not outputs:
            return ()
        at = [v for v, x in zip(values, arguments, strict=False) if isinstance(x, Tensor) and x.requires_grad]
        with enable_grad():
            found = grad(outputs, at, values[-n:], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    if not wanted:
        raise ValueError("gradgradcheck expects at least one input tensor to require gradient, but none of them do.")
    return gradcheck(
        first,
        (*arguments, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _outputs(answer: Any) -> list[Tensor]:
    """The differentiable tensors among what a function returned."""
    found = answer if isinstance(answer, (tuple, list)) else (answer,)
    return [out for out in found if isinstance(out, Tensor) and out._a.dtype.kind in "fc" and out.requires_grad]


def _cotangent(out: Tensor, index: int, apart: bool = False) -> Tensor:
    """Fixed numbers of mixed size and sign in the shape of an output, so that no symmetry hides a wrong formula."""
    values = np.cos(np.arange(1, out.numel() + 1) * 1.7 + index).reshape(out._a.shape)
    array = backend.module(out.device).asarray((values + 0.5).astype(out._a.dtype))
    if apart and array.ndim:
        array = np.stack([array, array], array.ndim)[..., 0]
    return wrap(array).requires_grad_()


class _Check:
    """One comparison of a function's two Jacobians."""

    def __init__(self, func: Callable[..., Any], inputs: Sequence[Any], eps: float, atol: float, rtol: float) -> None:
        self.func, self.inputs, self.eps, self.atol, self.rtol = func, inputs, eps, atol, rtol
        self.checked = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        if not self.checked:
            raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them do.")
        for i in self.checked:
            x = inputs[i]
            if x._a.dtype not in (np.float64, np.complex128):
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. "
                    "This check will "
                    "likely fail if all the inputs are not of double precision floating point or complex (it "
                    f"is {x.dtype!r}).",
                    UserWarning,
                    stacklevel=4,
                )
            if any(stride == 0 and size > 1 for stride, size in zip(x._a.strides, x._a.shape, strict=True)):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping "
                    "to be able to compute the numerical gradients correctly. You should call .contiguous on the input."
                )
        self.outputs = _outputs(func(*inputs))

    def analytical(self, out: Tensor) -> list[Array]:
        """The Jacobian of an output with respect to each checked input, by a pass per row; (inputs, outputs)."""
        columns: list[list[Array]] = [[] for _ in self.checked]
        directions = [1.0] if out._a.dtype.kind == "f" else [1.0, 1.0j]
        for element in range(out.numel()):
            for unit in directions:
                g = np.zeros(out.numel(), out._a.dtype)
                g[element] = unit
                cotangent = wrap(backend.module(out.device).asarray(g.reshape(out._a.shape)))
                found = grad(
                    out, [self.inputs[i] for i in self.checked], cotangent, retain_graph=True, allow_unused=True
                )
                for column, i, d in zip(columns, self.checked, found, strict=True):
                    x = self.inputs[i]
                    if d is not None and d._a.shape != x._a.shape:
                        raise GradcheckError(
                            f"the gradient of input {i} has shape {list(d.shape)}, the input {list(x.shape)}"
                        )
                    column.append(_reals(np.zeros(x._a.shape, x._a.dtype) if d is None else backend.fetch(d._a)))
        return [
            np.stack(column, 1) if column else np.zeros((self.inputs[i].numel(), 0))
            for column, i in zip(columns, self.checked, strict=True)
        ]

    def numerical(self, position: int) -> list[Array]:
        """The Jacobian of each output with respect to one input, by central differences; (inputs, outputs)."""
        x = self.inputs[position]
        array = x.shared_array()
        rows: list[list[Array]] = [[] for _ in self.outputs]
        steps = [self.eps] if array.dtype.kind == "f" else [self.eps, self.eps * 1j]
        for index in np.ndindex(array.shape):
            for step in steps:
                kept = array[index].copy()
                try:
                    array[index] = kept + step
                    above = self.values()
                    array[index] = kept - step
                    below = self.values()
                finally:
                    array[index] = kept
                for row, a, b in zip(rows, above, below, strict=True):
                    row.append(_reals((a - b) / (2 * self.eps)))
        width = [_reals(np.zeros(out._a.shape, out._a.dtype)).size for out in self.outputs]
        return [np.stack(row) if row else np.zeros((0, n)) for row, n in zip(rows, width, strict=True)]

    def values(self) -> list[Array]:
        answer = self.func(*self.inputs)
        return [backend.fetch(out._a).copy() for out in _outputs(answer)]

    def compare(self, backward: bool, forward: bool) -> None:
        """Every Jacobian as measured and as computed in reverse mode, in forward mode, or both."""
        measured = [self.numerical(i) for i in self.checked]
        if not self.outputs:
            self.nothing_depends()
        ahead = [self.forward(i) for i in self.checked] if forward else []
        for o, out in enumerate(self.outputs):
            computed = self.analytical(out) if backward else []
            for k, i in enumerate(self.checked):
                n = measured[k][o]
                if backward and not np.allclose(computed[k], n, self.rtol, self.atol, equal_nan=True):
                    raise GradcheckError(self.report(i, o, computed[k], n))
                if forward and not np.allclose(ahead[k][o], n, self.rtol, self.atol, equal_nan=True):
                    raise GradcheckError(self.report(i, o, ahead[k][o], n, " computed with forward mode"))

    def nothing_depends(self) -> None:
        """Where no output requires grad, none may change with the inputs."""
        with no_grad():
            for i in self.checked:
                array = self.inputs[i].shared_array()
                kept = array.copy()
                found = []
                for step in (self.eps, -self.eps):
                    array[...] = kept + step
                    answer = self.func(*self.inputs)
                    array[...] = kept
                    parts = answer if isinstance(answer, (tuple, list)) else (answer,)
                    found.append([t._a.copy() for t in parts if isinstance(t, Tensor) and t.is_floating_point()])
                for above, below in zip(*found, strict=True):
                    if bool((above != below).any()):
                        raise GradcheckError(
                            "Numerical gradient for function expected to be zero: no output requires grad, but "
                            f"input {i} changes one"
                        )

    def forward(self, position: int) -> list[Array]:
        """The Jacobian of each output with respect to one input, by forward mode; (inputs, outputs)."""
        x = self.inputs[position]
        rows: list[list[Array]] = [[] for _ in self.outputs]
        for element in range(x.numel()):
            for unit in [1.0] if x.is_floating_point() else [1.0, 1.0j]:
                v = np.zeros(x.numel(), x._a.dtype)
                v[element] = unit
                direction = wrap(backend.module(x.device).asarray(v.reshape(x._a.shape)))
                for row, tangent in zip(rows, self.along({position: direction}), strict=True):
                    row.append(tangent)
        return [
            np.stack(row) if row else np.zeros((0, _reals(np.zeros(out._a.shape, out._a.dtype)).size))
            for row, out in zip(rows, self.outputs, strict=True)
        ]

    def along(self, directions: dict[int, Tensor]) -> list[Array]:
        """The derivatives of all outputs in a direction of the inputs, by forward mode."""
        with forward_ad.dual_level():
            xs = [forward_ad.make_dual(x, directions[i]) if i in directions else x for i, x in enumerate(self.inputs)]
            found = [forward_ad.unpack_dual(out).tangent for out in _outputs(self.func(*xs))]
        return [
            _reals(np.zeros(out._a.shape, out._a.dtype) if t is None else backend.fetch(t._a))
            for out, t in zip(self.outputs, found, strict=True)
        ]

    def compare_along_a_line(self, backward: bool, forward: bool) -> None:
        """The derivatives along one random direction, weighted by random numbers."""
        rng = np.random.default_rng(0)
        directions = {i: _random(rng, self.inputs[i]._a) for i in self.checked}
        measured = self.measured_along(directions)
        if not self.outputs:
            self.nothing_depends()
        if forward:
            ahead = self.along({i: wrap(v) for i, v in directions.items()})
            for o, (a, n) in enumerate(zip(ahead, measured, strict=True)):
                if not np.allclose(a, n, self.rtol, self.atol, equal_nan=True):
                    raise GradcheckError(self.short_report(o, a, n, " computed with forward mode"))
        for o, out in enumerate(self.outputs if backward else ()):
            weights = _random(rng, out._a)
            xs = [self.inputs[i] for i in self.checked]
            found = grad(out, xs, wrap(weights), retain_graph=True, allow_unused=True)
            a = np.zeros(())
            for g, i in zip(found, self.checked, strict=True):
                if g is not None:
                    a = a + _reals(backend.fetch(g._a)) @ _reals(backend.fetch(directions[i]))
            n = np.asarray(_reals(backend.fetch(weights)) @ measured[o])
            if not np.allclose(a, n, self.rtol, self.atol, equal_nan=True):
                raise GradcheckError(self.short_report(o, a, n))

    def measured_along(self, directions: dict[int, Array]) -> list[Array]:
        """The derivatives of all outputs in a direction, by central differences."""
        found = []
        kept = {i: self.inputs[i].shared_array().copy() for i in directions}
        try:
            for step in (self.eps, -self.eps):
                for i, v in directions.items():
                    self.inputs[i]._a[...] = kept[i] + step * v
                found.append(self.values())
        finally:
            for i, values in kept.items():
                self.inputs[i]._a[...] = values
        return [_reals((a - b) / (2 * self.eps)) for a, b in zip(*found, strict=True)]

    def short_report(self, o: int, a: Array, n: Array, how: str = "") -> str:
        """Of fast mode, which does not know which element is wrong."""
        return (
            f"Jacobian{how} mismatch for output {o} in fast mode, along a random direction,\nnumerical:{_shown(n)}\n"
            f"analytical:{_shown(a)}\n(atol={self.atol}, rtol={self.rtol}). fast_mode=False tells which elements "
            "differ."
        )

    def report(self, i: int, o: int, a: Array, n: Array, how: str = "") -> str:
        """Both Jacobians, the worst element, and a hint where the dtype is to blame."""
        with np.errstate(all="ignore"):
            error = np.abs(a - n)
            worst = np.unravel_index(int(np.argmax(np.nan_to_num(error, nan=np.inf))), error.shape)
        dtype = self.inputs[i]._a.dtype
        hint = (
            ""
            if dtype.itemsize >= 8 and dtype != np.complex64
            else (f"\nThe input is {self.inputs[i].dtype!r}: finite differences need float64 (use .double()).")
        )
        return (
            f"Jacobian{how} mismatch for output {o} with respect to input {i}, one row per element of the "
            "input and one column "
            f"per element of the output,\nnumerical:{_shown(n)}\nanalytical:{_shown(a)}\n"
            f"The largest difference is {error[worst]:.6g}, at row {worst[0]}, column {worst[1]}: numerical "
            f"{n[worst]:.6g}, analytical {a[worst]:.6g} (atol={self.atol}, rtol={self.rtol}).{hint}"
        )

    def repeatable(self, tolerance: float) -> None:
        """The same backward pass twice gives the same."""
        for out in self.outputs:
            first, second = self.analytical(out)[:1], self.analytical(out)[:1]
            for a, b in zip(first, second, strict=True):
                if a.size and np.max(np.abs(a - b)) > tolerance:
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and grad_output "
                        "multiple times gives different values, although analytical gradient matches numerical "
                        "gradient."
                    )

    def dtypes(self) -> None:
        """Gradients have the dtypes of their inputs."""
        for out in self.outputs:
            found = grad(
                out, [self.inputs[i] for i in self.checked], wrap(out._a * 0 + 1), retain_graph=True, allow_unused=True
            )
            for i, d in zip(self.checked, found, strict=True):
                if d is not None and d.dtype is not self.inputs[i].dtype:
                    raise GradcheckError(
                        f"the gradient of input {i} has dtype {d.dtype!r}, the input {self.inputs[i].dtype!r}"
                    )

    def undefined(self) -> None:
        """A gradient of zeros gives zeros."""
        outputs = _outputs(self.func(*self.inputs))
        if not outputs:
            return
        with no_grad():
            zeros = [wrap(out._a * 0) for out in outputs]
        found = grad(outputs, [self.inputs[i] for i in self.checked], zeros, allow_unused=True)
        for i, d in zip(self.checked, found, strict=True):
            if d is not None and bool((d._a != 0).any()):
                raise GradcheckError(
                    f"backward not multiplied by grad_output: for zeros, the gradient of input {i} is not zero"
                )


def _random(rng: Any, like: Array) -> Array:
    """Random numbers like an array's, on its device."""
    values = rng.standard_normal(like.shape)
    if like.dtype.kind == "c":
        values = values + 1j * rng.standard_normal(like.shape)
    found: Array = backend.module(backend.device_of(like)).asarray(values.astype(like.dtype))
    return found


def _reals(array: Array) -> Array:
    """The elements in one dimension, complex ones as pairs of reals."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _shown(array: Array) -> str:
    return "\n" + np.array2string(array, precision=4, threshold=200, edgeitems=4)


# -- PyTorch's former functions ---------------------------------------------------------------------------------------


def _former(name: str) -> None:
    warnings.warn(
        f"{name} was part of PyTorch's private API and not meant to be exposed: use gradcheck(), or "
        "autograd.functional.jacobian()",
        FutureWarning,
        stacklevel=3,
    )


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> list[Tensor]:
    """For each input that requires grad, the Jacobian of the first output by central differences; (inputs, outputs)."""
    _former("get_numerical_jacobian")
    check = _Check(fn, tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,), eps, 0, 0)
    return [wrap(check.numerical(i)[0]) for i in check.checked]


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any], input_idx: int, inputs: Any, outputs: Any, eps: float, input: Any = None
) -> list[Tensor]:
    """The Jacobian of each output with respect to one input by central differences; (inputs, outputs)."""
    check = _Check(fn, tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,), eps, 0, 0)
    return [wrap(found) for found in check.numerical(input_idx)]


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobians of an output by reverse mode; whether they are repeatable and their shapes and dtypes right."""
    _former("get_analytical_jacobian")
    check = _Check(lambda *_: output, tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,), 1e-6, 0, 0)
    first, second = check.analytical(output), check.analytical(output)
    same = all(np.allclose(a, b, 0, nondet_tol) for a, b in zip(first, second, strict=True))
    return tuple(map(wrap, first)), same, True, True
