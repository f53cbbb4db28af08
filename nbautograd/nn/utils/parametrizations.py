"""Parametrizations: orthogonal weights, weights of spectral norm 1, lengths separate from directions."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from nbautograd._engine.arrays.dtypes import finfo
from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.creation.creation import eye, zeros_like
from nbautograd._engine.ops.creation.random import randn
from nbautograd._engine.ops.elementwise.comparison import allclose
from nbautograd._engine.ops.linalg.householder import geqrf, linalg_householder_product
from nbautograd._engine.ops.linalg.matmul import mv
from nbautograd._engine.ops.linalg.matrix_functions import matrix_exp
from nbautograd._engine.ops.linalg.solvers import linalg_solve
from nbautograd._engine.ops.linalg.vectors import vdot
from nbautograd._engine.ops.shape.joining import cat
from nbautograd.nn.functional.linear import normalize
from nbautograd.nn.modules.conv import _ConvTransposeNd
from nbautograd.nn.modules.module import Module
from nbautograd.nn.utils._weight_norm import _lengths
from nbautograd.nn.utils.parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _weight_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _make_orthogonal(a: Tensor) -> Tensor:
    """Return the orthogonal factor of a matrix, with the signs of an initialization by Householder reflections."""
    x, tau = geqrf(a)
    q: Tensor = linalg_householder_product(x, tau) * x.diagonal(0, -2, -1).sgn().unsqueeze(-2)
    return q


class _Orthogonal(Module):
    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        """Return the orthogonal matrix for an unconstrained one."""
        transposed = x.shape[-2] < x.shape[-1]
        if transposed:
            x = x.mT
        n, k = x.shape[-2:]
        if self.orthogonal_map is _OrthMaps.householder:
            a = x.tril(-1)
            tau = 2.0 / (1.0 + (a * a).sum(-2))
            q = linalg_householder_product(a, tau) * x.diagonal(0, -2, -1).int().unsqueeze(-2)
        else:
            q = self._of_skew(x.tril(), n, k)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if transposed else q

    def _of_skew(self, x: Tensor, n: int, k: int) -> Any:
        """Return the exponential, or the Cayley transform, of the skew-symmetric matrix with a given lower triangle."""
        if n != k:
            x = cat([x, x.new_zeros((n, n - k)).expand(*x.shape[:-2], -1, -1)], dim=-1)
        a = x - x.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            q = matrix_exp(a)
        else:
            one = eye(n, dtype=a.dtype, device=a.device)
            q = linalg_solve(one.add(a, alpha=-0.5), one.add(a, alpha=0.5))
        return q if n == k else q[..., :k]

    def right_inverse(self, q: Tensor) -> Tensor:
        """Return the unconstrained matrix for an orthogonal one; project other matrices first."""
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        with no_grad():
            transposed = q.shape[-2] < q.shape[-1]
            tall = q.mT if transposed else q
            n, k = tall.shape[-2:]
            if not hasattr(self, "base"):
                if self.orthogonal_map is not _OrthMaps.householder:
                    raise NotImplementedError(
                        "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                        "use_trivialization=False."
                    )
                a, tau = geqrf(tall)
                a.diagonal(0, -2, -1).sign_()
                a.diagonal(0, -2, -1)[tau == 0.0] *= -1
                unconstrained: Tensor = a.mT if transposed else a
                return unconstrained
            if n == k:
                one = eye(k, dtype=tall.dtype, device=tall.device)
                is_orthogonal = allclose(tall.mH @ tall, one, atol=10.0 * n * finfo(tall.dtype).eps)
                self.base = tall.clone() if is_orthogonal else _make_orthogonal(tall)
            else:
                rest = randn(*tall.shape[:-2], n, n - k, dtype=tall.dtype, device=tall.device)
                self.base = _make_orthogonal(cat([tall, rest], dim=-1))
            result = zeros_like(q)
            result.diagonal(0, -2, -1).fill_(-1.0)
            return result


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Make a weight an orthogonal matrix, or a matrix with orthonormal rows or columns.

    :param orthogonal_map: ``"matrix_exp"``, ``"cayley"`` or ``"householder"``; by default the first for square and
        complex matrices, else the last.
    :param use_trivialization: whether to use the map around the present value (Lezcano-Casado, 2019).
    :raises ValueError: the weight is not a matrix, or the map is unknown.

    >>> import nbautograd as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 3))
    >>> bool(torch.allclose(layer.weight @ layer.weight.T, torch.eye(3), atol=1e-5))
    True
    """
    weight = _weight_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1] or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    kind = getattr(_OrthMaps, orthogonal_map, None)
    if kind is None:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, kind, use_trivialization=use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Return the direction of one, with the length of the other."""
        return weight_v * (weight_g / _lengths(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the length and direction of a weight."""
        return _lengths(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a weight from lengths and directions, ``g · v / |v|`` (Salimans and Kingma, 2016).

    :param dim: the dimension whose elements have separate lengths; None for one length.

    >>> import nbautograd as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([3, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def translate(state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Load the state of a module with the deprecated ``weight_norm``."""
        keys = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if all(key in state_dict for key in keys):
            for i, key in enumerate(keys):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(translate)
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got {n_power_iterations=!s}")
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            u, v = (matrix.new_empty((size,)).normal_(0, 1) for size in matrix.shape)
            self.register_buffer("_u", normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        return weight.permute(self.dim, *(d for d in range(weight.ndim) if d != self.dim)).flatten(1)

    def _power_method(self, matrix: Tensor, steps: int) -> None:
        """Improve the singular vectors in place."""
        with no_grad():
            for _ in range(steps):
                self._u.copy_(normalize(mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """Divide the weight by its largest singular value; in training, after another step of the power method."""
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # later steps must not change the saved values
        return weight / vdot(u, mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value unchanged."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value (Miyato et al., 2018).

    :param n_power_iterations: steps of the power method at each use in training.
    :param dim: the dimension of the outputs; by default 0, for transposed convolutions 1.

    >>> import nbautograd as torch
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(3, 3))
    >>> bool(torch.linalg.matrix_norm(layer.weight, 2) < 1.1)
    True
    """
    dim = int(isinstance(module, _ConvTransposeNd)) if dim is None else dim
    parametrization = _SpectralNorm(_weight_of(module, name), n_power_iterations, dim, eps)
    return register_parametrization(module, name, parametrization)
