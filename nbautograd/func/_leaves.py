"""The inputs of function transforms: fresh leaves for the arguments, and results detached from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbautograd._engine.batching.levels import map_samples, on_level
from nbautograd._engine.core.batched import BatchedTensor, BatchLevel, levels
from nbautograd._engine.core.node import LEAF
from nbautograd._engine.core.pytree import tree_flatten, tree_unflatten
from nbautograd._engine.core.tensor import Tensor
from nbautograd.autograd.full_engine import reachable
from nbautograd.autograd.tangents import SPENT, carry, has_tangent
from nbautograd.errors import AutogradError, kind_of

Function = Callable[..., Any]
Places = int | tuple[int, ...]


def places_of(args: tuple[Any, ...], argnums: Places) -> list[int]:
    """Return the positions in ``argnums``, ints that must be in range and differ, counted from the front."""
    places = list(argnums) if isinstance(argnums, tuple) else [argnums]
    if not places:
        raise AutogradError("argnums must be non-empty")
    for place in places:
        if not isinstance(place, int):
            raise AutogradError(f"argnums must be int or Tuple[int, ...], got: {kind_of(argnums)}")
        if not -len(args) <= place < len(args):
            raise AutogradError(
                f"Got argnum={place}, but only {len(args)} positional inputs: argnums={argnums} is out of range"
            )
    places = [p % len(args) for p in places]
    if len(set(places)) < len(places):
        raise AutogradError(f"argnums elements must be unique, got argnums={argnums}")
    return places


class Inputs:
    """Arguments in which the tensors to differentiate with respect to are replaced by fresh leaves.

    Inside ``vmap``, a leaf is batched at all levels, so that each sample has its own derivative.
    """

    __slots__ = ("args", "given", "leaves", "places", "single", "specs", "stack")

    def __init__(self, name: str, args: tuple[Any, ...], argnums: Places) -> None:
        self.places, self.single = places_of(args, argnums), isinstance(argnums, int)
        self.stack: tuple[BatchLevel, ...] = levels()
        self.given: list[Any] = []
        self.leaves: list[Any] = []
        self.specs = []
        changed = list(args)
        for place in self.places:
            parts, spec = tree_flatten(args[place])
            fresh = [self._as_leaf(name, part) for part in parts]
            changed[place] = tree_unflatten(fresh, spec)
            self.given += parts
            self.leaves += fresh
            self.specs.append(spec)
        self.args = tuple(changed)

    def _as_leaf(self, name: str, x: Any) -> Any:
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{name}(f, ...)(*args): Expected all inputs that are differentiated by to be Tensors, got {kind_of(x)}"
            )
        if not (x.is_floating_point() or x.is_complex()):
            raise AutogradError(
                f"{name}(): only Tensors of floating point and complex dtype can require gradients, got {x.dtype!r}"
            )
        for level in self.stack:
            x = on_level(x, level)
        return map_samples(leaf_of, x)

    def like_args(self, values: list[Any]) -> Any:
        """Return a value for each leaf, nested like the arguments in ``argnums``."""
        rest, trees = list(values), []
        for spec in self.specs:
            trees.append(tree_unflatten(rest[: spec.num_leaves], spec))
            rest = rest[spec.num_leaves :]
        return trees[0] if self.single else tuple(trees)

    def detach(self, tree: Any) -> Any:
        """Detach results from these leaves, but keep a history that outer transforms need.

        A leaf that is itself a result is the argument again, as in PyTorch.
        """
        values, spec = tree_flatten(tree)
        places = {id(leaf): x for leaf, x in zip(self.leaves, self.given, strict=True)}
        tree = tree_unflatten([places.get(id(value), value) for value in values], spec)
        for leaf in self.leaves:
            sample = samples_of(leaf)
            if sample._fn is LEAF:
                sample.__dict__[SPENT] = True
        return detached(tree)


def leaf_of(x: Tensor) -> Any:
    """Return a new leaf with the values and tangents of ``x``, or a view of ``x`` for an outer transform."""
    if x._fn is not None:
        return x.view(x.shape)
    fresh = x.detach().requires_grad_()
    if has_tangent(x):
        leaf, fresh = fresh, fresh.view(x.shape)
        leaf.__dict__[SPENT] = True  # only the view is used outside
        carry(x, fresh)
    return fresh


def detached(tree: Any) -> Any:
    """Return results without their history if it leads only to leaves whose derivatives have been computed.

    A result with a tangent keeps its history, which is dropped when the tangent is unpacked.
    """
    values, spec = tree_flatten(tree)
    roots = {i: root for i, value in enumerate(values) if (root := _root(value)) is not None}
    if not roots:
        return tree
    all_spent = _is_spent(list(roots.values()))  # the common case: one traversal for all
    spent = {i: all_spent or _is_spent([root]) for i, root in roots.items()}
    return tree_unflatten([value.detach() if spent.get(i) else value for i, value in enumerate(values)], spec)


def _root(value: Any) -> Any:
    """Return the start of a result's history, a node or leaf; None if it has none, or keeps it."""
    sample = samples_of(value)
    if not isinstance(sample, Tensor) or sample._fn is None or has_tangent(sample):
        return None
    return sample if sample._fn is LEAF else sample._fn


def _is_spent(roots: list[Any]) -> bool:
    _, order = reachable(roots)
    return all(node._seq or SPENT in node.__dict__ for node in order)


def samples_of(t: Any) -> Any:
    """Return the value of a batched tensor below all levels."""
    while isinstance(t, BatchedTensor):
        t = t.value
    return t


def with_aux(answer: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """Return the value and the auxiliary value in a function's result, which is a pair if ``has_aux`` is True."""
    if not has_aux:
        return answer, None
    if not (isinstance(answer, tuple) and len(answer) == 2):
        raise AutogradError(
            f"{name}(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True, got "
            f"{kind_of(answer)}"
        )
    return answer
