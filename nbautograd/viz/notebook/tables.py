"""Tables of leaves and of settings: what ``%grads``, ``%zero_grads`` and ``%autograd`` show.

A :class:`Watch` remembers each leaf's gradient at the last look, and counts what passes add. It holds no leaf alive.
"""

from __future__ import annotations

import hashlib
import math
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

from nbautograd import protocol
from nbautograd.errors import is_pytorchs
from nbautograd.viz.draw.boxes import table
from nbautograd.viz.draw.cells import largest_of
from nbautograd.viz.draw.theme import LIGHT
from nbautograd.viz.escape import escape, one_line
from nbautograd.viz.language import headings, say
from nbautograd.viz.notebook import output
from nbautograd.viz.notebook.in_place import at_once, callers_names
from nbautograd.viz.read import values
from nbautograd.viz.read.tiles import Tile, is_tiled, tile
from nbautograd.viz.read.values import SUMMARY, is_tensor, number_text
from nbautograd.viz.read.walk import of_variables, parameters_of
from nbautograd.viz.settings import settings

__all__ = ["Table", "Watch", "grads", "leaves_of", "named_leaves", "settings_table", "watch", "zero_grads"]

MAX_KEPT_BYTES = 4096  # of a gradient, which shows the change at the next look
MAX_NAME_CHARACTERS = 40
MAX_ROWS = 40  # of one table
MAX_BAR_PX = 80.0


@dataclass(frozen=True)
class Table:
    """Rows of text with a heading: plain text in a terminal, HTML in a notebook."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    """The note below: what is left out."""
    gradients: tuple[tuple[str, Tile | None, Tile | None], ...] = ()
    """For each row about a leaf's gradient what was added, in words, and the tiles of that and of the gradient."""

    def __repr__(self) -> str:
        if not self.rows:
            return self.title
        below = [self.note] if self.note else []
        return "\n".join([self.title, table([self.head, *self.rows]), *below])

    def _repr_html_(self) -> str:
        if not self.rows:
            return f"<p>{escape(self.title)}</p>"
        below = f"<p>{escape(self.note)}</p>" if self.note else ""
        shown = self._drawn() if self.gradients else output.table(self.head, self.rows, self.title)
        return shown + below

    def _drawn(self) -> str:
        """The table with gradients as tiles on one scale and a bar for each norm, without empty columns.

        The tiles are images, so they are shown in untrusted notebooks and follow a dark one.
        """
        tiles = [tile for _, *both in self.gradients for tile in both if is_tiled(tile)]
        largest, norms = largest_of(tiles), [_number(norm) for *_, norm in self.rows]
        most = max((norm for norm in norms if math.isfinite(norm)), default=0.0)
        counted = any(passes != "–" for *_, passes, _ in self.rows)
        heads = ["col_leaf", "col_type", "col_added_since", "col_grad_now", "col_norm"] + ["col_passes"] * counted
        lines = []
        for row, (told, change, grad), size in zip(self.rows, self.gradients, norms, strict=True):
            name, about, _, _, now, passes, norm = row
            cells = [escape(name), escape(about).replace(" ", "&nbsp;"), output.gradient_image(told, change, largest),
                     output.gradient_image(now, grad, largest), f"{_bar(size, most)} {escape(norm)}"]  # fmt: skip
            lines.append([*cells, *([escape(passes)] * counted)])
        caption = escape(self.title) + (f"<br>{output.key_image(largest)}" if tiles else "")
        return output.table(headings(*heads), lines, caption, are_html=True)

    def __len__(self) -> int:
        return len(self.rows)

    def without_empty_columns(self) -> Table:
        """Return the table without the columns in which no row has anything.

        >>> Table("", ("leaf", "norm", "note"), (("w", "2", ""), ("b", "–", ""))).without_empty_columns().head
        ('leaf', 'norm')
        """
        kept = [i for i in range(len(self.head)) if any(row[i] not in {"", "–"} for row in self.rows)]
        head, *rows = [tuple([line[i] for i in kept]) for line in (self.head, *self.rows)]
        return replace(self, head=head, rows=tuple(rows))


def _bar(norm: float, most: float) -> str:
    """A bar as long as the norm is large; the smallest is still seen."""
    if not most or not norm or not math.isfinite(norm):
        return ""
    bar = f'<rect y="2" width="{max(MAX_BAR_PX * norm / most, 1.0):.1f}" height="8" rx="2" fill="{LIGHT["done"]}"/>'
    return output.image(output.drawing(MAX_BAR_PX, 12, bar), "")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


