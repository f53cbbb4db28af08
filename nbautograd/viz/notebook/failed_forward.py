"""The picture of a forward pass that failed: the graph so far, and the operation that could not be computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from IPython.display import display

from nbautograd.viz.notebook.picture import Picture
from nbautograd.viz.read.failed_call import failed_call, graph_so_far

__all__ = ["failed_forward", "show_failed_forward"]


def failed_forward(error: BaseException, namespace: Mapping[str, Any] | None = None) -> Picture | None:
    """The picture of the call that raised an error, or None where no operation on tensors did.

    >>> import nbautograd as torch
    >>> w = torch.ones(3, 4, requires_grad=True)
    >>> try:
    ...     (w * 2) @ w
    ... except RuntimeError as error:
    ...     picture = failed_forward(error, {"w": w})
    >>> print(picture.text.splitlines()[0])
    mm → 1 leaf, 2 operations
    """
    call = failed_call(error)
    return None if call is None else Picture(graph_so_far(call, namespace))


def show_failed_forward(error: BaseException, shell: Any) -> None:
    """Display that picture, once for each error; an error must not cost more than its picture."""
    known = hasattr(error, "animation") or hasattr(error, "picture")
    if known or "text/html" not in shell.display_formatter.active_types:
        return
    try:
        picture = failed_forward(error, shell.user_ns)
        if picture is not None:
            error.picture = picture  # type: ignore[attr-defined]
            display(picture)  # type: ignore[no-untyped-call]
    except Exception:  # any error: show the user's error
        return
