"""``GradScaler``: scales the loss, so that small float16 gradients do not vanish, and unscales them before the step."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from nbautograd._engine.arrays.dtypes import float16, float32, int32
from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import full
from nbautograd.cuda.devices import is_available
from nbautograd.errors import warn

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """The state of an optimizer's gradients since the last ``update``."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


class GradScaler:
    """A scaler of losses with an adaptive factor, which shrinks after an overflow and grows after steps without one.

    ``scale(loss).backward()``, then ``step(optimizer)``, which divides the gradients by the factor and skips the
    optimizer's step if one is infinite or not a number, then ``update()``.

    :param device: ``"cuda"`` or ``"cpu"``; without CUDA, a scaler for CUDA warns and does nothing.
    :param init_scale: the initial factor.
    :param growth_factor: multiplies the factor after ``growth_interval`` steps in a row.
    :param backoff_factor: multiplies the factor after a skipped step.
    :param enabled: False for a scaler that only calls ``optimizer.step()``.
    :raises AssertionError: ``growth_factor`` is not above 1, or ``backoff_factor`` is not below 1.

    >>> import nbautograd as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.5)
    >>> scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    >>> scaler.scale(w.sum()).backward()
    >>> w.grad
    tensor([4., 4.])
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.detach(), scaler.get_scale()
    (tensor([0.5000, 0.5000]), 4.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device, self._enabled = device, enabled
        if device == "cuda" and enabled and not is_available():
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        if self._enabled:
            _require(growth_factor > 1.0, "The growth factor must be > 1.0.")
            _require(backoff_factor < 1.0, "The backoff factor must be < 1.0.")
            self._init_scale, self._init_growth_tracker = init_scale, 0
            self._scale: Tensor | None = None
            self._growth_tracker: Tensor | None = None
            self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
            self._growth_interval = growth_interval
            self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_refresh_per_optimizer_state)

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        hint = "This may indicate your script did not use scaler.scale(loss or outputs) earlier in the iteration."
        if self._scale is None or self._growth_tracker is None:
            missing = "_scale" if self._scale is None else "_growth_tracker"
            raise AssertionError(f"Attempted {funcname} but {missing} is None.  {hint}")
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev: Any) -> None:
        _require(self._growth_tracker is None, "_growth_tracker initialized before _scale")
        self._scale = full((), self._init_scale, dtype=float32, device=dev)
        self._growth_tracker = full((), self._init_growth_tracker, dtype=int32, device=dev)

    def scale(self, outputs: Any) -> Any:
        """Multiply a tensor, or each of several, by the scale factor.

        :raises ValueError: a value is not a tensor.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            return outputs * self._scale.to(device=outputs.device)  # type: ignore[union-attr]
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[Any, Tensor]:
        """Multiply the gradients of an optimizer; return by device whether one of them is not finite."""
        overflows: dict[Any, Tensor] = {}
        with no_grad():
            for param in [each for group in optimizer.param_groups for each in group["params"]]:
                _require(isinstance(param, Tensor), f"expected param to be torch.Tensor, got {type(param).__name__}")
                grad = param.grad
                if grad is None:
                    continue
                if grad.dtype is float16 and not allow_fp16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                if grad.is_sparse:
                    if grad.dtype is float16:
                        param.grad = grad = grad.coalesce()
                    grad = grad._values()
                seen = overflows.setdefault(grad.device, found_inf.to(grad.device, copy=True))
                if not grad.isfinite().all():
                    seen.fill_(1.0)
                grad.mul_(inv_scale.to(grad.device))
        return overflows

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer by the scale factor, so that they can be clipped before the step.

        :raises RuntimeError: the method was already called since the last ``update``, or is called after ``step``.
        :raises ValueError: a gradient has the dtype float16: keep the parameters in float32.
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        found_inf = full((), 0.0, dtype=float32, device=scale.device)
        inverse = scale.double().reciprocal().float()
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, found_inf, False)
        state["stage"] = OptState.UNSCALED

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        """Check for gradients that are not finite, without changing them."""
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one, zero = (full((), value, dtype=float32, device=scale.device) for value in (1.0, 0.0))
        overflows = self._unscale_grads_(optimizer, one, zero, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = overflows
        return overflows

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        overflows: dict[Any, Tensor] = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return overflows

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients if necessary, and run ``optimizer.step`` if all of them are finite.

        :raises RuntimeError: the method was already called since the last ``update``, or a closure is given.
        :raises AssertionError: no loss was scaled, or no parameter has a gradient.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_scaling_optimizer(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            _require(len(state["found_inf_per_device"]) > 0, "No inf checks were recorded for this optimizer.")
            overflow = sum(value.item() for value in state["found_inf_per_device"].values())
            result = None if overflow else optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _step_of_scaling_optimizer(
        self, optimizer: Any, state: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run the step of an optimizer that unscales by itself: pass the factor and the check for overflow."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer. In the near "
                "future GradScaler registers `grad_scale: Tensor` and `found_inf: Tensor` to the passed optimizer and "
                "let the optimizer use them directly.",
                FutureWarning,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
            optimizer.grad_scale = self._scale * getattr(optimizer, "grad_scale", 1)  # type: ignore[operator]
        else:
            optimizer.grad_scale = getattr(optimizer, "grad_scale", None)
        device = self._scale.device  # type: ignore[union-attr]
        optimizer.found_inf = sum(value.to(device) for value in state["found_inf_per_device"].values())
        result = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale, optimizer.found_inf
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the scale factor to the gradients that ``step`` checked, after all steps of an iteration.

        :param new_scale: the new factor, instead.
        :raises AssertionError: no step was made.
        """
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
        elif new_scale is not None:
            reason = (
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                "requires_grad=False."
            )
            _require(new_scale.device.type == self._device and new_scale.numel() == 1, reason)
            _require(not new_scale.requires_grad, reason)
            scale.copy_(new_scale)
        else:
            states = self._per_optimizer_states.values()
            overflows = [value for state in states for value in state["found_inf_per_device"].values()]
            _require(len(overflows) > 0, "No inf checks were recorded prior to update.")
            self._adapt(scale, tracker, any(value.item() for value in overflows))
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _adapt(self, scale: Tensor, tracker: Tensor, overflow: bool) -> None:
        """Shrink the factor after an overflow; grow it, but not to infinity, after enough steps without one."""
        if overflow:
            scale.mul_(self._backoff_factor)
            tracker.fill_(0)
            return
        successes = int(tracker.item()) + 1
        if successes == self._growth_interval:
            grown = scale * self._growth_factor
            if grown.isfinite():
                scale.copy_(grown)
            successes = 0
        tracker.fill_(successes)

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def get_scale(self) -> float:
        """Return the scale factor; 1.0 if the scaler is not enabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """Return the multiplier of the factor after enough steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the multiplier of the factor after enough steps."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the multiplier of the factor after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the multiplier of the factor after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the number of successive steps after which the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of successive steps after which the factor grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Return whether the scaler scales."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the factor and its settings for a checkpoint; empty if the scaler is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._get_growth_tracker(),
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of :meth:`state_dict`; do nothing if the scaler is not enabled.

        :raises RuntimeError: the dict is empty.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale, self._init_growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            _require(
                not self._per_optimizer_states,
                "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                "scaler.update().",
            )
            state.update(_init_scale=self.get_scale(), _init_growth_tracker=self._get_growth_tracker())
            state.update(_scale=None, _growth_tracker=None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
