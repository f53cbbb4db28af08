"""``torch.ops``: the operations declared by ``torch.library``, by namespace.

PyTorch's own operations do not have these names: ``torch.add`` is ``torch.add``.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from nbautograd._compat.custom_ops import CustomOpDef, defined

__all__ = ["OpOverloadPacket", "load_library", "loaded_libraries"]

loaded_libraries: set[str] = set()


def load_library(path: str) -> None:
    """Raise: libraries of compiled operations are not supported.

    :raises OSError: always, as in PyTorch for a library that cannot be loaded.
    """
    raise OSError(f"Could not load this library: {path}: nbautograd cannot use what is compiled for PyTorch")


class OpOverloadPacket:
    """An operation in ``torch.ops``; ``.default`` is the operation itself."""

    def __init__(self, op: CustomOpDef) -> None:
        self._op = op
        self.__name__ = op._leaf
        self._qualified_op_name = op._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operation."""
        return self._op(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._op._name.replace('::', '.')}')>"

    def overloads(self) -> list[str]:
        """Return the names of its variants."""
        return ["default"]

    @property
    def default(self) -> OpOverloadPacket:
        """The only variant."""
        return self


class _Operations(ModuleType):
    """The operations of a namespace."""

    def __getattr__(self, name: str) -> Any:
        namespace = self.__name__.rpartition(".")[2]
        op = defined(f"{namespace}::{name}")
        if op is None:
            hint = f"; nbautograd has PyTorch's functions as torch.{name} and so on" if namespace == "aten" else ""
            raise AttributeError(f"'_OpNamespace' {namespace!r} object has no attribute {name!r}{hint}")
        return OpOverloadPacket(op)


_namespaces: dict[str, _Operations] = {}


def __getattr__(name: str) -> Any:
    if name.startswith("__") or name == "pytestmark":  # pytest looks for it in every module
        raise AttributeError(f"module 'nbautograd._engine.ops' has no attribute {name!r}")
    return _namespaces.setdefault(name, _Operations(f"torch.ops.{name}"))
