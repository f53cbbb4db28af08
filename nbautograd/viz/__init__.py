"""Pictures of autograd graphs, and of backward passes step by step.

    from nbautograd import viz

    viz.graph(y)            # the graph that made y
    viz.animate(y)          # y.backward(), to be played
    with viz.record() as passes:
        train()             # every backward pass inside, to be played

Graphs of PyTorch's own tensors are drawn as well. Importing this imports neither IPython nor anywidget nor graphviz.
"""

from __future__ import annotations

from nbautograd.viz.api import Animation, Picture, Recording, animate, graph, record

__all__ = ["Animation", "Picture", "Recording", "animate", "graph", "record"]
