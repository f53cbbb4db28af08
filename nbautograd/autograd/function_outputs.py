"""The outputs of a custom ``Function``: their history, including that of returned inputs, and their tangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from nbautograd._engine.arrays import backend, dtypes, version_counter
from nbautograd._engine.core import dispatch_mode, tracing
from nbautograd._engine.core.batched import NoRuleError
from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.inplace import check_history
from nbautograd._engine.core.node import LEAF, Node, OutputEdge
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd._engine.core.views import CUSTOM, SEVERAL, DualView, rebase_history, record_unrecorded_write
from nbautograd.autograd import tangents
from nbautograd.autograd.function_ctx import ForwardContext
from nbautograd.autograd.tangents import Level, below, suspended, tangent_of
from nbautograd.errors import AutogradError, InplaceError, kind_of, warn


def _all_tensors(tensors: tuple[Any, ...], rule: str) -> None:
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise AutogradError(f"{rule}, but argument {index} is of type {type(tensor).__name__}")


def check_dirty(node: Any, outputs: list[Any]) -> None:
    """Check that inputs marked as dirty are returned, and count the write to them."""
    _all_tensors(node._dirty, "mark_dirty can only accept variables")
    _all_tensors(node._non_differentiable, "mark_non_differentiable only accepts variable arguments")
    returned = {id(out) for out in outputs}
    for tensor in node._dirty:
        if id(tensor) not in returned:
            raise AutogradError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                f"are modified inplace must all be outputs of the Function ({node.name()})."
            )
        record_unrecorded_write(tensor)  # even if operations have not recorded it


def check_kind(node: Any, position: int, gradient: Tensor, dtype: Any) -> None:
    """Raise AutogradError if the gradient of a real input is complex; ``dtype`` is the input's."""
    if gradient._a.dtype.kind == "c" and dtype.kind != "c":
        raise AutogradError(
            f"Function {node.name()} returned an invalid gradient at index {position} - Expected "
            "isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex): the input is real, the "
            f"gradient of dtype {gradient.dtype!r}. Return its real part, gradient.real"
        )


def refuse_in_transforms(cls: Any) -> NoReturn:
    """Raise for a Function without ``setup_context`` inside ``vmap``, ``grad`` and the other transforms."""
    raise NoRuleError(
        "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
        f"override the setup_context staticmethod: write {cls.__name__}.forward without ctx, and move its use of ctx "
        "to setup_context(ctx, inputs, output)"
    )


def check_saved(node: Any, inputs: list[Tensor], outputs: tuple[Any, ...]) -> None:
    """Raise AutogradError if ``setup_context`` saves an input that ``forward`` returns as it is."""
    returned = {id(out) for out in outputs} & {id(tensor) for tensor in inputs}
    if any(id(tensor) in returned for tensor in node._to_save):
        raise AutogradError(
            "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
            f"override setup_context ({node.name()}). Return and save a view of the input, e.g. x.view_as(x)."
        )


def record(node: Any, args: tuple[Any, ...], tensors: list[Tensor], outputs: list[Any], before: dict[int, Any]) -> None:
    """Make ``node`` the ``grad_fn`` of ``outputs``."""
    fixed = set(map(id, node._non_differentiable))
    for tensor in node._dirty:
        if id(tensor) not in before:
            warn(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated "
                f"should be passed to ctx.mark_dirty(), and {node.name()} passes another."
            )
        elif id(tensor) not in fixed:
            if tensor._view is not None and len(outputs) > 1:
                raise InplaceError(
                    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot "
                    f"return more than one Tensor ({node.name()} returns {len(outputs)}): make sure that the input is "
                    "not a view (clone() it), or split the Function into two."
                )
            check_history(tensor, node.name())
    _fill(node, args, tensors, outputs)
    connect(node, tensors, outputs, True)
    if dispatch_mode.is_on():
        dispatch_mode.node_created(node)
    if tracing.is_on():
        shown = next((o for o in outputs if isinstance(o, Tensor)), None)
        if shown is not None:
            tracing.note(node, shown, tuple((f"input {i}", a) for i, a in enumerate(args)))


