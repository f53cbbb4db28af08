"""nbautograd: tensors and autograd that speak PyTorch's language, and pictures of both in a notebook.

    import nbautograd as torch

and in a notebook ``%load_ext nbautograd``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbautograd import _import_hook, _lazy, autograd
from nbautograd.arrays import backend
from nbautograd.arrays.device import device
from nbautograd.arrays.dtypes import (
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
from nbautograd.arrays.memory_format import *
from nbautograd.arrays.size import Size
from nbautograd.arrays.thread_pool import (
    get_num_interop_threads,
    get_num_threads,
    set_num_interop_threads,
    set_num_threads,
)
from nbautograd.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from nbautograd.autograd.inference import inference_mode, is_inference_mode_enabled
from nbautograd.core import tracing
from nbautograd.core.defaults import *
from nbautograd.core.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from nbautograd.core.return_types import _rebuild_results as _rebuild_results
from nbautograd.core.sparse import _rebuild_sparse as _rebuild_sparse, on_first_use as _on_first_sparse_tensor
from nbautograd.core.tensor import Tensor, _rebuild_tensor as _rebuild_tensor
from nbautograd.errors import OutOfMemoryError
from nbautograd.ops.creation.conversion import *
from nbautograd.ops.creation.creation import *
from nbautograd.ops.creation.from_data import *
from nbautograd.ops.creation.legacy_tensor_types import *
from nbautograd.ops.creation.random import *
from nbautograd.ops.creation.ranges import *
from nbautograd.ops.elementwise.arithmetic import *
from nbautograd.ops.elementwise.comparison import *
from nbautograd.ops.elementwise.complex import *
from nbautograd.ops.elementwise.division import *
from nbautograd.ops.elementwise.exp_log import *
from nbautograd.ops.elementwise.logic import *
from nbautograd.ops.elementwise.power import *
from nbautograd.ops.elementwise.rounding import *
from nbautograd.ops.elementwise.selection import *
from nbautograd.ops.elementwise.trigonometric import *
from nbautograd.ops.indexing.gather import *
from nbautograd.ops.indexing.indexing import *
from nbautograd.ops.linalg.matmul import *
from nbautograd.ops.queries import *
from nbautograd.ops.reduction.minmax import *
from nbautograd.ops.reduction.reduction import *
from nbautograd.ops.reduction.scan import *
from nbautograd.ops.shape.as_strided import *
from nbautograd.ops.shape.broadcasting import *
from nbautograd.ops.shape.joining import *
from nbautograd.ops.shape.shape import *
from nbautograd.ops.shape.slicing import *
from nbautograd.ops.shape.split import *
from nbautograd.ops.shape.transpose import *
from nbautograd.rng.generator import Generator, _rebuild_generator as _rebuild_generator, default_generator

if TYPE_CHECKING:  # what _lazy.py says
    from collections.abc import Callable, Mapping
    from typing import Any

    from nbautograd import (
        amp,
        cpu,
        cuda,
        fft,
        func,
        linalg,
        nn,
        optim,
        random,
        serialization,
        signal,
        special,
        storage,
        utils,
    )
    from nbautograd._import_hook import standing_in
    from nbautograd.amp.autocast_mode import autocast
    from nbautograd.amp.state import *
    from nbautograd.batching.transform import vmap
    from nbautograd.compat import accelerator, backends, distributed, futures, hub, jit, multiprocessing, types
    from nbautograd.compat.accelerator import Event, Stream, get_device_module
    from nbautograd.compat.backends import get_float32_matmul_precision, set_float32_matmul_precision
    from nbautograd.compat.compiler import compile
    from nbautograd.compat.futures import Future
    from nbautograd.compat.jit import fork, wait
    from nbautograd.compat.process import *
    from nbautograd.core.printing import set_printoptions
    from nbautograd.nn.functional import (
        adaptive_avg_pool1d,
        adaptive_max_pool1d,
        alpha_dropout,
        avg_pool1d,
        bilinear,
        celu,
        celu_,
        channel_shuffle,
        conv1d,
        conv2d,
        conv3d,
        conv_transpose1d,
        conv_transpose2d,
        conv_transpose3d,
        cosine_similarity,
        group_norm,
        hardshrink,
        layer_norm,
        max_pool1d,
        max_pool2d,
        max_pool3d,
        pairwise_distance,
        pdist,
        pixel_shuffle,
        pixel_unshuffle,
        prelu,
        relu_,
        rms_norm,
        rrelu,
        rrelu_,
        selu,
        selu_,
        threshold,
        threshold_,
    )
    from nbautograd.ops.creation.distributions import *
    from nbautograd.ops.creation.interop import *
    from nbautograd.ops.elementwise.bessel import *
    from nbautograd.ops.elementwise.special import *
    from nbautograd.ops.indexing.index_add import *
    from nbautograd.ops.indexing.nonzero import *
    from nbautograd.ops.indexing.scatter import *
    from nbautograd.ops.indexing.slice_scatter import *
    from nbautograd.ops.linalg.addmm import *
    from nbautograd.ops.linalg.cholesky import *
    from nbautograd.ops.linalg.einsum import *
    from nbautograd.ops.linalg.householder import *
    from nbautograd.ops.linalg.least_squares import *
    from nbautograd.ops.linalg.lowrank import *
    from nbautograd.ops.linalg.lu import *
    from nbautograd.ops.linalg.matrix_functions import *
    from nbautograd.ops.linalg.qr import *
    from nbautograd.ops.linalg.solvers import *
    from nbautograd.ops.linalg.svd import *
    from nbautograd.ops.linalg.vectors import *
    from nbautograd.ops.reduction.distances import *
    from nbautograd.ops.reduction.norms import *
    from nbautograd.ops.reduction.quantiles import *
    from nbautograd.ops.reduction.searchsorted import *
    from nbautograd.ops.reduction.softmax import *
    from nbautograd.ops.reduction.sorting import *
    from nbautograd.ops.reduction.statistics import *
    from nbautograd.ops.reduction.unique import *
    from nbautograd.ops.reduction.variance import *
    from nbautograd.ops.shape.padding import constant_pad_nd
    from nbautograd.ops.shape.rearrange import *
    from nbautograd.ops.shape.triangular import *
    from nbautograd.ops.signal.stft import *
    from nbautograd.ops.signal.windows import *
    from nbautograd.serialization import load, save

__version__ = "0.1.0"

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128


def load_ipython_extension(ipython: object) -> None:
    """``%load_ext nbautograd``: pictures of graphs and of backward passes in this notebook."""
    from nbautograd.viz.notebook import magics

    magics.load(ipython)


def unload_ipython_extension(ipython: object) -> None:
    """``%unload_ext nbautograd``: everything as it was before."""
    from nbautograd.viz.notebook import magics

    magics.unload(ipython)


def _operations_on_sparse_tensors() -> Mapping[str, Callable[..., Any]]:
    from nbautograd.sparse import OPERATIONS

    return OPERATIONS


_on_first_sparse_tensor(_operations_on_sparse_tensors)

for _name in ("compiler", "ops"):  # imports find these packages all the same; ``torch.compiler`` is another module
    vars().pop(_name, None)
_import_hook.install()
_lazy.attach(Tensor)
__getattr__, __dir__ = _lazy.attributes(__name__, _lazy.NAMES)
