"""The dtypes that ``out=`` may have: for the operations named here only the dtype of the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from nbautograd._engine.arrays import backend, strides
from nbautograd._engine.core.overlap import check_operands, check_overlap
from nbautograd._engine.core.return_types import FIELDS
from nbautograd._engine.core.tensor import Tensor, wrap
from nbautograd.errors import DtypeError, ShapeError, kind_of, warn

_NAMES = """
    abs addbmm addmm addmv alias_copy amax amin aminmax arange argmax argmin as_strided_copy avg_pool2d avg_pool3d
    baddbmm bitwise_not bmm bucketize ceil clamp clamp_max clamp_min complex conj_physical cross cummax cummin diag
    diagonal_copy dot expand_copy fft_ihfft float_power floor frac frexp gather gelu hardshrink heaviside histc
    histogram index_add index_copy index_reduce index_select inner isin isneginf isposinf kthvalue linalg_cholesky
    linalg_cholesky_ex linalg_cross linalg_det linalg_eigh linalg_eigvalsh linalg_inv linalg_inv_ex
    linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lu linalg_lu_factor linalg_lu_factor_ex
    linalg_lu_solve linalg_matrix_norm linalg_matrix_power linalg_multi_dot linalg_norm linalg_qr linalg_slogdet
    linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd linalg_svdvals linalg_vecdot linalg_vector_norm
    linear linspace log_softmax logcumsumexp logsigmoid logspace lu_solve lu_unpack masked_select matmul mm mode
    msort mv nan_to_num nanquantile narrow_copy neg nonzero norm ormqr permute_copy polar qr quantile renorm round
    scatter scatter_add scatter_reduce searchsorted sgn sign signbit slice_scatter softmax softplus softshrink sort
    split_with_sizes_copy squeeze_copy svd t_copy take take_along_dim tensordot topk transpose_copy triangular_solve
    tril triu trunc unbind_copy unfold_copy unsqueeze_copy vdot view_copy where"""
EXACT = frozenset(_NAMES.split())
"""The operations whose kernels write their own dtype in PyTorch. Others cast, within the limits of in-place writes."""
_NAMES = "addbmm empty eye full linspace logsigmoid logspace narrow_copy ones range zeros"
RESIZED_SILENTLY = frozenset(_NAMES.split())
"""The operations that resize ``out=`` without a warning."""
RANGES = ("arange", "linspace", "logspace", "range")
BOOL_OR_BYTE = ("all", "any")
JOINING = ("cat", "concat", "concatenate", "stack")
"""The operations that raise a TypeError for a dtype that cannot hold the result."""
OF_ONE_OR_SEVERAL = ("max", "median", "min", "nanmedian")
"""The operations that return one tensor of all elements, and several along a dimension."""
OF_PARTS = ("split_copy", "split_with_sizes_copy", "unbind_copy")
IN_DTYPE_OF_OUT = ("cumprod", "cumsum", "nansum", "prod", "sum")
"""The operations that compute in the dtype of ``out=``."""
UNRECORDED = re.compile(
    r"histc$|special_(airy|bessel|chebyshev|hermite|laguerre|legendre|modified|scaled|shifted|spherical)_"
)
"""The operations without a derivative: they write into any ``out=``, which keeps its history."""
_COPIED = """
    inner linalg_cond linalg_matrix_norm linalg_norm linalg_tensorinv linalg_tensorsolve
    nanquantile quantile special_ndtr tensordot"""
COPIED = frozenset(_COPIED.split())
"""The operations whose result is copied into ``out=``, also where it is recorded."""
_ITERATED = """
    addr complex float_power frexp heaviside index_select ldexp lerp max min nan_to_num outer polar round scatter
    scatter_add scatter_reduce softplus softshrink take"""
ITERATED = frozenset(_ITERATED.split())
"""The operations that write into ``out=`` before they resize it, as those of single elements do."""
OF_ELEMENTS = ("addr", "heaviside", "lerp", "max", "min", "float_power", "complex", "polar")
"""Those of them that resize no operand."""


def computed(
    name: str, out: Any, function: Callable[..., Any], args: Any, kwargs: dict[str, Any], of_elements: bool
) -> Any:
    """Return what ``function(*args, **kwargs)`` returns, to be written into ``out``.

    :param of_elements: whether it computes element by element.
    :raises RuntimeError: the elements of ``out`` share memory, an operand overlaps it in part or would be resized.
    """
    check_out(name, out, (*args, *kwargs.values()))
    if (of_elements or name in ITERATED) and isinstance(out, Tensor):
        check_overlap(out, name)
    result = function(*args, **kwargs)
    is_operand = (of_elements or name in OF_ELEMENTS) and any(value is out for value in args)
    if is_operand and result._a.shape != out._a.shape:
        shapes = f"{list(out._a.shape)} doesn't match the broadcast shape {list(result._a.shape)}"
        raise ShapeError(f"{name}(): output with shape {shapes}")
    return result


def check_out(name: str, out: Any, operands: Iterable[Any]) -> None:
    """Check that ``out=`` is a tensor, or several for several results, and that no operand overlaps it in part.

    :raises TypeError: it is not.
    :raises RuntimeError: an operand overlaps it in part.
    """
    several = name in FIELDS and name not in OF_ONE_OR_SEVERAL or name in OF_PARTS
    kinds: Any = (tuple, list) if several else (Tensor, tuple, list) if name in (*OF_ONE_OR_SEVERAL, "lu") else Tensor
    if not isinstance(out, kinds):
        raise TypeError(
            f"{name.lstrip('_')}(): argument 'out' must be {'tuple of Tensors' if several else 'Tensor'}, not "
            f"{kind_of(out)}"
        )
    for i, tensor in enumerate(out if isinstance(out, (tuple, list)) else (out,)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name.lstrip('_')}(): expected Tensor as element {i} of 'out', but got {kind_of(tensor)}")
        check_operands(tensor, operands, name)


def check_count(name: str, out: Any, count: int) -> None:
    """Check that ``out=`` of several results is as many tensors.

    :raises TypeError: it is not.
    :raises RuntimeError: it is another number of tensors, for an operation that returns any number of parts.
    """
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {kind_of(out)}")
    if len(out) != count:
        kind = ShapeError if name in OF_PARTS else TypeError
        raise kind(f"{name}(): expected an 'out' of {count} elements, but got {len(out)}")


def of_result(name: str, dtype: Any, out: Any) -> Any:
    """Return the dtype to compute in: ``dtype``, which must be that of ``out=``; or the latter for some operations."""
    if dtype is None:
        dtype = getattr(out, "dtype", None) if name in IN_DTYPE_OF_OUT else None
    if dtype is None:
        return None
    if dtype is not getattr(out, "dtype", dtype):
        refuse(name, dtype, out)
    return dtype


def refuse(name: str, dtype: Any, out: Any, cure: str = "") -> NoReturn:
    """Raise for ``out=`` of another dtype than the result's."""
    raise DtypeError(
        f"{name.lstrip('_')}(): Expected out tensor to have dtype {dtype.name}, but got {out.dtype.name} instead{cure}"
    )


