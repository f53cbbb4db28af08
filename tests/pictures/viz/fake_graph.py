"""A small autograd graph and the events of its backward pass, written by hand: no library is needed to draw it."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from nbautograd import protocol
from nbautograd.protocol import Operand, Trace


class Tensor:
    """Looks like a tensor: an array, a node, a gradient."""

    def __init__(self, array: Any, grad_fn: Any = None, requires_grad: bool = True) -> None:
        self._array = np.asarray(array)
        self._fn, self._needs = grad_fn, requires_grad
        self.grad: Any = None

    @property
    def grad_fn(self) -> Any:
        return self._fn

    @property
    def requires_grad(self) -> bool:
        return self._needs

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> Any:
        return self._array.dtype

    def numpy(self) -> np.ndarray:
        return self._array


@dataclass(eq=False)
class Node:
    """Looks like a node."""

    title: str
    next_functions: tuple[tuple[Any, int], ...] = ()
    trace: Any = None
    saved: dict[str, Any] = field(default_factory=dict)

    def name(self) -> str:
        return self.title

    def saved_values(self) -> dict[str, Any]:
        return self.saved


class Mul(Node):
    symbol = "×"
    inputs = ("input", "other")
    formulas: ClassVar = {"input": "g * conj(other)", "other": "g * conj(input)"}


class Add(Node):
    symbol = "+"
    inputs = ("input", "other")
    formulas: ClassVar = {"input": "g", "other": "g"}


@dataclass(eq=False)
class AccumulateGrad:
    """Looks like the end of an edge."""

    variable: Tensor
    next_functions: tuple[()] = ()

    def name(self) -> str:
        return "AccumulateGrad"


def operand(name: str, slot: int | None, tensor: Any) -> Operand:
    if not isinstance(tensor, Tensor):
        return Operand(name, slot, tensor, None, None, None)
    return Operand(name, slot, tensor.numpy(), tensor.shape, str(tensor.dtype), weakref.ref(tensor))


class Seed:
    """y = (x + w) (w + 1) with w = 1 and x = 2."""

    def __init__(self) -> None:
        self.w, self.x = Tensor(np.float32([1])), Tensor(np.float32([2]))
        self.acc_w, self.acc_x = AccumulateGrad(self.w), AccumulateGrad(self.x)
        self.add_a = Add("AddBackward0", ((self.acc_w, 0), (self.acc_x, 0)))
        self.add_b = Add("AddBackward0", ((self.acc_w, 0), (None, 0)))
        self.mul = Mul("MulBackward0", ((self.add_a, 0), (self.add_b, 0)))
        self.a, self.b = Tensor(np.float32([3]), self.add_a), Tensor(np.float32([2]), self.add_b)
        self.y = Tensor(np.float32([6]), self.mul)
        self.mul.saved = {"input": self.a.numpy(), "other": self.b.numpy()}
        for node, line, out, first, second in (
            (self.add_a, 3, self.a, self.w, self.x),
            (self.add_b, 4, self.b, self.w, 1),
            (self.mul, 5, self.y, self.a, self.b),
        ):
            operands = (operand("input", 0, first), operand("other", 1, second))
            node.trace = Trace("cell", line, weakref.ref(out), out.numpy(), out.shape, "float32", operands)

    @property
    def names(self) -> dict[str, Any]:
        return {"w": self.w, "x": self.x, "a": self.a, "b": self.b, "y": self.y, "np": np, "number": 3, "_": self.a}

    def resolve(self, filename: str, lineno: int) -> tuple[str, str]:
        return "In [3]", ["", "", "", "a = torch.add(w, x)", "b = torch.add(w, 1)", "y = torch.mul(a, b)"][lineno]

    def events(self, gradient: float = 1.0) -> list[protocol.Event]:
        """One backward pass in the engine's order: the newest node first. It changes ``.grad`` as it is made."""
        one, two, three = (np.float32([n * gradient]) for n in (1, 2, 3))
        five = three + two
        events: list[protocol.Event] = [
            protocol.PassStarted(((self.mul, 0),), (one,), True, False),
            protocol.NodeStarted(self.mul, (one,)),
            protocol.EdgeSent(self.mul, 0, self.add_a, 0, two, two),
            protocol.EdgeSent(self.mul, 1, self.add_b, 0, three, three),
            protocol.NodeFinished(self.mul, True),
            protocol.NodeStarted(self.add_b, (three,)),
            protocol.EdgeSent(self.add_b, 0, self.acc_w, 0, three, three),
            protocol.NodeFinished(self.add_b, False),
            protocol.NodeStarted(self.add_a, (two,)),
            protocol.EdgeSent(self.add_a, 0, self.acc_w, 0, two, five),
            protocol.EdgeSent(self.add_a, 1, self.acc_x, 0, two, two),
            protocol.NodeFinished(self.add_a, False),
        ]
        for node, incoming in ((self.acc_w, five), (self.acc_x, two)):
            before = node.variable.grad
            after = incoming if before is None else before + incoming
            events += [
                protocol.NodeStarted(node, (incoming,)),
                protocol.Accumulated(node, before, incoming, after),
                protocol.NodeFinished(node, False),
            ]
        events.append(protocol.PassFinished(None))
        return events

    def finish(self) -> None:
        """Add the gradient of one pass to ``.grad``."""
        for leaf, value in ((self.w, 5), (self.x, 2)):
            leaf.grad = np.float32([value]) + (0 if leaf.grad is None else leaf.grad)


HOSTILE = [
    "<script>window.__pwn=1</script>",
    '"><img src=x onerror=window.__pwn=1>',
    "'><svg onload=window.__pwn=1>",
    "<svg><animate onbegin=window.__pwn=1 attributeName=x dur=1s>",
    '<iframe srcdoc="<script>parent.__pwn=1</script>">',
    "</title><script>window.__pwn=1</script>",
    "</text></svg><img src=x onerror=window.__pwn=1>",
    '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><img src=x onerror=top.__pwn=1>',
    "]]><script>window.__pwn=1</script>",
    "--><script>window.__pwn=1</script>",
    "</script><script>window.__pwn=1</script>",
    "javascript:window.__pwn=1",
    'x" onmouseover="window.__pwn=1',
    "x' style='position:fixed;inset:0",
    "url(http://evil.test/t.png)",
    "{{7*7}} ${7*7}",
    '"]; b [URL="javascript:alert(1)"]; c [label="',
    '\\"]; x [label="',
    "<<TABLE><TR><TD>x</TD></TR></TABLE>>",
    "\\N\\G\\L\\E",
    "",
    "a\0b",
    "A" * 10_000_000,
    "\n" * 100_000,
    "\u202eabc",
    "\ud800",
    "👩‍🚀 שלום 变量",
    "e" + "\u0301" * 10_000,
    "a\u2028b",
    "__proto__",
    "constructor",
    "hasOwnProperty",
]