class _Seen:
    """The known state of one leaf."""

    __slots__ = ("array", "digest", "leaf", "passes", "text")

    def __init__(self, leaf: Any, forget: Any) -> None:
        self.leaf = weakref.ref(leaf, forget)
        self.passes = 0
        self.text, self.digest = "None", ""
        self.array: Any = None

    def look(self, grad: Any) -> None:
        """Remember the gradient as it is now."""
        self.text, self.digest = values.inline(grad), _digest(grad)
        array = None if grad is None else values.host(grad)
        self.array = array.copy() if array is not None and array.nbytes <= MAX_KEPT_BYTES else None


def _digest(grad: Any) -> str:
    if grad is None:
        return ""
    array = values.host(grad)
    return hashlib.blake2b(array.tobytes() + str((array.shape, array.dtype)).encode(), digest_size=12).hexdigest()


class Watch:
    """The leaves that were looked at, or reached by an observed pass.

    It is a callback for ``protocol.observe``, and costs a pass next to nothing: it only counts.
    """

    of_sums_alone = True  # the engine tells it of nothing else

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}
        self.counts = False  # True if it observes every pass

    def __call__(self, event: protocol.Event) -> None:
        """Count an accumulation."""
        if type(event) is protocol.Accumulated:
            self.of(event.node.variable).passes += 1

    def of(self, leaf: Any) -> _Seen:
        """Return the known state of a leaf."""
        key = id(leaf)
        seen = self._seen.get(key)
        if seen is None or seen.leaf() is not leaf:
            seen = self._seen[key] = _Seen(leaf, lambda _, key=key: self._seen.pop(key, None))
        return seen

    def row(self, name: str, leaf: Any) -> tuple[tuple[str, ...], tuple[str, Tile | None, Tile | None]]:
        """Return one leaf's line, and what its HTML has besides; this becomes the last look."""
        seen, grad = self.of(leaf), getattr(leaf, "grad", None)
        before, old, was = seen.text, seen.array, seen.digest
        seen.look(grad)
        change: Any = None
        if grad is None:
            added = "–"
        elif not was:
            added = seen.text
        elif seen.digest == was:
            added = "0."
        elif old is not None and seen.array is not None and old.shape == seen.array.shape:
            change = seen.array - old
            added = values.inline(change)
        else:
            added = "…"
        about = f"{values.dtype_text(getattr(leaf, 'dtype', ''))} {values.shape_text(leaf)}".strip()
        counted = self.counts and not is_pytorchs(leaf)  # PyTorch's own passes cannot be observed
        passes = str(seen.passes) if seen.passes or counted or grad is None else "–"
        norm = "–" if grad is None else norm_text(grad)
        told = say("added_all") if grad is not None and not was else added
        return (name, about, before, added, seen.text, passes, norm), (told, tile(change), tile(grad))


def norm_text(grad: Any) -> str:
    """The Euclidean norm of a gradient.

    >>> import numpy as np
    >>> norm_text(np.float32([3, 4]))
    '5'
    """
    import numpy as np

    try:
        array = values.host(grad)
        norm = float(np.linalg.norm(array.reshape(-1).astype(np.complex128)))
        return number_text(norm, SUMMARY if array.size > 1 else "")  # of a single number: its size
    except Exception as error:
        return f"<{type(error).__name__}>"


watch = Watch()
"""The gradients that this session has seen."""


