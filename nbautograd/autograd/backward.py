"""``backward`` and ``grad``, the public functions in front of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nbautograd import protocol
from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.size import Size, as_int
from nbautograd._engine.arrays.strides import restride, strides_of
from nbautograd._engine.core.batched import BatchedTensor, batched
from nbautograd._engine.core.dispatch_mode import is_forward_ad_active
from nbautograd._engine.core.node import LEAF, AccumulateGrad, Node, OutputEdge, UnrecordedView
from nbautograd._engine.core.sparse import SparseTensor, stored, wrapped
from nbautograd._engine.core.tensor import Tensor, wrap_known
from nbautograd._engine.ops._internal import cast
from nbautograd.autograd import engine
from nbautograd.autograd.hooks import as_tensor
from nbautograd.errors import AutogradError, NoGraphError, NonScalarError, ShapeError, is_pytorchs, kind_of, warn


class GradientEdge(NamedTuple):
    """A place in the graph where a gradient arrives: a node, and the index of one of its outputs.

    It represents the tensor that was computed there, without keeping it alive, in :func:`backward` and :func:`grad`.

    :param node: a node of the graph.
    :param output_nr: the index of the node's output.
    :param ownership_token: an object that keeps the node alive, or None.
    :returns: a named tuple of these.
    :raises TypeError: ``node`` is missing.

    >>> import nbautograd as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = x * 2
    >>> edge = torch.autograd.graph.GradientEdge(y.grad_fn, 0)
    >>> torch.autograd.grad(y * y, edge)
    (tensor(12.),)
    """

    node: Any
    output_nr: int = 0
    ownership_token: Any = None

    def key(self) -> tuple[Any, int]:
        """Return the engine's key: node or leaf, and the index of its output."""
        return (self.node.variable, 0) if isinstance(self.node, AccumulateGrad) else (self.node, self.output_nr)

    def edge(self) -> Any:
        """Return the root, in the engine's form, of a pass that begins here."""
        node, index = self.key()
        return OutputEdge(node, index) if isinstance(node, Node) and node.outputs() > 1 else node


Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]
Gradients = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: Tensors,
    grad_tensors: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Gradients = None,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves that they were computed from.

    A non-scalar tensor gives the vector-Jacobian product with its entry of ``grad_tensors``.

    :param tensors: the tensors to differentiate.
    :param grad_tensors: for each a tensor of the same shape, or None if it has only one element.
    :param retain_graph: keep the saved tensors, so that the same graph can be used again; by default as create_graph.
    :param create_graph: record the pass, so that its gradients can be differentiated.
    :param grad_variables: the former name of ``grad_tensors``.
    :param inputs: accumulate only into these tensors.
    :raises RuntimeError: a tensor does not require grad, has several elements and no gradient, or its gradient has
        another shape; the graph has been freed; a saved tensor was written to.

    >>> import nbautograd as torch
    >>> w = torch.tensor([1.], requires_grad=True)
    >>> torch.autograd.backward(w * torch.tensor([2., 3.]), grad_tensors=torch.tensor([1., 10.]))
    >>> w.grad
    tensor([32.])
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise AutogradError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to backward(); "
                "use only `grad_tensors`."
            )
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        grad_tensors = grad_variables
    retain, create_graph = _flags("backward", retain_graph, create_graph)
    roots = _roots(_sequence(tensors), grad_tensors, "backward()")
    accumulate_into = None
    if inputs is not None:
        chosen = _sequence(inputs)
        if not chosen:
            raise AutogradError(
                "`inputs` argument to `backward()` cannot be empty. Omit it to accumulate into all leaves."
            )
        accumulate_into = {}
        for index, target in enumerate(chosen):
            key = key_of(target, index)
            if isinstance(target, GradientEdge) and isinstance(key[0], Node):
                raise AutogradError(
                    f"element {index} of inputs is a GradientEdge of a computed tensor, which has no .grad. "
                    "Pass the tensor, or use autograd.grad()"
                )
            accumulate_into[key] = target
            if isinstance(target, Tensor) and not target.is_leaf:
                target.retain_grad()
    engine.execute(roots, retain, create_graph, accumulate_into)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Gradients = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """Return the gradients of ``outputs`` with respect to ``inputs``, as a tuple, without accumulating them.

    :param outputs: the tensors to differentiate.
    :param inputs: the tensors to differentiate by.
    :param grad_outputs: for each output a tensor of the same shape, or None if it has only one element.
    :param retain_graph: keep the saved tensors, so that the same graph can be used again; by default as create_graph.
    :param create_graph: record the pass, so that the gradients can be differentiated.
    :param only_inputs: deprecated and ignored: only inputs get gradients.
    :param allow_unused: return None for an input that no output depends on, instead of an error.
    :param is_grads_batched: the first dimension of each of ``grad_outputs`` is a batch, also of the results. One pass
        computes all or, if a Function or a hook sees gradients, one pass per element.
    :param materialize_grads: return zeros for an input that no output depends on.
    :raises RuntimeError: an input was not used in the graph; or an error of :func:`backward`.

    >>> import nbautograd as torch
    >>> x = torch.tensor([3.], requires_grad=True)
    >>> first = torch.autograd.grad(x ** 2, x, create_graph=True)
    >>> torch.autograd.grad(first[0], x)
    (tensor([2.]),)
    """
    if not only_inputs:
        warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    retain, create_graph = _flags("grad", retain_graph, create_graph)
    wanted = _sequence(inputs)
    if not wanted:
        raise AutogradError("`inputs` argument to `grad()` cannot be empty. Pass a tensor to differentiate by")
    keys = [key_of(target, index) for index, target in enumerate(wanted)]
    seen: set[int] = set()  # arrays with other references: results share no memory
    if is_grads_batched:
        gradients = _capture_batch(_sequence(outputs), grad_outputs, retain, create_graph, keys)
    else:
        roots = _roots(_sequence(outputs), grad_outputs, "grad()")
        seen.update(id(g) for _, g in roots)
        gradients = engine.capture(roots, retain, create_graph, keys)
    result: list[Any] = []
    for index, (target, key) in enumerate(zip(wanted, keys, strict=True)):
        g = gradients.get(key)
        if g is not None:
            g = _unshared(g, seen)
        elif materialize_grads:
            g = _materialized(target, create_graph)
        elif not allow_unused:
            raise AutogradError(
                f"The differentiated Tensor at index {index} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )
        result.append(g)
    return tuple(result)


def _unshared(g: Any, seen: set[int]) -> Tensor:
    """Return a gradient as a tensor whose memory is not that of an array whose id is in ``seen``; add its id."""
    if not isinstance(g, Tensor):
        shared = id(g) in seen or getattr(g, "base", None) is not None
        seen.add(id(g))
        return wrapped(g.copy() if shared else g, wrap=wrap_known)
    if isinstance(getattr(stored(g), "base", None), np.generic):
        g._a = restride(np.array(g._a.base), g._a.shape, strides_of(g._a))  # the scalar may be a constant
    return g


def _flags(function: str, retain_graph: Any, create_graph: Any) -> tuple[bool, bool]:
    """Return both flags; ``retain_graph`` is ``create_graph`` by default."""

    def flag(name: str, value: Any) -> bool:
        return value if value.__class__ is bool else bool(as_int(value, f"{function}(): argument '{name}'"))

    retain = None if retain_graph is None else flag("retain_graph", retain_graph)
    create = flag("create_graph", create_graph)
    return create if retain is None else retain, create


def _materialized(target: Any, create_graph: bool) -> Tensor:
    if not isinstance(target, Tensor):
        raise AutogradError(
            "materialize_grads cannot be used when the given input is a GradientEdge, whose shape is not known"
        )
    return target.detach().new_zeros(target.shape).requires_grad_(create_graph)


def _capture_batch(
    outputs: list[Any], grad_outputs: Gradients, retain_graph: bool, create_graph: bool, keys: list[Any]
) -> dict[Any, Any]:
    """Return the gradients at ``keys`` for each element of a batch of gradients, stacked.

    One pass computes them all, or, if a hook or a Function would see a batched tensor, one pass per element.
    """
    batches = _per_output(outputs, grad_outputs)
    for index, (output, batch) in enumerate(zip(outputs, batches, strict=True)):
        _check_batch(output, batch, index)
    sizes = [batch.shape[0] for batch in batches]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension, the first one of each of grad_outputs"
        )
    if sizes[0] and _can_be_batched(outputs):
        return _capture_at_once(outputs, batches, sizes[0], retain_graph, create_graph, keys)
    rows = []
    for i in range(sizes[0]):
        roots = _roots(outputs, [batch[i] for batch in batches], "grad()")
        rows.append(engine.capture(roots, retain_graph or i + 1 < sizes[0], create_graph, keys))
    return {key: _stacked([row.get(key) for row in rows]) for key in keys}


