# Written by docs/stubs.py from the declarations; do not edit. Signatures that differ are in docs/overloads.pyi.

from typing import TypeAlias, overload

from collections.abc import Callable
from collections.abc import Sequence
from nbautograd._engine.arrays.device import device
from nbautograd._engine.arrays.dtypes import dtype
from nbautograd._engine.arrays.memory_format import memory_format
from nbautograd._engine.core.storage import TypedStorage
from nbautograd._engine.core.storage import UntypedStorage
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.rng.generator import Generator
from nbautograd.autograd.backward import GradientEdge
from typing import Any
from typing import Literal
import numpy as np
from nbautograd import return_types

_bool = bool
_complex = complex
_float = float
_int = int
Number: TypeAlias = _int | _float | _complex | _bool
Dims: TypeAlias = _int | tuple[_int, ...] | list[_int] | None
Device: TypeAlias = device | str | _int | None
Operand: TypeAlias = Tensor | Number | np.ndarray[Any, Any] | np.generic

class TensorMethods:
    """The methods that declarations of operations attach to Tensor."""

    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix."""
    @property
    def T(self) -> Tensor:
        """A view with the dimensions in reversed order: the transpose."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Operand) -> Tensor: ...
    def __and__(self, other: Operand) -> Tensor: ...
    def __delitem__(self, key: Any) -> None: ...
    def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __floordiv__(self, other: Operand) -> Tensor: ...
    def __ge__(self, other: Operand) -> Tensor: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __gt__(self, other: Operand) -> Tensor: ...
    def __iadd__(self, other: Operand) -> Tensor: ...
    def __iand__(self, other: Operand) -> Tensor: ...
    def __ifloordiv__(self, other: Operand) -> Tensor: ...
    def __ilshift__(self, other: Operand) -> Tensor: ...
    def __imod__(self, other: Operand) -> Tensor: ...
    def __imul__(self, other: Operand) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Operand) -> Tensor: ...
    def __ipow__(self, other: Operand) -> Tensor: ...
    def __irshift__(self, other: Operand) -> Tensor: ...
    def __isub__(self, other: Operand) -> Tensor: ...
    def __itruediv__(self, other: Operand) -> Tensor: ...
    def __ixor__(self, other: Operand) -> Tensor: ...
    def __le__(self, other: Operand) -> Tensor: ...
    def __lshift__(self, other: Operand) -> Tensor: ...
    def __lt__(self, other: Operand) -> Tensor: ...
    def __matmul__(self, other: Operand) -> Tensor: ...
    def __mod__(self, other: Operand) -> Tensor: ...
    def __mul__(self, other: Operand) -> Tensor: ...
    def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __or__(self, other: Operand) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Operand) -> Tensor: ...
    def __radd__(self, other: Operand) -> Tensor: ...
    def __rand__(self, other: Operand) -> Tensor: ...
    def __reversed__(self) -> Tensor:
        """Return ``reversed(tensor)``: the tensor flipped along the first dimension."""
    def __rfloordiv__(self, other: Operand) -> Tensor: ...
    def __rlshift__(self, other: Operand) -> Tensor: ...
    def __rmatmul__(self, other: Operand) -> Tensor: ...
    def __rmod__(self, other: Operand) -> Tensor: ...
    def __rmul__(self, other: Operand) -> Tensor: ...
    def __ror__(self, other: Operand) -> Tensor: ...
    def __rpow__(self, other: Operand) -> Tensor: ...
    def __rrshift__(self, other: Operand) -> Tensor: ...
    def __rshift__(self, other: Operand) -> Tensor: ...
    def __rsub__(self, other: Operand) -> Tensor: ...
    def __rtruediv__(self, other: Operand) -> Tensor: ...
    def __rxor__(self, other: Operand) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __sub__(self, other: Operand) -> Tensor: ...
    def __truediv__(self, other: Operand) -> Tensor: ...
    def __xor__(self, other: Operand) -> Tensor: ...
    def _indices(self) -> Tensor: ...
    def _values(self) -> Tensor: ...
    def abs(self) -> Tensor:
        """Return the absolute value of each element; its derivative at 0 is 0."""
    def abs_(self) -> Tensor:
        """In-place version of ``abs``: writes the result into this tensor and returns it."""
    def absolute(self) -> Tensor:
        """Return the absolute value of each element; its derivative at 0 is 0."""
    def absolute_(self) -> Tensor:
        """In-place version of ``abs``: writes the result into this tensor and returns it."""
    def acos(self) -> Tensor:
        """Compute the inverse cosine (arccosine) of each element, in radians; nan outside [-1, 1]."""
    def acos_(self) -> Tensor:
        """In-place version of ``acos``: writes the result into this tensor and returns it."""
    def acosh(self) -> Tensor:
        """Compute the inverse hyperbolic cosine of each element; nan below 1."""
    def acosh_(self) -> Tensor:
        """In-place version of ``acosh``: writes the result into this tensor and returns it."""
    def add(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """Compute ``input + alpha * other``, elementwise, with broadcasting and type promotion."""
    def add_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """In-place version of ``add``: writes the result into this tensor and returns it."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """Compute ``beta * input + alpha * sum(batch1[i] @ batch2[i])``."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """In-place version of ``addbmm``: writes the result into this tensor and returns it."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
        """Compute ``input + value * tensor1 / tensor2``."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
        """In-place version of ``addcdiv``: writes the result into this tensor and returns it."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
        """Compute ``input + value * tensor1 * tensor2``."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
        """In-place version of ``addcmul``: writes the result into this tensor and returns it."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """Compute ``beta * input + alpha * (mat1 @ mat2)``; ``input`` is broadcast."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """In-place version of ``addmm``: writes the result into this tensor and returns it."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """Compute ``beta * input + alpha * (mat @ vec)``."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """In-place version of ``addmv``: writes the result into this tensor and returns it."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """Compute ``beta * input + alpha * outer(vec1, vec2)``."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """In-place version of ``addr``: writes the result into this tensor and returns it."""
    def adjoint(self) -> Tensor:
        """Return the conjugate transpose: the last two dimensions swapped and the elements conjugated."""
    def all(self, dim: Dims = None, keepdim: _bool = False, *, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """Return whether all elements, or all over ``dim``, are nonzero."""
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Return whether all elements are close, as defined by ``isclose``."""
    def amax(self, dim: Dims = ..., keepdim: _bool = False, *, axis: Dims = ..., keepdims: _bool = False) -> Tensor:
        """Return the maximum over ``dim``, by default of all elements; ties share the gradient."""
    def amin(self, dim: Dims = ..., keepdim: _bool = False, *, axis: Dims = ..., keepdims: _bool = False) -> Tensor:
        """Return the minimum over ``dim``, by default of all elements; ties share the gradient."""
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False, axis: _int | None = None, keepdims: _bool = False) -> return_types.aminmax:
        """Return the minimum and the maximum, of all elements or along ``dim``, as ``(min, max)``."""
    def angle(self) -> Tensor:
        """Return the argument of each complex number, in radians; for real numbers π if negative, else 0."""
    def any(self, dim: Dims = None, keepdim: _bool = False, *, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """Return whether any element, or any over ``dim``, is nonzero."""
    def apply_(self, callable: Callable[[Any], Any]) -> Any:
        """Replace each element by the result of a Python function: slow, and only on the CPU."""
    def arccos(self) -> Tensor:
        """Compute the inverse cosine (arccosine) of each element, in radians; nan outside [-1, 1]."""
    def arccos_(self) -> Tensor:
        """In-place version of ``acos``: writes the result into this tensor and returns it."""
    def arccosh(self) -> Tensor:
        """Compute the inverse hyperbolic cosine of each element; nan below 1."""
    def arccosh_(self) -> Tensor:
        """In-place version of ``acosh``: writes the result into this tensor and returns it."""
    def arcsin(self) -> Tensor:
        """Compute the inverse sine (arcsine) of each element, in radians; nan outside [-1, 1]."""
    def arcsin_(self) -> Tensor:
        """In-place version of ``asin``: writes the result into this tensor and returns it."""
    def arcsinh(self) -> Tensor:
        """Compute the inverse hyperbolic sine of each element."""
    def arcsinh_(self) -> Tensor:
        """In-place version of ``asinh``: writes the result into this tensor and returns it."""
    def arctan(self) -> Tensor:
        """Compute the inverse tangent (arctangent) of each element, in radians."""
    def arctan2(self, other: Tensor) -> Tensor:
        """Compute the inverse tangent of ``input / other`` in the right quadrant, in radians: the angle of (other, input)."""
    def arctan2_(self, other: Tensor) -> Tensor:
        """In-place version of ``atan2``: writes the result into this tensor and returns it."""
    def arctan_(self) -> Tensor:
        """In-place version of ``atan``: writes the result into this tensor and returns it."""
    def arctanh(self) -> Tensor:
        """Compute the inverse hyperbolic tangent of each element; nan outside [-1, 1]."""
    def arctanh_(self) -> Tensor:
        """In-place version of ``atanh``: writes the result into this tensor and returns it."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """Return the index of the maximum, in the flattened tensor or along ``dim``; of ties, the first."""
    def argmin(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """Return the index of the minimum, in the flattened tensor or along ``dim``; of ties, the first."""
    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, axis: _int = -1) -> Tensor:
        """Return the indices that sort the elements along ``dim``; the sort is stable."""
    def argwhere(self) -> Tensor:
        """Return the indices of the nonzero elements, shape (count, ndim)."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """Return a view of the tensor's storage with the given size and strides; elements may overlap."""
    def as_strided_(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """In-place version of ``as_strided``: this tensor becomes the view."""
    def as_strided_scatter(self, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
        """Return a copy of ``input`` with ``copy.as_strided(size, stride, storage_offset)`` replaced by ``src``."""
    def as_subclass(self, cls: Any) -> Any:
        """Return the tensor, with its history, as one of a subclass."""
    def asin(self) -> Tensor:
        """Compute the inverse sine (arcsine) of each element, in radians; nan outside [-1, 1]."""
    def asin_(self) -> Tensor:
        """In-place version of ``asin``: writes the result into this tensor and returns it."""
    def asinh(self) -> Tensor:
        """Compute the inverse hyperbolic sine of each element."""
    def asinh_(self) -> Tensor:
        """In-place version of ``asinh``: writes the result into this tensor and returns it."""
    def atan(self) -> Tensor:
        """Compute the inverse tangent (arctangent) of each element, in radians."""
    def atan2(self, other: Tensor) -> Tensor:
        """Compute the inverse tangent of ``input / other`` in the right quadrant, in radians: the angle of (other, input)."""
    def atan2_(self, other: Tensor) -> Tensor:
        """In-place version of ``atan2``: writes the result into this tensor and returns it."""
    def atan_(self) -> Tensor:
        """In-place version of ``atan``: writes the result into this tensor and returns it."""
    def atanh(self) -> Tensor:
        """Compute the inverse hyperbolic tangent of each element; nan outside [-1, 1]."""
    def atanh_(self) -> Tensor:
        """In-place version of ``atanh``: writes the result into this tensor and returns it."""
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge] | None = None) -> None:
        """Add the gradients of this tensor to the ``.grad`` of the leaves that it was computed from."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """Compute ``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """In-place version of ``baddbmm``: writes the result into this tensor and returns it."""
    def bernoulli(self, p: _float | None = None, *, generator: Generator | None = None) -> Tensor:
        """Sample the Bernoulli distribution (0 or 1) with the elements of ``input``, or ``p``, as probabilities of 1."""
    def bernoulli_(self, p: Tensor | _float = 0.5, *, generator: Generator | None = None) -> Tensor:
        """Fill with samples (0 or 1) of the Bernoulli distribution with probability ``p`` of 1."""
    def bfloat16(self, memory_format: Any = None) -> Tensor:
        """Return the tensor cast to bfloat16; the tensor itself if it has that dtype."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """Return the number of occurrences of each of 0, 1, 2, ...; or the sum of their weights."""
    def bitwise_and(self, other: Tensor | Number) -> Tensor:
        """Compute bitwise AND of integers; logical AND of bools."""
    def bitwise_and_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``bitwise_and``: writes the result into this tensor and returns it."""
    def bitwise_left_shift(self, other: Tensor | Number) -> Tensor:
        """Shift the bits of ``input`` left by ``other``: ``input << other``."""
    def bitwise_left_shift_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``bitwise_left_shift``: writes the result into this tensor and returns it."""
    def bitwise_not(self) -> Tensor:
        """Compute bitwise NOT of integers; logical NOT of bools."""
    def bitwise_not_(self) -> Tensor:
        """In-place version of ``bitwise_not``: writes the result into this tensor and returns it."""
    def bitwise_or(self, other: Tensor | Number) -> Tensor:
        """Compute bitwise OR of integers; logical OR of bools."""
    def bitwise_or_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``bitwise_or``: writes the result into this tensor and returns it."""
    def bitwise_right_shift(self, other: Tensor | Number) -> Tensor:
        """Shift the bits of ``input`` right by ``other``: ``input >> other``; negative numbers keep their sign."""
    def bitwise_right_shift_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``bitwise_right_shift``: writes the result into this tensor and returns it."""
    def bitwise_xor(self, other: Tensor | Number) -> Tensor:
        """Compute bitwise XOR of integers; logical XOR of bools."""
    def bitwise_xor_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``bitwise_xor``: writes the result into this tensor and returns it."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Compute the batched matrix product: (b, n, m) @ (b, m, p) gives (b, n, p), without broadcasting."""
    def bool(self, memory_format: Any = None) -> Tensor:
        """Return the tensor cast to bool; the tensor itself if it has that dtype."""
    def broadcast_to(self, *size: _int) -> Tensor:
        """Return a view with dimensions of size 1 expanded to a larger size, and new dimensions in front."""
    def byte(self, memory_format: Any = None) -> Tensor:
        """Return the tensor cast to uint8; the tensor itself if it has that dtype."""
    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with samples of the Cauchy distribution with location ``median`` and scale ``sigma``."""
    def cdouble(self, memory_format: Any = None) -> Tensor:
        """Return the tensor cast to complex128; the tensor itself if it has that dtype."""
    def ceil(self) -> Tensor:
        """Round each element up; the derivative is 0."""
    def ceil_(self) -> Tensor:
        """In-place version of ``ceil``: writes the result into this tensor and returns it."""
    def cfloat(self, memory_format: Any = None) -> Tensor:
        """Return the tensor cast to complex64; the tensor itself if it has that dtype."""
    def char(self, memory_format: Any = None) -> Tensor:
        """Return the tensor cast to int8; the tensor itself if it has that dtype."""
    def cholesky(self, upper: _bool = False) -> Tensor:
        """Compute the Cholesky decomposition; see :func:`linalg.cholesky`."""
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """Compute the inverse of A = L Lᴴ, given the Cholesky factor L."""
    def cholesky_solve(self, L: Tensor, upper: _bool = False) -> Tensor:
        """Solve ``A @ X = B`` for X, given the Cholesky factor L of A = L Lᴴ."""
    def chunk(self, chunks: _int, dim: _int = 0, *, axis: _int = 0) -> tuple[Tensor, ...]:
        """Return views of at most ``chunks`` parts of equal size (the last may be smaller) along a dimension."""
    def clamp(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """Clamp each element to [``min``, ``max``]; the derivative is 1 inside and at the bounds, 0 outside."""
    def clamp_(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """In-place version of ``clamp``: writes the result into this tensor and returns it."""
    def clamp_max(self, max: Tensor | Number) -> Tensor:
        """Clamp each element to at most ``max``."""
    def clamp_max_(self, max: Tensor | Number) -> Tensor:
        """In-place version of ``clamp_max``: writes the result into this tensor and returns it."""
    def clamp_min(self, min: Tensor | Number) -> Tensor:
        """Clamp each element to at least ``min``."""
    def clamp_min_(self, min: Tensor | Number) -> Tensor:
        """In-place version of ``clamp_min``: writes the result into this tensor and returns it."""
    def clip(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """Clamp each element to [``min``, ``max``]; the derivative is 1 inside and at the bounds, 0 outside."""
    def clip_(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """In-place version of ``clamp``: writes the result into this tensor and returns it."""
    def clone(self, *, memory_format: Any = None) -> Tensor:
        """Return a differentiable copy."""
    def conj(self) -> Tensor:
        """Return the complex conjugate; a real tensor is returned itself."""
    def conj_physical(self) -> Tensor:
        """Return the complex conjugate as a copy; a real tensor is returned itself."""
    def conj_physical_(self) -> Tensor:
        """In-place version of ``conj_physical``: writes the result into this tensor and returns it."""
    def contiguous(self, memory_format: Any = ...) -> Tensor:
        """Return the tensor itself if it is contiguous in memory (row-major), otherwise a contiguous copy."""
    def copy_(self, other: Tensor, non_blocking: _bool = False) -> Tensor:
        """In-place version of ``copy``: writes the result into this tensor and returns it."""
    def copysign(self, other: Tensor | Number) -> Tensor:
        """Return the absolute value of ``input`` with the sign of ``other``."""
    def copysign_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``copysign``: writes the result into this tensor and returns it."""
    def corrcoef(self) -> Tensor:
        """Compute the Pearson correlation coefficients of variables, the rows of ``input``; its columns are observations."""
    def cos(self) -> Tensor:
        """Compute the cosine of each element, an angle in radians."""
    def cos_(self) -> Tensor:
        """In-place version of ``cos``: writes the result into this tensor and returns it."""
    def cosh(self) -> Tensor:
        """Compute the hyperbolic cosine of each element."""
    def cosh_(self) -> Tensor:
        """In-place version of ``cosh``: writes the result into this tensor and returns it."""
    def count_nonzero(self, dim: Dims = None, *, axis: Dims = None) -> Tensor:
        """Return the number of nonzero elements, of all or over ``dim``."""
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """Compute the covariance matrix of variables, the rows of ``input``; its columns are observations."""
    def cpu(self, memory_format: Any = None) -> Tensor:
        """Return the tensor moved to the CPU; the tensor itself if it is already there."""
    def cross(self, other: Tensor, dim: _int | None = None, *, axis: _int | None = None) -> Tensor:
        """Compute the cross products of vectors of three elements."""
    def cuda(self, device: Any = None, non_blocking: _bool = False, memory_format: Any = None) -> Tensor:
        """Return the tensor moved to a CUDA device, by default the current one."""
    @overload
    def cummax(self, dim: _int) -> return_types.cummax:
        """Return the cumulative maximum along ``dim``, and its indices; of ties, the last."""
    @overload
    def cummax(self, *, axis: _int) -> return_types.cummax: ...
    @overload
    def cummin(self, dim: _int) -> return_types.cummin:
        """Return the cumulative minimum along ``dim``, and its indices; of ties, the last."""
    @overload
    def cummin(self, *, axis: _int) -> return_types.cummin: ...
    @overload
    def cumprod(self, dim: _int, *, dtype: dtype | None = None) -> Tensor:
        """Return the cumulative product along ``dim``; int64 for integers and bools."""
    @overload
    def cumprod(self, *, axis: _int, dtype: dtype | None = None) -> Tensor: ...
    @overload
    def cumprod_(self, dim: _int, *, dtype: dtype | None = None) -> Tensor:
        """In-place version of ``cumprod``: writes the result into this tensor and returns it."""
    @overload
    def cumprod_(self, *, axis: _int, dtype: dtype | None = None) -> Tensor: ...
    @overload
    def cumsum(self, dim: _int, *, dtype: dtype | None = None) -> Tensor:
        """Return the cumulative sum along ``dim``; int64 for integers and bools."""
    @overload
    def cumsum(self, *, axis: _int, dtype: dtype | None = None) -> Tensor: ...
    @overload
    def cumsum_(self, dim: _int, *, dtype: dtype | None = None) -> Tensor:
        """In-place version of ``cumsum``: writes the result into this tensor and returns it."""
    @overload
    def cumsum_(self, *, axis: _int, dtype: dtype | None = None) -> Tensor: ...
    def deg2rad(self) -> Tensor:
        """Convert degrees to radians."""
    def deg2rad_(self) -> Tensor:
        """In-place version of ``deg2rad``: writes the result into this tensor and returns it."""
    def det(self) -> Tensor:
        """Compute the determinant of each matrix."""
    def diag(self, diagonal: _int = 0) -> Tensor:
        """Return the diagonal matrix of a vector; or the diagonal of a matrix, copied."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Return matrices of zeros with the last dimension of ``input`` on their diagonals."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """Return the diagonal matrix of the flattened input."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """Return a view of the diagonal over two dimensions, which becomes the last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """Return a copy of ``input`` with ``copy.diagonal(offset, dim1, dim2)`` replaced by ``src``."""
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, axis: _int = -1) -> Tensor:
        """Return the n-th forward difference along ``dim``; for bools, whether neighbors differ."""
    def digamma(self) -> Tensor:
        """Compute the digamma function, the derivative of ``lgamma``; -inf at 0, nan at negative integers."""
    def digamma_(self) -> Tensor:
        """In-place version of ``digamma``: writes the result into this tensor and returns it."""
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """Return the p-norm of ``input - other``."""
    def div(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
        """Compute ``input / other``, elementwise, exact or rounded to an integer."""
    def div_(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
        """In-place version of ``div``: writes the result into this tensor and returns it."""
    def divide(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
        """Compute ``input / other``, elementwise, exact or rounded to an integer."""
    def divide_(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
        """In-place version of ``div``: writes the result into this tensor and returns it."""
    def dot(self, tensor: Tensor) -> Tensor:
        """Compute the dot product of two vectors."""
    def double(self, memory_format: Any = None) -> Tensor:
        """Return the tensor cast to float64; the tensor itself if it has that dtype."""
    def dsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Return views of parts split depthwise: along dimension 2, in equal parts or at indices."""
    def eq(self, other: Tensor | Number) -> Tensor:
        """Return ``input == other``, elementwise."""
    def eq_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``eq``: writes the result into this tensor and returns it."""
    def equal(self, other: Tensor) -> _bool:
        """Return whether the shapes and all elements are equal."""
    def erf(self) -> Tensor:
        """Compute the error function (DLMF 7.2.1)."""
    def erf_(self) -> Tensor:
        """In-place version of ``erf``: writes the result into this tensor and returns it."""
    def erfc(self) -> Tensor:
        """Compute the complementary error function ``1 - erf(x)``, accurate where it is tiny."""
    def erfc_(self) -> Tensor:
        """In-place version of ``erfc``: writes the result into this tensor and returns it."""
    def erfinv(self) -> Tensor:
        """Compute the inverse of the error function: nan outside [-1, 1]."""
    def erfinv_(self) -> Tensor:
        """In-place version of ``erfinv``: writes the result into this tensor and returns it."""
    def exp(self) -> Tensor:
        """Compute ``e**x`` for each element."""
    def exp2(self) -> Tensor:
        """Compute ``2**x`` for each element."""
    def exp2_(self) -> Tensor:
        """In-place version of ``exp2``: writes the result into this tensor and returns it."""
    def exp_(self) -> Tensor:
        """In-place version of ``exp``: writes the result into this tensor and returns it."""
    @overload
    def expand(self, *size: _int) -> Tensor:
        """Return a view with dimensions of size 1 expanded to a larger size, and new dimensions in front."""
    @overload
    def expand(self, size: Sequence[_int]) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor:
        """Return a view of the tensor expanded to the shape of ``other``."""
    def expm1(self) -> Tensor:
        """Compute ``exp(x) - 1`` for each element, accurate near 0."""
    def expm1_(self) -> Tensor:
        """In-place version of ``expm1``: writes the result into this tensor and returns it."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with samples of the exponential distribution of rate ``lambd``."""
    def fill_(self, value: Tensor | Number) -> Tensor:
        """In-place version of ``fill``: writes the result into this tensor and returns it."""
    def fill_diagonal_(self, fill_value: Number, wrap: _bool = False) -> Tensor:
        """Fill the main diagonal with one value, in place."""
    def fix(self) -> Tensor:
        """Truncate each element: round towards zero; the derivative is 0."""
    def fix_(self) -> Tensor:
        """In-place version of ``trunc``: writes the result into this tensor and returns it."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Return the dimensions from ``start_dim`` to ``end_dim`` flattened into one; a view where possible."""
    @overload
    def flip(self, *dims: _int) -> Tensor:
        """Return the tensor reversed along ``dims``, copied."""
    @overload
    def flip(self, dims: Sequence[_int]) -> Tensor: ...
    def fliplr(self) -> Tensor:
        """Return the tensor flipped left to right: dimension 1 reversed, copied."""
    def flipud(self) -> Tensor:
        """Return the tensor flipped upside down: dimension 0 reversed, copied."""
    def float(self, memory_format: Any = None) -> Tensor:
        """Return the tensor cast to float32; the tensor itself if it has that dtype."""
    def float_power(self, exponent: Tensor | Number) -> Tensor:
        """Compute ``input ** exponent`` in float64 (or complex128)."""
    def float_power_(self, exponent: Tensor | Number) -> Tensor:
        """In-place version of ``float_power``: writes the result into this tensor and returns it."""
    def floor(self) -> Tensor:
        """Round each element down; the derivative is 0."""
    def floor_(self) -> Tensor:
        """In-place version of ``floor``: writes the result into this tensor and returns it."""
    def floor_divide(self, other: Tensor | Number) -> Tensor:
        """Compute ``input // other``, the quotient rounded down; use ``div(..., rounding_mode="floor")`` for derivatives."""
    def floor_divide_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``floor_divide``: writes the result into this tensor and returns it."""
    def fmax(self, other: Tensor) -> Tensor:
        """Return the elementwise maximum that ignores nan; of ties, ``input`` gets the gradient."""
    def fmin(self, other: Tensor) -> Tensor:
        """Return the elementwise minimum that ignores nan; of ties, ``input`` gets the gradient."""
    def fmod(self, other: Tensor | Number) -> Tensor:
        """Compute C's ``fmod``: the remainder of truncated division, which has the sign of the dividend."""
    def fmod_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``fmod``: writes the result into this tensor and returns it."""
    def frac(self) -> Tensor:
        """Compute the fractional part, ``input - trunc(input)``; it has the sign of the input."""
    def frac_(self) -> Tensor:
        """In-place version of ``frac``: writes the result into this tensor and returns it."""
    def frexp(self) -> return_types.frexp:
        """Decompose each element into mantissa and exponent: ``mantissa * 2**exponent``, with 0.5 ≤ \\\\|mantissa\\\\| < 1."""
    @overload
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """Gather elements along ``dim``: ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``."""
    @overload
    def gather(self, *, axis: _int, index: Tensor, sparse_grad: _bool = False) -> Tensor: ...
    def gcd(self, other: Tensor) -> Tensor:
        """Return the greatest common divisor of each pair of integers."""
    def gcd_(self, other: Tensor) -> Tensor:
        """In-place version of ``gcd``: writes the result into this tensor and returns it."""
    def ge(self, other: Tensor | Number) -> Tensor:
        """Return ``input >= other``, elementwise."""
    def ge_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``ge``: writes the result into this tensor and returns it."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Tensor:
        """Fill with samples of the geometric distribution: the number of trials until the first success."""
    def geqrf(self) -> return_types.geqrf:
        """Compute QR in LAPACK's form: R with the Householder vectors of Q below it, and their scalars tau."""
    def ger(self, vec2: Tensor) -> Tensor:
        """Compute the outer product of two vectors: (n,) and (m,) give (n, m)."""
    def get_device(self) -> _int:
        """Return the index of the tensor's CUDA device; -1 for the CPU."""
    def greater(self, other: Tensor | Number) -> Tensor:
        """Return ``input > other``, elementwise."""
    def greater_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``gt``: writes the result into this tensor and returns it."""
    def greater_equal(self, other: Tensor | Number) -> Tensor:
        """Return ``input >= other``, elementwise."""
    def greater_equal_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``ge``: writes the result into this tensor and returns it."""
    def gt(self, other: Tensor | Number) -> Tensor:
        """Return ``input > other``, elementwise."""
    def gt_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``gt``: writes the result into this tensor and returns it."""
    def half(self, memory_format: Any = None) -> Tensor:
        """Return the tensor cast to float16; the tensor itself if it has that dtype."""
    def hardshrink(self, lambd: _float = 0.5) -> Tensor:
        """Return ``input`` with 0 between ``-lambd`` and ``lambd``."""
    def heaviside(self, values: Tensor) -> Tensor:
        """Compute the Heaviside step function: 0 for negative, 1 for positive, ``values`` for 0; not differentiable."""
    def heaviside_(self, values: Tensor) -> Tensor:
        """In-place version of ``heaviside``: writes the result into this tensor and returns it."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor:
        """Compute the histogram over ``bins`` bins of equal width between ``min`` and ``max``, in the input's dtype."""
    def histogram(self, bins: _int | Tensor = 100, *, range: tuple[_float, _float] | None = None, weight: Tensor | None = None, density: _bool = False) -> return_types.histogram:
        """Compute the histogram of the elements, and the bin edges; a bin includes its lower edge, the last both."""
    def hsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Return views of parts split horizontally: along dimension 1 (0 of a vector), in equal parts or at indices."""
    def hypot(self, other: Tensor) -> Tensor:
        """Compute the hypotenuse ``sqrt(input**2 + other**2)``, without overflow."""
    def hypot_(self, other: Tensor) -> Tensor:
        """In-place version of ``hypot``: writes the result into this tensor and returns it."""
    def i0(self) -> Tensor:
        """Compute the modified Bessel function of the first kind of order 0 (DLMF 10.25.2)."""
    def i0_(self) -> Tensor:
        """In-place version of ``i0``: writes the result into this tensor and returns it."""
    def igamma(self, other: Tensor) -> Tensor:
        """Compute the regularized lower incomplete gamma function P(input, other), DLMF 8.2.4."""
    def igamma_(self, other: Tensor) -> Tensor:
        """In-place version of ``igamma``: writes the result into this tensor and returns it."""
    def igammac(self, other: Tensor) -> Tensor:
        """Compute the regularized upper incomplete gamma function Q(input, other) = 1 - P(input, other), DLMF 8.2.4."""
    def igammac_(self, other: Tensor) -> Tensor:
        """In-place version of ``igammac``: writes the result into this tensor and returns it."""
    @property
    def imag(self) -> Tensor:
        """Return the imaginary part, as a view."""
    @imag.setter
    def imag(self, value: Any) -> None: ...
    @overload
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
        """Return a copy of ``input`` with ``alpha * source`` added to the slices at ``index`` along ``dim``."""
    @overload
    def index_add(self, *, axis: _int, index: Tensor, source: Tensor, alpha: Number = 1) -> Tensor: ...
    @overload
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
        """In-place version of ``index_add``: writes the result into this tensor and returns it."""
    @overload
    def index_add_(self, *, axis: _int, index: Tensor, source: Tensor, alpha: Number = 1) -> Tensor: ...
    @overload
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """Return a copy of ``input`` with the slices at ``index`` along ``dim`` replaced by those of ``source``."""
    @overload
    def index_copy(self, *, axis: _int, index: Tensor, source: Tensor) -> Tensor: ...
    @overload
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """In-place version of ``index_copy``: writes the result into this tensor and returns it."""
    @overload
    def index_copy_(self, *, axis: _int, index: Tensor, source: Tensor) -> Tensor: ...
    @overload
    def index_fill(self, dim: _int, index: Tensor, value: Tensor | Number) -> Tensor:
        """Return a copy of ``input`` with the slices at ``index`` along ``dim`` filled with one value."""
    @overload
    def index_fill(self, *, axis: _int, index: Tensor, value: Tensor | Number) -> Tensor: ...
    @overload
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor | Number) -> Tensor:
        """In-place version of ``index_fill``: writes the result into this tensor and returns it."""
    @overload
    def index_fill_(self, *, axis: _int, index: Tensor, value: Tensor | Number) -> Tensor: ...
    def index_put(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor:
        """Return a copy of ``input`` with ``copy[indices] = values``."""
    def index_put_(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place version of ``index_put``: writes the result into this tensor and returns it."""
    @overload
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """Return a copy of ``input`` with the slices of ``source`` reduced into those at ``index`` along ``dim``."""
    @overload
    def index_reduce(self, *, axis: _int, index: Tensor, source: Tensor, reduce: str, include_self: _bool = True) -> Tensor: ...
    @overload
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """In-place version of ``index_reduce``: writes the result into this tensor and returns it."""
    @overload
    def index_reduce_(self, *, axis: _int, index: Tensor, source: Tensor, reduce: str, include_self: _bool = True) -> Tensor: ...
    @overload
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """Return the slices at ``index`` along ``dim``, copied."""
    @overload
    def index_select(self, *, axis: _int, index: Tensor) -> Tensor: ...
    def inner(self, other: Tensor) -> Tensor:
        """Compute the inner product: sums of products over the last dimension of both tensors."""
    def int(self, memory_format: Any = None) -> Tensor:
        """Return the tensor cast to int32; the tensor itself if it has that dtype."""
    def inverse(self) -> Tensor:
        """Invert each matrix."""
    def is_conj(self) -> _bool:
        """Return False: conjugation is always eager, without lazy conjugate views."""
    def is_neg(self) -> _bool:
        """Return False: negation is always eager, without lazy negative views."""
    def is_nonzero(self) -> _bool:
        """Return whether a tensor of one element is not equal to zero."""
    def is_pinned(self, device: Any = None) -> _bool:
        """Return whether the tensor is in pinned (page-locked) memory."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Return whether both tensors have the same shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Return whether two tensors have the same storage, offset, shape and strides."""
    def is_signed(self) -> _bool:
        """Return whether the dtype is signed: it has negative numbers."""
    def isclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Return whether elements are close: ``|input - other| <= atol + rtol * |other|``."""
    def isfinite(self) -> Tensor:
        """Return whether each element is finite: neither infinite nor nan."""
    def isinf(self) -> Tensor:
        """Return whether each element is infinite."""
    def isnan(self) -> Tensor:
        """Return whether each element is nan."""
    def isneginf(self) -> Tensor:
        """Return whether each element is minus infinity."""
    def isposinf(self) -> Tensor:
        """Return whether each element is plus infinity."""
    def isreal(self) -> Tensor:
        """Return whether each element is real: its imaginary part is 0."""
    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
        """Compute the inverse short-time Fourier transform: the signal from the result of :func:`stft`."""
    def kron(self, other: Tensor) -> Tensor:
        """Return the Kronecker product: a block ``element * other`` for each element of ``input``."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False, *, axis: _int = -1, keepdims: _bool = False) -> return_types.kthvalue:
        """Return the ``k``-th smallest element along ``dim``, 1-based, and its index."""
    def lcm(self, other: Tensor) -> Tensor:
        """Return the least common multiple of each pair of integers."""
    def lcm_(self, other: Tensor) -> Tensor:
        """In-place version of ``lcm``: writes the result into this tensor and returns it."""
    def ldexp(self, other: Tensor) -> Tensor:
        """Compute ``input * 2 ** other``."""
    def ldexp_(self, other: Tensor) -> Tensor:
        """In-place version of ``ldexp``: writes the result into this tensor and returns it."""
    def le(self, other: Tensor | Number) -> Tensor:
        """Return ``input <= other``, elementwise."""
    def le_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``le``: writes the result into this tensor and returns it."""
    def lerp(self, end: Tensor, weight: Tensor | Number) -> Tensor:
        """Interpolate linearly: ``input + weight * (end - input)``."""
    def lerp_(self, end: Tensor, weight: Tensor | Number) -> Tensor:
        """In-place version of ``lerp``: writes the result into this tensor and returns it."""
    def less(self, other: Tensor | Number) -> Tensor:
        """Return ``input < other``, elementwise."""
    def less_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``lt``: writes the result into this tensor and returns it."""
    def less_equal(self, other: Tensor | Number) -> Tensor:
        """Return ``input <= other``, elementwise."""
    def less_equal_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``le``: writes the result into this tensor and returns it."""
    def lgamma(self) -> Tensor:
        """Compute the logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> Tensor:
        """In-place version of ``lgamma``: writes the result into this tensor and returns it."""
    def log(self) -> Tensor:
        """Compute the natural logarithm of each element; nan for negative elements, -inf for 0."""
    def log10(self) -> Tensor:
        """Compute the base-10 logarithm of each element."""
    def log10_(self) -> Tensor:
        """In-place version of ``log10``: writes the result into this tensor and returns it."""
    def log1p(self) -> Tensor:
        """Compute ``log(1 + x)`` for each element, accurate near 0."""
    def log1p_(self) -> Tensor:
        """In-place version of ``log1p``: writes the result into this tensor and returns it."""
    def log2(self) -> Tensor:
        """Compute the base-2 logarithm of each element."""
    def log2_(self) -> Tensor:
        """In-place version of ``log2``: writes the result into this tensor and returns it."""
    def log_(self) -> Tensor:
        """In-place version of ``log``: writes the result into this tensor and returns it."""
    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with samples of the log-normal distribution; ``mean`` and ``std`` are those of the logarithm."""
    @overload
    def log_softmax(self, dim: _int, dtype: dtype | None = None) -> Tensor:
        """Compute the logarithm of :func:`softmax` over ``dim``, in a numerically stable way."""
    @overload
    def log_softmax(self, *, axis: _int, dtype: dtype | None = None) -> Tensor: ...
    def logaddexp(self, other: Tensor) -> Tensor:
        """Compute ``log(exp(input) + exp(other))``, without overflow."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """Compute ``log2(2 ** input + 2 ** other)``, without overflow."""
    @overload
    def logcumsumexp(self, dim: _int) -> Tensor:
        """Compute ``log(cumsum(exp(input)))`` along ``dim``, without overflow."""
    @overload
    def logcumsumexp(self, *, axis: _int) -> Tensor: ...
    def logdet(self) -> Tensor:
        """Return the log-determinant of each matrix: -inf where the determinant is 0, nan where it is negative."""
    def logical_and(self, other: Tensor) -> Tensor:
        """Compute logical AND, elementwise: True if both elements are nonzero."""
    def logical_and_(self, other: Tensor) -> Tensor:
        """In-place version of ``logical_and``: writes the result into this tensor and returns it."""
    def logical_not(self) -> Tensor:
        """Compute logical NOT, elementwise: True if the element is zero."""
    def logical_not_(self) -> Tensor:
        """In-place version of ``logical_not``: writes the result into this tensor and returns it."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Compute logical OR, elementwise: True if at least one element is nonzero."""
    def logical_or_(self, other: Tensor) -> Tensor:
        """In-place version of ``logical_or``: writes the result into this tensor and returns it."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Compute logical XOR, elementwise: True if exactly one element is nonzero."""
    def logical_xor_(self, other: Tensor) -> Tensor:
        """In-place version of ``logical_xor``: writes the result into this tensor and returns it."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """Compute the logit ``log(x / (1 - x))``, the inverse of the sigmoid."""
    def logit_(self, eps: _float | None = None) -> Tensor:
        """In-place version of ``logit``: writes the result into this tensor and returns it."""
    @overload
    def logsumexp(self, dim: _int | tuple[_int, ...] | list[_int], keepdim: _bool = False, *, keepdims: _bool = False) -> Tensor:
        """Compute ``log(sum(exp(input)))`` over ``dim``, without overflow."""
    @overload
    def logsumexp(self, *, axis: _int | tuple[_int, ...] | list[_int], keepdim: _bool = False, keepdims: _bool = False) -> Tensor: ...
    def long(self, memory_format: Any = None) -> Tensor:
        """Return the tensor cast to int64; the tensor itself if it has that dtype."""
    def lt(self, other: Tensor | Number) -> Tensor:
        """Return ``input < other``, elementwise."""
    def lt_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``lt``: writes the result into this tensor and returns it."""
    @overload
    def lu(self, pivot: _bool = True, get_infos: Literal[False] = False) -> tuple[Tensor, Tensor]:
        """Compute the LU decomposition in packed form and its pivots, as a plain tuple; see :func:`torch.lu`."""
    @overload
    def lu(self, pivot: _bool = True, *, get_infos: Literal[True]) -> tuple[Tensor, Tensor, Tensor]: ...
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """Solve ``A @ X = b`` for X, given the packed LU of A; see :func:`linalg.lu_solve`."""
    @property
    def mH(self) -> Any:
        """The conjugate transpose of each matrix."""
    @property
    def mT(self) -> Any:
        """The transpose of each matrix, as a view."""
    def map2_(self, x: Any, y: Any, callable: Callable[[Any, Any, Any], Any]) -> Any:
        """Replace each element by a Python function of it and those of two other tensors."""
    def map_(self, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:
        """Replace each element by a Python function of it and that of another tensor, which is broadcast."""
    def masked_fill(self, mask: Tensor, value: Tensor | Number) -> Tensor:
        """Return ``input`` with ``value`` where ``mask`` is true."""
    def masked_fill_(self, mask: Tensor, value: Tensor | Number) -> Tensor:
        """In-place version of ``masked_fill``: writes the result into this tensor and returns it."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Return a copy of ``input`` whose elements where ``mask`` is true are replaced by those of ``source``, in order."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """In-place version of ``masked_scatter``: writes the result into this tensor and returns it."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """Return the elements where the bool tensor ``mask`` is true, as a 1-d tensor."""
    def matmul(self, other: Tensor) -> Tensor:
        """Compute the matrix product of two tensors."""
    def matrix_exp(self) -> Tensor:
        """Compute the matrix exponential of square matrices: the sum of Aᵏ / k!."""
    def matrix_power(self, n: _int) -> Tensor:
        """Compute the n-th power of square matrices, by repeated squaring; for negative n, of the inverse."""
    @overload
    def max(self) -> Tensor:
        """Return the maximum of all elements, the maxima along ``dim`` with their indices, or the elementwise maximum."""
    @overload
    def max(self, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False) -> return_types.max: ...
    @overload
    def max(self, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False) -> return_types.max: ...
    @overload
    def max(self, other: Tensor) -> Tensor: ...
    def maximum(self, other: Tensor) -> Tensor:
        """Return the elementwise maximum; nan propagates, and ties share the gradient."""
    def mean(self, dim: Dims = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """Return the mean of all elements or over ``dim``."""
    @overload
    def median(self) -> Tensor:
        """Return the median of all elements, the lower of two; with ``dim``, the median along it and its index."""
    @overload
    def median(self, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False) -> return_types.median: ...
    @overload
    def median(self, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False) -> return_types.median: ...
    @overload
    def min(self) -> Tensor:
        """Return the minimum of all elements, the minima along ``dim`` with their indices, or the elementwise minimum."""
    @overload
    def min(self, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False) -> return_types.min: ...
    @overload
    def min(self, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False) -> return_types.min: ...
    @overload
    def min(self, other: Tensor) -> Tensor: ...
    def minimum(self, other: Tensor) -> Tensor:
        """Return the elementwise minimum; nan propagates, and ties share the gradient."""
    def mm(self, mat2: Tensor) -> Tensor:
        """Compute the matrix product of two matrices, without broadcasting."""
    def mode(self, dim: _int = -1, keepdim: _bool = False, *, axis: _int = -1, keepdims: _bool = False) -> return_types.mode:
        """Return the mode, the most frequent element, along ``dim`` (the smallest of ties), and the index of its last occurrence."""
    def moveaxis(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Return a view with the dimensions ``source`` moved to the positions ``destination``; the others keep their order."""
    def movedim(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Return a view with the dimensions ``source`` moved to the positions ``destination``; the others keep their order."""
    def msort(self) -> Tensor:
        """Return the elements sorted along the first dimension."""
    def mul(self, other: Tensor | Number) -> Tensor:
        """Compute ``input * other``, elementwise, with broadcasting and type promotion."""
    def mul_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``mul``: writes the result into this tensor and returns it."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None) -> Tensor:
        """Draw ``num_samples`` indices from the multinomial distribution whose weights are the rows of ``input``."""
    def multiply(self, other: Tensor | Number) -> Tensor:
        """Compute ``input * other``, elementwise, with broadcasting and type promotion."""
    def multiply_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``mul``: writes the result into this tensor and returns it."""
    def mv(self, vec: Tensor) -> Tensor:
        """Compute the matrix-vector product: (n, m) @ (m,) gives (n,)."""
    def mvlgamma(self, p: _int) -> Tensor:
        """Compute the logarithm of the multivariate gamma function of dimension ``p`` (DLMF 35.3.4)."""
    def mvlgamma_(self, p: _int) -> Tensor:
        """In-place version of ``mvlgamma``: writes the result into this tensor and returns it."""
    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """Return ``input`` with nan and infinities replaced."""
    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """In-place version of ``nan_to_num``: writes the result into this tensor and returns it."""
    def nanmean(self, dim: Dims = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """Return the mean of all elements or over ``dim``, ignoring nan."""
    @overload
    def nanmedian(self) -> Tensor:
        """Return the median, ignoring nan; see :func:`median`."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False) -> return_types.nanmedian: ...
    @overload
    def nanmedian(self, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False) -> return_types.nanmedian: ...
    def nanquantile(self, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """Return the q-quantiles, ignoring nan; see :func:`quantile`."""
    def nansum(self, dim: Dims = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """Return the sum of all elements or over ``dim``, with nan treated as 0."""
    @overload
    def narrow(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """Return a view of the slice ``start:start + length`` of a dimension."""
    @overload
    def narrow(self, *, axis: _int, start: _int | Tensor, length: _int) -> Tensor: ...
    def narrow_copy(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """The result of ``narrow`` as a copy, not a view."""
    def ne(self, other: Tensor | Number) -> Tensor:
        """Return ``input != other``, elementwise."""
    def ne_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``ne``: writes the result into this tensor and returns it."""
    def neg(self) -> Tensor:
        """Negate each element: ``-input``."""
    def neg_(self) -> Tensor:
        """In-place version of ``neg``: writes the result into this tensor and returns it."""
    def negative(self) -> Tensor:
        """Negate each element: ``-input``."""
    def negative_(self) -> Tensor:
        """In-place version of ``neg``: writes the result into this tensor and returns it."""
    def new(self, *data: Any, **options: Any) -> Tensor:
        """Create a tensor of the same dtype on the same device: uninitialized, of the given sizes, or of given values."""
    @overload
    def new_empty(self, *size: _int, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor:
        """Call ``torch.empty(...)`` with this tensor's dtype and device by default."""
    @overload
    def new_empty(self, size: Sequence[_int], *, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor: ...
    def new_empty_strided(self, size: Sequence[_int], stride: Sequence[_int], *, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor:
        """Call ``torch.empty_strided(...)`` with this tensor's dtype and device by default."""
    def new_full(self, size: Sequence[_int], fill_value: Number, *, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor:
        """Call ``torch.full(...)`` with this tensor's dtype and device by default."""
    @overload
    def new_ones(self, *size: _int, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor:
        """Call ``torch.ones(...)`` with this tensor's dtype and device by default."""
    @overload
    def new_ones(self, size: Sequence[_int], *, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor: ...
    def new_tensor(self, data: Any, *, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor:
        """Call ``torch.tensor(...)`` with this tensor's dtype and device by default."""
    @overload
    def new_zeros(self, *size: _int, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor:
        """Call ``torch.zeros(...)`` with this tensor's dtype and device by default."""
    @overload
    def new_zeros(self, size: Sequence[_int], *, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor: ...
    def nextafter(self, other: Tensor) -> Tensor:
        """Return the next representable floating-point number after ``input`` towards ``other``; the derivative is 1."""
    def nextafter_(self, other: Tensor) -> Tensor:
        """In-place version of ``nextafter``: writes the result into this tensor and returns it."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor:
        """Return the indices of the nonzero elements, shape (count, ndim); or a tuple with one tensor per dimension."""
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """Return the indices of the first ``size`` nonzero elements, shape (size, ndim), padded with ``fill_value``."""
    def norm(self, p: _float | str | None = 'fro', dim: Dims = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """Compute the p-norm of all elements or over ``dim``: (sum of abs(x)^p)^(1/p)."""
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with samples of the normal distribution."""
    def not_equal(self, other: Tensor | Number) -> Tensor:
        """Return ``input != other``, elementwise."""
    def not_equal_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``ne``: writes the result into this tensor and returns it."""
    def orgqr(self, tau: Tensor) -> Tensor:
        """Return the first n columns of Q = H1 H2 ... Hk, a product of Householder reflections from :func:`geqrf`."""
    def ormqr(self, tau: Tensor, other: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """Multiply Q, given as Householder reflections, and another matrix, without forming Q."""
    def outer(self, vec2: Tensor) -> Tensor:
        """Compute the outer product of two vectors: (n,) and (m,) give (n, m)."""
    @overload
    def permute(self, *dims: _int) -> Tensor:
        """Return a view with the dimensions permuted."""
    @overload
    def permute(self, dims: Sequence[_int]) -> Tensor: ...
    def pin_memory(self, device: Any = None) -> Tensor:
        """Return a copy of a CPU tensor in pinned (page-locked) memory; the tensor itself if it is pinned already."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """Return the pseudoinverse of each matrix; see :func:`linalg.pinv`."""
    def polygamma(self, n: _int) -> Tensor:
        """Compute the n-th derivative of the digamma function."""
    def polygamma_(self, n: _int) -> Tensor:
        """In-place version of ``polygamma``: writes the result into this tensor and returns it."""
    def positive(self) -> Tensor:
        """Return the tensor itself: ``+input``."""
    def pow(self, exponent: Tensor | Number) -> Tensor:
        """Compute ``input ** exponent``, elementwise; either may be a number."""
    def pow_(self, exponent: Tensor | Number) -> Tensor:
        """In-place version of ``pow``: writes the result into this tensor and returns it."""
    def prelu(self, weight: Tensor) -> Tensor:
        """Return ``input`` where it is positive, otherwise ``weight * input``."""
    @overload
    def prod(self, *, dtype: dtype | None = None) -> Tensor:
        """Return the product of all elements or over one dimension; int64 for integers and bools."""
    @overload
    def prod(self, dim: _int, keepdim: _bool = False, *, dtype: dtype | None = None, keepdims: _bool = False) -> Tensor: ...
    @overload
    def prod(self, *, axis: _int, keepdim: _bool = False, dtype: dtype | None = None, keepdims: _bool = False) -> Tensor: ...
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """Return a copy with the elements at flat indices replaced by those of ``source``."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place version of ``put``: writes the result into this tensor and returns it."""
    def qr(self, some: _bool = True) -> return_types.qr:
        """Factor a matrix into Q with orthonormal columns and an upper triangular R; see :func:`linalg.qr`."""
    def quantile(self, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """Return the q-quantiles of all elements or along ``dim``; nan propagates."""
    def rad2deg(self) -> Tensor:
        """Convert radians to degrees."""
    def rad2deg_(self) -> Tensor:
        """In-place version of ``rad2deg``: writes the result into this tensor and returns it."""
    @overload
    def random_(self, from_: _int = 0, to: _int | None = None, *, generator: Generator | None = None) -> Tensor:
        """Fill with random integers in [``from``, ``to``): ``random_()``, ``random_(to)`` or ``random_(from, to)``."""
    @overload
    def random_(self, to: _int, *, generator: Generator | None = None) -> Tensor: ...
    def ravel(self) -> Tensor:
        """Return the tensor flattened to one dimension; a view where possible."""
    @property
    def real(self) -> Tensor:
        """Return the real part, as a view; a real tensor is returned itself."""
    @real.setter
    def real(self, value: Any) -> None: ...
    def reciprocal(self) -> Tensor:
        """Compute ``1 / input``, elementwise; integers give floats."""
    def reciprocal_(self) -> Tensor:
        """In-place version of ``reciprocal``: writes the result into this tensor and returns it."""
    def relu(self) -> Tensor:
        """Compute the rectified linear unit ``max(x, 0)`` of each element; the derivative at 0 is 0."""
    def relu_(self) -> Tensor:
        """In-place version of ``relu``: writes the result into this tensor and returns it."""
    def remainder(self, other: Tensor | Number) -> Tensor:
        """Compute ``input % other``, the remainder of floor division, which has the sign of the divisor."""
    def remainder_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``remainder``: writes the result into this tensor and returns it."""
    @overload
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """Scale each slice along ``dim`` whose p-norm exceeds ``maxnorm`` down to it."""
    @overload
    def renorm(self, p: _float, *, axis: _int, maxnorm: _float) -> Tensor: ...
    @overload
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """In-place version of ``renorm``: writes the result into this tensor and returns it."""
    @overload
    def renorm_(self, p: _float, *, axis: _int, maxnorm: _float) -> Tensor: ...
    @overload
    def repeat(self, *repeats: _int) -> Tensor:
        """Return the tensor repeated along each dimension, copied."""
    @overload
    def repeat(self, repeats: Sequence[_int]) -> Tensor: ...
    def repeat_interleave(self, repeats: _int | Tensor | None = None, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
        """Return each element, or slice along ``dim``, repeated, with its copies next to each other."""
    @overload
    def reshape(self, *shape: _int) -> Tensor:
        """Return the tensor with another shape: a view where the strides allow it, otherwise a copy."""
    @overload
    def reshape(self, shape: Sequence[_int], /) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor:
        """Return the tensor reshaped to the shape of ``other``."""
    def resize(self, *sizes: Any) -> Any:
        """Return the tensor resized: the old form of ``view``, which warns."""
    @overload
    def resize_(self, *sizes: _int, memory_format: memory_format = ...) -> Tensor:
        """Resize the tensor in place, row-major; the storage grows if it is too small."""
    @overload
    def resize_(self, sizes: Sequence[_int], /, *, memory_format: memory_format = ...) -> Tensor: ...
    def resize_as(self, tensor: Any) -> Any:
        """Return the tensor resized: the old form of ``view_as``, which warns."""
    def resize_as_(self, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
        """Resize the tensor in place to the shape of another tensor."""
    def resolve_conj(self) -> Tensor:
        """Return the tensor itself: it has no lazy conjugate views to materialize."""
    def resolve_neg(self) -> Tensor:
        """Return the tensor itself: it has no lazy negative views to materialize."""
    def roll(self, shifts: _int | tuple[_int, ...] | list[_int], dims: Any = None) -> Tensor:
        """Return the tensor shifted circularly along dimensions."""
    def rot90(self, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor:
        """Return the tensor rotated by 90 degrees ``k`` times in the plane of two dimensions, from the first to the second."""
    def round(self, *, decimals: _int = 0) -> Tensor:
        """Round each element to ``decimals`` places, half to even; the derivative is 0."""
    def round_(self, *, decimals: _int = 0) -> Tensor:
        """In-place version of ``round``: writes the result into this tensor and returns it."""
    def rsqrt(self) -> Tensor:
        """Compute the reciprocal of the square root of each element."""
    def rsqrt_(self) -> Tensor:
        """In-place version of ``rsqrt``: writes the result into this tensor and returns it."""
    @overload
    def scatter(self, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
        """Return a copy of ``input`` with ``copy[index[i][j]][j] = src[i][j]`` for ``dim=0``, likewise for others."""
    @overload
    def scatter(self, *, axis: _int, index: Tensor, src: Any = None, value: Any = None, reduce: str | None = None) -> Tensor: ...
    @overload
    def scatter_(self, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
        """In-place version of ``scatter``: writes the result into this tensor and returns it."""
    @overload
    def scatter_(self, *, axis: _int, index: Tensor, src: Any = None, value: Any = None, reduce: str | None = None) -> Tensor: ...
    @overload
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """Return a copy of ``input`` with ``copy[index[i][j]][j] += src[i][j]`` for ``dim=0``, likewise for others."""
    @overload
    def scatter_add(self, *, axis: _int, index: Tensor, src: Tensor) -> Tensor: ...
    @overload
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """In-place version of ``scatter_add``: writes the result into this tensor and returns it."""
    @overload
    def scatter_add_(self, *, axis: _int, index: Tensor, src: Tensor) -> Tensor: ...
    @overload
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """Return a copy of ``input`` with the elements of ``src`` reduced into the positions given by ``index``."""
    @overload
    def scatter_reduce(self, *, axis: _int, index: Tensor, src: Tensor, reduce: str, include_self: _bool = True) -> Tensor: ...
    @overload
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """In-place version of ``scatter_reduce``: writes the result into this tensor and returns it."""
    @overload
    def scatter_reduce_(self, *, axis: _int, index: Tensor, src: Tensor, reduce: str, include_self: _bool = True) -> Tensor: ...
    def select(self, dim: _int, index: _int) -> Tensor:
        """Return a view of the slice at ``index`` of a dimension, which is removed."""
    @overload
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """Return a copy of ``input`` with ``copy.select(dim, index)`` replaced by ``src``."""
    @overload
    def select_scatter(self, src: Tensor, *, axis: _int, index: _int) -> Tensor: ...
    def set_(self, source: Any = None, storage_offset: _int = 0, size: Any = None, stride: Any = None) -> Tensor:
        """Make this tensor share the storage of another tensor, or a storage; without ``source`` it becomes empty."""
    def sgn(self) -> Tensor:
        """Return the sign of each element: -1, 0 or 1; ``z / abs(z)`` for complex numbers."""
    def sgn_(self) -> Tensor:
        """In-place version of ``sgn``: writes the result into this tensor and returns it."""
    def short(self, memory_format: Any = None) -> Tensor:
        """Return the tensor cast to int16; the tensor itself if it has that dtype."""
    def sigmoid(self) -> Tensor:
        """Compute the logistic sigmoid ``1 / (1 + exp(-x))`` of each element."""
    def sigmoid_(self) -> Tensor:
        """In-place version of ``sigmoid``: writes the result into this tensor and returns it."""
    def sign(self) -> Tensor:
        """Return the sign of each element: -1, 0 or 1; 0 for nan."""
    def sign_(self) -> Tensor:
        """In-place version of ``sign``: writes the result into this tensor and returns it."""
    def signbit(self) -> Tensor:
        """Return whether the sign bit is set: the element is negative, or -0.0."""
    def sin(self) -> Tensor:
        """Compute the sine of each element, an angle in radians."""
    def sin_(self) -> Tensor:
        """In-place version of ``sin``: writes the result into this tensor and returns it."""
    def sinc(self) -> Tensor:
        """Compute the normalized sinc function ``sin(πx) / (πx)``: 1 at 0."""
    def sinc_(self) -> Tensor:
        """In-place version of ``sinc``: writes the result into this tensor and returns it."""
    def sinh(self) -> Tensor:
        """Compute the hyperbolic sine of each element."""
    def sinh_(self) -> Tensor:
        """In-place version of ``sinh``: writes the result into this tensor and returns it."""
    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, axis: _int = 0) -> Tensor:
        """Return a copy of ``input`` with the slice ``start:end:step`` of a dimension replaced by ``src``."""
    def slogdet(self) -> return_types.slogdet:
        """Return the sign and the logarithm of the absolute value of each determinant; see :func:`linalg.slogdet`."""
    def smm(self, mat: Tensor) -> Tensor:
        """Multiply a sparse matrix and a dense one; the result is a sparse tensor."""
    @overload
    def softmax(self, dim: _int, dtype: dtype | None = None) -> Tensor:
        """Compute softmax over ``dim``: ``exp(input) / sum(exp(input))``, without overflow."""
    @overload
    def softmax(self, *, axis: _int, dtype: dtype | None = None) -> Tensor: ...
    def sort(self, dim: _int = -1, descending: _bool = False, stable: _bool | None = False, *, axis: _int = -1) -> return_types.sort:
        """Return the elements sorted along ``dim``, and their indices; nan sorts as the largest."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """Return the elements at the coordinates of a sparse tensor, as a sparse tensor."""
    def split(self, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Return views of parts of ``split_size`` (the last may be smaller), or of the given sizes, along a dimension."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0, *, axis: _int = 0) -> tuple[Tensor, ...]:
        """Return views of parts of the given sizes along a dimension."""
    def sqrt(self) -> Tensor:
        """Compute the square root of each element; nan for negative elements."""
    def sqrt_(self) -> Tensor:
        """In-place version of ``sqrt``: writes the result into this tensor and returns it."""
    def square(self) -> Tensor:
        """Compute ``input ** 2``, elementwise."""
    def square_(self) -> Tensor:
        """In-place version of ``square``: writes the result into this tensor and returns it."""
    def squeeze(self, dim: Any = None, *, axis: Any = None) -> Tensor:
        """Return a view without dimensions of size 1: all of them, or those in ``dim``."""
    def squeeze_(self, dim: Any = None, *, axis: Any = None) -> Tensor:
        """In-place version of ``squeeze``: this tensor becomes the view."""
    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """Compute ``beta * input + alpha * (mat1 @ mat2)`` of two sparse matrices and a dense one, as a sparse tensor."""
    def std(self, dim: Dims | _bool = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, axis: Dims | _bool = None, keepdims: _bool = False) -> Tensor:
        """Return the standard deviation of all elements or over ``dim``: the square root of :func:`var`."""
    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: Any = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """Compute the short-time Fourier transform (STFT): the transforms of overlapping windowed frames of a signal."""
    def storage(self) -> TypedStorage:
        """Return the tensor's storage, as elements of its dtype."""
    def storage_offset(self) -> _int:
        """Return the index of the first element in the storage."""
    def storage_type(self) -> Any: ...
    def sub(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """Compute ``input - alpha * other``, elementwise, with broadcasting and type promotion."""
    def sub_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """In-place version of ``sub``: writes the result into this tensor and returns it."""
    def subtract(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """Compute ``input - alpha * other``, elementwise, with broadcasting and type promotion."""
    def subtract_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """In-place version of ``sub``: writes the result into this tensor and returns it."""
    def sum(self, dim: Dims = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """Return the sum of all elements or over ``dim``; int64 for integers and bools."""
    @overload
    def sum_to_size(self, *size: _int) -> Tensor:
        """Return the sum over the dimensions along which ``size`` broadcasts to the shape of ``input``."""
    @overload
    def sum_to_size(self, size: Sequence[_int]) -> Tensor: ...
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> return_types.svd:
        """Compute ``input = U diag(S) Vᴴ``, the SVD; see :func:`linalg.svd`, which returns Vᴴ, not V."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Return a view with two dimensions swapped (NumPy's name for ``transpose``)."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """In-place version of ``swapaxes``: this tensor becomes the view."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped (an alias of ``transpose``)."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place version of ``swapdims``: this tensor becomes the view."""
    def t(self) -> Tensor:
        """Return the transpose of a matrix, as a view; a tensor with fewer dimensions is returned itself."""
    def t_(self) -> Tensor:
        """In-place version of ``t``: this tensor becomes the view."""
    def take(self, index: Tensor) -> Tensor:
        """Return elements at flat indices: ``input.flatten()[index]``, in the shape of ``index``."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None, *, axis: _int | None = None) -> Tensor:
        """Gather elements by indices along ``dim``, such as those of ``argmax`` and ``argsort``; shapes are broadcast."""
    def tan(self) -> Tensor:
        """Compute the tangent of each element, an angle in radians."""
    def tan_(self) -> Tensor:
        """In-place version of ``tan``: writes the result into this tensor and returns it."""
    def tanh(self) -> Tensor:
        """Compute the hyperbolic tangent of each element."""
    def tanh_(self) -> Tensor:
        """In-place version of ``tanh``: writes the result into this tensor and returns it."""
    def tensor_split(self, indices_or_sections: Any = None, dim: _int = 0, *, indices: Any = None, sections: Any = None) -> tuple[Tensor, ...]:
        """Return views of parts along a dimension: a number of nearly equal ones, or split at the given indices."""
    @overload
    def tile(self, *dims: _int) -> Tensor:
        """Return the tensor repeated along each dimension, as NumPy's ``tile`` does; missing numbers are 1."""
    @overload
    def tile(self, dims: Sequence[_int], /) -> Tensor: ...
    @overload
    def to(self, dtype: dtype, non_blocking: _bool = False, copy: _bool = False, *, memory_format: memory_format | None = None) -> Tensor:
        """Return the tensor cast to a dtype and moved to a device; the tensor itself if nothing changes."""
    @overload
    def to(self, device: Device = None, dtype: dtype | None = None, non_blocking: _bool = False, copy: _bool = False, *, memory_format: memory_format | None = None) -> Tensor: ...
    @overload
    def to(self, other: Tensor, non_blocking: _bool = False, copy: _bool = False, *, memory_format: memory_format | None = None) -> Tensor: ...
    def to_sparse(self, sparse_dim: _int | None = None, *, layout: Any = None, blocksize: Any = None) -> Tensor:
        """Return the nonzero elements as a sparse tensor."""
    def to_sparse_bsc(self, blocksize: Any = None, dense_dim: _int | None = None) -> Tensor:
        """Raise: compressed blocks are not supported."""
    def to_sparse_bsr(self, blocksize: Any = None, dense_dim: _int | None = None) -> Tensor:
        """Raise: compressed blocks are not supported."""
    def to_sparse_coo(self) -> Tensor:
        """Return the nonzero elements as a sparse tensor of coordinates: ``to_sparse()``."""
    def to_sparse_csc(self, dense_dim: _int | None = None) -> Tensor:
        """Raise: compressed columns are not supported."""
    def to_sparse_csr(self, dense_dim: _int | None = None) -> Tensor:
        """Return the nonzero elements of a matrix as a sparse matrix of compressed rows."""
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, axis: _int = -1) -> return_types.topk:
        """Return the ``k`` largest (or smallest) elements along ``dim``, and their indices."""
    def trace(self) -> Tensor:
        """Return the trace of a matrix: the sum of its diagonal."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place version of ``transpose``: this tensor becomes the view."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> return_types.triangular_solve:
        """Return the solution X of ``A @ X = input`` with triangular A, and a copy of A."""
    def tril(self, diagonal: _int = 0) -> Tensor:
        """Return the lower triangle of each matrix; the elements above the diagonal are 0."""
    def tril_(self, diagonal: _int = 0) -> Tensor:
        """In-place version of ``tril``: writes the result into this tensor and returns it."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """Return the upper triangle of each matrix; the elements below the diagonal are 0."""
    def triu_(self, diagonal: _int = 0) -> Tensor:
        """In-place version of ``triu``: writes the result into this tensor and returns it."""
    def true_divide(self, other: Tensor | Number) -> Tensor:
        """Compute ``input / other``, elementwise; integers give floats."""
    def true_divide_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``true_divide``: writes the result into this tensor and returns it."""
    def trunc(self) -> Tensor:
        """Truncate each element: round towards zero; the derivative is 0."""
    def trunc_(self) -> Tensor:
        """In-place version of ``trunc``: writes the result into this tensor and returns it."""
    @overload
    def type(self, dtype: None = None, non_blocking: _bool = False) -> str:
        """Return the name of the legacy tensor type; with ``dtype``, the tensor cast to it."""
    @overload
    def type(self, dtype: Any, non_blocking: _bool = False) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor:
        """Return the tensor cast to the dtype of ``other``, and moved to its device."""
    def unbind(self, dim: _int = 0, *, axis: _int = 0) -> tuple[Tensor, ...]:
        """Return the slices along a dimension, which is removed, as a tuple of views."""
    @overload
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """Return a view with one dimension expanded into several: the inverse of ``flatten``."""
    @overload
    def unflatten(self, *, axis: _int, sizes: Sequence[_int]) -> Tensor: ...
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Return a view of all sliding windows of ``size`` along a dimension, ``step`` apart, as a new last dimension."""
    def uniform_(self, from_: _float = 0.0, to: _float = 1.0, *, generator: Generator | None = None, **named: _float) -> Tensor:
        """Fill with samples of the uniform distribution on [``from``, ``to``)."""
    @overload
    def unique(self, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None, *, axis: _int | None = None) -> Tensor:
        """Return the unique elements, or slices along ``dim``, sorted; every nan is unique."""
    @overload
    def unique(self, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None, axis: _int | None = None) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: _bool = True, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: _int | None = None, axis: _int | None = None) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: _bool = True, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None, axis: _int | None = None) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None, *, axis: _int | None = None) -> Any: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None, *, axis: _int | None = None) -> Tensor:
        """Return the elements, or slices along ``dim``, without consecutive duplicates."""
    @overload
    def unique_consecutive(self, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None, *, axis: _int | None = None) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: _int | None = None, axis: _int | None = None) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None, *, axis: _int | None = None) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None, *, axis: _int | None = None) -> Any: ...
    def unsafe_chunk(self, chunks: _int, dim: _int = 0, *, axis: _int = 0) -> tuple[Tensor, ...]:
        """Split like ``chunk``; the parts may be modified in place, if the tensor itself is not used afterwards."""
    def unsafe_split(self, split_size: _int, dim: _int = 0, *, axis: _int = 0) -> tuple[Tensor, ...]:
        """Split like ``split``; the parts may be modified in place, if the tensor itself is not used afterwards."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0, *, axis: _int = 0) -> tuple[Tensor, ...]:
        """Split like ``split_with_sizes``; the parts may be modified in place, if the tensor itself is not used afterwards."""
    @overload
    def unsqueeze(self, dim: _int) -> Tensor:
        """Return a view with a dimension of size 1 inserted at ``dim``."""
    @overload
    def unsqueeze(self, *, axis: _int) -> Tensor: ...
    @overload
    def unsqueeze_(self, dim: _int) -> Tensor:
        """In-place version of ``unsqueeze``: this tensor becomes the view."""
    @overload
    def unsqueeze_(self, *, axis: _int) -> Tensor: ...
    def untyped_storage(self) -> UntypedStorage:
        """Return the tensor's storage, as bytes."""
    def var(self, dim: Dims | _bool = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, axis: Dims | _bool = None, keepdims: _bool = False) -> Tensor:
        """Return the variance of all elements or over ``dim``."""
    def vdot(self, other: Tensor) -> Tensor:
        """Compute the dot product of two vectors, the first of which is conjugated."""
    @overload
    def view(self, *shape: _int) -> Tensor:
        """Return a view with another shape, one size of which may be -1, or with the bytes reinterpreted as another dtype."""
    @overload
    def view(self, size: Sequence[_int]) -> Tensor: ...
    @overload
    def view(self, dtype: dtype) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor:
        """Return a view with the shape of ``other``."""
    def vsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Return views of parts split vertically: along dimension 0, in equal parts or at indices."""
    def where(self, condition: Tensor, other: Tensor | Number) -> Tensor:
        """Return the elements of the tensor where ``condition`` is true, elsewhere those of ``other``."""
    def xlogy(self, other: Tensor | Number) -> Tensor:
        """Compute ``input * log(other)``: 0 where ``input`` is 0, unless ``other`` is nan."""
    def xlogy_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``xlogy``: writes the result into this tensor and returns it."""
    def zero_(self) -> Tensor:
        """In-place version of ``zero``: writes the result into this tensor and returns it."""
