"""Programs that write into tensors of a graph, swept over the methods that write: what is left of the graph after."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable
from typing import Any

from tests.parity.differences.both import agrees

RESHAPES = ("t_()", "transpose_(0, 1)", "swapaxes_(0, 1)", "unsqueeze_(0)", "unsqueeze_(-1)", "squeeze_()",
            "as_strided_((2,), (1,))", "resize_(6)", "set_(T.ones(4))", "data = T.ones(3)",
            "data = T.ones(2, 1, 3)")  # fmt: skip
AFTER = {
    "of a leaf, used": "y = x * 2; {x}; y.sum().backward(); r = x.grad",
    "of a leaf, used, recorded": "y = x * 2; {x}; y.sum().backward(create_graph=True); r = x.grad",
    "of a leaf with a gradient": "(x * 2).sum().backward(); {x}; (x * 2).sum().backward(); r = x.grad",
    "of a leaf, used and saved": "y = x * x; {x}; y.sum().backward(); r = x.grad",
    "of a result": "y = x * 2; {y}; y.sum().backward(); r = x.grad",
    "of a result, captured": "y = x * 2; {y}; r = T.autograd.grad(y.sum(), y)",
    "of a result, captured at the leaf": "y = x * 2; {y}; r = T.autograd.grad(y.sum(), x)",
    "of a result, retained": "y = x * 2; y.retain_grad(); {y}; y.sum().backward(); r = y.grad",
    "of a result, with a gradient of its shape": "y = x * 2; {y}; y.backward(T.ones_like(y)); r = x.grad",
    "of a result, saved": "y = x * 2; z = y * y; {y}; z.sum().backward(); r = x.grad",
    "of a result, recorded": "y = x**2; {y}; y.sum().backward(create_graph=True); r = x.grad",
    "of one of several results": "y, z = (x * 2).max(0, True); {y}; r = T.autograd.grad(y.sum(), y)",
}


def kept(name: str, write: str) -> bool:
    """Return whether an error here is a gradient of another shape, or of exchanged saved data, in PyTorch."""
    return name == "of a leaf, used" and write == "unsqueeze_(-1)" or name in SAVING and "data =" in write


SAVING = ("of a leaf, used and saved", "of a result, saved", "of a result, recorded")


def unrecorded(name: str, write: str) -> str:
    """Return the statement of a write that is not recorded."""
    return f"f = T.no_grad()(lambda t: t.{write}); f({name})" if "=" not in write else f"{name}.{write}"


def outcomes(torch: Any, programs: Iterable[str]) -> list[str]:
    """Return what is known of the ``r`` of each program, or the kind of its error."""
    found = []
    for program in programs:
        names: dict[str, Any] = {"T": torch, "x": torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], requires_grad=True)}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(program.replace("; ", "\n"), names)
            outcome = described(names["r"])
        except (RuntimeError, TypeError, ValueError, IndexError, AttributeError) as error:
            kinds = NotImplementedError, RuntimeError, IndexError, TypeError, ValueError, AttributeError
            outcome = next(kind.__name__ for kind in kinds if isinstance(error, kind))
        found.append(f"{program}: {outcome}")
    return found


def described(value: Any) -> str:
    """Return a value, and of a tensor its dtype, node and flags."""
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(described, value))})"
    if not hasattr(value, "grad_fn"):
        return str(value)
    node = value.grad_fn.name().rpartition(":")[2].rstrip("0123456789") if value.grad_fn else ""
    return f"{value.dtype} {value.detach().tolist()} {value.requires_grad} {node}"


@agrees
def test_reshapes_that_are_not_recorded(torch: Any) -> Any:
    """A gradient of the former shape is broadcast to the present one, or an error."""
    swept = itertools.product(AFTER.items(), RESHAPES)
    return outcomes(
        torch,
        (
            text.format(x=unrecorded("x", write), y=unrecorded("y", write))
            for (name, text), write in swept
            if not kept(name, write)
        ),
    )


@agrees
def test_set_of_a_recorded_tensor(torch: Any) -> Any:
    return outcomes(
        torch,
        (
            "y = x * 2; y.set_(T.ones(2)); r = y",
            "s = T.ones(4); y = T.ones(2); y.add_(1); y.set_(s); r = y, y._version, s._version",
            "s = T.ones(4); y = T.ones(2); y.set_(s); s.add_(1); r = y, s",
            "y = T.ones(2); y.set_(); r = y, y._version",
        ),
    )


INTO = ("T.zeros(3, dtype=T.int64)", "T.zeros(3, dtype=T.bool)", "T.zeros(3)", "T.zeros(3).cfloat()")
COPIES = (
    "copy_(g)",
    "__setitem__(0, g[0])",
    "__setitem__(..., g)",
    "__setitem__(None, g)",
    "view(3, 1)[:1].copy_(g[:1])",
)


@agrees
def test_copies_of_what_requires_grad(torch: Any) -> Any:
    """Integers have no gradient."""
    return outcomes(
        torch,
        (
            f"g = T.tensor([1.0, 2.0, 3.0], requires_grad=True); i = {into}; i.{copy}; r = i, i.is_leaf"
            for into, copy in itertools.product(INTO, COPIES)
        ),
    )


VALUES = ("2.5", "2", "[2.5]", "[2.5, 1, 1]", "True", "1j", "[[1.0]]")
INDICES = ("i == 0", "[True, False, True]", "(None, i == 0)", "T.tensor([0])", "[0, 1]", "0", "slice(1)")


@agrees
def test_values_of_other_dtypes_assigned_by_masks(torch: Any) -> Any:
    """One element for a mask is cast, as a fill is; others have to be of the dtype."""
    programs = itertools.product(INTO, VALUES, INDICES)
    return outcomes(torch, (f"i = {into}; i[{key}] = T.tensor({value}); r = i" for into, value, key in programs))


@agrees
def test_index_put_of_other_dtypes(torch: Any) -> Any:
    return outcomes(
        torch,
        (
            *("r = T.zeros(3).index_put((T.zeros(3) == 0,), T.tensor(2))", "r = x.index_put((x > 1,), T.tensor(2))"),
            "r = T.zeros(3).index_put((T.zeros(3) == 0,), T.tensor(2), accumulate=True)",
            "v = T.ones(1).double().requires_grad_(); x.index_put((x > 1,), v).sum().backward(); r = v.grad",
        ),
    )
