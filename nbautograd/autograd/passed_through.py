"""Steps of PyTorch's ``autograd.functional`` that packages import: what goes in, and what comes out."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.tensor import Tensor


def _grad_preprocess(inputs: Any, create_graph: bool, need_graph: bool) -> tuple[Any, ...]:
    """Return inputs of which gradients can be asked for: recorded views, or new leaves.

    :param create_graph: keep the history of tensors.
    :param need_graph: the new leaves require grad.

    >>> import nbautograd as torch
    >>> _grad_preprocess((torch.ones(1),), create_graph=False, need_graph=True)
    (tensor([1.], requires_grad=True),)
    """
    found: list[Any] = []
    for value in inputs:
        if not create_graph:
            found.append(value.detach().requires_grad_(need_graph))
        elif isinstance(value, Tensor):
            found.append(value.clone() if value.is_sparse else value.view_as(value))
        else:
            found.append(value.clone())
    return tuple(found)


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Return results without their history, unless it is asked for; tuples may be nested.

    >>> import nbautograd as torch
    >>> _grad_postprocess((torch.ones(1, requires_grad=True) * 2,), create_graph=False)
    (tensor([2.]),)
    """
    if create_graph:
        return inputs
    if isinstance(inputs, Tensor):
        return inputs.detach()
    return tuple(_grad_postprocess(value, create_graph) for value in inputs)


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """Return results in tuples only where the arguments were tuples.

    :param to_unpack: whether they were; for nested results, of both levels.

    >>> _tuple_postprocess((1,), False), _tuple_postprocess(((1,), (2,)), (True, False))
    (1, (1, 2))
    """
    if not isinstance(to_unpack, tuple):
        return res if to_unpack else res[0]
    outer, inner = to_unpack
    rows = res if inner else tuple(row[0] for row in res)
    return rows if outer else rows[0]
