"""One step of the chain rule with its numbers: upstream × local = sent, for one edge.

What the equation under the picture shows. Each part is a tile; one element is written out as its terms, so that there
are always numbers to follow: a single product where the Jacobian is diagonal, a sum of products for a row of a matrix
product, a sum over the broadcast dimensions where an input was smaller than the result, and for everything else the
sum over those elements that came which depend on it. A sentence says what the operation does with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from nbautograd.viz.capture.player_data import Reading, Readings
from nbautograd.viz.read import formulas, jacobians, values
from nbautograd.viz.read.formulas import Mark
from nbautograd.viz.read.introspect import is_pytorchs_node
from nbautograd.viz.read.jacobians import DIAGONAL, MATRIX, MAX_TERMS, MOVE, OUTER, Terms
from nbautograd.viz.read.local_derivative import LocalDerivative, Operands, kept_operands, local_derivative
from nbautograd.viz.read.model import Edge, Formula, GraphModel, Handles
from nbautograd.viz.read.operations import broadcast_dims
from nbautograd.viz.read.tiles import MAX_SIDE_CELLS
from nbautograd.viz.read.values import printed_rows

__all__ = ["STORIES", "Arrival", "ChainStep", "Element", "chain_step", "kept_before", "story_of"]

MAX_COPIED_ELEMENTS = 4_000_000  # of saved tensors of PyTorch's nodes
_TILE = attrgetter("tile")


@dataclass(frozen=True, slots=True)
class Element:
    """One element that was sent: the sum of ``upstream · local`` over its terms."""

    index: tuple[int, ...]
    terms: tuple[tuple[str, str], ...]
    """(upstream, local), the first few."""
    count: int
    """The number of terms; -1 if unknown."""
    sent: str


@dataclass(frozen=True, slots=True)
class ChainStep:
    """The computation of one gradient along one edge; tiles are given by their numbers, -1 for none."""

    edge: str
    kind: str
    """The gradient's way in: ``diagonal``, ``matrix``, ``outer``, ``move`` or ``other`` (see ``read.jacobians``)."""
    upstream_name: str
    sent_name: str
    local: list[Mark]
    """The local derivative as a formula; empty where it is no factor."""
    upstream: int = -1
    factor: int = -1
    product: int = -1
    """Before the sums that undo broadcasting, if any."""
    sent: int = -1
    left: bool = False
    """True if the matrix is the left factor."""
    summed: tuple[tuple[int, int], ...] = ()
    """(dimension, its size) of each broadcast dimension that was summed over."""
    element: Element | None = None
    told: str = ""
    """Which of the player's sentences says why no element can be written out."""
    story: str = ""
    """The key of the sentence about the operation's effect on the arriving elements."""
    places: tuple[int, ...] = ()
    """For each element of the product, the matching element of the upstream gradient, if their order differs."""
    rows: Terms | None = None
    """For a step that is not a product: the arriving elements whose sum each sent element is."""
    more: tuple[int, ...] = ()
    """The tiles of the further gradients that came, of an operation with several results."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """The gradients that a node received and the values in its formulas, copied before the node runs and frees them."""

    gradients: Mapping[int, Reading] = field(default_factory=dict)
    """By the number of the result."""
    values: Mapping[int, Any] = field(default_factory=dict)
    count: int = 1
    """The number of results of the node."""
    known: Operands | None = field(default_factory=dict)
    """None: it was too much to be kept."""
    declared: Any = None
    """The node's declaration, where the picture has read it."""

    @property
    def gradient(self) -> Any:
        """The only one that came; None where there are several."""
        return next(iter(self.values.values())) if len(self.values) == 1 else None

    def changed(self, gradient: Reading) -> Arrival:
        """Return this arrival after a hook changed its only gradient."""
        keys = self.gradients
        return replace(self, gradients=dict.fromkeys(keys, gradient), values=dict.fromkeys(keys, gradient.value))

    @classmethod
    def at(
        cls, node: Any, gradients: Sequence[Reading | None], kept: Mapping[Any, Operands | None], handles: Handles,
        told: bool = True,
    ) -> Arrival:  # fmt: skip
        """Return the gradients that arrived at a node that is about to run.

        :param kept: what ``kept_before`` gave at the start of the pass.
        :param told: True if the node has formulas, which need its saved values.
        """
        came, numbers = {}, {}
        for i, gradient in enumerate(gradients):
            if gradient is not None:
                came[i], numbers[i] = gradient, gradient.value
        known = kept[node] if node in kept else _kept(node, handles) if told else None
        return cls(came, numbers, len(gradients), known, handles.declared.get(node))


