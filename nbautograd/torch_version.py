"""``torch.__version__`` while nbautograd replaces PyTorch: a string that compares like a version."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

__all__ = ["TorchVersion"]

_PARTS = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)(?:[._-]?(?P<pre>a|b|rc)(?P<pre_n>\d*))?(?:[._-]?post(?P<post>\d*))?"
    r"(?:[._-]?dev(?P<dev>\d*))?(?:\+(?P<local>[a-z0-9]+(?:[._-][a-z0-9]+)*))?",
    re.IGNORECASE,
)


def _key(version: Any) -> tuple[Any, ...] | None:
    """Return the sort key of a version, a string or a sequence of numbers, by PEP 440."""
    text = version if isinstance(version, str) else ".".join(map(str, version))
    parts = _PARTS.fullmatch(text.strip())
    if parts is None:
        return None
    release = [int(number) for number in parts["release"].split(".")]
    while release and not release[-1]:
        release.pop()
    local = [] if parts["local"] is None else re.split(r"[._-]", parts["local"].lower())
    labels = tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in local)
    return tuple(release), _stage(parts), _number(parts["post"], -1), _number(parts["dev"], float("inf")), labels


def _number(text: str | None, absent: float) -> float:
    return absent if text is None else int(text or 0)


def _stage(parts: re.Match[str]) -> tuple[str, int]:
    """Return the sort key of the stage: alpha, beta, candidate or release."""
    if parts["pre"] is not None:
        return parts["pre"].lower(), int(parts["pre_n"] or 0)
    if parts["dev"] is not None and parts["post"] is None:  # before a, b and rc
        return "", 0
    return "z", 0  # a final release comes after all of them


def _comparison_method(name: str) -> Callable[[str, Any], Any]:
    def compare(self: str, other: Any) -> Any:
        if not isinstance(other, (str, tuple, list)):
            return getattr(str, name)(self, other)
        left, right = _key(str(self)), _key(other)
        if left is None or right is None:  # "nightly" and the like, as text
            return getattr(str, name)(self, other)
        return getattr(tuple, name)(left, right)

    compare.__name__ = name
    return compare


class TorchVersion(str):
    """A version that compares with strings and with tuples of numbers.

    >>> TorchVersion("2.13.0+cpu") > "2.9", TorchVersion("2.13.0") >= (2, 13), TorchVersion("2.1") == "2.1.0"
    (True, True, True)
    """

    __slots__ = ()
    __hash__ = str.__hash__
    __eq__, __ne__ = _comparison_method("__eq__"), _comparison_method("__ne__")
    __lt__, __le__ = _comparison_method("__lt__"), _comparison_method("__le__")
    __gt__, __ge__ = _comparison_method("__gt__"), _comparison_method("__ge__")
