"""Neural networks: modules, their parameters, and parameter initialization.

The functions of :mod:`nbautograd.nn.functional` are imported at once, the modules on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbautograd._names import absent
from nbautograd.nn import functional as functional

if TYPE_CHECKING:
    from nbautograd.nn import (
        attention as attention,
        common_types as common_types,
        grad as grad,
        init as init,
        modules as modules,
        parallel as parallel,
        parameter as parameter,
        utils as utils,
    )
    from nbautograd.nn.modules import *  # noqa: F403
    from nbautograd.nn.parallel import DataParallel as DataParallel
    from nbautograd.nn.parameter import *  # noqa: F403

PARTS = ("attention", "common_types", "grad", "init", "modules", "parallel", "parameter", "utils")


if not TYPE_CHECKING:  # so that a wrong name is an error

    def __getattr__(name: str) -> Any:
        if name in PARTS:
            return import_module(f"nbautograd.nn.{name}")
        if name == "__all__":
            return __dir__()
        if name == "DataParallel":
            return import_module("nbautograd.nn.parallel").DataParallel
        for part in ("parameter", "modules"):
            module = import_module(f"nbautograd.nn.{part}")
            if name in module.__all__:
                globals()[name] = getattr(module, name)
                return globals()[name]
        return absent.fail("nn", name)


def __dir__() -> list[str]:
    names = [name for part in ("parameter", "modules") for name in import_module(f"nbautograd.nn.{part}").__all__]
    return sorted(["DataParallel", "functional", *PARTS, *names])
