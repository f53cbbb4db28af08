"""L-BFGS: a quasi-Newton direction from a history of gradients, and a strong Wolfe line search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend
from nbautograd._engine.core.grad_mode import unrecorded
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.optim.elementwise import check_ranges, number, run_closure, write
from nbautograd.optim.optimizer import Optimizer, Params, options

__all__ = ["LBFGS"]

Array = Any


@dataclass(slots=True)
class _Trial:
    """A point of the line search: step size, loss, gradient, and directional derivative."""

    step: float
    loss: float
    gradient: Array
    slope: float


def _cubic_minimum(a: _Trial, b: _Trial, low: float, high: float) -> float:
    """Return the minimum of the cubic that interpolates two values and derivatives, clamped to bounds.

    Nocedal & Wright, *Numerical Optimization*, equation 3.59.
    """
    left, right = (a, b) if a.step <= b.step else (b, a)
    try:
        first = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.step - b.step)
        root = math.sqrt(first * first - a.slope * b.slope)
        part = (right.slope + root - first) / (right.slope - left.slope + 2 * root)
    except (ZeroDivisionError, ValueError):  # the cubic has no minimum
        return (low + high) / 2
    return min(max(right.step - (right.step - left.step) * part, low), high)


def _search(at: Callable[[float], _Trial], start: _Trial, step: float, span: float, limit: int) -> tuple[_Trial, int]:
    """Search a step that satisfies the strong Wolfe conditions; return it and the number of loss evaluations.

    Nocedal & Wright, algorithms 3.5 and 3.6, with cubic interpolation; c₁ is 1e-4 and c₂ 0.9.

    :param at: evaluates the loss at a distance from the start.
    :param span: the largest change of a parameter per unit of distance.
    """
    before, new = start, at(step)
    rounds = 0  # one less than the number of evaluations
    while rounds < limit:  # outward, until a minimum lies between the last two points
        bracket = [before, new]
        if _is_too_high(new, start) or (rounds > 1 and new.loss >= before.loss):
            break
        if _is_flat(new, start):
            return new, rounds + 1
        if new.slope >= 0:
            break
        farther = _cubic_minimum(before, new, new.step + 0.01 * (new.step - before.step), new.step * 10)
        before, new = new, at(farther)
        rounds += 1
    else:
        bracket = [start, new]
    return _narrowed(at, start, bracket, span, limit, rounds)


def _is_too_high(trial: _Trial, start: _Trial) -> bool:
    return trial.loss > start.loss + 1e-4 * trial.step * start.slope


def _is_flat(trial: _Trial, start: _Trial) -> bool:
    return abs(trial.slope) <= -0.9 * start.slope


def _lower(bracket: list[_Trial]) -> int:
    return 0 if bracket[0].loss <= bracket[1].loss else 1


def _narrowed(
    at: Callable[[float], _Trial], start: _Trial, bracket: list[_Trial], span: float, limit: int, rounds: int
) -> tuple[_Trial, int]:
    """Search inward, between two points around a minimum."""
    stuck = False
    low = _lower(bracket)
    while rounds < limit:
        steps = [trial.step for trial in bracket]
        least, most = min(steps), max(steps)
        if (most - least) * span < 1e-9:
            break
        step = _cubic_minimum(bracket[0], bracket[1], least, most)
        margin = 0.1 * (most - least)
        near = min(most - step, step - least) < margin
        if near and (stuck or not least < step < most):  # twice close to an end: move inward by a tenth
            step = most - margin if abs(step - most) < abs(step - least) else least + margin
            near = False
        stuck = near
        new = at(step)
        rounds += 1
        if _is_too_high(new, start) or new.loss >= bracket[low].loss:
            bracket[1 - low] = new
            low = _lower(bracket)
            continue
        if _is_flat(new, start):
            return new, rounds + 1
        if new.slope * (bracket[1 - low].step - bracket[low].step) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = new
    return bracket[low], rounds + 1


def _strong_wolfe(
    obj_func: Callable[..., Any], x: Any, t: float, d: Tensor, f: float, g: Tensor, gtd: Any, c1: float = 1e-4,
    c2: float = 0.9, tolerance_change: float = 1e-9, max_ls: int = 25,
) -> tuple[float, Tensor, float, int]:  # fmt: skip
    """Search a step along a direction, as other packages call it in PyTorch.

    :param obj_func: a function of ``x``, a step and the direction; it returns the loss and the gradient.
    :param t: the first step.
    :param f: the loss at the start, with the gradient ``g`` and the slope ``gtd``.
    :param c1, c2, tolerance_change: must be as given: the conditions are those of ``LBFGS``.
    :returns: the loss, the gradient, the step, and the number of evaluations.
    :raises NotImplementedError: other conditions are given.
    """
    if (c1, c2, tolerance_change) != (1e-4, 0.9, 1e-9):
        raise NotImplementedError("_strong_wolfe(): c1, c2 and tolerance_change must be 1e-4, 0.9 and 1e-9")

    def at(step: float) -> _Trial:
        loss, gradient = obj_func(x, step, d)
        return _Trial(step, float(loss), gradient, float((gradient * d).sum()))

    end, count = _search(at, _Trial(0.0, float(f), g, float(gtd)), float(t), float(d.abs().max()), max_ls)
    return end.loss, end.gradient, end.step, count


class LBFGS(Optimizer):
    """Limited-memory BFGS, a quasi-Newton method (Liu & Nocedal, 1989).

    Supports one group of parameters; ``step`` needs a closure, which it calls many times.

    :param lr: the length of steps without a line search.
    :param max_iter: iterations per step.
    :param max_eval: evaluations of the closure per step; 1.25 · ``max_iter`` by default.
    :param tolerance_grad: stop when no element of the gradient is larger.
    :param tolerance_change: stop when neither the loss nor a parameter changes by more.
    :param history_size: the number of changes that estimate the curvature.
    :param line_search_fn: None or ``"strong_wolfe"``.
    :raises ValueError: the learning rate is negative, or several groups are given.

    >>> w = torch.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - torch.tensor([1.0, 2.0])) ** 4).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(272., grad_fn=<SumBackward0>)
    >>> bool(closure() < 1e-6)
    True
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_ranges({"lr": lr})
        if max_eval is None:
            max_eval = max_iter * 5 // 4
        names = "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn"
        super().__init__(params, options(locals(), names))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        result: list[Tensor] = self.param_groups[0]["params"]
        return result

    def _gradient(self) -> Array:
        """Return all gradients as one flat vector; complex elements as two real ones."""
        xp = backend.module(self._params[0].device)
        rows = []
        for p in self._params:
            a = p._shared_array()
            rows.append(
                _real(xp.zeros(a.size, a.dtype) if p.grad is None else p.grad.to_dense()._shared_array().reshape(-1))
            )
        return xp.concatenate(rows)

    def _move(self, step: float, direction: Array) -> None:
        def move() -> None:
            offset = 0
            for p in self._params:
                a = p._shared_array()
                count = a.size * (2 if a.dtype.kind == "c" else 1)
                part = direction[offset : offset + count] * step
                a += part.view(a.dtype).reshape(a.shape) if a.dtype.kind == "c" else part.reshape(a.shape)
                offset += count

        write(self._params, move)

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Iterate until the loss stops changing or ``max_iter`` is reached.

        :param closure: clears the gradients, computes the loss and its gradients, and returns the loss.
        :raises RuntimeError: the line search is unknown.
        :returns: the initial loss.
        """
        return unrecorded(backend.run_quietly, self._iterate, closure)

    def _iterate(self, closure: Callable[[], Any]) -> Any:
        options = self.param_groups[0]
        lr, max_iter, max_eval = number(options["lr"]), options["max_iter"], options["max_eval"]
        tolerance_grad, tolerance_change = options["tolerance_grad"], options["tolerance_change"]
        if options["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError(f"only 'strong_wolfe' is supported as line_search_fn, not {options['line_search_fn']!r}")
        state = self.state[self._params[0]]  # the first parameter's stands for all
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = run_closure(closure)
        loss, evaluations = float(first_loss), 1
        state["func_evals"] += 1
        gradient = self._gradient()
        if not max_iter or not gradient.size or abs(gradient).max() <= tolerance_grad:
            return first_loss

        history = _Curvature(state, options["history_size"])
        for iteration in range(1, max_iter + 1):
            is_first, is_last = state["n_iter"] == 0, iteration == max_iter
            state["n_iter"] += 1
            direction = history.next_direction(gradient, loss, is_first)
            history.step = min(1.0, 1.0 / float(abs(gradient).sum())) * lr if is_first else lr
            start = _Trial(0.0, loss, gradient, float(gradient @ direction))
            if start.slope > -tolerance_change:
                break
            end, count = self._advance(closure, start, history.step, direction, max_eval - evaluations, is_last)
            loss, gradient, history.step = end.loss, end.gradient, end.step
            evaluations += count
            state["func_evals"] += count
            if (
                evaluations >= max_eval
                or abs(gradient).max() <= tolerance_grad
                or abs(direction * end.step).max() <= tolerance_change
                or abs(loss - start.loss) < tolerance_change
            ):
                break
        history.save(state)
        return first_loss

    def _advance(
        self, closure: Callable[[], Any], start: _Trial, step: float, direction: Array, limit: int, is_last: bool
    ) -> tuple[_Trial, int]:
        """Move the parameters along the direction; return the new point and the number of loss evaluations.

        :param step: the distance, or the start of the line search.
        :param limit: the largest number of evaluations.
        :param is_last: True for the last iteration, which without a line search evaluates nothing.
        """
        if self.param_groups[0]["line_search_fn"] is None:
            self._move(step, direction)
            if is_last:
                return replace(start, step=step), 0
            return _Trial(step, float(run_closure(closure)), self._gradient(), start.slope), 1
        origin = [p._shared_array().copy() for p in self._params]

        def put_back() -> None:
            for p, value in zip(self._params, origin, strict=True):
                p._shared_array()[...] = value

        def at(distance: float) -> _Trial:
            self._move(distance, direction)
            loss = float(run_closure(closure))
            gradient = self._gradient()
            write(self._params, put_back)
            return _Trial(distance, loss, gradient, float(gradient @ direction))

        end, count = _search(at, start, step, float(abs(direction).max()), limit)
        self._move(end.step, direction)
        return end, count


class _Curvature:
    """The last differences of parameters and of gradients, and the point of the last iteration."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.size = size
        self.direction, self.gradient = _array(state.get("d")), _array(state.get("prev_flat_grad"))
        self.step, self.loss = _value(state.get("t", 0.0)), _value(state.get("prev_loss", 0.0))
        self.changes: list[Array] = [_array(t) for t in state.get("old_dirs") or ()]  # of the gradient
        self.moves: list[Array] = [_array(t) for t in state.get("old_stps") or ()]
        self.inverses: list[Any] = [_value(t) for t in state.get("ro") or ()]
        self.scale: Any = _value(state.get("H_diag", 1.0))

    def next_direction(self, gradient: Array, loss: float, is_first: bool) -> Array:
        """Return the direction of the next step: steepest descent first, then a quasi-Newton direction."""
        if is_first or self.direction is None:
            self.changes, self.moves, self.inverses, self.scale = [], [], [], 1.0
            self.direction = -gradient
        else:
            self.learn(gradient - self.gradient, self.direction * self.step)
            self.direction = self.newton(gradient)
        self.gradient, self.loss = gradient.copy(), loss
        return self.direction

    def learn(self, change: Array, move: Array) -> None:
        """Append a step to the history, unless its curvature is not positive."""
        curvature = float(change @ move)
        if curvature <= 1e-10:
            return
        if len(self.changes) == self.size:
            for row in (self.changes, self.moves, self.inverses):
                row.pop(0)
        self.changes.append(change)
        self.moves.append(move)
        self.inverses.append(1.0 / curvature)
        self.scale = curvature / float(change @ change)

    def newton(self, gradient: Array) -> Array:
        """Return the direction ``-H⁻¹ g`` by the two-loop recursion (Nocedal & Wright, algorithm 7.4)."""
        result = -gradient
        weights = []
        rows = list(zip(self.changes, self.moves, self.inverses, strict=True))
        for change, move, inverse in reversed(rows):
            weights.append(float(move @ result) * inverse)
            result -= change * weights[-1]
        result *= self.scale
        for (change, move, inverse), weight in zip(rows, reversed(weights), strict=True):
            result += move * (weight - float(change @ result) * inverse)
        return result

    def save(self, state: dict[str, Any]) -> None:
        """Write the history into the optimizer's state, under PyTorch's names."""

        def scalar(value: float) -> Tensor:
            return wrap(np.array(value, self.gradient.dtype))

        state.update(
            d=wrap(self.direction), t=self.step, old_dirs=list(map(wrap, self.changes)),
            old_stps=list(map(wrap, self.moves)), ro=list(map(scalar, self.inverses)),
            H_diag=scalar(self.scale) if self.changes else 1, prev_flat_grad=wrap(self.gradient), prev_loss=self.loss,
        )  # fmt: skip


def _real(row: Array) -> Array:
    return row.view(row.real.dtype) if row.dtype.kind == "c" else row


def _array(value: Tensor | None) -> Array:
    return None if value is None else value._shared_array()


def _value(value: Any) -> float:
    return float(value.item() if isinstance(value, Tensor) else value)
