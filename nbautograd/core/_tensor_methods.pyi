# Written by docs/stubs.py from what is declared; do not edit. Signatures that differ are in docs/overloads.pyi.

from typing import TypeAlias, overload

from collections.abc import Sequence
from nbautograd.arrays.device import device
from nbautograd.arrays.dtypes import dtype
from nbautograd.arrays.memory_format import memory_format
from nbautograd.autograd.backward import GradientEdge
from nbautograd.core.storage import TypedStorage
from nbautograd.core.storage import UntypedStorage
from nbautograd.core.tensor import Tensor
from nbautograd.rng.generator import Generator
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
        """A matrix transposed and conjugated."""
    @property
    def T(self) -> Tensor:
        """All dimensions reversed."""
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
    def __reversed__(self) -> Tensor: ...
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
    @property
    def _base(self) -> Any:
        """The tensor that this is a view of."""
    def _is_view(self) -> _bool: ...
    def abs(self) -> Tensor:
        """The absolute value; its derivative at 0 is 0."""
    def abs_(self) -> Tensor:
        """In-place version of ``abs``: writes the result into this tensor and returns it."""
    def absolute(self) -> Tensor:
        """The absolute value; its derivative at 0 is 0."""
    def absolute_(self) -> Tensor:
        """In-place version of ``abs``: writes the result into this tensor and returns it."""
    def acos(self) -> Tensor:
        """The angle, in radians, whose cosine each element is."""
    def acos_(self) -> Tensor:
        """In-place version of ``acos``: writes the result into this tensor and returns it."""
    def acosh(self) -> Tensor:
        """The inverse hyperbolic cosine; nan below 1."""
    def acosh_(self) -> Tensor:
        """In-place version of ``acosh``: writes the result into this tensor and returns it."""
    def add(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """``input + alpha * other``."""
    def add_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """In-place version of ``add``: writes the result into this tensor and returns it."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """``beta * input + alpha * sum(batch1[i] @ batch2[i])``."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """In-place version of ``addbmm``: writes the result into this tensor and returns it."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
        """``input + value * tensor1 / tensor2``."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
        """In-place version of ``addcdiv``: writes the result into this tensor and returns it."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
        """``input + value * tensor1 * tensor2``."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
        """In-place version of ``addcmul``: writes the result into this tensor and returns it."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)``, ``input`` being broadcast."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """In-place version of ``addmm``: writes the result into this tensor and returns it."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """``beta * input + alpha * (mat @ vec)``."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """In-place version of ``addmv``: writes the result into this tensor and returns it."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """``beta * input + alpha * outer(vec1, vec2)``."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """In-place version of ``addr``: writes the result into this tensor and returns it."""
    def adjoint(self) -> Tensor:
        """The last two dimensions exchanged and the elements conjugated."""
    def all(self, dim: Dims = None, keepdim: _bool = False, *, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """Whether all elements are nonzero."""
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether all pairs of elements are close; see ``isclose``."""
    def amax(self, dim: Dims = ..., keepdim: _bool = False, *, axis: Dims = ..., keepdims: _bool = False) -> Tensor:
        """The largest element over ``dim``; equal ones share the gradient."""
    def amin(self, dim: Dims = ..., keepdim: _bool = False, *, axis: Dims = ..., keepdims: _bool = False) -> Tensor:
        """The smallest element over ``dim``; equal ones share the gradient."""
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False, axis: _int | None = None, keepdims: _bool = False) -> return_types.aminmax:
        """The smallest and the largest elements, of all or along ``dim``, as ``(min, max)``."""
    def angle(self) -> Tensor:
        """The angle of each number in the complex plane, in radians: π for negative real ones, 0 for positive ones."""
    def any(self, dim: Dims = None, keepdim: _bool = False, *, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """Whether any element is nonzero."""
    def arccos(self) -> Tensor:
        """The angle, in radians, whose cosine each element is."""
    def arccos_(self) -> Tensor:
        """In-place version of ``acos``: writes the result into this tensor and returns it."""
    def arccosh(self) -> Tensor:
        """The inverse hyperbolic cosine; nan below 1."""
    def arccosh_(self) -> Tensor:
        """In-place version of ``acosh``: writes the result into this tensor and returns it."""
    def arcsin(self) -> Tensor:
        """The angle, in radians, whose sine each element is."""
    def arcsin_(self) -> Tensor:
        """In-place version of ``asin``: writes the result into this tensor and returns it."""
    def arcsinh(self) -> Tensor:
        """The inverse hyperbolic sine."""
    def arcsinh_(self) -> Tensor:
        """In-place version of ``asinh``: writes the result into this tensor and returns it."""
    def arctan(self) -> Tensor:
        """The angle, in radians, whose tangent each element is."""
    def arctan2(self, other: Tensor) -> Tensor:
        """The angle, in radians, of the point with ordinate ``input`` and abscissa ``other``."""
    def arctan2_(self, other: Tensor) -> Tensor:
        """In-place version of ``atan2``: writes the result into this tensor and returns it."""
    def arctan_(self) -> Tensor:
        """In-place version of ``atan``: writes the result into this tensor and returns it."""
    def arctanh(self) -> Tensor:
        """The inverse hyperbolic tangent; nan outside [-1, 1]."""
    def arctanh_(self) -> Tensor:
        """In-place version of ``atanh``: writes the result into this tensor and returns it."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """The index of the largest element, the first of equals, in the flattened tensor or along ``dim``."""
    def argmin(self, dim: _int | None = None, keepdim: _bool = False, *, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """The index of the smallest element, the first of equals, in the flattened tensor or along ``dim``."""
    def argsort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, axis: _int = -1) -> Tensor:
        """The indices that sort the elements along ``dim``; equal ones keep their order."""
    def argwhere(self) -> Tensor:
        """The indices of the nonzero elements, a row for each."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """The memory that the tensor is part of, read at any strides: a view, whose elements may overlap."""
    def as_strided_(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """In-place version of ``as_strided``: this very tensor becomes that view of its memory."""
    def as_strided_scatter(self, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
        """A copy with the elements replaced that ``as_strided`` shows."""
    def asin(self) -> Tensor:
        """The angle, in radians, whose sine each element is."""
    def asin_(self) -> Tensor:
        """In-place version of ``asin``: writes the result into this tensor and returns it."""
    def asinh(self) -> Tensor:
        """The inverse hyperbolic sine."""
    def asinh_(self) -> Tensor:
        """In-place version of ``asinh``: writes the result into this tensor and returns it."""
    def atan(self) -> Tensor:
        """The angle, in radians, whose tangent each element is."""
    def atan2(self, other: Tensor) -> Tensor:
        """The angle, in radians, of the point with ordinate ``input`` and abscissa ``other``."""
    def atan2_(self, other: Tensor) -> Tensor:
        """In-place version of ``atan2``: writes the result into this tensor and returns it."""
    def atan_(self) -> Tensor:
        """In-place version of ``atan``: writes the result into this tensor and returns it."""
    def atanh(self) -> Tensor:
        """The inverse hyperbolic tangent; nan outside [-1, 1]."""
    def atanh_(self) -> Tensor:
        """In-place version of ``atanh``: writes the result into this tensor and returns it."""
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge] | None = None) -> None:
        """Add the gradients of this tensor to the ``.grad`` of the leaves that it was computed from."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """``beta * input + alpha * (batch1 @ batch2)`` for each pair of matrices."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
        """In-place version of ``baddbmm``: writes the result into this tensor and returns it."""
    def bernoulli(self, p: _float | None = None, *, generator: Generator | None = None) -> Tensor:
        """1 with the probability that each element gives, or with probability ``p``; otherwise 0."""
    def bernoulli_(self, p: Tensor | _float = 0.5, *, generator: Generator | None = None) -> Tensor:
        """Fill with 1 with probability ``p``, otherwise 0."""
    def bfloat16(self, memory_format: Any = None) -> Tensor:
        """The tensor in dtype bfloat16; itself if it is so already."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each of 0, 1, 2, ... occurs; or the sum of the weights of each."""
    def bitwise_and(self, other: Tensor | Number) -> Tensor:
        """The bits that both integers have set; "and" of bools."""
    def bitwise_and_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``bitwise_and``: writes the result into this tensor and returns it."""
    def bitwise_left_shift(self, other: Tensor | Number) -> Tensor:
        """Each integer's bits shifted left."""
    def bitwise_left_shift_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``bitwise_left_shift``: writes the result into this tensor and returns it."""
    def bitwise_not(self) -> Tensor:
        """Each bit flipped; "not" of bools."""
    def bitwise_not_(self) -> Tensor:
        """In-place version of ``bitwise_not``: writes the result into this tensor and returns it."""
    def bitwise_or(self, other: Tensor | Number) -> Tensor:
        """The bits that at least one integer has set; "or" of bools."""
    def bitwise_or_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``bitwise_or``: writes the result into this tensor and returns it."""
    def bitwise_right_shift(self, other: Tensor | Number) -> Tensor:
        """Each integer's bits shifted right."""
    def bitwise_right_shift_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``bitwise_right_shift``: writes the result into this tensor and returns it."""
    def bitwise_xor(self, other: Tensor | Number) -> Tensor:
        """The bits that exactly one integer has set; "exclusive or" of bools."""
    def bitwise_xor_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``bitwise_xor``: writes the result into this tensor and returns it."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Products of pairs of matrices: (b, n, m) with (b, m, p) gives (b, n, p)."""
    def bool(self, memory_format: Any = None) -> Tensor:
        """The tensor in dtype bool; itself if it is so already."""
    def broadcast_to(self, size: Sequence[_int]) -> Tensor:
        """The tensor broadcast to a shape without copying."""
    def byte(self, memory_format: Any = None) -> Tensor:
        """The tensor in dtype uint8; itself if it is so already."""
    def cast(self, dtype: Any) -> Tensor:
        """The values in another dtype, a NumPy one."""
    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with numbers of the Cauchy distribution, half of which lie within ``sigma`` of the median."""
    def cdouble(self, memory_format: Any = None) -> Tensor:
        """The tensor in dtype complex128; itself if it is so already."""
    def ceil(self) -> Tensor:
        """Each element rounded up; the derivative is 0."""
    def ceil_(self) -> Tensor:
        """In-place version of ``ceil``: writes the result into this tensor and returns it."""
    def cfloat(self, memory_format: Any = None) -> Tensor:
        """The tensor in dtype complex64; itself if it is so already."""
    def char(self, memory_format: Any = None) -> Tensor:
        """The tensor in dtype int8; itself if it is so already."""
    def cholesky(self, upper: _bool = False) -> Tensor:
        """The Cholesky factor, as :func:`linalg.cholesky` gives it."""
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """The inverse of A = L Lᴴ, given the Cholesky factor L."""
    def cholesky_solve(self, L: Tensor, upper: _bool = False) -> Tensor:
        """The solution X of ``A @ X = B``, given the Cholesky factor L of A = L Lᴴ."""
    def chunk(self, chunks: _int, dim: _int = 0, *, axis: _int = 0) -> tuple[Tensor, ...]:
        """At most ``chunks`` parts of equal length (the last may be shorter) along one dimension."""
    def clamp(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """Each element brought into [``min``, ``max``]; the derivative is 1 inside and at the bounds, 0 outside."""
    def clamp_(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """In-place version of ``clamp``: writes the result into this tensor and returns it."""
    def clamp_max(self, max: Tensor | Number) -> Tensor:
        """Each element, or ``max`` where it is more than that."""
    def clamp_max_(self, max: Tensor | Number) -> Tensor:
        """In-place version of ``clamp_max``: writes the result into this tensor and returns it."""
    def clamp_min(self, min: Tensor | Number) -> Tensor:
        """Each element, or ``min`` where it is less than that."""
    def clamp_min_(self, min: Tensor | Number) -> Tensor:
        """In-place version of ``clamp_min``: writes the result into this tensor and returns it."""
    def clip(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """Each element brought into [``min``, ``max``]; the derivative is 1 inside and at the bounds, 0 outside."""
    def clip_(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
        """In-place version of ``clamp``: writes the result into this tensor and returns it."""
    def clone(self, *, memory_format: Any = None) -> Tensor:
        """A copy, differentiable."""
    def conj(self) -> Tensor:
        """The complex conjugate; a real tensor as it is."""
    def conj_physical(self) -> Tensor:
        """The complex conjugate as a copy; a real tensor unchanged."""
    def conj_physical_(self) -> Tensor:
        """In-place version of ``conj_physical``: writes the result into this tensor and returns it."""
    def contiguous(self, memory_format: Any = ...) -> Tensor:
        """The tensor itself if its elements lie in memory in row-major order, otherwise a copy in that order."""
    def copy_(self, src: Tensor, non_blocking: _bool = False) -> Tensor:
        """In-place version of ``copy``: writes the result into this tensor and returns it."""
    def copysign(self, other: Tensor | Number) -> Tensor:
        """The absolute value of ``input`` with the sign of ``other``."""
    def copysign_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``copysign``: writes the result into this tensor and returns it."""
    def corrcoef(self) -> Tensor:
        """The correlation coefficients of variables, the rows of ``input``, whose columns are observations."""
    def cos(self) -> Tensor:
        """The cosine of each element, in radians."""
    def cos_(self) -> Tensor:
        """In-place version of ``cos``: writes the result into this tensor and returns it."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""
    def cosh_(self) -> Tensor:
        """In-place version of ``cosh``: writes the result into this tensor and returns it."""
    def count_nonzero(self, dim: Dims = None, *, axis: Dims = None) -> Tensor:
        """How many elements are nonzero."""
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariance matrix of variables, the rows of ``input``, whose columns are observations."""
    def cpu(self, memory_format: Any = None) -> Tensor:
        """The tensor on the CPU; itself if it is there already."""
    def cross(self, other: Tensor, dim: _int | None = None, *, axis: _int | None = None) -> Tensor:
        """The cross products of vectors of three elements."""
    def cuda(self, device: Any = None, non_blocking: _bool = False, memory_format: Any = None) -> Tensor:
        """The tensor on a CUDA device, the current one by default."""
    @overload
    def cummax(self, dim: _int) -> return_types.cummax:
        """The running maximum along ``dim``, and the index of each, the last of equals."""
    @overload
    def cummax(self, *, axis: _int) -> return_types.cummax: ...
    @overload
    def cummin(self, dim: _int) -> return_types.cummin:
        """The running minimum along ``dim``, and the index of each, the last of equals."""
    @overload
    def cummin(self, *, axis: _int) -> return_types.cummin: ...
    @overload
    def cumprod(self, dim: _int, *, dtype: dtype | None = None) -> Tensor:
        """The running product along ``dim``; of integers and bools, in int64."""
    @overload
    def cumprod(self, *, axis: _int, dtype: dtype | None = None) -> Tensor: ...
    @overload
    def cumprod_(self, dim: _int, *, dtype: dtype | None = None) -> Tensor:
        """In-place version of ``cumprod``: writes the result into this tensor and returns it."""
    @overload
    def cumprod_(self, *, axis: _int, dtype: dtype | None = None) -> Tensor: ...
    @overload
    def cumsum(self, dim: _int, *, dtype: dtype | None = None) -> Tensor:
        """The running sum along ``dim``; of integers and bools, in int64."""
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
        """The determinant of each matrix."""
    def diag(self, diagonal: _int = 0) -> Tensor:
        """A vector as the diagonal of a matrix of zeros; the diagonal of a matrix, copied."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """The last dimension on the diagonal over two dimensions of a tensor of zeros."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """All elements, one after the other, on the diagonal of a matrix of zeros."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The diagonal over two dimensions, put last; the memory is shared."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A copy with the diagonal over two dimensions replaced."""
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, axis: _int = -1) -> Tensor:
        """The difference of each element and the one before along ``dim``, ``n`` times over; of bools, whether they differ."""
    def digamma(self) -> Tensor:
        """The derivative of the logarithm of the gamma function; -inf at 0, nan at negative integers."""
    def digamma_(self) -> Tensor:
        """In-place version of ``digamma``: writes the result into this tensor and returns it."""
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """The p-norm of ``input - other``."""
    def div(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
        """The quotient, exact or rounded to an integer."""
    def div_(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
        """In-place version of ``div``: writes the result into this tensor and returns it."""
    def divide(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
        """The quotient, exact or rounded to an integer."""
    def divide_(self, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
        """In-place version of ``div``: writes the result into this tensor and returns it."""
    def dot(self, tensor: Tensor) -> Tensor:
        """The sum of the products of two vectors' elements."""
    def double(self, memory_format: Any = None) -> Tensor:
        """The tensor in dtype float64; itself if it is so already."""
    def dsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Parts along dimension 2; a number of equal ones, or cut at the given indices."""
    def eq(self, other: Tensor | Number) -> Tensor:
        """Whether each pair of elements is equal."""
    def eq_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``eq``: writes the result into this tensor and returns it."""
    def equal(self, other: Tensor) -> _bool:
        """Whether the shapes are the same and all elements are equal."""
    def erf(self) -> Tensor:
        """The error function (DLMF 7.2.1)."""
    def erf_(self) -> Tensor:
        """In-place version of ``erf``: writes the result into this tensor and returns it."""
    def erfc(self) -> Tensor:
        """``1 - erf(input)``, accurate where that is tiny."""
    def erfc_(self) -> Tensor:
        """In-place version of ``erfc``: writes the result into this tensor and returns it."""
    def erfinv(self) -> Tensor:
        """The inverse of the error function: nan outside [-1, 1]."""
    def erfinv_(self) -> Tensor:
        """In-place version of ``erfinv``: writes the result into this tensor and returns it."""
    def exp(self) -> Tensor:
        """``exp(x)`` of each element."""
    def exp2(self) -> Tensor:
        """2 to the power of each element."""
    def exp2_(self) -> Tensor:
        """In-place version of ``exp2``: writes the result into this tensor and returns it."""
    def exp_(self) -> Tensor:
        """In-place version of ``exp``: writes the result into this tensor and returns it."""
    @overload
    def expand(self, *size: _int) -> Tensor:
        """Dimensions of length 1 repeated without copying; -1 leaves a length as it is, new ones come first."""
    @overload
    def expand(self, size: Sequence[_int]) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor:
        """The tensor expanded to the shape of ``other``."""
    def expm1(self) -> Tensor:
        """``exp(input) - 1``, accurate near 0."""
    def expm1_(self) -> Tensor:
        """In-place version of ``expm1``: writes the result into this tensor and returns it."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with waiting times of events that come ``lambd`` times per unit."""
    def fill_(self, value: Tensor | Number) -> Tensor:
        """In-place version of ``fill``: writes the result into this tensor and returns it."""
    def fill_diagonal_(self, fill_value: Any, wrap: _bool = False) -> Tensor:
        """Write one value on the main diagonal, in place."""
    def fix(self) -> Tensor:
        """Each element rounded towards zero; the derivative is 0."""
    def fix_(self) -> Tensor:
        """In-place version of ``trunc``: writes the result into this tensor and returns it."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """The dimensions from ``start_dim`` to ``end_dim`` merged into one."""
    @overload
    def flip(self, *dims: _int) -> Tensor:
        """The order of the elements along ``dims`` reversed, copied."""
    @overload
    def flip(self, dims: Sequence[_int]) -> Tensor: ...
    def fliplr(self) -> Tensor:
        """The columns in reversed order, copied."""
    def flipud(self) -> Tensor:
        """The rows in reversed order, copied."""
    def float(self, memory_format: Any = None) -> Tensor:
        """The tensor in dtype float32; itself if it is so already."""
    def float_power(self, exponent: Tensor | Number) -> Tensor:
        """``input`` to the power ``exponent``, in double precision."""
    def float_power_(self, exponent: Tensor | Number) -> Tensor:
        """In-place version of ``float_power``: writes the result into this tensor and returns it."""
    def floor(self) -> Tensor:
        """Each element rounded down; the derivative is 0."""
    def floor_(self) -> Tensor:
        """In-place version of ``floor``: writes the result into this tensor and returns it."""
    def floor_divide(self, other: Tensor | Number) -> Tensor:
        """The quotient rounded down; not differentiable (``div(..., rounding_mode="floor")`` is)."""
    def floor_divide_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``floor_divide``: writes the result into this tensor and returns it."""
    def fmax(self, other: Tensor) -> Tensor:
        """The larger of each pair of elements, the other where one is nan; of equal ones, ``input`` has the gradient."""
    def fmin(self, other: Tensor) -> Tensor:
        """The smaller of each pair of elements, the other where one is nan; of equal ones, ``input`` has the gradient."""
    def fmod(self, other: Tensor | Number) -> Tensor:
        """The remainder of division truncated towards zero; it has the sign of the dividend."""
    def fmod_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``fmod``: writes the result into this tensor and returns it."""
    def frac(self) -> Tensor:
        """The fractional part, ``input - trunc(input)``; it has the sign of the input."""
    def frac_(self) -> Tensor:
        """In-place version of ``frac``: writes the result into this tensor and returns it."""
    def frexp(self) -> return_types.frexp:
        """Each element as mantissa and exponent: ``mantissa * 2 ** exponent``, with 0.5 ≤ \\\\|mantissa\\\\| < 1."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``, and the like for other dimensions."""
    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisor of each pair of integers."""
    def gcd_(self, other: Tensor) -> Tensor:
        """In-place version of ``gcd``: writes the result into this tensor and returns it."""
    def ge(self, other: Tensor | Number) -> Tensor:
        """Whether each element is greater than or equal to the other."""
    def ge_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``ge``: writes the result into this tensor and returns it."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Tensor:
        """Fill with numbers of trials, each a success with probability ``p``, up to the first success."""
    def geqrf(self) -> return_types.geqrf:
        """QR in LAPACK's form: R with the vectors of Q's reflections below it, and their scalars."""
    def ger(self, vec2: Tensor) -> Tensor:
        """All products of the elements of two vectors: (n,) with (m,) gives (n, m)."""
    def get_device(self) -> _int:
        """The index of the CUDA device that the tensor is on; -1 for the CPU."""
    def greater(self, other: Tensor | Number) -> Tensor:
        """Whether each element is greater than the other."""
    def greater_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``gt``: writes the result into this tensor and returns it."""
    def greater_equal(self, other: Tensor | Number) -> Tensor:
        """Whether each element is greater than or equal to the other."""
    def greater_equal_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``ge``: writes the result into this tensor and returns it."""
    def gt(self, other: Tensor | Number) -> Tensor:
        """Whether each element is greater than the other."""
    def gt_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``gt``: writes the result into this tensor and returns it."""
    def half(self, memory_format: Any = None) -> Tensor:
        """The tensor in dtype float16; itself if it is so already."""
    def hardshrink(self, lambd: _float = 0.5) -> Tensor:
        """``input``, but 0 between ``-lambd`` and ``lambd``."""
    def heaviside(self, values: Tensor) -> Tensor:
        """0 where ``input`` is negative, 1 where it is positive, ``values`` where it is 0; not differentiable."""
    def heaviside_(self, values: Tensor) -> Tensor:
        """In-place version of ``heaviside``: writes the result into this tensor and returns it."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor:
        """How many elements are in each of ``bins`` bins of equal width between ``min`` and ``max``, in the input's dtype."""
    def histogram(self, bins: _int | Tensor = 100, *, range: tuple[_float, _float] | None = None, weight: Tensor | None = None, density: _bool = False) -> return_types.histogram:
        """How many elements are in each bin, and the edges of the bins; a bin contains its lower edge, the last both."""
    def hsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Parts side by side: along dimension 1, or 0 of a vector; a number of equal ones, or cut at the given indices."""
    def hypot(self, other: Tensor) -> Tensor:
        """``sqrt(input ** 2 + other ** 2)``, without overflow."""
    def hypot_(self, other: Tensor) -> Tensor:
        """In-place version of ``hypot``: writes the result into this tensor and returns it."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0 (DLMF 10.25.2)."""
    def i0_(self) -> Tensor:
        """In-place version of ``i0``: writes the result into this tensor and returns it."""
    def igamma(self, other: Tensor) -> Tensor:
        """The regularized lower incomplete gamma function P(input, other), DLMF 8.2.4."""
    def igamma_(self, other: Tensor) -> Tensor:
        """In-place version of ``igamma``: writes the result into this tensor and returns it."""
    def igammac(self, other: Tensor) -> Tensor:
        """The regularized upper incomplete gamma function Q(input, other) = 1 - P(input, other), DLMF 8.2.4."""
    def igammac_(self, other: Tensor) -> Tensor:
        """In-place version of ``igammac``: writes the result into this tensor and returns it."""
    @property
    def imag(self) -> Tensor:
        """The imaginary part, which shares the tensor's memory."""
    @imag.setter
    def imag(self, value: Any) -> None: ...
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
        """The slices of ``source``, times ``alpha``, added to those at ``index`` along a dimension, in a copy."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
        """In-place version of ``index_add``: writes the result into this tensor and returns it."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """The slices at ``index`` along a dimension replaced by those of ``source``, in a copy."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """In-place version of ``index_copy``: writes the result into this tensor and returns it."""
    def index_fill(self, dim: _int, index: Tensor, value: Tensor | Number) -> Tensor:
        """The slices at ``index`` along a dimension filled with one value, in a copy."""
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor | Number) -> Tensor:
        """In-place version of ``index_fill``: writes the result into this tensor and returns it."""
    def index_put(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy with the elements at ``indices`` replaced: ``x[indices] = values``."""
    def index_put_(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place version of ``index_put``: writes the result into this tensor and returns it."""
    @overload
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """The product, mean, largest or smallest of the slices of ``source`` that go to each index, in a copy."""
    @overload
    def index_reduce(self, *, axis: _int, index: Tensor, source: Tensor, reduce: str, include_self: _bool = True) -> Tensor: ...
    @overload
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """In-place version of ``index_reduce``: writes the result into this tensor and returns it."""
    @overload
    def index_reduce_(self, *, axis: _int, index: Tensor, source: Tensor, reduce: str, include_self: _bool = True) -> Tensor: ...
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """The slices at ``index``, a 1-d tensor of indices, along one dimension, copied."""
    def inner(self, other: Tensor) -> Tensor:
        """Dot products over the last dimension of both."""
    def int(self, memory_format: Any = None) -> Tensor:
        """The tensor in dtype int32; itself if it is so already."""
    def inverse(self) -> Tensor:
        """The inverse of each matrix."""
    def is_conj(self) -> _bool:
        """False: conjugates are computed at once, not when they are read."""
    def is_neg(self) -> _bool:
        """False: negatives are computed at once, not when they are read."""
    def is_nonzero(self) -> _bool:
        """Whether the only element is not zero."""
    def is_pinned(self, device: Any = None) -> _bool:
        """Whether the tensor is in memory that CUDA devices can copy from directly."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether both tensors have the same shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether two tensors are the same elements of the same memory."""
    def is_signed(self) -> _bool:
        """Whether the dtype has negative numbers."""
    def isclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Whether each pair of elements is close: ``|input - other| <= atol + rtol * |other|``."""
    def isfinite(self) -> Tensor:
        """Whether each element is neither infinite nor nan."""
    def isinf(self) -> Tensor:
        """Whether each element is infinite."""
    def isnan(self) -> Tensor:
        """Whether each element is nan."""
    def isneginf(self) -> Tensor:
        """Whether each element is minus infinity."""
    def isposinf(self) -> Tensor:
        """Whether each element is plus infinity."""
    def isreal(self) -> Tensor:
        """Whether each element has no imaginary part."""
    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
        """The signal of which ``input`` is the short-time Fourier transform :func:`stft`."""
    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: ``other`` once for each element of ``input``, multiplied by it, as blocks."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False, *, axis: _int = -1, keepdims: _bool = False) -> return_types.kthvalue:
        """The ``k``-th smallest element along ``dim``, counted from 1, and where it is."""
    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiple of each pair of integers."""
    def lcm_(self, other: Tensor) -> Tensor:
        """In-place version of ``lcm``: writes the result into this tensor and returns it."""
    def ldexp(self, other: Tensor) -> Tensor:
        """``input * 2 ** other``."""
    def ldexp_(self, other: Tensor) -> Tensor:
        """In-place version of ``ldexp``: writes the result into this tensor and returns it."""
    def le(self, other: Tensor | Number) -> Tensor:
        """Whether each element is less than or equal to the other."""
    def le_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``le``: writes the result into this tensor and returns it."""
    def lerp(self, end: Tensor, weight: Tensor | Number) -> Tensor:
        """``input + weight * (end - input)``."""
    def lerp_(self, end: Tensor, weight: Tensor | Number) -> Tensor:
        """In-place version of ``lerp``: writes the result into this tensor and returns it."""
    def less(self, other: Tensor | Number) -> Tensor:
        """Whether each element is less than the other."""
    def less_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``lt``: writes the result into this tensor and returns it."""
    def less_equal(self, other: Tensor | Number) -> Tensor:
        """Whether each element is less than or equal to the other."""
    def less_equal_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``le``: writes the result into this tensor and returns it."""
    def lgamma(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> Tensor:
        """In-place version of ``lgamma``: writes the result into this tensor and returns it."""
    def log(self) -> Tensor:
        """The natural logarithm; nan for negative elements, -inf for 0."""
    def log10(self) -> Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> Tensor:
        """In-place version of ``log10``: writes the result into this tensor and returns it."""
    def log1p(self) -> Tensor:
        """``log(1 + input)``, accurate near 0."""
    def log1p_(self) -> Tensor:
        """In-place version of ``log1p``: writes the result into this tensor and returns it."""
    def log2(self) -> Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> Tensor:
        """In-place version of ``log2``: writes the result into this tensor and returns it."""
    def log_(self) -> Tensor:
        """In-place version of ``log``: writes the result into this tensor and returns it."""
    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with numbers whose logarithm is normal, of this mean and standard deviation."""
    @overload
    def log_softmax(self, dim: _int, dtype: dtype | None = None) -> Tensor:
        """The logarithm of :func:`softmax`, computed without it."""
    @overload
    def log_softmax(self, *, axis: _int, dtype: dtype | None = None) -> Tensor: ...
    def logaddexp(self, other: Tensor) -> Tensor:
        """``log(exp(input) + exp(other))``, without overflow."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """``log2(2 ** input + 2 ** other)``, without overflow."""
    @overload
    def logcumsumexp(self, dim: _int) -> Tensor:
        """``log(cumsum(exp(input)))`` along ``dim``, without overflow."""
    @overload
    def logcumsumexp(self, *, axis: _int) -> Tensor: ...
    def logdet(self) -> Tensor:
        """The logarithm of each determinant: -inf where it is 0, nan where it is negative."""
    def logical_and(self, other: Tensor) -> Tensor:
        """Whether both elements are nonzero."""
    def logical_and_(self, other: Tensor) -> Tensor:
        """In-place version of ``logical_and``: writes the result into this tensor and returns it."""
    def logical_not(self) -> Tensor:
        """Whether each element is zero."""
    def logical_not_(self) -> Tensor:
        """In-place version of ``logical_not``: writes the result into this tensor and returns it."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Whether at least one element is nonzero."""
    def logical_or_(self, other: Tensor) -> Tensor:
        """In-place version of ``logical_or``: writes the result into this tensor and returns it."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Whether exactly one element is nonzero."""
    def logical_xor_(self, other: Tensor) -> Tensor:
        """In-place version of ``logical_xor``: writes the result into this tensor and returns it."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """``log(input / (1 - input))``, the inverse of the sigmoid."""
    def logit_(self, eps: _float | None = None) -> Tensor:
        """In-place version of ``logit``: writes the result into this tensor and returns it."""
    @overload
    def logsumexp(self, dim: Dims, keepdim: _bool = False, *, keepdims: _bool = False) -> Tensor:
        """``log(sum(exp(input)))`` over ``dim``, without overflow."""
    @overload
    def logsumexp(self, *, axis: Dims, keepdim: _bool = False, keepdims: _bool = False) -> Tensor: ...
    def long(self, memory_format: Any = None) -> Tensor:
        """The tensor in dtype int64; itself if it is so already."""
    def lt(self, other: Tensor | Number) -> Tensor:
        """Whether each element is less than the other."""
    def lt_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``lt``: writes the result into this tensor and returns it."""
    @overload
    def lu(self, pivot: _bool = True, get_infos: Literal[False] = False) -> tuple[Tensor, Tensor]:
        """LU in packed form and its pivots; see :func:`linalg.lu_factor`."""
    @overload
    def lu(self, pivot: _bool = True, *, get_infos: Literal[True]) -> tuple[Tensor, Tensor, Tensor]: ...
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """The solution X of ``A @ X = b``, given the LU of A; see :func:`linalg.lu_solve`."""
    @property
    def mH(self) -> Any:
        """The last two dimensions exchanged, conjugated."""
    @property
    def mT(self) -> Any:
        """The last two dimensions exchanged."""
    def masked_fill(self, mask: Tensor, value: Tensor | Number) -> Tensor:
        """``value`` where the bool tensor ``mask``, broadcast, is true; ``input`` elsewhere."""
    def masked_fill_(self, mask: Tensor, value: Tensor | Number) -> Tensor:
        """In-place version of ``masked_fill``: writes the result into this tensor and returns it."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """The elements where the bool tensor ``mask`` is true replaced by those of ``source``, one after the other."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """In-place version of ``masked_scatter``: writes the result into this tensor and returns it."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where the bool tensor ``mask`` is true, in one dimension."""
    def matmul(self, other: Tensor) -> Tensor:
        """The matrix product: of two vectors their dot product, of a matrix and a vector or of two matrices the usual one."""
    def matrix_exp(self) -> Tensor:
        """The exponential of square matrices, the sum of Aᵏ / k!."""
    def matrix_power(self, n: _int) -> Tensor:
        """The n-th power of square matrices, by repeated squaring; of the inverse for negative n."""
    @overload
    def max(self) -> Tensor:
        """The largest element; with ``dim``, the largest along it and where; with a tensor, element by element."""
    @overload
    def max(self, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False) -> return_types.max: ...
    @overload
    def max(self, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False) -> return_types.max: ...
    @overload
    def max(self, other: Tensor) -> Tensor: ...
    def maximum(self, other: Tensor) -> Tensor:
        """The larger of each pair of elements, nan where one is nan; equal ones share the gradient."""
    def mean(self, dim: Dims = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """The mean of the elements, all or over ``dim``."""
    @overload
    def median(self) -> Tensor:
        """The median of all elements, of two in the middle the smaller; with ``dim``, along it, and where it is."""
    @overload
    def median(self, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False) -> return_types.median: ...
    @overload
    def median(self, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False) -> return_types.median: ...
    @overload
    def min(self) -> Tensor:
        """The smallest element; with ``dim``, the smallest along it and where; with a tensor, element by element."""
    @overload
    def min(self, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False) -> return_types.min: ...
    @overload
    def min(self, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False) -> return_types.min: ...
    @overload
    def min(self, other: Tensor) -> Tensor: ...
    def minimum(self, other: Tensor) -> Tensor:
        """The smaller of each pair of elements, nan where one is nan; equal ones share the gradient."""
    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices, without broadcasting."""
    def mode(self, dim: _int = -1, keepdim: _bool = False, *, axis: _int = -1, keepdims: _bool = False) -> return_types.mode:
        """The most frequent element along ``dim``, of several the smallest, and where it is last."""
    def moveaxis(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """The dimensions ``source`` moved to ``destination``, the others kept in order."""
    def movedim(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """The dimensions ``source`` moved to ``destination``, the others kept in order."""
    def msort(self) -> Tensor:
        """The elements in order along the first dimension."""
    def mul(self, other: Tensor | Number) -> Tensor:
        """The product of each element of ``input`` with that of ``other``."""
    def mul_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``mul``: writes the result into this tensor and returns it."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None) -> Tensor:
        """``num_samples`` indices into the last dimension of ``input``, drawn with its elements as weights."""
    def multiply(self, other: Tensor | Number) -> Tensor:
        """The product of each element of ``input`` with that of ``other``."""
    def multiply_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``mul``: writes the result into this tensor and returns it."""
    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix (n, m) and a vector (m,)."""
    def mvlgamma(self, p: _int) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension ``p`` (DLMF 35.3.4)."""
    def mvlgamma_(self, p: _int) -> Tensor:
        """In-place version of ``mvlgamma``: writes the result into this tensor and returns it."""
    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """The elements with nan and the infinities replaced."""
    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """In-place version of ``nan_to_num``: writes the result into this tensor and returns it."""
    def nanmean(self, dim: Dims = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """The mean of the elements that are not nan, all or over ``dim``."""
    @overload
    def nanmedian(self) -> Tensor:
        """The median, as :func:`median`, of the elements that are not nan."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False, *, keepdims: _bool = False) -> return_types.nanmedian: ...
    @overload
    def nanmedian(self, *, axis: _int, keepdim: _bool = False, keepdims: _bool = False) -> return_types.nanmedian: ...
    def nanquantile(self, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """:func:`quantile` of the elements that are not nan."""
    def nansum(self, dim: Dims = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """The sum of the elements, all or over ``dim``, nan counted as 0."""
    @overload
    def narrow(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """``length`` entries of one dimension from ``start`` on; the memory is shared."""
    @overload
    def narrow(self, *, axis: _int, start: _int | Tensor, length: _int) -> Tensor: ...
    def narrow_copy(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """``narrow`` with memory of its own."""
    def ne(self, other: Tensor | Number) -> Tensor:
        """Whether each pair of elements differs."""
    def ne_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``ne``: writes the result into this tensor and returns it."""
    def neg(self) -> Tensor:
        """``-input``."""
    def neg_(self) -> Tensor:
        """In-place version of ``neg``: writes the result into this tensor and returns it."""
    def negative(self) -> Tensor:
        """``-input``."""
    def negative_(self) -> Tensor:
        """In-place version of ``neg``: writes the result into this tensor and returns it."""
    def new(self, *data: Any, **options: Any) -> Tensor:
        """A tensor of the same dtype on the same device: uninitialised, of the lengths given, or of given values."""
    @overload
    def new_empty(self, *size: _int, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor:
        """``torch.empty(...)`` in this tensor's dtype and on its device."""
    @overload
    def new_empty(self, size: Sequence[_int], *, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor: ...
    def new_empty_strided(self, size: Sequence[_int], stride: Sequence[_int], *, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor:
        """``torch.empty_strided(...)`` in this tensor's dtype and on its device."""
    def new_full(self, size: Sequence[_int], fill_value: Number, *, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor:
        """``torch.full(...)`` in this tensor's dtype and on its device."""
    @overload
    def new_ones(self, *size: _int, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor:
        """``torch.ones(...)`` in this tensor's dtype and on its device."""
    @overload
    def new_ones(self, size: Sequence[_int], *, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor: ...
    def new_tensor(self, data: Any, *, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor:
        """``torch.tensor(...)`` in this tensor's dtype and on its device."""
    @overload
    def new_zeros(self, *size: _int, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor:
        """``torch.zeros(...)`` in this tensor's dtype and on its device."""
    @overload
    def new_zeros(self, size: Sequence[_int], *, dtype: dtype | None = None, device: Device = None, requires_grad: _bool = False) -> Tensor: ...
    def nextafter(self, other: Tensor) -> Tensor:
        """The next floating-point number after ``input`` towards ``other``; the derivative is that of ``input``."""
    def nextafter_(self, other: Tensor) -> Tensor:
        """In-place version of ``nextafter``: writes the result into this tensor and returns it."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor:
        """The indices of the nonzero elements: one row each, or as a tuple with a tensor per dimension."""
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """The indices of the first ``size`` nonzero elements, a row for each; ``fill_value`` if there are less."""
    def norm(self, p: _float | str | None = 'fro', dim: Dims = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """The p-norm of the elements, all or over ``dim``: (sum of abs(x)^p)^(1/p); 2 by default."""
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
        """Fill with normal numbers."""
    def not_equal(self, other: Tensor | Number) -> Tensor:
        """Whether each pair of elements differs."""
    def not_equal_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``ne``: writes the result into this tensor and returns it."""
    def orgqr(self, tau: Tensor) -> Tensor:
        """The first columns of Q = H1 H2 ... Hk, a product of Householder reflections, as :func:`geqrf` makes them."""
    def ormqr(self, tau: Tensor, other: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """The product of Q, given by its reflections, and another matrix, without making Q."""
    def outer(self, vec2: Tensor) -> Tensor:
        """All products of the elements of two vectors: (n,) with (m,) gives (n, m)."""
    @overload
    def permute(self, *dims: _int) -> Tensor:
        """The dimensions in another order; the memory is shared."""
    @overload
    def permute(self, dims: Sequence[_int]) -> Tensor: ...
    def pin_memory(self, device: Any = None) -> Tensor:
        """A copy of a CPU tensor in memory that CUDA devices can copy from directly; itself if it is there already."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """The pseudoinverse of each matrix; see :func:`linalg.pinv`."""
    def polygamma(self, n: _int) -> Tensor:
        """The derivative of order ``n`` of the digamma function."""
    def polygamma_(self, n: _int) -> Tensor:
        """In-place version of ``polygamma``: writes the result into this tensor and returns it."""
    def positive(self) -> Tensor:
        """``+input``: the tensor itself."""
    def pow(self, exponent: Tensor | Number) -> Tensor:
        """``input`` to the power ``exponent``; either may be a number."""
    def pow_(self, exponent: Tensor | Number) -> Tensor:
        """In-place version of ``pow``: writes the result into this tensor and returns it."""
    def prelu(self, weight: Tensor) -> Tensor:
        """``input`` where it is positive, otherwise ``weight * input``."""
    def prod(self, dim: _int | None = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """The product of the elements, all or over one dimension; of integers and bools, in int64."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy with elements replaced, by their index in the flattened tensor."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """In-place version of ``put``: writes the result into this tensor and returns it."""
    def qr(self, some: _bool = True) -> return_types.qr:
        """A matrix as the product of Q with orthonormal columns and an upper triangular R; see :func:`linalg.qr`."""
    def quantile(self, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear', axis: _int | None = None, keepdims: _bool = False) -> Tensor:
        """The value below which a fraction ``q`` of the elements lies, of all or along ``dim``; nan if one is."""
    def rad2deg(self) -> Tensor:
        """Convert radians to degrees."""
    def rad2deg_(self) -> Tensor:
        """In-place version of ``rad2deg``: writes the result into this tensor and returns it."""
    @overload
    def random_(self, from_: _int = 0, to: _int | None = None, *, generator: Generator | None = None) -> Tensor:
        """``random_()``, ``random_(to)`` or ``random_(from, to)``: fill with integers in [``from``, ``to``)."""
    @overload
    def random_(self, to: _int, *, generator: Generator | None = None) -> Tensor: ...
    def ravel(self) -> Tensor:
        """The elements in one dimension."""
    @property
    def real(self) -> Tensor:
        """The real part, which shares the tensor's memory; a real tensor as it is."""
    @real.setter
    def real(self, value: Any) -> None: ...
    def reciprocal(self) -> Tensor:
        """``1 / input``."""
    def reciprocal_(self) -> Tensor:
        """In-place version of ``reciprocal``: writes the result into this tensor and returns it."""
    def relu(self) -> Tensor:
        """Each element, or 0 where it is negative; the derivative at 0 is 0."""
    def relu_(self) -> Tensor:
        """In-place version of ``relu``: writes the result into this tensor and returns it."""
    def remainder(self, other: Tensor | Number) -> Tensor:
        """The remainder of floor division; it has the sign of the divisor."""
    def remainder_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``remainder``: writes the result into this tensor and returns it."""
    @overload
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """Each slice along ``dim`` scaled down to a p-norm of at most ``maxnorm``."""
    @overload
    def renorm(self, p: _float, *, axis: _int, maxnorm: _float) -> Tensor: ...
    @overload
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """In-place version of ``renorm``: writes the result into this tensor and returns it."""
    @overload
    def renorm_(self, p: _float, *, axis: _int, maxnorm: _float) -> Tensor: ...
    @overload
    def repeat(self, *repeats: _int) -> Tensor:
        """The tensor repeated along each dimension, copied."""
    @overload
    def repeat(self, repeats: Sequence[_int]) -> Tensor: ...
    def repeat_interleave(self, repeats: _int | Tensor | None = None, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
        """Each element, or slice along a dimension, repeated, the copies side by side."""
    @overload
    def reshape(self, *shape: _int) -> Tensor:
        """The elements in another shape: a view where the memory allows it, otherwise a copy."""
    @overload
    def reshape(self, shape: Sequence[_int], /) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor:
        """The elements in the shape of ``other``."""
    @overload
    def resize_(self, *sizes: _int, memory_format: memory_format = ...) -> Tensor:
        """Give this very tensor another shape, row-major in its storage, which grows if it is too small."""
    @overload
    def resize_(self, sizes: Sequence[_int], /, *, memory_format: memory_format = ...) -> Tensor: ...
    def resize_as_(self, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
        """``resize_`` to the shape of another tensor."""
    def resolve_conj(self) -> Tensor:
        """The tensor itself: conjugates are always computed at once."""
    def resolve_neg(self) -> Tensor:
        """The tensor itself: negatives are always computed at once."""
    def roll(self, shifts: Any, dims: Any = None) -> Tensor:
        """The elements shifted along dimensions; what leaves at one end comes back at the other."""
    def rot90(self, k: _int = 1, dims: Any = ...) -> Tensor:
        """The tensor rotated ``k`` times by 90 degrees in the plane of two dimensions, from the first to the second."""
    def round(self, *, decimals: _int = 0) -> Tensor:
        """Each element rounded to ``decimals`` places, halves to the even neighbour; the derivative is 0."""
    def round_(self, *, decimals: _int = 0) -> Tensor:
        """In-place version of ``round``: writes the result into this tensor and returns it."""
    def rsqrt(self) -> Tensor:
        """``1 / sqrt(input)``."""
    def rsqrt_(self) -> Tensor:
        """In-place version of ``rsqrt``: writes the result into this tensor and returns it."""
    @overload
    def scatter(self, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
        """``out[index[i][j]][j] = src[i][j]`` for ``dim=0``, and the like for other dimensions, in a copy."""
    @overload
    def scatter(self, *, axis: _int, index: Tensor, src: Any = None, value: Any = None, reduce: str | None = None) -> Tensor: ...
    @overload
    def scatter_(self, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
        """In-place version of ``scatter``: writes the result into this tensor and returns it."""
    @overload
    def scatter_(self, *, axis: _int, index: Tensor, src: Any = None, value: Any = None, reduce: str | None = None) -> Tensor: ...
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """``out[index[i][j]][j] += src[i][j]`` for ``dim=0``, and the like for other dimensions, in a copy."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """In-place version of ``scatter_add``: writes the result into this tensor and returns it."""
    @overload
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """A copy in which the elements of ``src`` that go to each position are reduced: sum, product, mean, amax or amin."""
    @overload
    def scatter_reduce(self, *, axis: _int, index: Tensor, src: Tensor, reduce: str, include_self: _bool = True) -> Tensor: ...
    @overload
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """In-place version of ``scatter_reduce``: writes the result into this tensor and returns it."""
    @overload
    def scatter_reduce_(self, *, axis: _int, index: Tensor, src: Tensor, reduce: str, include_self: _bool = True) -> Tensor: ...
    def select(self, dim: _int, index: _int) -> Tensor:
        """The slice at ``index`` of one dimension, which goes away; the memory is shared."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """A copy with one slice of a dimension, as ``select`` shows it, replaced."""
    def set_(self, source: Any = None, storage_offset: _int = 0, size: Any = None, stride: Any = None) -> Tensor:
        """Let this very tensor share the memory of another one, or of a storage; without ``source`` it becomes empty."""
    def sgn(self) -> Tensor:
        """The sign: -1, 0 or 1; of a complex number, it divided by its absolute value."""
    def sgn_(self) -> Tensor:
        """In-place version of ``sgn``: writes the result into this tensor and returns it."""
    def short(self, memory_format: Any = None) -> Tensor:
        """The tensor in dtype int16; itself if it is so already."""
    def sigmoid(self) -> Tensor:
        """``1 / (1 + exp(-input))``, between 0 and 1."""
    def sigmoid_(self) -> Tensor:
        """In-place version of ``sigmoid``: writes the result into this tensor and returns it."""
    def sign(self) -> Tensor:
        """The sign: -1, 0 or 1; 0 for nan."""
    def sign_(self) -> Tensor:
        """In-place version of ``sign``: writes the result into this tensor and returns it."""
    def signbit(self) -> Tensor:
        """Whether the sign bit is set: the element is negative, or -0.0."""
    def sin(self) -> Tensor:
        """The sine of each element, in radians."""
    def sin_(self) -> Tensor:
        """In-place version of ``sin``: writes the result into this tensor and returns it."""
    def sinc(self) -> Tensor:
        """``sin(πx) / (πx)``, and 1 where ``input`` is 0."""
    def sinc_(self) -> Tensor:
        """In-place version of ``sinc``: writes the result into this tensor and returns it."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine."""
    def sinh_(self) -> Tensor:
        """In-place version of ``sinh``: writes the result into this tensor and returns it."""
    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, axis: _int = 0) -> Tensor:
        """A copy with a range of one dimension replaced."""
    def slogdet(self) -> return_types.slogdet:
        """The sign and the logarithm of the absolute value of each determinant; see :func:`linalg.slogdet`."""
    @overload
    def softmax(self, dim: _int, dtype: dtype | None = None) -> Tensor:
        """``exp(input)`` divided by its sum over ``dim``, without overflow."""
    @overload
    def softmax(self, *, axis: _int, dtype: dtype | None = None) -> Tensor: ...
    def sort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False, *, axis: _int = -1) -> return_types.sort:
        """The elements in order along ``dim``, and where each was; equal ones keep their order, nan is the largest."""
    def split(self, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]: ...
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0, *, axis: _int = 0) -> tuple[Tensor, ...]:
        """Parts of the given lengths along one dimension."""
    def sqrt(self) -> Tensor:
        """The square root; nan for negative elements."""
    def sqrt_(self) -> Tensor:
        """In-place version of ``sqrt``: writes the result into this tensor and returns it."""
    def square(self) -> Tensor:
        """``input ** 2``."""
    def square_(self) -> Tensor:
        """In-place version of ``square``: writes the result into this tensor and returns it."""
    def squeeze(self, dim: Any = None, *, axis: Any = None) -> Tensor:
        """Dimensions of length 1 removed: all of them, or those that ``dim`` names; the memory is shared."""
    def squeeze_(self, dim: Any = None, *, axis: Any = None) -> Tensor:
        """In-place version of ``squeeze``: this very tensor becomes that view of its memory."""
    def std(self, dim: Any = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, axis: Any = None, keepdims: _bool = False) -> Tensor:
        """The standard deviation of the elements, all or over ``dim``: the square root of :func:`var`."""
    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """The short-time Fourier transform: the transforms of overlapping pieces of a signal, each faded by a window."""
    def storage(self) -> TypedStorage:
        """The memory that the tensor is part of, as elements of its dtype."""
    def storage_offset(self) -> _int:
        """Where the first element is in the storage, counted in elements."""
    def storage_type(self) -> Any: ...
    def sub(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """``input - alpha * other``."""
    def sub_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """In-place version of ``sub``: writes the result into this tensor and returns it."""
    def subtract(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """``input - alpha * other``."""
    def subtract_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
        """In-place version of ``sub``: writes the result into this tensor and returns it."""
    def sum(self, dim: Dims = None, keepdim: _bool = False, *, dtype: dtype | None = None, axis: Dims = None, keepdims: _bool = False) -> Tensor:
        """The sum of the elements, all or over ``dim``; of integers and bools, in int64."""
    def sum_to(self, shape: Any) -> Tensor:
        """The sum over the dimensions along which ``shape`` was broadcast: undoes broadcasting, for gradients."""
    @overload
    def sum_to_size(self, *size: _int) -> Tensor:
        """The sum over the dimensions along which ``size`` would be expanded to the shape of ``input``."""
    @overload
    def sum_to_size(self, size: Sequence[_int]) -> Tensor: ...
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> return_types.svd:
        """The singular value decomposition ``input = U diag(S) Vᴴ``; see :func:`linalg.svd`, which returns Vᴴ, not V."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Two dimensions exchanged: NumPy's name for ``transpose``."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """In-place version of ``swapaxes``: this very tensor becomes that view of its memory."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions exchanged: another name for ``transpose``."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place version of ``swapdims``: this very tensor becomes that view of its memory."""
    def t(self) -> Tensor:
        """A matrix transposed; of fewer dimensions, the tensor itself."""
    def t_(self) -> Tensor:
        """In-place version of ``t``: this very tensor becomes that view of its memory."""
    def take(self, index: Tensor) -> Tensor:
        """Elements by their index in the flattened tensor, in the shape of ``index``."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None, *, axis: _int | None = None) -> Tensor:
        """Elements by their index along a dimension, as ``argmax`` and ``argsort`` return it."""
    def tan(self) -> Tensor:
        """The tangent of each element, in radians."""
    def tan_(self) -> Tensor:
        """In-place version of ``tan``: writes the result into this tensor and returns it."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent, between -1 and 1."""
    def tanh_(self) -> Tensor:
        """In-place version of ``tanh``: writes the result into this tensor and returns it."""
    def tensor_split(self, indices_or_sections: Any = None, dim: _int = 0, *, indices: Any = None, sections: Any = None) -> tuple[Tensor, ...]:
        """Parts along one dimension: a number of nearly equal ones, or cut at the given indices."""
    @overload
    def tile(self, *dims: _int) -> Tensor:
        """The tensor repeated along each dimension, missing numbers being 1."""
    @overload
    def tile(self, dims: Sequence[_int], /) -> Tensor: ...
    @overload
    def to(self, dtype: dtype, non_blocking: _bool = False, copy: _bool = False, *, memory_format: memory_format | None = None) -> Tensor:
        """The tensor in another dtype, on another device, or like another tensor; itself if it is so already."""
    @overload
    def to(self, device: Device = None, dtype: dtype | None = None, non_blocking: _bool = False, copy: _bool = False, *, memory_format: memory_format | None = None) -> Tensor: ...
    @overload
    def to(self, other: Tensor, non_blocking: _bool = False, copy: _bool = False, *, memory_format: memory_format | None = None) -> Tensor: ...
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, axis: _int = -1) -> return_types.topk:
        """The ``k`` largest elements along ``dim``, or the smallest, and where they are."""
    def trace(self) -> Tensor:
        """The sum of the elements on the diagonal of a matrix."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions exchanged; the memory is shared."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """In-place version of ``transpose``: this very tensor becomes that view of its memory."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> return_types.triangular_solve:
        """The solution X of ``A @ X = input`` with triangular A, and a copy of A; see :func:`linalg.solve_triangular`."""
    def tril(self, diagonal: _int = 0) -> Tensor:
        """Matrices with zeros above the diagonal."""
    def tril_(self, diagonal: _int = 0) -> Tensor:
        """In-place version of ``tril``: writes the result into this tensor and returns it."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """Matrices with zeros below the diagonal."""
    def triu_(self, diagonal: _int = 0) -> Tensor:
        """In-place version of ``triu``: writes the result into this tensor and returns it."""
    def true_divide(self, other: Tensor | Number) -> Tensor:
        """The quotient of each element of ``input`` by that of ``other``; integers give floats."""
    def true_divide_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``true_divide``: writes the result into this tensor and returns it."""
    def trunc(self) -> Tensor:
        """Each element rounded towards zero; the derivative is 0."""
    def trunc_(self) -> Tensor:
        """In-place version of ``trunc``: writes the result into this tensor and returns it."""
    @overload
    def type(self, dtype: None = None, non_blocking: _bool = False) -> str:
        """The name of the tensor's type; with ``dtype``, the tensor cast to it."""
    @overload
    def type(self, dtype: Any, non_blocking: _bool = False) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor in the dtype of ``other``."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """The slices along one dimension, which goes away, as a tuple; the memory is shared."""
    @overload
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """One dimension split into several."""
    @overload
    def unflatten(self, *, axis: _int, sizes: Sequence[_int]) -> Tensor: ...
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """All windows of a length along a dimension, ``step`` apart, as a last dimension; the memory is shared."""
    def uniform_(self, from_: _float = 0.0, to: _float = 1.0, *, generator: Generator | None = None, **named: _float) -> Tensor:
        """Fill with uniform numbers in [``from``, ``to``)."""
    @overload
    def unique(self, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None, *, axis: _int | None = None) -> Tensor:
        """The unique elements, or slices along ``dim``, in order; each nan is one of its own."""
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
        """The elements, or slices along ``dim``, without consecutive duplicates."""
    @overload
    def unique_consecutive(self, return_inverse: Literal[True], return_counts: Literal[False] = False, dim: _int | None = None, *, axis: _int | None = None) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, *, return_counts: Literal[True], dim: _int | None = None, axis: _int | None = None) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = None, *, axis: _int | None = None) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None, *, axis: _int | None = None) -> Any: ...
    def unsafe_chunk(self, chunks: _int, dim: _int = 0, *, axis: _int = 0) -> tuple[Tensor, ...]:
        """``chunk`` whose parts may be written to in place, if the whole is not used any more."""
    def unsafe_split(self, split_size: _int, dim: _int = 0, *, axis: _int = 0) -> tuple[Tensor, ...]:
        """``split`` whose parts may be written to in place, on the promise that the whole is not used any more."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0, *, axis: _int = 0) -> tuple[Tensor, ...]:
        """``split_with_sizes`` whose parts may be written to in place, if the whole is not used any more."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """A dimension of length 1 put in at ``dim``; the memory is shared."""
    def unsqueeze_(self, dim: _int) -> Tensor:
        """In-place version of ``unsqueeze``: this very tensor becomes that view of its memory."""
    def untyped_storage(self) -> UntypedStorage:
        """The memory that the tensor is part of, as bytes."""
    def var(self, dim: Any = None, unbiased: _bool | None = None, keepdim: _bool = False, *, correction: _float | None = None, axis: Any = None, keepdims: _bool = False) -> Tensor:
        """The variance of the elements, all or over ``dim``."""
    def vdot(self, other: Tensor) -> Tensor:
        """The dot product of two vectors, the first one conjugated."""
    @overload
    def view(self, *shape: _int) -> Tensor:
        """The same memory in another shape, one size may be -1; or, given a dtype, the same bytes read as that."""
    @overload
    def view(self, size: Sequence[_int]) -> Tensor: ...
    @overload
    def view(self, dtype: dtype) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor:
        """The same memory in the shape of ``other``."""
    def vsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Parts one below the other, along dimension 0; a number of equal ones, or cut at the given indices."""
    def where(self, condition: Tensor, other: Tensor | Number) -> Tensor: ...
    def xlogy(self, other: Tensor | Number) -> Tensor:
        """``input * log(other)``: 0 where ``input`` is 0, but nan where ``other`` is nan."""
    def xlogy_(self, other: Tensor | Number) -> Tensor:
        """In-place version of ``xlogy``: writes the result into this tensor and returns it."""
    def zero_(self) -> Tensor:
        """In-place version of ``zero``: writes the result into this tensor and returns it."""
