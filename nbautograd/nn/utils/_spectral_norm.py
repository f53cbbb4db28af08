"""The former ``spectral_norm``: a hook computes the weight before each ``forward``."""

from __future__ import annotations

from typing import Any

from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import Tensor
from nbautograd._engine.ops.linalg.matmul import dot, mv
from nbautograd.nn.functional.linear import normalize
from nbautograd.nn.modules.conv import _ConvTransposeNd
from nbautograd.nn.modules.module import Module
from nbautograd.nn.parameter import Parameter, is_lazy

__all__ = [
    "SpectralNorm", "SpectralNormLoadStateDictPreHook", "SpectralNormStateDictHook", "remove_spectral_norm",
    "spectral_norm",
]  # fmt: skip


class SpectralNorm:
    """The hook that divides ``name_orig`` by its largest singular value, found by the power method.

    :raises ValueError: ``n_power_iterations`` is not positive.
    """

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got {n_power_iterations=!s}")
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix with a row for each output."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.ndim) if d != self.dim))
        return weight.reshape(weight.shape[0], -1)

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """Divide the weight by its largest singular value; update the singular vectors in place."""
        weight, u, v = (getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(normalize(mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(normalize(mv(matrix, v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # later steps must not change the saved values
        result: Tensor = weight / dot(u, mv(matrix, v))
        return result

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        """Compute the weight, before ``forward``."""
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, weight_mat: Tensor, u: Tensor, target_sigma: Tensor) -> Tensor:
        """Return the right singular vector for a singular value; the first version saved only the left one."""
        v = (weight_mat.t().mm(weight_mat).pinverse() @ (weight_mat.t() @ u.unsqueeze(1))).squeeze(1)
        return v.mul_(target_sigma / dot(u, mv(weight_mat, v)))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Add the parameter, the singular vectors and the hooks to a module."""
        hooks = module._forward_pre_hooks.values()
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in hooks):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying spectral normalization"
            )
        with no_grad():
            sizes = hook.reshape_weight_to_matrix(weight).shape
            u, v = (normalize(weight.new_empty((size,)).normal_(0, 1), dim=0, eps=eps) for size in sizes)
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)  # a plain attribute
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
        return hook


class SpectralNormLoadStateDictPreHook:
    """A hook that computes the right singular vector for a state of the first version, which had none."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Complete a state before it is loaded."""
        fn, key = self.fn, prefix + self.fn.name
        version = local_metadata.get("spectral_norm", {}).get(f"{fn.name}.version")
        complete = all(key + suffix in state_dict for suffix in ("_orig", "_u", "_v")) and key not in state_dict
        if version is not None and version >= 1 or version is None and complete:
            return
        missing = [key + suffix for suffix in ("_orig", "", "_u") if key + suffix not in state_dict]
        if missing:
            missing_keys.extend(missing if strict else [])
            return
        with no_grad():
            original = state_dict[f"{key}_orig"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = fn.reshape_weight_to_matrix(original)
            state_dict[f"{key}_v"] = fn._solve_v_and_rescale(matrix, state_dict[f"{key}_u"], sigma)


class SpectralNormStateDictHook:
    """A hook that writes the version into the metadata of a state."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        """Complete the metadata."""
        versions = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value before each ``forward``; prefer ``parametrizations.spectral_norm``.

    >>> import nbautograd as torch
    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2))
    >>> layer.weight_u.shape
    torch.Size([2])
    """
    dim = int(isinstance(module, _ConvTransposeNd)) if dim is None else dim
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make a weight a plain parameter again.

    :raises ValueError: the weight does not exist.

    >>> import nbautograd as torch
    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2))
    >>> [name for name, _ in torch.nn.utils.remove_spectral_norm(layer).named_parameters()]
    ['bias', 'weight']
    """
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for hooks, kind in (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    ):
        for k, each in list(hooks.items()):
            if isinstance(each, kind) and each.fn.name == name:
                del hooks[k]
    return module