def kept_before(model: GraphModel) -> dict[Any, Operands | None]:
    """Copy the operands in the formulas of PyTorch's nodes before a pass; None where there is too much of them.

    Within the pass only the pass may ask a node for its saved tensors: a checkpoint computes them once.
    """
    kept: dict[Any, Operands | None] = {}
    size = 0
    for node, key in model.handles.ops.items():
        if model.by_id[key].formulas and is_pytorchs_node(node):
            known = kept[node] = _kept(node, model.handles) if size < MAX_COPIED_ELEMENTS else None
            size += sum(np.size(value) for value in (known or {}).values() if isinstance(value, np.ndarray))
    return kept


def _kept(node: Any, handles: Handles) -> Operands:
    try:
        return kept_operands(node, handles.declared.get(node), handles.traces.get(node))
    except Exception:  # objects that cannot be read still get a picture
        return {}


def chain_step(
    model: GraphModel, edge: Edge, live: Any, formula: Formula, names: tuple[str, str], came: Arrival, sent: Reading,
    pool: Readings,
) -> ChainStep:  # fmt: skip
    """Return the step along an edge that ends at ``live``, by a formula; ``names``: of gradients that came and went."""
    gradients = list(came.values.values())
    local = local_derivative(live, formula, came.values, sent.value, came.known, came.count, pool.work, came.declared)
    shape, went = tuple(gradients[0].shape), tuple(sent.value.shape)
    summed: tuple[tuple[int, int], ...] = ()
    if local.kind == DIAGONAL and jacobians.sums_over(formula.source):
        wide = local.product.shape if local.product is not None else shape
        summed = tuple([(dim, wide[dim]) for dim in broadcast_dims(wide, went)]) if wide != went else ()
    element = _element(local, gradients, sent.value, summed)
    story = ""
    if local.unknown != "differs":  # else the sentence is about another computation
        name = model.by_id[edge.dst].name
        pair = pair_of(model, edge.dst) if name.startswith("LogSoftmax") else ""
        story = story_of(name, formula.input, local.kind, local.permutes, pair, element is not None)
    upstream, *more = map(_TILE, came.gradients.values())
    return ChainStep(
        edge.id, local.kind, *names, formula.local, upstream, pool.add(local.factor),
        pool.add(local.product) if summed else -1, sent.tile, local.left, summed, element,
        "" if element is not None else _told(local, sent.value), story,
        () if local.places is None or local.places.shape == shape else _places(local.places),
        local.terms, tuple(more),
    )  # fmt: skip


_UNKNOWN = {
    "large": "numbers_large", "unsaved": "numbers_unsaved", "complex": "numbers_complex", "foreign": "numbers_foreign",
    "differs": "numbers_differ",
}  # fmt: skip


def _told(derivative: LocalDerivative, sent: Any) -> str:
    """The sentence about a local derivative of which no element is written out."""
    if not math.prod(values.shape(sent)):
        return "no_elements"
    return _UNKNOWN.get(derivative.unknown, "numbers_large")


def _places(places: np.ndarray[Any, Any]) -> tuple[int, ...]:
    return tuple(places.reshape(-1).tolist()) if places.size <= MAX_SIDE_CELLS**2 else ()


def _element(local: LocalDerivative, came: Sequence[Any], sent: Any, summed: tuple[Any, ...]) -> Element | None:
    """The largest element that was sent, written out; None where the local derivative is not known."""
    if local.factor is None and local.terms is None:
        return None
    wanted = sent if type(sent) is np.ndarray else values.host(sent)
    if wanted.dtype.kind not in "biuf" or not wanted.size:
        return None
    flat = np.abs(wanted.astype(np.float64)).reshape(-1)
    largest = int(np.argmax(np.where(np.isnan(flat), np.inf, flat)))
    place = tuple(map(int, np.unravel_index(largest, wanted.shape)))
    known = local.terms
    if known is not None:
        all_ups = np.concatenate([values.host(gradient).reshape(-1) for gradient in came])
        own = known.of(largest)
        if own is None:
            return None
        ups, factors = all_ups[own[0]], np.asarray(own[1])
        count = known.count if known.only >= 0 else len(own[0])
    else:
        ups, factors = _terms_at(local, values.host(came[0]), place, summed)
        count = len(ups)
    given, by, (element,) = _written(ups[:MAX_TERMS], factors[:MAX_TERMS], wanted[place].reshape(1))
    return Element(place, tuple(zip(given, by, strict=True)), count, element)


