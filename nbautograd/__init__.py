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

if TYPE_CHECKING:  # as listed in lazy.py
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
    from nbautograd._compat import accelerator, backends, distributed, futures, hub, jit, multiprocessing, types
    from nbautograd._compat.accelerator import Event, Stream, get_device_module
    from nbautograd._compat.backends import get_float32_matmul_precision, set_float32_matmul_precision
    from nbautograd._compat.compiler import compile
    from nbautograd._compat.futures import Future
    from nbautograd._compat.jit import fork, wait
    from nbautograd._compat.process import *
    from nbautograd._engine.batching.transform import vmap
    from nbautograd._engine.core.printing import set_printoptions
    from nbautograd._engine.core.return_types import _rebuild_results as _rebuild_results
    from nbautograd._engine.ops.creation.distributions import *
    from nbautograd._engine.ops.creation.interop import *
    from nbautograd._engine.ops.creation.legacy_tensor_types import *
    from nbautograd._engine.ops.creation.random import *
    from nbautograd._engine.ops.elementwise.bessel import *
    from nbautograd._engine.ops.elementwise.special import *
    from nbautograd._engine.ops.elementwise.trigonometric import *
    from nbautograd._engine.ops.indexing.gather import *
    from nbautograd._engine.ops.indexing.index_add import *
    from nbautograd._engine.ops.indexing.nonzero import *
    from nbautograd._engine.ops.indexing.scatter import *
    from nbautograd._engine.ops.indexing.slice_scatter import *
    from nbautograd._engine.ops.linalg.addmm import *
    from nbautograd._engine.ops.linalg.cholesky import *
    from nbautograd._engine.ops.linalg.einsum import *
    from nbautograd._engine.ops.linalg.householder import *
    from nbautograd._engine.ops.linalg.least_squares import *
    from nbautograd._engine.ops.linalg.lowrank import *
    from nbautograd._engine.ops.linalg.lu import *
    from nbautograd._engine.ops.linalg.matrix_functions import *
    from nbautograd._engine.ops.linalg.qr import *
    from nbautograd._engine.ops.linalg.solvers import *
    from nbautograd._engine.ops.linalg.svd import *
    from nbautograd._engine.ops.linalg.vectors import *
    from nbautograd._engine.ops.reduction.distances import *
    from nbautograd._engine.ops.reduction.minmax import *
    from nbautograd._engine.ops.reduction.norms import *
    from nbautograd._engine.ops.reduction.products import *
    from nbautograd._engine.ops.reduction.quantiles import *
    from nbautograd._engine.ops.reduction.scan import *
    from nbautograd._engine.ops.reduction.searchsorted import *
    from nbautograd._engine.ops.reduction.softmax import *
    from nbautograd._engine.ops.reduction.sorting import *
    from nbautograd._engine.ops.reduction.statistics import *
    from nbautograd._engine.ops.reduction.unique import *
    from nbautograd._engine.ops.reduction.variance import *
    from nbautograd._engine.ops.shape.as_strided import *
    from nbautograd._engine.ops.shape.joining import *
    from nbautograd._engine.ops.shape.padding import constant_pad_nd
    from nbautograd._engine.ops.shape.rearrange import *
    from nbautograd._engine.ops.shape.split import *
    from nbautograd._engine.ops.shape.triangular import *
    from nbautograd._engine.ops.shape.view_copies import *
    from nbautograd._engine.ops.signal.stft import *
    from nbautograd._engine.ops.signal.windows import *
    from nbautograd._engine.rng.generator import Generator, _rebuild_generator as _rebuild_generator, default_generator
    from nbautograd._names.import_hook import standing_in
    from nbautograd.amp.autocast_mode import autocast
    from nbautograd.amp.state import *
    from nbautograd.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
    from nbautograd.autograd.inference import inference_mode
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
    from nbautograd.serialization import load, save

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
