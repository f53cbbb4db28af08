"""``torch.__future__``: whether ``Module.to`` and its kin keep the parameters' identity."""

from __future__ import annotations

from nbautograd.nn.modules._conversion import setting

__all__ = [
    "get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion",
]  # fmt: skip


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Set whether conversions of a module create new parameters instead of changing their data.

    >>> import nbautograd as torch
    >>> torch.__future__.set_overwrite_module_params_on_conversion(True)
    >>> layer = torch.nn.Linear(2, 2)
    >>> weight = layer.weight
    >>> layer.half().weight is weight
    False
    >>> torch.__future__.set_overwrite_module_params_on_conversion(False)
    """
    setting("overwrite", bool(value))


def get_overwrite_module_params_on_conversion() -> bool:
    """Return whether conversions of a module create new parameters; False at first.

    >>> import nbautograd as torch
    >>> torch.__future__.get_overwrite_module_params_on_conversion()
    False
    """
    return setting("overwrite")


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Set whether conversions of a module exchange each parameter with a new one: ``torch.utils.swap_tensors``.

    >>> import nbautograd as torch
    >>> torch.__future__.set_swap_module_params_on_conversion(True)
    >>> layer = torch.nn.Linear(2, 2)
    >>> weight = layer.weight
    >>> layer.to("meta").weight is weight
    True
    >>> torch.__future__.set_swap_module_params_on_conversion(False)
    """
    setting("swap", bool(value))


def get_swap_module_params_on_conversion() -> bool:
    """Return whether conversions of a module exchange parameters; False at first.

    >>> import nbautograd as torch
    >>> torch.__future__.get_swap_module_params_on_conversion()
    False
    """
    return setting("swap")