def is_accepted(name: str, result: str, out: str) -> bool:
    """Return whether an operation with a result of one dtype may write into a tensor of another.

    >>> is_accepted("exp", "float32", "float64"), is_accepted("floor", "float32", "float64")
    (True, False)
    """
    if name in BOOL_OR_BYTE:
        return out == result or out in ("bool", "uint8")
    if name.startswith(("fft_hfft", "fft_irfft")):
        return not out.startswith("complex")
    return result == out or name.lstrip("_") not in EXACT


def check_dtype(out: Tensor, result: Tensor, name: str) -> None:
    """Raise RuntimeError if an operation does not cast its result into the dtype of ``out=``."""
    if not is_accepted(name, result.dtype.name, out.dtype.name):
        cure = f": this operation casts no result. Give it out= of {result.dtype!r}, or cast with to() afterwards"
        refuse(name, result.dtype, out, cure)


def resize_memory(name: str, out: Tensor, result: Tensor) -> Tensor:
    """Resize ``out=`` to the shape of a result; return the result, that of a range in the shape of ``out``."""
    if name in RANGES and out._a.size == result._a.size:
        return wrap(result._a.reshape(out._a.shape))
    if out._a.size and name not in RESIZED_SILENTLY:
        warn(
            f"An output with one or more elements was resized since it had shape {list(out._a.shape)}, which does not "
            f"match the required output shape {list(result._a.shape)}. Resize it to zero elements first (t.resize_(0))"
        )
    out._a = in_memory_of(out, strides.empty_as(result._a, out._a.dtype))
    return result


def in_memory_of(out: Tensor, fresh: Any) -> Any:
    """Return ``fresh``, or as much of the memory of ``out``."""
    if backend.is_bare(fresh):
        return fresh
    a, steps = out._shared_array(), strides.strides_of(fresh)
    end = strides.Geometry(fresh.shape, steps, strides.of(a).offset).end()
    return strides.restride(a, fresh.shape, steps) if end <= strides.length_of(a) else fresh


def record_copy(name: str, out: Tensor, result: Tensor) -> Tensor:
    """Write into ``out`` as ``copy_`` does, whose history is recorded."""
    if out._a.shape != result._a.shape:
        resize_memory(name, out, result)
    return out.copy_(result)
