"""Pause a watch of PyTorch in backward passes and optimizer steps, whose operations have no nodes.

A mode that does nothing makes each of these operations two to three times as long, and a training step has four of
them for one of the forward pass. A pass with ``create_graph=True`` is watched, since its operations have nodes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["Rests"]


class Rests:
    """Takes a watch off where it has nothing to note; ``end`` puts everything back.

    :param rest: takes the watch off; returns whether it was on.
    :param resume: puts it on again.
    :param written: called with each parameter that an optimizer has written to.
    """

    def __init__(
        self, torch: Any, rest: Callable[[], bool], resume: Callable[[], None], written: Callable[[Any, Any], None]
    ) -> None:
        self.rest, self.resume, self.written = rest, resume, written
        self.resting = False  # inside an optimizer's step
        self.variable = torch.autograd.Variable
        self.engine = self.variable._execution_engine
        self.variable._execution_engine = _engine_class(type(self.engine))(self)  # type: ignore[arg-type]
        optimizers = sys.modules["torch.optim.optimizer"]
        self.hooks = [
            optimizers.register_optimizer_step_pre_hook(self._step_begins),
            optimizers.register_optimizer_step_post_hook(self._step_ends),
        ]

    def end(self) -> None:
        """Rest no more."""
        self.variable._execution_engine = self.engine
        for hook in self.hooks:
            hook.remove()

    def _step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Rest from here on, unless the step runs a function of the user's (global hook of optimizers)."""
        self.resting = len(args) == 1 and not any(kwargs.values()) and self.rest()

    def _step_ends(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Continue, and note the written parameters (global hook of optimizers)."""
        if self.resting:
            self.resting = False
            self.resume()
            frame = sys._getframe(1)
            for group in optimizer.param_groups:
                for tensor in group["params"]:
                    if tensor.grad is not None:
                        self.written(tensor, frame)


@cache
def _engine_class(base: Any) -> type:
    """The class of an engine whose passes are not watched."""

    class Engine(base):  # type: ignore[misc]
        def __init__(self, rests: Rests) -> None:
            self.rests = rests

        def run_backward(self, *args: Any, **kwargs: Any) -> Any:
            if (len(args) > 3 and args[3]) or kwargs.get("create_graph") or not self.rests.rest():
                return super().run_backward(*args, **kwargs)
            try:
                return super().run_backward(*args, **kwargs)
            finally:
                self.rests.resume()

    return Engine
