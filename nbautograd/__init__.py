"""nbautograd: tensors and autograd with PyTorch's interface, and pictures of both in a notebook.

    import nbautograd as torch

and in a notebook ``%load_ext nbautograd``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbautograd import autograd
from nbautograd._engine.arrays import backend
from nbautograd._engine.arrays.device import device
from nbautograd._engine.arrays.dtypes import (
    _dtype_by_name as _dtype_by_name,
    bfloat16,
    bool_ as bool,
    complex64,
    complex128,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from nbautograd._engine.arrays.memory_format import *
from nbautograd._engine.arrays.size import Size
from nbautograd._engine.arrays.thread_pool import (
    get_num_interop_threads,
    get_num_threads,
    set_num_interop_threads,
    set_num_threads,
)
from nbautograd._engine.core import tracing
from nbautograd._engine.core.defaults import *
from nbautograd._engine.core.grad_mode import (
    enable_grad,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from nbautograd._engine.core.sparse import _rebuild_sparse as _rebuild_sparse, on_first_use as _on_first_sparse_tensor
from nbautograd._engine.core.tensor import Tensor, _rebuild_tensor as _rebuild_tensor
from nbautograd._engine.ops.creation.conversion import *
from nbautograd._engine.ops.creation.creation import *
from nbautograd._engine.ops.creation.from_data import *
from nbautograd._engine.ops.creation.ranges import *
from nbautograd._engine.ops.elementwise.arithmetic import *
from nbautograd._engine.ops.elementwise.comparison import *
from nbautograd._engine.ops.elementwise.complex import *
from nbautograd._engine.ops.elementwise.division import *
from nbautograd._engine.ops.elementwise.exp_log import *
from nbautograd._engine.ops.elementwise.logic import *
from nbautograd._engine.ops.elementwise.power import *
from nbautograd._engine.ops.elementwise.rounding import *
from nbautograd._engine.ops.elementwise.selection import *
from nbautograd._engine.ops.indexing.indexing import *
from nbautograd._engine.ops.linalg.matmul import *
from nbautograd._engine.ops.queries import *
from nbautograd._engine.ops.reduction.reduction import *
from nbautograd._engine.ops.shape.broadcasting import *
from nbautograd._engine.ops.shape.shape import *
from nbautograd._engine.ops.shape.slicing import *
from nbautograd._engine.ops.shape.transpose import *
from nbautograd._names import lazy
from nbautograd.errors import OutOfMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

__version__ = "0.1.0"

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128


def load_ipython_extension(ipython: object) -> None:
    """Load the extension (``%load_ext nbautograd``): pictures of graphs and of backward passes in this notebook."""
    from nbautograd.viz.notebook import magics

    magics.load(ipython)


def unload_ipython_extension(ipython: object) -> None:
    """Unload the extension (``%unload_ext nbautograd``) and restore the former state."""
    from nbautograd.viz.notebook import magics

    magics.unload(ipython)


def _operations_on_sparse_tensors() -> Mapping[str, Callable[..., Any]]:
    from nbautograd.sparse import OPERATIONS

    return OPERATIONS


_on_first_sparse_tensor(_operations_on_sparse_tensors)

lazy.install()
lazy.attach(Tensor)
__getattr__, __dir__ = lazy.attributes(__name__, lazy.NAMES)
