"""``torch.masked``: reductions and normalizations that leave out the elements where a mask is False.

This package may import ``autograd`` and the layers below. It consists of ordinary operations, so it has gradients.
"""

# ruff: noqa: F403

from __future__ import annotations

from importlib import import_module

from nbautograd._names import absent, docstrings
from nbautograd._names.docstrings import packages
from nbautograd.masked.masked_tensor import *
from nbautograd.masked.normalizations import *
from nbautograd.masked.reductions import *

MODULES = ("masked_tensor", "normalizations", "reductions")
__all__ = sorted(name for each in MODULES for name in import_module(f"{__name__}.{each}").__all__)
del MODULES, import_module

for _name, (_arguments, _result) in packages.MASKED_EXAMPLES.items():
    docstrings.add_example(
        globals()[_name],
        ">>> x, mask = torch.tensor([3., 1., 2.]), torch.tensor([False, True, True])\n"
        f">>> torch.masked.{_name}({_arguments}, mask=mask)\n{_result}",
    )
del _name, _arguments, _result
docstrings.describe_all([globals()[name] for name in __all__], *packages.MASKED)
absent.answer(__name__)