def connect(node: Any, tensors: list[Tensor], outputs: list[Any], recorded: bool) -> None:
    """Set the history of the outputs; inputs that are returned unchanged are replaced by views of them."""
    fixed, inputs = set(map(id, node._non_differentiable)), set(map(id, tensors))
    dirty = inputs.intersection(map(id, node._dirty))
    differentiable, views = 0, []
    for index, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            continue
        is_input, is_dirty = id(out) in inputs, id(out) in dirty
        if not recorded or id(out) in fixed or out._a.dtype.kind not in dtypes.INEXACT:
            outputs[index] = _without_history(out, is_input, is_dirty)
        else:
            differentiable += 1
            fn = node if len(outputs) == 1 else OutputEdge(node, index)
            outputs[index] = _with_history(out, fn, is_input, is_dirty)
        how = outputs[index]._view
        if how is not None and not is_dirty:
            how = outputs[index]._view = DualView(how, None)
            how.obstacle = CUSTOM
        views.append(how)
    if differentiable > 1:
        for how in filter(None, views):
            how.obstacle = SEVERAL


def _without_history(out: Tensor, is_input: bool, is_dirty: bool) -> Tensor:
    """Return an output to which no gradient comes."""
    if is_input and out.requires_grad:
        return out.detach()
    if is_input and not is_dirty:
        return _view_of_itself(out)
    if out._view is None:
        out._fn = None
    return out


def _with_history(out: Tensor, fn: Any, is_input: bool, is_dirty: bool) -> Tensor:
    """Return an output whose gradient goes to a node, or an edge of one."""
    if is_dirty:
        out._grad = None  # that of the former value
        rebase_history(out, fn)
        return out
    result = _view_of_itself(out) if is_input else out
    result._fn = fn
    return result


def _view_of_itself(t: Tensor) -> Tensor:
    """Return a view of the whole tensor, for an input that is returned unchanged."""
    with no_grad(), suspended():
        view: Tensor = t.view(t.shape)
    return view


def _fill(node: Any, args: tuple[Any, ...], tensors: list[Tensor], outputs: list[Any]) -> None:
    """Set the node's edges, saved tensors, and the metadata of its inputs and outputs."""
    slots = iter(range(len(tensors)))
    node._slots = tuple(next(slots) if isinstance(a, Tensor) else None for a in args)
    node.all_edges = tuple(a if a._fn is LEAF else a._fn for a in tensors)
    node.input_meta = tuple((a._a.shape, a._a.dtype) for a in tensors)
    node.inputs = tuple(f"input {i}" for i, a in enumerate(args) if isinstance(a, Tensor))
    node.arity = len(tensors)
    node._seq = version_counter.next_sequence_nr()
    node._count = len(outputs)
    node.save_tensors(outputs)
    node._outputs = tuple(
        (o._a.shape, o._a.dtype, backend.device_of(o._a)) if isinstance(o, Tensor) else None for o in outputs
    )


class ErrorNode(Node):
    """The node of the gradients of a ``once_differentiable`` backward, which raises when they are differentiated.

    As in PyTorch, its edges lead to copies of all these gradients.
    """

    __slots__ = ("message", "targets")
    arity = -1
    message: str
    targets: tuple[Tensor | None, ...]

    def next_nodes(self) -> tuple[Tensor | None, ...]:
        """Return the leaves to which the edges lead."""
        return self.targets

    def vjp(self, g: Any, retain_graph: bool, needed: Any = None) -> tuple[Any, Any]:
        """Raise AutogradError."""
        raise AutogradError(self.message)

    vjp_graph = vjp


ErrorNode.__name__ = "Error"


# -- forward mode ------------------------------------------------------------------------------------------------------


