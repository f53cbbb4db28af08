"""Collect the source of functions with all their dependencies in one file, for programs that need only NumPy.

A name in a module of this package stands for the statement there that binds it. That statement is taken over, then the
statements of the names in it, and so on; names from other packages become imports.
"""

from __future__ import annotations

import re
from typing import Any

from nbautograd.viz.program.definitions import OUTSIDE, Definition, Key, definition, resolved

__all__ = ["Bundle"]

_MARK = re.compile(r"__name_\d+__")


class _Taken:
    """A statement in the program: its text, and the names of others that it needs."""

    def __init__(self, runs: bool) -> None:
        self.text = ""
        self.runs = runs
        self.now: set[str] = set()
        """The names that it looks up when it runs."""
        self.later: set[str] = set()
        """The names that its functions look up when they run."""


class Bundle:
    """Definitions that a program needs, each under a name of its own, in an order in which they can run."""

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        """Names that are not free."""
        self.names: dict[Key, str] = {}
        self.statements: dict[str, _Taken] = {}
        self.imports: dict[str, str] = {}
        """The import that binds each name."""
        self.named_only = False
        """True if functions get names, and no source is copied."""
        self.needs_package = False
        """True if something is imported from this package."""

    def function(self, function: Any) -> str:
        """The name of a function or class of this package in the program."""
        return self.name(function.__module__, function.__qualname__)

    def name(self, module: str, name: str) -> str:
        """The name in the program of ``name`` of ``module``; its source is copied if that is not done yet.

        :raises NotBundled: its source is unavailable.
        """
        return self._name(resolved(module, name))

    def imported(self, module: str, name: str, is_body: bool) -> str:
        """The name of something whose source cannot be taken over: it is imported from this package."""
        key = (module, name)
        if key not in self.names:
            own = self.names[key] = self._free(name)
            self.imports[own] = f"from {module} import {name}" + (f" as {own}" if own != name else "")
            self.needs_package = True
            if is_body:  # in the package, this name is the operation on tensors
                self.statements[own] = _Taken(True)
                self.statements[own].text = f"{own} = {own}.__wrapped__\n"
        return self.names[key]

    def _name(self, key: Key) -> str:
        if key not in self.names and self.named_only:
            self.names[key] = self._free(key[1].rpartition(" ")[2])
        if key not in self.names:
            before = self.snapshot()
            try:
                self._import(key) if key[0] == OUTSIDE else self._take_over(definition(key))
            except Exception:
                self.restore(before)
                raise
        return self.names[key]

    def snapshot(self) -> Any:
        """Return the current state, for ``restore``."""
        return dict(self.names), dict(self.statements), dict(self.imports)

    def restore(self, snapshot: Any) -> None:
        """Forget all later additions."""
        added = {*self.names.values(), *self.statements} - {*snapshot[0].values(), *snapshot[1]}
        self.taken -= added - {"np"}
        self.names, self.statements, self.imports = map(dict, snapshot)

    def _free(self, name: str, module: str = "") -> str:
        """Return an unused name."""
        own = name if name not in self.taken or not module else f"{module}_{name.lstrip('_')}"
        while own in self.taken:
            own += "_"
        self.taken.add(own)
        return own

    def _import(self, key: Key) -> None:
        """An object of another package, under its name in these modules."""
        statement = key[1]
        name = statement.rpartition(" ")[2].partition(".")[0]
        if statement != "import numpy as np":
            own = self._free(name)
            self.imports[own] = statement if own == name else f"{statement.partition(' as ')[0]} as {own}"
            name = own
        self.names[key] = name

    def _take_over(self, source: Definition) -> None:
        """A statement of a module, with the names that other statements have in the program."""
        statement = _Taken(source.runs)
        names: dict[str, str] = {}
        for mark in source.bound:
            other = source.names[mark]
            names[mark] = self.names[other] = self._free(other[1], other[0].rpartition(".")[2].lstrip("_"))
            self.statements[names[mark]] = statement
        for mark, other in source.names.items():
            if mark not in names:
                names[mark] = self._name(other)
                if names[mark] in source.local:  # a variable of the function would hide it
                    names[mark] = self._alias(names[mark])
        own = {names[mark] for mark in source.bound}
        statement.now = {names[mark] for mark in source.now}
        statement.later = {*names.values()} - own
        statement.text = _MARK.sub(lambda mark: names[mark[0]], source.text)

    def _alias(self, name: str) -> str:
        """Another name for a definition."""
        alias = f"{name}_"
        while alias in self.taken and alias not in self.statements:
            alias += "_"
        self.taken.add(alias)
        statement = self.statements[alias] = _Taken(True)
        statement.text, statement.now = f"{alias} = {name}\n", {name}
        return alias

    # -- order ---------------------------------------------------------------------------------------------------------

    def source(self) -> str:
        """All definitions, each after those that it needs when it runs."""
        order: dict[str, None] = {}
        waiting: set[str] = set()

        def visit(name: str) -> None:
            statement = self.statements.get(name)
            if statement is None or name in order or name in waiting:
                return
            waiting.add(name)
            for needed in sorted(statement.now):
                visit(needed)
            if statement.runs:  # it may call functions, which look up their names
                for needed in self._reached(name):
                    if waiting.isdisjoint([needed, *self._reached(needed, later=False)]):
                        visit(needed)
            waiting.discard(name)
            order[name] = None

        for name in self.statements:
            visit(name)
        return "\n".join(dict.fromkeys(self.statements[name].text for name in order))

    def _reached(self, name: str, later: bool = True) -> list[str]:
        """Return all definitions that one needs, directly or indirectly: when it runs, or ``later``, too."""
        known: dict[str, None] = {}
        stack = [name]
        while stack:
            statement = self.statements.get(stack.pop())
            if statement is not None:
                new = sorted((statement.now | statement.later if later else statement.now) - {*known})
                known.update(dict.fromkeys(new))
                stack += new
        return [other for other in known if other != name]
