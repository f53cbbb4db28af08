"""``torch.func``: composable function transforms: derivatives, and ``vmap`` over batches.

``vmap`` and its rules are in ``_engine.batching``. This package has the derivatives in reverse mode (``_reverse.py``)
and in forward mode (``_forward.py``); modules as functions of their parameters come from ``nn``. It uses tensors and
passes over the graph; no other part of the package imports it.
"""

from nbautograd._engine.batching.transform import vmap
from nbautograd._names import docstrings
from nbautograd._names.docstrings import packages
from nbautograd.func._forward import hessian, jacfwd, jvp, linearize
from nbautograd.func._reverse import grad, grad_and_value, jacrev, vjp
from nbautograd.nn.modules.functional_call import functional_call, functionalize, stack_module_state

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]

docstrings.describe_all([globals()[name] for name in __all__], *packages.TRANSFORMS)
