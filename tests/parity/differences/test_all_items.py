"""Calls whose answer was another when every example of the issue "to the letter" was run once more, with siblings."""

from __future__ import annotations

from typing import Any

from tests.parity.differences.both import agrees
from tests.parity.differences.test_to_the_letter import outcome


@agrees
def test_memory_layouts_of_unique_slices(torch: Any) -> Any:
    found = []
    for x in (torch.arange(24) // 5 % 3, torch.tensor([3, 1, 3, 1, 3, 3, 1, 1] * 3)):
        for shape in ((2, 3, 4), (4, 6), (24, 1)):
            for dim in range(len(shape)):
                for function in (torch.unique, torch.unique_consecutive):
                    parts = function(x.reshape(shape), return_inverse=True, return_counts=True, dim=dim)
                    found.append((parts, parts[0].stride()))
    return found


@agrees
def test_memory_layouts_of_places(torch: Any) -> Any:
    found = []
    for shape in ((3,), (2, 3), (2, 3, 4)):
        x = torch.arange(24)[: torch.Size(shape).numel()].reshape(shape) % 2
        found += [x.nonzero(), torch.argwhere(x), torch.nonzero_static(x, size=2), *x.nonzero(as_tuple=True)]
    return found, [places.stride() for places in found]


WRITES = """
v[None] = v[None, None]; v[0] = v[:1, 0:1]; v[0] = v[1:2]; v[:, :1] = v[:, 1:2]; v[None, None] = v[None]; v[0:1] = v[0]
v[0] = v[0:1]; v[:1] = v[:1, :1]; v[1:] = v[:-1]; v[0] = v[:, 0][:1]; v[...] = v[None]; v[True] = v; v[0] = v[0, 1]
v[:] = v[:1]; v[1:3] = v[0:1]
"""


def after(torch: Any, statement: str) -> Any:
    """A matrix after a statement has written parts of it into itself."""
    names = {"v": torch.arange(12.0).reshape(3, 4)}
    exec(statement, names)
    return names["v"]


@agrees
def test_parts_written_into_a_tensor(torch: Any) -> Any:
    """Broadcasting may add dimensions to either side, or repeat the value."""
    statements = WRITES.replace("\n", ";").split(";")
    return [outcome(lambda text=text: after(torch, text.strip())) for text in statements if text.strip()]


@agrees
def test_slices_that_select_a_whole_dimension(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    found = []
    whole = slice(None)
    for key in (
        whole,
        slice(0, 2),
        (slice(0, 2), slice(0, 2)),
        (whole, slice(0, 3)),
        (slice(-5, 9), slice(0, 3), None),
    ):
        y = x[key]
        found.append((y, y.grad_fn.name(), [node.name() for node, _ in y.grad_fn.next_functions]))
    return found


@agrees
def test_slices_added_at_an_index(torch: Any) -> Any:
    """A 0-d source is that of a 0-d tensor."""
    found = []
    for name in ("index_add", "index_copy", "index_reduce"):
        for shape in ((3,), ()):
            for index in (torch.tensor([0]), torch.tensor(0)):
                for source in (torch.tensor(2.0), torch.tensor([2.0])):
                    options = ["mean"] if name == "index_reduce" else []
                    call = getattr(torch.zeros(shape), name)
                    found.append(outcome(lambda c=call, i=index, s=source, o=options: c(0, i, s, *o)))
    return found


@agrees
def test_numbers_of_numpys(torch: Any) -> Any:
    import numpy as np

    found = [outcome(lambda f=f: f(np.float32(1.5), 2.5)) for f in (torch.add, torch.sub, torch.mul)]
    for dtype in (torch.uint8, torch.int8, torch.int64, torch.float32):
        for base in (np.int64(3), np.uint8(2), np.float32(2.0), np.float64(0.5)):
            found += [base ** torch.tensor(2, dtype=dtype), torch.pow(base, torch.tensor([1, 2], dtype=dtype))]
    return found


@agrees
def test_transposed_scalars_are_themselves(torch: Any) -> Any:
    x = torch.tensor(1.0, requires_grad=True)
    return [outcome(lambda name=name: getattr(x, name) is x) for name in ("mT", "mH", "H")]


@agrees
def test_gradients_of_functions_in_a_list(torch: Any) -> Any:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return [g]

    x = torch.ones(2, requires_grad=True)
    return outcome(lambda: torch.autograd.grad(Doubled.apply(x).sum(), x))
