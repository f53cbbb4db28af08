"""Elementwise update rules of optimizers, applied in place to parameters and their state, tile by tile.

A subclass returns from ``_plan`` the update rule for a tile of a parameter, its gradient and its state. Large
parameters are tiled (``_engine/fusion/tiling.py``): a tile stays in the processor's cache, so that a rule of ten passes
reads and writes main memory once; temporaries are as small as a tile; and several threads compute tiles in parallel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, version_counter
from nbautograd._engine.arrays.axpy import axpy
from nbautograd._engine.arrays.thread_pool import for_each_tile
from nbautograd._engine.compiler.promotion import F32, F64
from nbautograd._engine.core import inplace
from nbautograd._engine.core.dispatch_mode import followers
from nbautograd._engine.core.grad_mode import enable_grad, unrecorded
from nbautograd._engine.core.sparse import SparseTensor, stored
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.fusion import tiling
from nbautograd._engine.fusion.multi_tensor import Updates
from nbautograd.errors import kind_of
from nbautograd.optim.optimizer import Group, Optimizer, Params

__all__ = [
    "Array", "Elementwise", "Rule", "State", "add_ratio", "betas_of", "check_ranges", "count_step", "decay_square",
    "number", "run_closure", "toward", "write",
]  # fmt: skip

Array = np.ndarray[Any, Any]
Rule = Callable[..., None]
"""``rule(param, grad, work, work, *state)`` over flat arrays; it may overwrite all except the gradient."""
Change = Callable[[Rule], Rule]
State = dict[str, Any]

RANGES: dict[str, tuple[str, float]] = {
    "lr": ("learning rate", np.inf),
    "eps": ("epsilon value", np.inf),
    "rho": ("rho value", 1.0),
} | {
    name: (f"{name} value", np.inf)
    for name in ("alpha", "initial_accumulator_value", "lr_decay", "momentum", "momentum_decay", "weight_decay")
}
"""Options that must not be negative: their names in messages, and the largest value."""


def number(value: Any) -> Any:
    """Return an option as a number; it may be an array of one element."""
    return value.item() if isinstance(value, (Tensor, np.ndarray, np.generic)) else value


PLAIN_TYPES = {bool, float, int, list, tuple, type(None)}
"""The types of options that are no arrays."""


def check_ranges(options: dict[str, Any]) -> None:
    """Check that no option, such as the learning rate, is negative.

    :raises ValueError: an option is out of its range, or is a tensor of several elements.
    :raises TypeError: an option is not a number.
    :raises IndexError: there are less than two betas.
    """
    lr = options.get("lr")
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(f"Tensor lr must be 1-element, and this one has {lr.numel()}")
    for name, (title, high) in RANGES.items():
        value = number(options.get(name, 0.0))
        if not isinstance(value, (int, float)):
            raise TypeError(f"{name} must be a number, not {kind_of(value)}")
        if not 0.0 <= value <= high:
            raise ValueError(f"Invalid {title}: {value}; expected a number from 0 to {high}")
    betas = options.get("betas", (0.0, 0.0))
    if len(betas) < 2:
        raise IndexError(f"betas must be two numbers, not {betas!r}")
    for index, beta in enumerate(map(number, betas)):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}; expected a number in [0, 1)")


def run_closure(closure: Callable[[], Any] | None) -> Any:
    """Evaluate the closure with gradient recording enabled, and return its loss."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def count_step(state: State, name: str = "step", factor: float | None = None) -> float:
    """Increment, or multiply, a counter of the state in place, and return its new value."""
    a = state[name]._shared_array()
    if factor is None:
        a[()] = a.item() + 1  # ``a += 1`` takes ten times as long
    else:
        a *= factor
    return float(a)


def write(tensors: list[Tensor], action: Callable[[], None]) -> None:
    """Write into the memory of tensors in place, and bump their version counters."""
    if followers:
        inplace.prepare(*[t._shared_array() for t in tensors])
    action()
    for t in tensors:
        version_counter.record_write(t._shared_array())


