"""nbautograd: tensors and autograd that speak PyTorch's language, and pictures of both in a notebook.

    import nbautograd as torch

and in a notebook ``%load_ext nbautograd``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbautograd import autograd, backend, late, tracing
from nbautograd.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from nbautograd.autograd.inference import inference_mode, is_inference_mode_enabled
from nbautograd.defaults import *
from nbautograd.device import device
from nbautograd.dtypes import (
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
)
from nbautograd.errors import OutOfMemoryError
from nbautograd.generator import Generator, default_generator
from nbautograd.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from nbautograd.layouts import *
from nbautograd.ops.arithmetic import *
from nbautograd.ops.arrangement import *
from nbautograd.ops.broadcasting import *
from nbautograd.ops.comparison import *
from nbautograd.ops.complex import *
from nbautograd.ops.conversion import *
from nbautograd.ops.creation import *
from nbautograd.ops.elementary import *
from nbautograd.ops.extremes import *
from nbautograd.ops.indexing import *
from nbautograd.ops.joining import *
from nbautograd.ops.logic import *
from nbautograd.ops.parts import *
from nbautograd.ops.predicates import *
from nbautograd.ops.products import *
from nbautograd.ops.random import *
from nbautograd.ops.ranges import *
from nbautograd.ops.reduction import *
from nbautograd.ops.rounding import *
from nbautograd.ops.scan import *
from nbautograd.ops.selecting import *
from nbautograd.ops.shape import *
from nbautograd.ops.softmax import *
from nbautograd.ops.strides import *
from nbautograd.size import Size
from nbautograd.tensor import Tensor
from nbautograd.tensor_types import *
from nbautograd.threads import get_num_interop_threads, get_num_threads, set_num_interop_threads, set_num_threads

if TYPE_CHECKING:  # what late.py says
    from nbautograd import cuda, fft, func, linalg, nn, optim, random, serialization, signal, special, utils
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
    from nbautograd.ops.bessel import *
    from nbautograd.ops.decompositions import *
    from nbautograd.ops.distances import *
    from nbautograd.ops.einsum import *
    from nbautograd.ops.interchange import *
    from nbautograd.ops.least_squares import *
    from nbautograd.ops.lowrank import *
    from nbautograd.ops.lu import *
    from nbautograd.ops.matrix_functions import *
    from nbautograd.ops.ordering import *
    from nbautograd.ops.padding import constant_pad_nd
    from nbautograd.ops.reflections import *
    from nbautograd.ops.scatter import *
    from nbautograd.ops.solvers import *
    from nbautograd.ops.special import *
    from nbautograd.ops.statistics import *
    from nbautograd.ops.stft import *
    from nbautograd.ops.triangular import *
    from nbautograd.ops.windows import *
    from nbautograd.printing import set_printoptions
    from nbautograd.serialization import load, save
    from nbautograd.standin import standing_in

__version__ = "0.1.0"

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128


def load_ipython_extension(ipython: object) -> None:
    """``%load_ext nbautograd``: pictures of graphs and of backward passes in this notebook."""
    from nbautograd.viz import magics

    magics.load(ipython)


def unload_ipython_extension(ipython: object) -> None:
    """``%unload_ext nbautograd``: everything as it was before."""
    from nbautograd.viz import magics

    magics.unload(ipython)


late.attach(Tensor)
__getattr__, __dir__ = late.attributes(__name__, late.NAMES)
