"""All hooks of a tensor get one object, until one of them returns another."""

from __future__ import annotations

import itertools
from typing import Any

from tests.parity.differences.both import agrees


@agrees
def test_hooks_get_one_object(torch: Any) -> list[Any]:
    x, seen = torch.ones(2, requires_grad=True), []
    y = x * 2

    def note(g: Any) -> None:
        seen.append(g)
        g.notes = [*getattr(g, "notes", []), len(seen)]

    def double(g: Any) -> Any:
        note(g)
        return g * 2

    for tensor in (y, x):
        for hook in (note, note, double, note, note):
            tensor.register_hook(hook)
    y.sum().backward()
    return [[one is other for one, other in itertools.pairwise(seen)], [g.notes for g in seen], x.grad]
