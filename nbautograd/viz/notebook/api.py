"""Define the functions for users: draw a graph, animate a backward pass, record several."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

from nbautograd import protocol
from nbautograd.viz.capture import torch_events
from nbautograd.viz.capture.frame_log import with_seed
from nbautograd.viz.capture.recorder import MAX_STEPPED_OPS, Recorder
from nbautograd.viz.capture.torch_watch import TorchWatch
from nbautograd.viz.escape import one_line
from nbautograd.viz.language import say
from nbautograd.viz.notebook.in_place import after_block, at_once, callers_names, name_in
from nbautograd.viz.notebook.picture import Picture
from nbautograd.viz.notebook.recording import Animation, Recording
from nbautograd.viz.read import fold as folding
from nbautograd.viz.read.builder import Resolve, build
from nbautograd.viz.read.introspect import is_pytorchs_node, settle
from nbautograd.viz.read.values import is_tensor
from nbautograd.viz.settings import settings

__all__ = ["Animation", "Picture", "Recording", "animate", "graph", "record"]


@at_once
def graph(
    *tensors: Any, namespace: Mapping[str, Any] | None = None, direction: str | None = None,
    values: bool | None = None, depth: int | None = None, fold: bool | None = None, opened: Collection[str] = (),
    resolve: Resolve | None = None, engine: str = "own",
) -> Picture:  # fmt: skip
    """The graph that made these tensors. What is not given here is as ``viz.settings`` says.

    :param namespace: variables whose names are to be shown; by default those where this is called.
    :param direction: ``LR``, from left to right; ``TB``, from top to bottom; None: as shows most of it at a size
        that can be read, from left to right if that fits, else also in several rows or from top to bottom.
    :param values: whether values are shown, or only shapes.
    :param depth: the number of operations from the result to draw; 0 for all.
    :param fold: True: draw layers, and loops except their last step, as one box each, which a click opens; False: fold
        nothing unless the graph is large; None: fold layers, if there are several.
    :param opened: groups that stay open: names of layers as shown in the picture, or ids of groups.
    :param resolve: returns the cell of a line of code; by default as the extension does.
    :param engine: ``own``, or ``dot`` for Graphviz's layout, if installed.
    :param tensors: results, of nbautograd or of PyTorch.
    :returns: the picture.
    :raises TypeError: one of ``opened`` is no string.
    :raises ValueError: ``engine`` is neither of the two.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> viz.graph(w * 3, namespace={"w": w})
    out → 1 leaf, 1 operation
    out = w × …  MulBackward0  6.  f32 ()
    └─ w  leaf  2.  f32 ()  .grad None
    """
    opened = _names(opened)
    settle(namespace)
    model = build(list(tensors), namespace or callers_names(), resolve=resolve, fold=fold, opened=opened)
    deep = settings.depth if depth is None else depth
    if deep:
        model = folding.nearest(model, deep)
    shown = settings.values if values is None else values
    return Picture(model if shown else model.without_values(), direction, engine, fold=fold, opened=opened)


def _names(opened: Collection[str]) -> tuple[str, ...]:
    names = (opened,) if isinstance(opened, str) else tuple(opened)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"opened must hold names of layers or ids of groups, got {type(name).__name__}")
    return names


@at_once
def animate(
    tensor: Any, gradient: Any = None, *, retain_graph: bool | None = None, create_graph: bool = False,
    inputs: Any = None, namespace: Mapping[str, Any] | None = None, resolve: Resolve | None = None,
    direction: str | None = None, fold: bool | None = False, opened: Collection[str] = (), ask: bool = False,
) -> Animation:  # fmt: skip
    """Run ``tensor.backward(...)`` with these arguments and return the pass as an animation.

    ``direction``, ``fold`` and ``opened`` are as for :func:`graph`; here, nothing is folded unless the graph is large.
    With ``ask`` the player asks for each gradient before it shows it, helps after a wrong answer, and keeps a score.
    An error that ends the pass is raised as usual; its traceback says so, and ``error.animation`` is the picture.

    :param tensor: a result, of nbautograd or of PyTorch.
    :param gradient: what ``backward`` is given; needed for results of other shapes than ().
    :param retain_graph: keep the graph for another pass.
    :param create_graph: record the pass itself.
    :param inputs: the only tensors whose gradients are accumulated.
    :param namespace: variables whose names are to be shown; by default those where this is called.
    :param resolve: returns the cell of a line of code; by default as the notebook does.
    :param direction: as for :func:`graph`.
    :param fold: as for :func:`graph`; here nothing is folded unless the graph is large.
    :param opened: as for :func:`graph`.
    :param ask: ask for each gradient before it is shown.
    :returns: the animation.
    :raises TypeError: it is no tensor.
    :raises RuntimeError: what ``backward`` raises.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> played = viz.animate(w * w, namespace={"w": w})
    >>> w.grad
    tensor(4.)
    """
    if not is_tensor(tensor):
        raise TypeError(f"animate needs a tensor, but was given {type(tensor).__name__}")
    namespace, opened = namespace or callers_names(), _names(opened)
    settle(namespace)
    model = build(tensor, namespace, resolve=resolve, fold=fold, opened=opened, described=MAX_STEPPED_OPS)
    chosen = inputs if inputs is None or isinstance(inputs, (list, tuple)) else [inputs]
    from nbautograd.viz.capture.replay import products, replay_of  # loaded when a pass is played
    from nbautograd.viz.notebook.code import player_lines

    vjps: tuple[Any, ...] = ()
    seed = ""
    if gradient is not None:
        vjps, seed = products(tensor, gradient, model), one_line(name_in(namespace, gradient) or "gradient", 40)
    replay = replay_of(model, tensor, gradient)
    lines = player_lines(tensor, gradient, model, namespace)
    model.entire.handles.names = None
    if seed:
        model = with_seed(model, seed)
    recorder = Recorder(model, namespace=namespace, resolve=resolve, inputs=chosen, seed=seed, products=vjps)

    shown = partial(Animation, direction=direction, fold=fold, opened=opened)
    try:
        with _observed(tensor, gradient, recorder, retain_graph, create_graph):
            tensor.backward(gradient, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs)
    except Exception as error:
        if not recorder.frames and model.roots:
            recorder.refuse(error, tensor)
        if recorder.frames:
            error.animation = shown(recorder.timeline())  # type: ignore[attr-defined]
        raise
    return shown(recorder.timeline(), ask=ask, replay=replay, code=lines)


def _observed(
    tensor: Any, gradient: Any, recorder: Recorder, retain: bool | None, create: bool
) -> AbstractContextManager[object]:
    """Return a block in which a recorder hears of the pass of either library."""
    refused = gradient is None and math.prod(tensor.shape) != 1  # no pass begins
    if refused or not is_pytorchs_node(tensor.grad_fn):
        return protocol.observe(recorder)
    roots = ((tensor.grad_fn, tensor.output_nr),)
    seed = gradient if gradient is not None else tensor.detach().new_ones(tensor.shape)
    return torch_events.watch(roots, (seed,), recorder, retain_graph=bool(retain or create), create_graph=create)


@after_block
@contextmanager
def record(
    *, namespace: Mapping[str, Any] | None = None, resolve: Resolve | None = None, direction: str | None = None,
    progress: bool = False,
) -> Iterator[Recording]:  # fmt: skip
    """Record every backward pass inside the ``with`` block, of nbautograd and of PyTorch.

    The recording is complete when the block ends; after an error, or an interrupt, it holds what ran until then. A
    notebook shows it then if the block gives it no name (``as``).
    PyTorch's operations inside the block are watched (see :func:`watch`).

    :param progress: show a bar that counts passes, where tqdm is installed.
    :param namespace: variables whose names are to be shown; by default those where this is called.
    :param resolve: returns the cell of a line of code; by default as the notebook does.
    :param direction: as for :func:`graph`.
    :returns: a context manager, whose target is the recording.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor(2.0, requires_grad=True)
    >>> with viz.record() as recording:
    ...     (w * w).backward()
    ...
    >>> w.grad
    tensor(4.)
    """
    with _progress_bar() if progress else nullcontext(None) as count:
        names = namespace or callers_names()
        recorder = Recorder(namespace=names, resolve=resolve, progress=count)
        recording = Recording(recorder.timeline(), direction)
        watching = TorchWatch()
        watching.start()
        try:
            with protocol.observe(recorder), torch_events.passes_observed():
                yield recording
        finally:
            watching.stop(names)
            recording.timeline = recorder.timeline()


@contextmanager
def _progress_bar() -> Iterator[Callable[[], object] | None]:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        yield None
        return
    with tqdm(desc=say("recording"), unit="") as bar:
        yield lambda: bar.update(1)
