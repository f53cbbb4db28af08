"""Pictures of autograd graphs, and of backward passes step by step.

    from nbautograd import viz

    viz.graph(y)            # the graph that made y
    viz.animate(y)          # y.backward(), to be played
    with viz.record() as passes:
        train()             # every backward pass inside, to be played
    viz.code(y)             # forward and backward as a program that can be read, and run
    viz.grads()             # the gradients of all leaves here, as a table
    viz.why(w)              # w.grad by its paths; or the line that cuts it off, or makes it vanish
    viz.paths(w, y)         # all paths from y to w: lines, local derivatives, products; in color on the graph
    viz.diff(a, b)          # operations, shapes, values and gradients that two graphs do not share
    viz.cost(f)             # parameters, FLOPs, milliseconds and memory of a computation, by operation, line and module
    viz.memory(y)           # what the graph of y keeps for the backward pass, by line, and which line leaks
    with viz.monitor(w, b) as watch:
        watch(loss)         # loss and gradient norms of a training loop, as they change
    viz.tangent(f, w)       # the curve of f, and the line that w.grad says is its tangent
    viz.scatter(points, labels, model)  # points by class; in a with block the model's regions move
    viz.practice(level=1)   # questions about gradients and leaves, with the answers played
    viz.settings.language = "中文"

    with viz.traced():      # operations note their line and values; a notebook's cells do anyway
        y = f(x)
    with viz.watch():       # PyTorch's operations, too; a notebook's cells are watched anyway
        loss = model(x).sum()

In a notebook each is shown at its call, unless its value is used: ``p = viz.graph(y)`` keeps it for later. Graphs of
PyTorch's own tensors are drawn as well. Importing this imports neither IPython nor anywidget nor graphviz.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbautograd._engine.core.tracing import traced
from nbautograd.viz.notebook.api import Animation, Picture, Recording, animate, graph, record
from nbautograd.viz.notebook.display import autograd, watch
from nbautograd.viz.notebook.tables import grads, zero_grads
from nbautograd.viz.settings import settings

if TYPE_CHECKING:
    from nbautograd.viz.notebook.code import Code, code
    from nbautograd.viz.notebook.cost import Cost, cost
    from nbautograd.viz.notebook.diff import Difference, diff
    from nbautograd.viz.notebook.memory import MemoryReport, memory
    from nbautograd.viz.notebook.monitor import Monitor, monitor
    from nbautograd.viz.notebook.paths import Paths, paths
    from nbautograd.viz.notebook.practice import Practice, practice
    from nbautograd.viz.notebook.scatter import Scatter, scatter
    from nbautograd.viz.notebook.tangent import Tangent, tangent
    from nbautograd.viz.notebook.why import Explanation, why

__all__ = [
    "Animation", "Code", "Cost", "Difference", "Explanation", "MemoryReport", "Monitor", "Paths", "Picture", "Practice",
    "Recording", "Scatter", "Tangent", "animate", "autograd", "code", "cost", "diff", "grads", "graph", "memory",
    "monitor", "paths", "practice", "record", "scatter", "settings", "tangent", "traced", "watch", "why", "zero_grads",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    module = {"Explanation": "why", "Difference": "diff"}.get(name, name.lower().removesuffix("report"))
    if name in __all__:  # loaded at first use
        globals()[name] = getattr(import_module(f"nbautograd.viz.notebook.{module}"), name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