def named_leaves(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The leaves that require a gradient among the variables of a namespace, each under its first public name."""
    leaves: dict[str, Any] = {}
    known: set[int] = set()
    for name, tensor in of_variables(namespace):
        if _is_leaf(tensor) and id(tensor) not in known:
            known.add(id(tensor))
            leaves[_unlike(one_line(name), leaves)] = tensor
    return leaves


def _unlike(name: str, others: Mapping[str, Any]) -> str:
    """The name, or with a number if it is taken: long or odd names may be alike when they are cleaned."""
    numbered = (f"{name} ({number})" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in others)


def _shortened(name: str) -> str:
    """Shorten a name to its column: keep its beginning, and its end, which distinguishes parameters."""
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[: MAX_NAME_CHARACTERS - 25]}…{name[-24:]}"


def _is_leaf(tensor: Any) -> bool:
    try:
        return bool(tensor.requires_grad) and tensor.grad_fn is None
    except Exception:
        return False


def leaves_of(tensors: Sequence[Any], namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return by name the leaves among these tensors, or of results, and the parameters of modules and optimizers."""
    if not tensors:
        return named_leaves(namespace)
    from nbautograd.viz.read.builder import build

    names = {id(leaf): name for name, leaf in named_leaves(namespace).items()}
    leaves: dict[str, Any] = {}

    def add(name: str, leaf: Any) -> None:
        if all(leaf is not other for other in leaves.values()):
            leaves[_unlike(name, leaves)] = leaf

    inner = ((each,) if (own := parameters_of(each)) is None else own for each in tensors)
    for tensor in chain.from_iterable(inner):
        if not is_tensor(tensor):
            raise TypeError(f"grads needs tensors, but was given {type(tensor).__name__}")
        if _is_leaf(tensor):
            add(names.get(id(tensor), f"leaf{len(leaves) + 1}"), tensor)
            continue
        model = build(tensor, namespace).entire
        for leaf in model.handles.kept:
            if _is_leaf(leaf):
                add(model.by_id[model.handles.leaves[id(leaf)]].name, leaf)
    return leaves


COLUMNS = ("col_leaf", "col_type", "col_before", "col_added", "col_now", "col_passes", "col_norm")


def table_of(leaves: Mapping[str, Any]) -> Table:
    """The gradients of leaves as a table; of many leaves those that have a gradient come first."""
    named = list(leaves.items())
    if len(named) > MAX_ROWS:
        named.sort(key=lambda pair: getattr(pair[1], "grad", None) is None)
    every = [watch.row(_shortened(name), leaf) for name, leaf in named[:MAX_ROWS]]
    title = say("grads_of", n=len(leaves)) if every else say("no_leaves")
    note = say("more_leaves", n=len(named) - MAX_ROWS) if len(named) > MAX_ROWS else ""
    rows, drawn = tuple(row for row, _ in every), tuple(drawn for _, drawn in every)
    return Table(title, tuple(headings(*COLUMNS)), rows, note, drawn)


def zero(leaves: Mapping[str, Any], set_to_none: bool = True) -> Table:
    """Zero the gradients of leaves, and say which had one."""
    rows = []
    for name, leaf in leaves.items():
        grad = leaf.grad
        if grad is None:
            done = say("was_no_grad")
        elif set_to_none:
            leaf.grad = None
            done = say("set_none_now")
        else:
            leaf.grad = grad.detach() * 0
            done = say("zeroed_now")
        rows.append((_shortened(name), values.inline(grad), values.inline(leaf.grad), done))
        seen = watch.of(leaf)
        seen.passes = 0
        seen.look(leaf.grad)  # this table shows it
    head = tuple(headings("col_leaf", "col_before", "col_now", "note"))
    note = say("more_leaves", n=len(rows) - MAX_ROWS) if len(rows) > MAX_ROWS else ""
    return Table(say("grads_of", n=len(rows)) if rows else say("no_leaves"), head, tuple(rows[:MAX_ROWS]), note)


@at_once
def grads(*tensors: Any, namespace: Mapping[str, Any] | None = None) -> Table:
    """The gradients of leaves: at the last look, their change, now, number of passes, and norm.

    :param tensors: leaves, modules, optimizers, or results with leaves; none for all leaves of the caller's variables.
    :param namespace: variables whose names are to be shown; by default those where this is called.
    :returns: a table.
    :raises TypeError: something given is no tensor and no module.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> (w * 5).backward()
    >>> viz.grads(w, namespace={"w": w})
    gradients of the leaves: 1
    leaf  type      grad before  added  now  passes  norm
    w     f32 (1,)  None         5.     5.   –       5
    """
    return table_of(leaves_of(tensors, namespace if namespace is not None else callers_names()))


def zero_grads(*tensors: Any, set_to_none: bool = True, namespace: Mapping[str, Any] | None = None) -> Table:
    """Set the gradients of leaves to None, or to zero, and return a table of the former ones.

    :param tensors: leaves, modules, optimizers, or results with leaves; none for all leaves of the caller's variables.
    :param set_to_none: whether ``.grad`` becomes None, as in PyTorch's ``zero_grad``, or zeros.
    :param namespace: variables whose names are to be shown; by default those where this is called.
    :returns: a table of the gradients before.
    :raises TypeError: something given is no tensor and no module.

    >>> import nbautograd as torch
    >>> from nbautograd import viz
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> (w * 5).backward()
    >>> _ = viz.zero_grads(w, namespace={"w": w})
    >>> print(w.grad)
    None
    """
    return zero(leaves_of(tensors, namespace if namespace is not None else callers_names()), set_to_none)


def settings_table() -> Table:
    """The settings of the pictures as a table."""
    head = tuple(headings("col_setting", "col_value", "col_choices", "col_meaning"))
    return Table("NBAutograd", head, tuple(settings.rows()))
