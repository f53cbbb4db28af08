"""What the tables of classes hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Tables", "alike"]


@dataclass(frozen=True)
class Tables:
    """What the classes of a package share."""

    shared: Mapping[str, str]
    """What a parameter means in all classes that do not say it themselves."""
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The same of one class."""
    names: Mapping[str, list[str]] = field(default_factory=dict)
    """The parameters of classes whose constructor takes any arguments."""
    functions: Mapping[str, str] = field(default_factory=dict)
    """The function of ``nn.functional`` that a layer computes."""
    inputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What a layer is called with."""
    results: Mapping[str, str] = field(default_factory=dict)
    """What it returns."""
    formulas: Mapping[str, str] = field(default_factory=dict)
    """What it computes, and the source."""
    raises: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Errors of one class, and when they are raised."""


def alike(names: str, entry: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    """The same entry for several classes."""
    return dict.fromkeys(names.split(), entry)