def _stacked(column: list[Any]) -> Tensor | None:
    """Stack the gradients of all elements, zeros for missing ones; return None if all are missing."""
    from nbautograd._engine.ops.shape.joining import stack

    some = next((as_tensor(g) for g in column if g is not None), None)
    return None if some is None else stack([some.new_zeros(some.shape) if g is None else as_tensor(g) for g in column])


def _can_be_batched(outputs: list[Any]) -> bool:
    """Return whether one pass suffices: no Function, hook or observer would see a batched gradient."""
    if protocol.observers.get():
        return False
    from nbautograd.autograd.full_engine import reachable

    roots = (out.node if isinstance(out, GradientEdge) else out._fn for out in outputs)
    _, order = reachable(root for root in roots if isinstance(root, Node))
    return not any(
        hasattr(node, "_function") or node.hooks is not None if node._seq else node._hooks is not None for node in order
    )


def _capture_at_once(
    outputs: list[Any], batches: list[Any], size: int, retain_graph: bool, create_graph: bool, keys: list[Any]
) -> dict[Any, Any]:
    """Compute batched gradients by one pass over batched tensors."""
    from nbautograd._engine.batching.transform import entered, placed

    with entered(size) as level:
        roots = _roots(outputs, [batched(batch, 0, level) for batch in batches], "grad()")
        gradients = engine.capture(roots, retain_graph, create_graph, keys)
        return {key: placed(as_tensor(g), 0, level) for key, g in gradients.items() if g is not None}