class Elementwise(Optimizer):
    """Base of optimizers whose update rule is elementwise."""

    _numbers: dict[str, float] = {"step": 0.0}  # noqa: RUF012 - 0-d tensors of the state, with their initial values
    _moments: tuple[str, ...] = ()  # tensors of the state that are zero at first
    _has_array_options = False
    _takes_sparse = False  # whether gradients may be sparse
    _free: frozenset[str] = frozenset()  # options that may be negative in this class

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        check_ranges({name: value for name, value in defaults.items() if name not in self._free})
        self._work: dict[Any, Any] = {}
        self._updates = Updates()
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._work, self._updates = {}, Updates()
        for group in self.param_groups:  # a state saved by an older version may lack options
            for name, value in self.defaults.items():
                group.setdefault(name, value)
        for kept in self.state.values():
            for name in self._numbers:
                if isinstance(kept.get(name), (int, float)):
                    kept[name] = self._scalar(kept[name])

    def _check_options(self, options: Group) -> None:
        name = type(self).__name__
        self._has_array_options |= not PLAIN_TYPES.issuperset(map(type, options.values()))
        if options.get("foreach") and options.get("fused"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        if options.get("fused") and options.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        for option in ["weight_decay"] + ["momentum"] * bool(options.get("nesterov")):
            if options.get(option) is True and not options.get("decoupled_weight_decay"):
                raise RuntimeError(f"Boolean alpha only supported for Boolean results: {option}=True")
        for option, reason in (
            ("differentiable", "steps are not recorded for autograd"),
            ("capturable", "there are no CUDA graphs"),
        ):
            if options.get(option):
                raise NotImplementedError(f"{name}: {option}=True is not supported: {reason}; leave it at False")

    # -- implemented by subclasses ------------------------------------------------------------------------------------

    def _slots(self, group: Group) -> dict[str, float]:
        """Return the state tensors of each parameter, with its shape, and their initial values."""
        return dict.fromkeys(self._moments, 0.0)

    def _plan(self, state: State, group: Group, fresh: bool) -> Rule:
        """Count the step, and return the update rule for a tile, which several threads call at once."""
        raise NotImplementedError

    @property
    def _no_sparse(self) -> str:
        """The error message for sparse gradients where they are not supported."""
        return f"{type(self).__name__} does not support sparse gradients"

    # -- the step ----------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        :param closure: computes the loss and its gradients again and returns the loss, which the step returns.
        """
        loss = run_closure(closure)
        unrecorded(backend.run_quietly, self._update_all)
        return loss

    def _update_all(self) -> None:
        try:
            for group in self.param_groups:
                if self._has_array_options:
                    group = {k: v if getattr(v, "ndim", 0) else number(v) for k, v in group.items()}
                slots, change = self._slots(group), change_of(group)
                for p in group["params"]:
                    grad = p.grad
                    if grad is not None:
                        self._step(p, grad, group, slots, change)
        finally:
            if self._updates.waiting:
                self._updates.launch()

    @staticmethod
    def _scalar(value: float) -> Tensor:
        return wrap(np.array(value, np.float64 if dtypes.get_default_dtype() is dtypes.float64 else np.float32))

    def _prepare(self, p: Tensor, slots: dict[str, float]) -> tuple[State, list[Tensor], bool]:
        if not slots and not self._numbers:
            return {}, [], False
        state = self.state[p]
        fresh = False
        for name, start in self._numbers.items():
            if name not in state:
                state[name] = self._scalar(start)
        for name, start in slots.items():
            if state.get(name) is None:
                fresh = True
                buffer = backend.module(p.device).zeros_like(p._shared_array())
                if start:
                    buffer += complex(start, start) if buffer.dtype.kind == "c" else start
                state[name] = wrap(buffer)
        return state, [state[name] for name in slots], fresh

    def _sparse_step(self, p: Tensor, grad: Tensor, group: Group, slots: dict[str, float]) -> None:
        """Apply the update rule to the rows, or elements, of a sparse gradient, if the optimizer supports it."""
        if not self._takes_sparse:
            raise RuntimeError(self._no_sparse)
        if group.get("weight_decay"):
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        gradient = stored(grad).coalesced()
        state, kept, fresh = self._prepare(p, slots)
        rule = self._plan(state, group, fresh)
        arrays = [t._shared_array() for t in (p, *kept)]
        if followers:
            inplace.prepare(*arrays)
        places = tuple(gradient.indices)
        rows = [a[places] for a in arrays]
        if rows[0].size:
            self._update(rule, rows, -gradient.values if group.get("maximize") else gradient.values)
        for a, part in zip(arrays, rows, strict=True):
            a[places] = part
            version_counter.record_write(a)

    def _step(self, p: Tensor, grad: Tensor, group: Group, slots: dict[str, float], change: Change | None) -> None:
        if grad.__class__ is SparseTensor:
            self._sparse_step(p, grad, group, slots)
            return
        state, kept, fresh = self._prepare(p, slots)
        rule = self._plan(state, group, fresh)
        arrays = [t._shared_array() for t in (p, *kept)]
        if followers:
            inplace.prepare(*arrays)
        if p._a.size:
            rule = rule if change is None else change(rule)
            if arrays[0].__class__ is np.ndarray or not self._updates.add(rule, arrays, grad._a):
                self._update(rule, arrays, grad._a)
        for a in arrays:
            version_counter.record_write(a)

    def _update(self, rule: Rule, written: list[Any], grad: Any) -> None:
        """Apply the update rule tile by tile, overwriting the parameter and its state."""
        p, kind = written[0], written[0].dtype
        arrays = [*written, grad]
        flat = [a.reshape(-1) for a in arrays if a.dtype is kind and a.flags.c_contiguous]
        dense = len(flat) == len(arrays) and (kind is F32 or kind is F64)
        if not dense:
            order = "C" if p.flags.c_contiguous or not p.flags.f_contiguous else "F"
            kind, flat = _flat_and_real(arrays, order)
        length = len(flat[0])
        tile_size = tiling.TILE_SIZE
        if length > tile_size and p.__class__ is np.ndarray:

            def evaluate(tile: slice, buffers: Array) -> None:
                x, *slots, g = (f[tile] for f in flat)
                rule(x, g, buffers[0, : len(x)], buffers[1, : len(x)], *slots)

            per_task = tiling.TILES_PER_TASK * tile_size
            for_each_tile(length, tile_size, per_task, lambda: np.empty((2, tile_size), kind), evaluate)
        else:
            first, second = self._buffers(p, kind, length)
            rule(flat[0], flat[-1], first[:length], second[:length], *flat[1:-1])
        if not dense:
            _write_back(written, flat, order)

    def _buffers(self, p: Any, kind: np.dtype[Any], size: int) -> Any:
        """Return scratch buffers for two temporaries, which all parameters share."""
        key = (p.__class__, kind.char)  # hashing a dtype takes longer than a small step
        result = self._work.get(key)
        if result is None or len(result[0]) < size:
            empty = backend.module(backend.device_of(p)).empty
            result = self._work[key] = (empty(size, kind), empty(size, kind))
        return result


def change_of(group: Group) -> Change | None:
    """Return the transformation of the gradient by weight decay and ``maximize``; None if neither is set."""
    decay, maximize = number(group.get("weight_decay", 0)), group.get("maximize", False)
    decoupled = group.get("decoupled_weight_decay", False)
    if not decay and not maximize:
        return None
    keep = 1 - number(group["lr"]) * decay if decay and decoupled else 1

    def change(rule: Rule) -> Rule:
        def changed(p: Array, g: Array, a: Array, b: Array, *state: Array) -> None:
            g = np.negative(g) if maximize else g
            if decay and decoupled:
                np.multiply(p, keep, p)
            elif decay:
                np.multiply(p, decay, a)
                g = np.add(g, a)
            rule(p, g, a, b, *state)

        return changed

    return change


def _flat_and_real(arrays: list[Any], order: Any) -> tuple[np.dtype[Any], list[Any]]:
    """Return the dtype of an update, and flat arrays of it: copies if they are not dense in this order."""
    kind, size = arrays[0].dtype, arrays[0].itemsize
    kind = F32 if size == 2 else np.dtype(f"f{size // 2}") if kind.kind == "c" else kind
    return kind, [_flat(a, order, kind) for a in arrays]


def _write_back(written: list[Any], flat: list[Any], order: Any) -> None:
    """Write the flat arrays that are copies to where they come from."""
    for a, f in zip(written, flat, strict=False):
        if a.dtype.itemsize == 2 or not (a.flags.c_contiguous if order == "C" else a.flags.f_contiguous):
            a[...] = f.view(a.dtype if a.itemsize > 2 else f.dtype).reshape(a.shape, order=order)


def _flat(array: Any, order: Any, kind: np.dtype[Any]) -> Any:
    """Return a flat real view of an array; complex elements count as two."""
    flat = array.reshape(-1, order=order)
    return flat.view(kind) if array.dtype.kind == "c" else flat.astype(kind, copy=False)


# -- passes shared by several rules ------------------------------------------------------------------------------------
# A ufunc's third argument is its output, which is faster than ``out=``.


def toward(mean: Array, value: Array, weight: float, work: Array) -> None:
    """Compute ``mean += weight · (value − mean)``."""
    np.subtract(value, mean, work)
    axpy(weight, work, mean, work)


def decay_square(mean: Array, value: Array, keep: float, work: Array) -> None:
    """Compute ``mean = keep · mean + (1 − keep) · value²``."""
    np.multiply(mean, keep, mean)
    np.multiply(value, value, work)
    axpy(1 - keep, work, mean, work)


def add_ratio(target: Array, value: Array, divisor: Array, factor: float, work: Array) -> None:
    """Compute ``target += factor · value / divisor``."""
    np.divide(value, divisor, work)
    axpy(factor, work, target, work)


def betas_of(group: Group) -> tuple[float, float]:
    """Return the coefficients (β₁, β₂) of Adam and its variants, as numbers."""
    first, second = map(number, group["betas"])
    return first, second
