"""Note one call of a PyTorch operation, and read it like the trace of one of nbautograd's."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Callable, Container, Iterator
from typing import Any

from nbautograd.protocol import Operand, Trace
from nbautograd.viz.read import values
from nbautograd.viz.read.introspect import attribute, declared
from nbautograd.viz.read.local_derivative import REDUCTIONS

__all__ = ["NotedCall", "Parameters", "dtype_name", "parameter", "trace_of_call"]

OUR_NAMES = {
    "end": "stop", "size": "shape", "ignore_index": "ignored", "indices": "index", "kernel_size": "kernel",
    "split_size": "sections", "split_sizes": "sections", "padding_idx": "padding", "normalized_shape": "shape",
    "input": "base", "scale_grad_by_freq": "by_frequency", "min": "low", "max": "high", "min_val": "low",
    "max_val": "high",
}  # fmt: skip
"""Parameters that are called otherwise in our declarations; each where the declaration has it."""
HELPERS = {"aten::clone", "aten::_conj_physical", "aten::_neg_view", "aten::copy_"}
"""Functions that PyTorch calls between making a node and computing: they save written tensors or resolve conjugates."""
STATE = {"running_mean", "running_var"}
"""Arguments that are updated and not part of the result."""


class Parameters:
    """The parameters of one of PyTorch's operations.

    :ivar of, run: the operation, and the fastest way to call it.
    :ivar writes, helps: whether it writes in place; whether it may run between a node's beginning and its operation.
    """

    __slots__ = ("defaults", "helps", "name", "names", "of", "run", "writes")

    def __init__(self, function: Any) -> None:
        schema = function._schema
        self.of, self.name = function, schema.name
        self.run = function._op if type(function).__name__ == "OpOverload" else function
        self.writes, self.helps = schema.name.endswith("_"), schema.name in HELPERS
        self.names = [parameter(argument.name) for argument in schema.arguments]
        self.defaults = [one.default_value if one.has_default_value() else None for one in schema.arguments]


def parameter(name: str) -> str:
    """Return our name of a parameter."""
    return "input" if name == "self" else name


class NotedCall:
    """An operation whose node has not been met yet.

    :ivar parameters: None for a user's function, whose results are unknown before its node is met.
    :ivar given, named: what is known of the arguments, in their order and by their names.
    """

    __slots__ = ("given", "named", "outputs", "parameters", "place", "result", "scope")

    def __init__(
        self, parameters: Parameters | None, given: list[tuple[Any, ...]], named: dict[str, tuple[Any, ...]] | None,
        place: tuple[Any, ...], scope: Any,
    ) -> None:  # fmt: skip
        self.parameters, self.given, self.named, self.place, self.scope = parameters, given, named, place, scope
        self.outputs: list[weakref.ref[Any]] = []
        self.result: tuple[Any, ...] = ()

    def arguments(self) -> Iterator[tuple[Any, ...]]:
        """Yield the name of each argument that is not None, and what is known of it."""
        named = dict(self.named or {})
        if self.parameters is not None:
            known = {**dict(zip(self.parameters.names, self.given, strict=False)), **named}
            defaults = zip(self.parameters.names, self.parameters.defaults, strict=True)
            named = {name: known.get(name, (default,)) for name, default in defaults}
        for name, about in named.items():
            if about[0] is not None or len(about) > 1 or self.parameters is None:
                yield name, *about

    def made(self, tensor: Any) -> bool:
        """Return whether this operation created a tensor, if known."""
        if self.parameters is None or self.outputs[0]() is tensor:
            return True
        shape = self.result[2] if self.result else None
        alive = [one for output in self.outputs if (one := output()) is not None]
        return any(one is tensor for one in alive) or (len(alive) < len(self.outputs) and tuple(tensor.shape) == shape)

    def output(self, node: Any) -> Callable[[], Any]:
        """Return a function that gives the result while it lives and no other operation has written to it."""
        ref = self.outputs[0]
        if self.parameters is None or not self.parameters.writes:
            return ref
        number = node._sequence_nr()  # and not the node, which keeps this object

        def result() -> Any:
            tensor = ref()
            made = attribute(tensor, "grad_fn")
            return tensor if made is not None and made._sequence_nr() == number else None

        return result


# -- reading the notes -----------------------------------------------------------------------------------------------


def trace_of_call(noted: NotedCall, node: Any) -> Trace:
    """The notes as the trace of their node."""
    operands: list[Operand] = []
    for name, value, *about in noted.arguments():
        if about and about[0] == "tensors":
            operands += [_operand(f"{name}[{i}]", part, rest) for i, (part, *rest) in enumerate(value)]
        else:
            operands.append(_operand(name, value, about))
    value, version, shape, dtype = noted.result
    code, line, instruction = noted.place
    return Trace(
        code.co_filename, line, noted.output(node), _read(value, shape, dtype), tuple(shape), dtype_name(dtype),
        tuple(_with_slots(_as_declared(operands, node), node)), noted.scope, code, instruction, version,
    )  # fmt: skip


def _operand(name: str, value: Any, about: list[Any]) -> Operand:
    if not about:
        value = tuple(value) if isinstance(value, list) else value
        value = REDUCTIONS.get(value, value) if name == "reduction" else value
        return Operand(name, None, value, None, None, None)
    _, shape, dtype, tensor = about
    return Operand(name, None, _read(value, shape, dtype), tuple(shape), dtype_name(dtype), tensor)


def _as_declared(operands: list[Operand], node: Any) -> list[Operand]:
    """Rename the operands as our declaration does, without the options that it does not have."""
    operation = attribute(declared(node), "operation")
    if not callable(operation):
        return operands
    known = inspect.signature(operation()).parameters
    renamed = []
    for operand in operands:
        name, bracket, rest = operand.name.partition("[")
        ours = name if name in known else OUR_NAMES.get(name, name)
        if ours in known or (operand.shape is not None and ours not in STATE):
            value = operand.value
            if ours == "dim" and isinstance(value, tuple) and len(value) == 1:
                value = value[0]
            if (ours, value) != ("ignored", -100):  # stands for a missing value
                renamed.append(operand._replace(name=ours + bracket + rest, value=value))
    places = {name: place for place, name in enumerate(known)}
    return sorted(renamed, key=lambda operand: places.get(operand.name.partition("[")[0], len(places)))


def _with_slots(operands: list[Operand], node: Any) -> list[Operand]:
    """Add to the operands their positions among the node's edges: those that have a derivative, in order."""
    edges = len(node.next_functions)
    places = {name: place for place, name in enumerate(attribute(declared(node), "inputs") or ())}
    if len(places) == edges and not any("[" in operand.name for operand in operands):
        return [operand._replace(slot=places.get(operand.name)) for operand in operands]
    slots = {i: slot for slot, i in enumerate(_tensors(operands, places, edges)[:edges])}
    for i, operand in enumerate(operands):  # a number in the place of a tensor
        if operand.shape is None and places.get(operand.name, -1) >= edges:
            slots[i] = places[operand.name]
    return [operand._replace(slot=slots.get(i)) for i, operand in enumerate(operands)]


def _tensors(operands: list[Operand], inputs: Container[str], edges: int) -> list[int]:
    """Return the positions of the tensors; of more than there are edges, those that may have a derivative."""
    tensors = [i for i, operand in enumerate(operands) if operand.shape is not None]
    for narrower in (
        [i for i in tensors if operands[i].name.partition("[")[0] in inputs],
        [i for i in tensors if (operands[i].dtype or "").startswith(("float", "bfloat", "complex"))],
    ):
        if len(tensors) != edges and len(narrower) >= edges:
            tensors = narrower
    return tensors


def _read(value: Any, shape: Any, dtype: Any) -> Any:
    """A copy as an array; memory of another device is copied here now. None for a value without numbers."""
    if isinstance(value, (list, bool, int, float, complex)):  # limit of the elements of a small tensor
        return values.host(sys.modules["torch"].tensor(value, dtype=dtype)).reshape(tuple(shape))
    if not hasattr(value, "is_sparse"):
        return value
    try:
        return values.host(value)
    except Exception:
        return None


def dtype_name(dtype: Any) -> str:
    """Such as ``float32``."""
    return str(dtype).rpartition(".")[2]