def _check_batch(output: Any, batch: Any, index: int) -> None:
    """Check that the batched gradients of an output have one additional first dimension."""
    if batch is None:
        _gradient(output, None, index) if isinstance(output, Tensor) else _gradient_at_edge(None, index)
        raise ValueError(
            "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of "
            f"dimensionality 0: with is_grads_batched=True pass a tensor for output {index} as well"
        )
    if isinstance(output, Tensor) and batch[0].shape != output.shape:
        raise ShapeError(
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
            "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
            f"mismatch was detected: grad_output[{index}] has a shape of {batch.shape} and output[{index}] has a shape "
            f"of {output.shape}."
        )


def _sequence(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, (Tensor, GradientEdge)) else list(tensors)


def key_of(target: Any, index: int) -> tuple[Any, int]:
    """Return the node, or the leaf, and the index of its output to differentiate by."""
    if isinstance(target, GradientEdge):
        return target.key()
    if not isinstance(target, Tensor):
        raise AutogradError(
            f"all inputs have to be Tensors or GradientEdges, but got {kind_of(target)} at index {index}"
        )
    if target._fn is None:
        raise _no_graph(f"One of the differentiated Tensors does not require grad (at index {index})", target, index)
    if target._fn is LEAF:
        return target, 0
    fn = target._fn
    if fn.__class__ is UnrecordedView:  # its gradient is dropped
        return UnrecordedView(), 0
    return (fn.next0, fn.index) if fn.__class__ is OutputEdge else (fn, 0)