def set_tangents(node: Any, args: Sequence[Any], outputs: list[Any], level: Level) -> None:
    """Give the outputs of a Function the tangents that ``jvp`` returns; raise if these do not match the outputs."""
    own = [tangent_of(a, level) for a in args]
    returned, versions = _answer(node, args, own, level)
    differentiable = _check_returned(node, outputs, returned)
    dirty = set(map(id, node._dirty))
    for index in differentiable:
        out, tangent = outputs[index], returned[index]
        if id(out) in dirty:
            position = next(i for i, a in enumerate(args) if a is out)
            _check_written(tangent, own[position], versions[position])
            if own[position] is None and tangent is not None:
                _take(out, tangent, level)
        elif out._view is not None and (viewed := _position_of_base(out, args)) is not None:
            tangent = _checked_view(tangent, own[viewed])
            if own[viewed] is None:
                _take(out, tangent, level)
            else:
                tangents.set_tangent(out, tangent, level)
        elif tangent is not None:
            tangents.set_tangent(out, tangent, level)


def _answer(node: Any, args: Sequence[Any], own: list[Any], level: Level) -> tuple[list[Any], list[int | None]]:
    """Return the result of ``jvp``, and the versions of the arguments' tangents before."""
    with below(level.number):
        in_tangents = [_zeros(a) if t is None and node._materialize else t for a, t in zip(args, own, strict=True)]
        versions = [None if t is None else version_counter.version_of(t._a) for t in in_tangents]
        answer = node._function.jvp(ForwardContext(node), *in_tangents)
    return list(answer) if isinstance(answer, tuple) else [answer], versions


def _check_returned(node: Any, outputs: list[Any], returned: list[Any]) -> list[int]:
    """Check what ``jvp`` has returned, and return the positions of the differentiable outputs."""
    if len(returned) != len(outputs):
        raise AutogradError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
            f"{len(returned)})"
        )
    fixed, differentiable = {id(t) for t in node._non_differentiable}, []
    for index, (out, tangent) in enumerate(zip(outputs, returned, strict=True)):
        if tangent is not None and not isinstance(tangent, Tensor):
            raise AutogradError(f"expected Variable or None (got {kind_of(tangent)}) for grad output {index}.")
        if isinstance(out, Tensor) and id(out) not in fixed and out._a.dtype.kind in dtypes.INEXACT:
            differentiable.append(index)
        elif tangent is not None:
            raise AutogradError(
                f"Function's jvp returned a gradient at position {index}, but the corresponding forward output is "
                "not a differentiable Tensor. You should return None at that position instead."
            )
    return differentiable


def _zeros(value: Any) -> Tensor | None:
    if not isinstance(value, Tensor) or value._a.dtype.kind not in dtypes.INEXACT:
        return None
    return wrap(np.zeros_like(value._a))


def _base(t: Tensor) -> Tensor:
    base: Tensor = t if t._view is None else t._view.base
    return base


def _position_of_base(out: Tensor, args: Sequence[Any]) -> int | None:
    """Return the position of the argument that an output is a view of; None if it is not a view."""
    return next((i for i, a in enumerate(args) if isinstance(a, Tensor) and _base(a) is _base(out)), None)


def _check_written(tangent: Any, own: Tensor | None, version: int | None) -> None:
    """Check that ``jvp`` has written in place to the tangent of a dirty input."""
    if own is None:
        return
    if version_counter.version_of(own._a) == version:
        raise AutogradError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
            "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
        )
    if tangent is not own:
        raise AutogradError(
            "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is "
            "modifying an input inplace, then the jvp function must modify the gradient inplace and return it as-is."
        )


def _checked_view(tangent: Tensor | None, own: Tensor | None) -> Tensor:
    """Return the tangent of a view of an input, which must be a view of the tangent of that input."""
    if tangent is None or tangent._view is None:
        raise AutogradError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    if own is not None and _base(tangent) is not _base(own):
        expected = "given grad input" if own._view is None else "same base as the given grad input"
        raise AutogradError(
            f"A custom Function is returning a view but the jvp is not returning a view of the {expected}."
        )
    return tangent


def _take(out: Tensor, tangent: Tensor, level: Level) -> None:
    """Give a tangent to an output, and to the input whose memory it shares, which had none."""
    with below(level.number):
        tangents.fresh_tangent(out, level).copy_(tangent)
