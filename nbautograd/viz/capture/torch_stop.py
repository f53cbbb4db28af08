"""PyTorch's operations, while they are watched, stop at the first NaN or infinity if the setting ``stop`` says so."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.base.bad_numbers import first_bad, is_written, name_of, number, of_gradient, of_result
from nbautograd.errors import BadNumberError
from nbautograd.viz.read import values
from nbautograd.viz.read.introspect import line_of, node_name
from nbautograd.viz.settings import settings

__all__ = ["before", "check"]

UNSET = ("aten::empty", "aten::new_empty", "aten::resize", "aten::set_")
"""Operations that leave memory as it was."""


def before(parameters: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments, with a copy of the tensor that will be written to."""
    return (args[0].detach().clone(), *args[1:]) if parameters.writes and hasattr(args[0], "grad_fn") else args


def check(torch: Any, parameters: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """Check the results of an operation.

    :param args: as they were before it ran.
    :raises BadNumberError: one of them has a NaN, or an infinity that no argument had.
    """
    if parameters.name.startswith(UNSET):
        return
    infinite = settings.stop == "inf"
    for tensor in result if isinstance(result, (tuple, list)) else (result,):
        if not isinstance(tensor, torch.Tensor) or not (tensor.is_floating_point() or tensor.is_complex()):
            continue
        if tensor.layout is not torch.strided or tensor.device.type == "meta":
            continue
        fine = torch.isfinite(tensor).all() if infinite else ~torch.isnan(tensor).any()
        if not fine:
            _raise_if_bad(torch, parameters, args, kwargs, values.host(tensor), infinite)


def _raise_if_bad(
    torch: Any, parameters: Any, args: tuple[Any, ...], kwargs: dict[str, Any], array: Any, infinite: bool
) -> None:
    found = first_bad(array, infinite)
    if found is None:
        return
    given = [*zip(parameters.names, args, strict=False), *kwargs.items()]
    tensors = _tensors_in(torch, given)
    text = number(array[found[0]])
    wanted = text != "nan"
    if is_written([*args, *kwargs.values()], text):
        return
    outside = _first_with(tensors, wanted)
    node = _running_node(torch)
    if outside and (wanted or not _is_watched(torch, node, tensors)):
        return
    shown = [(_named(name, value), values.host(value)) for name, value in tensors]
    shown += [(name, value) for name, value in given if type(value) in (int, float)]
    if node is not None:
        raise BadNumberError(of_gradient(node_name(node), node, array, found, shown, line_of), node=node)
    operation = parameters.name.partition("::")[2].strip("_")
    operands = tuple(value for _, value in tensors)
    called, sources = (_named(*outside), [outside[1]]) if outside else ("", [*operands])
    bad = of_result(operation, array, found, shown, sources, called, line_of)
    raise BadNumberError(bad, operands=operands)


def _first_with(tensors: list[tuple[str, Any]], infinite: bool) -> tuple[str, Any] | None:
    """Return the first tensor with a NaN, or also an infinity, and its name."""
    return next((one for one in tensors if first_bad(values.host(one[1]), infinite) is not None), None)


def _is_watched(torch: Any, node: Any, tensors: list[tuple[str, Any]]) -> bool:
    return node is not None or torch.is_grad_enabled() and any(value.requires_grad for _, value in tensors)


def _tensors_in(torch: Any, given: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the arguments that are tensors, with their names, and then those in lists."""
    found = [(name, value) for name, value in given if isinstance(value, torch.Tensor)]
    for name, value in given:
        if isinstance(value, (list, tuple)):
            found += [(f"{name}[{i}]", one) for i, one in enumerate(value) if isinstance(one, torch.Tensor)]
    return found


def _running_node(torch: Any) -> Any:
    """Return the node that is computing its formula; None in a forward pass."""
    current = getattr(torch._C, "_current_autograd_node", None)
    return None if current is None else current()


def _named(name: str, value: Any) -> str:
    return name_of(value) or ("input" if name == "self" else name)