def _per_output(outputs: list[Any], gradients: Gradients) -> list[Any]:
    """Return, for each output, its gradient or None."""
    if gradients is None:
        return [None] * len(outputs)
    passed: list[Any] = [gradients] if isinstance(gradients, Tensor) or is_pytorchs(gradients) else list(gradients)
    for g in passed:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {kind_of(g)}")
    if len(passed) != len(outputs):
        raise AutogradError(f"got {len(outputs)} tensors and {len(passed)} gradients")
    return passed


def _roots(tensors: list[Any], gradients: Gradients, caller: str) -> list[tuple[Any, Any]]:
    """Return the roots of a pass: pairs of a node or leaf and its gradient."""
    pairs = zip(tensors, _per_output(tensors, gradients), strict=True)
    return [_root(tensor, g, index, caller) for index, (tensor, g) in enumerate(pairs)]


def _root(tensor: Any, g: Any, index: int, caller: str) -> tuple[Any, Any]:
    """Return the root of a pass for one output: a node or leaf, and its gradient."""
    if not isinstance(tensor, Tensor):
        if isinstance(tensor, GradientEdge):
            return tensor.edge(), _gradient_at_edge(g, index)
        raise TypeError(f"{caller} expects Tensors, but element {index} is {kind_of(tensor)}")
    fn = None if tensor.__class__ is BatchedTensor else tensor._fn
    if fn is None or fn.__class__ is UnrecordedView:
        raise _no_graph(f"element {index} of tensors does not require grad and does not have a grad_fn", tensor)
    return tensor if fn is LEAF else fn, _gradient(tensor, g, index)


def _no_graph(what: str, tensor: Any, input_number: int | None = None) -> NoGraphError:
    """Return the error about a tensor without a graph, with the cause according to the user's code."""
    from nbautograd._engine.base.missing_graph import cause_of, explained  # only errors need it

    cause = cause_of(tensor, input_number=input_number)
    error = NoGraphError(explained(what, cause))
    error.cause = cause
    return error


def _gradient_at_edge(g: Any, index: int) -> Any:
    if g is None:
        raise NonScalarError(
            "grad can be implicitly created only for scalar outputs, and the shape of the tensor of a GradientEdge "
            f"is not known. Pass a gradient for element {index}"
        )
    return g if g._fn is not None or g.__class__ is BatchedTensor or is_forward_ad_active() else stored(g)


_ONES = {np.float32: np.float32(1), np.float64: np.float64(1)}


def _gradient(tensor: Tensor, g: Any, index: int) -> Any:
    if tensor.__class__ is SparseTensor:
        return _sparse_gradient(tensor, g, index)
    a = tensor._a
    if g is None:
        return _ONES.get(a.__class__) or _one(tensor)
    if g.__class__ is SparseTensor:
        return _sparse_gradient(tensor, g, index)
    _check_shape(g._a.shape, a.shape, index)
    if g.device != tensor.device:
        raise AutogradError(f"grad_output[{index}] is on {g.device}, but output[{index}] is on {tensor.device}")
    if (g._a.dtype.kind == "c") != (a.dtype.kind == "c"):
        raise AutogradError(
            f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{index}] has a dtype of {g.dtype!r} and output[{index}] has a dtype of {tensor.dtype!r}."
        )
    if g.__class__ is BatchedTensor:
        return g.to(tensor.dtype)
    if g._fn is not None:
        return g
    same = g._a.dtype == a.dtype
    if is_forward_ad_active():  # which may have given it a tangent
        return g if same else cast(g, a.dtype)
    return g._a if same else g._a.astype(a.dtype)