def _written(*several: np.ndarray[Any, Any]) -> list[list[str]]:
    """Return each number of some arrays as a text."""
    for numbers in several:
        if numbers.dtype.kind != "f":
            return [list(map(values.inline, each)) for each in several]
    return printed_rows(map(np.ndarray.tolist, several))


def _terms_at(
    derivative: LocalDerivative, upstream: np.ndarray[Any, Any], place: tuple[int, ...], summed: tuple[Any, ...]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The upstream gradients and the local derivatives of which the element is the sum of products."""
    factor, spread = derivative.factor, derivative.upstream
    assert factor is not None
    if derivative.kind == OUTER:
        return upstream[place[:1]].reshape(-1), factor[place[1:]].reshape(-1)
    if derivative.kind == MATRIX and upstream.ndim == 1:
        return upstream, factor[place]
    if derivative.kind == MATRIX:
        *batch, row, column = place
        came, matrix = upstream[tuple(batch)], factor[tuple(batch)]
        return (came[:, column], matrix[row]) if derivative.left else (came[row], matrix[:, column])
    assert spread is not None
    where: tuple[Any, ...] = place
    if summed or spread.ndim != len(place):
        dims, extra = dict(summed), spread.ndim - len(place)
        where = tuple([slice(None) if dim in dims else place[dim - extra] for dim in range(spread.ndim)])
    return np.asarray(spread[where]).reshape(-1), np.asarray(factor[where]).reshape(-1)


# -- the sentence about an operation ---------------------------------------------------------------------

_FAMILIES: dict[str, str] = {
    "sum": "Sum Nansum",
    "mean": "Mean",
    "softmax": "Softmax",
    "log_softmax": "LogSoftmax",
    "nll": "NllLoss NllLoss2D",
    "winner": "Max Min Amax Amin Aminmax Median Nanmedian Kthvalue Mode Maximum Minimum Fmax Fmin",
    "winner_so_far": "Cummax Cummin",
    "winner_of_window": "MaxPool2DWithIndices MaxPool3DWithIndices AdaptiveMaxPool2D AdaptiveMaxPool3D "
    "FractionalMaxPool2D FractionalMaxPool3D",
    "share_of_window": "AvgPool2D AvgPool3D AdaptiveAvgPool2D AdaptiveAvgPool3D",
    "convolution": "Convolution Convolution.input",
    "convolution_weight": "Convolution.weight",
    "norm": "NativeBatchNorm NativeLayerNorm NativeGroupNorm",
    "norm_weight": "NativeBatchNorm.weight NativeLayerNorm.weight NativeGroupNorm.weight",
    "bias": "Convolution.bias NativeBatchNorm.bias NativeLayerNorm.bias NativeGroupNorm.bias",
    "embedding": "Embedding EmbeddingBag",
    "taken": "Index IndexSelect Gather Take MaskedSelect AsStrided Unfold Im2Col",
    "part": "Select Slice Diagonal Split SplitWithSizes UnsafeSplit UnsafeSplitWithSizes Unbind Topk Tril Triu Trace "
    "Narrow",
    "sorted": "Sort Msort",
    "masked": "MaskedFill MaskedScatter",
    "positive": "Relu",
    "above": "Threshold",
    "dropped": "NativeDropout Dropout",
    "masked_value": "MaskedFill.value Fill.value IndexFill.value",
    "side": "Where",
    "clamped": "Clamp ClampMin ClampMax Hardtanh Hardsigmoid",
    "piece": "Cat Stack BlockDiag Hstack Vstack",
    "overwritten": "Fill Zero Copy Put IndexPut IndexCopy IndexFill SelectScatter SliceScatter DiagonalScatter "
    "AsStridedScatter Scatter",
    "written": "Copy.src Put.source IndexPut.values IndexCopy.source SelectScatter.src SliceScatter.src "
    "DiagonalScatter.src AsStridedScatter.src Scatter.src MaskedScatter.source",
    "added_at": "IndexAdd.source ScatterAdd.src",
    "repeated": "Expand Repeat SumToSize",
    "padded": "ConstantPadNd",
    "padded_copies": "ReflectionPad1D ReflectionPad2D ReflectionPad3D ReplicationPad1D ReplicationPad2D "
    "ReplicationPad3D CircularPad1D CircularPad2D CircularPad3D",
    "folded": "Col2Im",
    "running_sum": "Cumsum",
    "running_product": "Cumprod",
    "running_share": "Logcumsumexp",
    "product": "Prod",
    "share": "Logsumexp",
    "length": "LinalgVectorNorm Norm",
    "spread": "Var Std VarMean StdMean",
    "attention": "ScaledDotProductFlashAttentionForCpu",
    "weights": "UpsampleBicubic2D UpsampleNearest1D UpsampleNearestExact1D UpsampleLinear1D UpsampleNearest2D "
    "UpsampleNearestExact2D UpsampleBilinear2D UpsampleNearest3D UpsampleNearestExact3D UpsampleTrilinear3D "
    "UpsampleBilinear2DAa UpsampleBicubic2DAa GridSampler2D GridSampler3D",
    "grid": "GridSampler2D.grid GridSampler3D.grid AffineGridGenerator",
    "distance": "EuclideanDist Cdist Pdist",
    "gate": "Glu",
    "fourier": "FftC2C FftR2C FftC2R",
}
_LARGE = {MATRIX: "matrix", DIAGONAL: "elementwise"}
"""The sentences for kinds of which no element can be written out."""
_BY_NAME = {name: story for story, names in _FAMILIES.items() for name in names.split()}
_VECTOR = "matrix_vector"

STORIES = tuple(
    f"story_{key}"
    for key in (*_FAMILIES, "cross_entropy", "outer", _VECTOR, "places", "places_some", "all", *_LARGE.values())
)
"""The keys of all sentences."""


@lru_cache(2000)
def story_of(name: str, parameter: str, kind: str, permutes: bool, pair: str, shown: bool = True) -> str:
    """Return the key of the sentence about the gradient sent to an input, or nothing if its numbers explain it.

    :param name: of the node.
    :param kind: how the gradient enters its formula.
    :param permutes: True if each sent element is an arrived one.
    :param pair: the node that sent the gradient, if there is only one.
    :param shown: whether an element is written out.

    >>> story_of("SoftmaxBackward0", "input", "other", False, "")
    'story_softmax'
    >>> story_of("LogSoftmaxBackward0", "input", "other", False, "NllLossBackward0")
    'story_cross_entropy'
    >>> story_of("ReluBackward0", "self", "diagonal", False, "")
    'story_positive'
    """
    own = formulas.base(name)
    if own == "LogSoftmax" and formulas.base(pair) in ("NllLoss", "NllLoss2D"):
        return "story_cross_entropy"
    if own == "Mv" and kind == MATRIX:
        return f"story_{_VECTOR}"
    story = _BY_NAME.get(f"{own}.{parameter}") or _BY_NAME.get(own)
    if story is None or (story == "norm" and kind == DIAGONAL):  # a norm with the numbers of another batch
        story = _of_kind(kind, permutes, shown)
    return story and f"story_{story}"


def _of_kind(kind: str, permutes: bool, shown: bool) -> str:
    """Return the story of an operation without one of its own."""
    if kind in _LARGE:
        return "" if shown else _LARGE[kind]
    if kind == MOVE:
        return "places" if permutes else "places_some"
    return "outer" if kind == OUTER else "all"


def pair_of(model: GraphModel, key: str) -> str:
    """Return the name of the only operation that uses the result of a log-softmax: with a loss, the two are one."""
    results = {key} | {edge.dst for (src, _), edge in model.results.items() if src == key}
    users = {edge.dst for edge in model.flows.values() if edge.src in results}
    return model.by_id[users.pop()].name if len(users) == 1 else ""
