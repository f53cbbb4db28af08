"""Attributes that other packages attach to syntax trees do not come along when a program is written."""

from __future__ import annotations

import ast
from copy import deepcopy
from typing import Any

import pytest

import nbautograd as nb
from nbautograd._engine.compiler.source import copied
from nbautograd._engine.core.tracing import traced
from nbautograd.viz.program import write
from tests.pictures.program.test_programs import seed_one

CODE = """
def f(a, *rest, b=1):
    for i, x in enumerate(rest):
        pass
    return [a.y[1:i] @ -x if b else {"k": (1, 2)}]
"""


def test_a_copy_has_the_same_fields_and_places_and_shares_none() -> None:
    tree = ast.parse(CODE)
    copy = copied(tree)
    assert ast.dump(copy, include_attributes=True) == ast.dump(tree, include_attributes=True)
    shared = {id(part) for part in ast.walk(tree)} & {id(part) for part in ast.walk(copy)}
    assert all(not part._fields and not part._attributes for part in ast.walk(tree) if id(part) in shared)


class Parent:
    """IPython's tracebacks attach it to ``ast.Load()``, which is one object for all trees: it leads to its file."""

    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("copied")


def test_a_program_is_written_without_copying_what_hangs_on_its_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("a", "a + b", "a * b", "a - b", "-a", "a[b]", "a @ b", "a ** b"):
        for part in ast.walk(ast.parse(text)):
            if not part._attributes and not isinstance(part, ast.Module):
                monkeypatch.setattr(part, "parent", Parent(), raising=False)
    with pytest.raises(AssertionError, match="copied"):  # each of them is in a tree read now
        deepcopy(ast.parse("a"))
    with traced():
        values = seed_one()
    assert " * " in str(write(values["y"]))
    assert nb.jit.trace(lambda x: (x * 2 + x.relu()).sum(), nb.ones(3))(nb.ones(3)).item() == 9
