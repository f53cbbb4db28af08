"""The data structure of the tables of classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Tables", "alike"]


@dataclass(frozen=True)
class Tables:
    """The shared docstrings of the classes of a package."""

    shared: Mapping[str, str]
    """Meanings of parameters in all classes that do not define them."""
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Meanings of parameters in single classes."""
    names: Mapping[str, list[str]] = field(default_factory=dict)
    """The parameters of classes whose constructor takes any arguments."""
    functions: Mapping[str, str] = field(default_factory=dict)
    """The function of ``nn.functional`` that a layer computes."""
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The inputs of a layer's call."""
    results: Mapping[str, str] = field(default_factory=dict)
    """The result of the call."""
    formulas: Mapping[str, str] = field(default_factory=dict)
    """The formula, and its source."""
    raises: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Errors of single classes, with their conditions."""
    examples: Mapping[str, str] = field(default_factory=dict)
    """Examples of classes without one of their own."""


def alike(names: str, entry: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    """Return the same entry for several classes."""
    return dict.fromkeys(names.split(), entry)
