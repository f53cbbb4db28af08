"""A backward pass with undefined gradients (None), as ``gradcheck`` runs it.

An undefined gradient represents zeros. Hooks and custom functions with ``set_materialize_grads(False)`` get None, so
``gradcheck`` tests that they accept it.
"""

from __future__ import annotations

from contextvars import copy_context
from typing import Any

from nbautograd._engine.core.node import LEAF, Node, OutputGrads
from nbautograd._engine.core.tensor import Tensor
from nbautograd.autograd import engine
from nbautograd.autograd.backward import key_of
from nbautograd.autograd.full_engine import FullRun, Key
from nbautograd.autograd.function_ctx import FunctionCtx

__all__ = ["grad_of_undefined"]


def grad_of_undefined(outputs: list[Tensor], undefined: set[int], variables: list[Tensor]) -> list[Any]:
    """Return the gradients of variables, as arrays or None; the ``undefined`` outputs get None, the others zeros."""
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