def _one(tensor: Tensor) -> Any:
    """Return the gradient of an output for which none was given."""
    a = tensor._a
    if a.size != 1:
        raise NonScalarError(
            "grad can be implicitly created only for scalar outputs, and this one has shape "
            f"{list(a.shape)}. Pass gradient=, a tensor of that shape: its vector-Jacobian product is what you get."
        )
    if a.dtype.kind not in "fV":
        raise AutogradError(f"grad can be implicitly created only for real scalar outputs but got {tensor.dtype!r}")
    return backend.ones_like(a)


def _check_shape(shape: Any, expected: Any, index: int) -> None:
    if shape != expected:
        raise ShapeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {Size(shape)} and output[{index}] has a shape of "
            f"{Size(expected)}."
        )


def _sparse_gradient(tensor: Tensor, g: Any, index: int) -> Any:
    """Return the gradient of an output if it, or the gradient, is sparse."""
    if g is None:
        if tensor.numel() != 1:
            raise NonScalarError(
                f"grad can be implicitly created only for scalar outputs, and this one has shape {list(tensor.shape)}"
            )
        g = wrapped(stored(tensor).like(backend.ones_like(stored(tensor).values)), wrap=wrap_known)
    _check_shape(g.shape, tensor.shape, index)
    return g if g._fn is not None else stored(g).astype(tensor.dtype.numpy, copy=False)


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of this tensor to the ``.grad`` of the leaves that it was computed from.

    :param gradient: a tensor of the same shape; None for a tensor of one element.
    :param retain_graph: keep the saved tensors for another pass over the same graph.
    :param create_graph: record the pass, so that its gradients can be differentiated.
    :param inputs: accumulate only into these tensors.
    :returns: None.
    :raises RuntimeError: nothing requires grad, the graph has been freed, or ``gradient`` is missing or does not match.

    >>> import nbautograd as torch
    >>> x = torch.tensor([1., 2.], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if inputs is not None or not (gradient is None or isinstance(gradient, Tensor)):
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)
        return
    root = _root(self, gradient, 0, "backward()")
    if retain_graph is not None or create_graph is not False:
        retain_graph, create_graph = _flags("backward", retain_graph, create_graph)
    engine.execute([root], retain_graph or False, create_graph)


_backward.__name__ = _backward.__qualname__ = "backward"
Tensor.backward = _backward  # type: ignore[assignment, method-assign]


class ImperativeEngine:
    """PyTorch's interface to the engine, as ``torch.autograd.Variable._execution_engine``.

    >>> import nbautograd as torch
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> y = x * x
    >>> queue_callback = torch.autograd.Variable._execution_engine.queue_callback
    >>> handle = y.register_hook(lambda g: queue_callback(lambda: print("x.grad is", x.grad)))
    >>> y.backward()
    x.grad is tensor(4.)
    """

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call ``callback()`` at the end of the current pass; see :func:`engine.queue_callback`."""
        engine.queue_callback(callback)

    def run_backward(
        self,
        tensors: tuple[Any, ...],
        grad_tensors: tuple[Any, ...],
        keep_graph: bool,
        create_graph: bool,
        inputs: tuple[Any, ...] = (),
        allow_unreachable: bool = False,
        accumulate_grad: bool = False,
    ) -> tuple[Tensor, ...] | None:
        """Call :func:`backward` or, without ``accumulate_grad``, :func:`grad`."""
        if not accumulate_grad:
            return grad(tensors, inputs, grad_tensors, keep_graph, create_graph, allow_unused=allow_unreachable)
        backward(tensors, grad_tensors, keep_graph, create_graph, inputs=inputs or None)
        return None

    def is_checkpoint_valid(self) -> bool:
        """Return whether the current pass, if any, accumulates into all leaves, as reentrant checkpoints require."""
        task = engine.current_graph_task()
        return task is None or task.targets is None
