"""``torch.backends``: settings of libraries that PyTorch calls. They are stored; few have an effect.

Results here come from NumPy's, SciPy's and CuPy's kernels. So no library of this list is available, and settings
such as ``cudnn.benchmark`` have no effect; on the CPU all results are deterministic.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from nbautograd import cuda as _cuda
from nbautograd._engine.arrays import cpu_features, dtypes
from nbautograd._names import absent
from nbautograd._names.docstrings import import_in_module
from nbautograd.errors import kind_of, warn

__all__ = ["disable_global_flags", "flags_frozen", "get_float32_matmul_precision", "set_float32_matmul_precision"]

Check = Callable[[str, Any], None]
_frozen = False


def disable_global_flags() -> None:
    """Make later assignments to flags raise; ``with torch.backends.cudnn.flags(...)`` still sets them.

    This cannot be undone, as in PyTorch.
    """
    global _frozen
    _frozen = True


def flags_frozen() -> bool:
    """Return whether ``disable_global_flags`` has been called."""
    return _frozen


def is_bool(name: str, value: Any) -> None:
    """Check a flag.

    :raises RuntimeError: the value is not a bool.
    """
    if not isinstance(value, bool):
        raise RuntimeError(f"set_{name} expects a bool, but got {type(value).__name__}")


def is_int(name: str, value: Any) -> None:
    """Check a number.

    :raises RuntimeError: the value is not an int.
    """
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise RuntimeError(f"set_{name} expects an int, but got {type(value).__name__}")


def is_precision(name: str, value: Any) -> None:
    """Check the name of a rounding of products.

    :raises RuntimeError: the name is not one of PyTorch's.
    """
    if value not in ("none", "ieee", "tf32", "bf16"):
        raise RuntimeError(f"Unknown precision: {value}; known are none, ieee, tf32 and bf16")


def anything(name: str, value: Any) -> None:
    """Accept any value."""


class BackendModule(ModuleType):
    """A library's settings and queries, as a module.

    :param flags: by name: the initial value, the value in ``flags()`` without arguments, and the check of new ones.
    :param answers: functions and constants, by name.
    """

    def __init__(self, path: str, flags: dict[str, tuple[Any, Any, Check]] | None = None, /, **answers: Any) -> None:
        super().__init__(f"nbautograd.backends.{path}", f"The settings and queries of ``torch.backends.{path}``.")
        scope = vars(self)
        scope["_flags"] = flags or {}
        scope.update({name: first for name, (first, _, _) in scope["_flags"].items()}, **answers)
        if flags:
            scope.update(flags=self._flags_for_a_while, set_flags=self._set_flags)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self)["_flags"]:
            short = self.__name__.partition("backends.")[2]
            if _frozen:
                raise RuntimeError(
                    f"not allowed to set torch.backends.{short} flags after disable_global_flags; "
                    "please use flags() context manager instead"
                )
            vars(self)["_flags"][name][2](f"{name}_{short}", value)
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        absent.fail(self.__name__.partition(".")[2], name)

    def _set_flags(self, *values: Any, **named: Any) -> tuple[Any, ...]:
        """Set flags, in their order or by name; None keeps a flag.

        :param values: the values, in the order of the flags.
        :param named: the values by name; a leading underscore is accepted.
        :returns: a tuple of the previous values of all flags.
        :raises RuntimeError: a value has an unsupported type.
        :raises TypeError: the flag does not exist.

        >>> before = torch.backends.cudnn.set_flags(_benchmark=True)
        >>> torch.backends.cudnn.benchmark
        True
        >>> _ = torch.backends.cudnn.set_flags(*before)
        """
        flags = vars(self)["_flags"]
        before = tuple(vars(self)[name] for name in flags)
        changed = dict(zip(flags, values, strict=False)) | {name.lstrip("_"): value for name, value in named.items()}
        for name, value in changed.items():
            if value is not None:
                if name not in flags:
                    raise TypeError(f"set_flags() got an unexpected keyword argument {name!r}; flags: {[*flags]}")
                flags[name][2](f"{name}_{self.__name__.partition('backends.')[2]}", value)
                vars(self)[name] = value
        return before

    @contextlib.contextmanager
    def _flags_for_a_while(self, *values: Any, **named: Any) -> Iterator[None]:
        """Set flags in a ``with`` block; omitted flags get PyTorch's default values.

        :param values: the values, in the order of the flags.
        :param named: the values by name.
        :returns: a context manager.
        :raises RuntimeError: on entering, if a value has an unsupported type.
        :raises TypeError: on entering, if the flag does not exist.

        >>> with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        ...     torch.backends.cudnn.benchmark
        True
        >>> torch.backends.cudnn.benchmark
        False
        """
        flags = vars(self)["_flags"]
        given = dict(zip(flags, values, strict=False)) | named
        before = self._set_flags(**({name: usual for name, (_, usual, _) in flags.items()} | given))
        try:
            yield
        finally:
            vars(self).update(zip(flags, before, strict=True))


class Precision:
    """The rounding of float32 products in a kind of operation: stored, without effect."""

    def __init__(self) -> None:
        self._fp32_precision = "none"

    @property
    def fp32_precision(self) -> str:
        """``"none"``, ``"ieee"``, ``"tf32"`` or ``"bf16"``."""
        return self._fp32_precision

    @fp32_precision.setter
    def fp32_precision(self, value: str) -> None:
        is_precision("fp32_precision", value)
        self._fp32_precision = value


def false(*args: Any, **kwargs: Any) -> bool:
    """Return False: the library is not used.

    :param args, kwargs: accepted and ignored.
    :returns: False.

    >>> torch.backends.cudnn.is_acceptable(torch.ones(2))
    False
    """
    return False


def none(*args: Any, **kwargs: Any) -> None:
    """Return None: the library is not used.

    :param args, kwargs: accepted and ignored.
    :returns: None.

    >>> torch.backends.cudnn.version() is None
    True
    """


class verbose:  # noqa: N801 - PyTorch's name
    """A context manager without effect: the reporting library is not used."""

    def __init__(self, level: int) -> None:
        self.level = level

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exception: object) -> None: ...


cudnn = BackendModule(
    "cudnn",
    {
        "enabled": (True, False, is_bool),
        "benchmark": (False, False, is_bool),
        "benchmark_limit": (None, 10, is_int),
        "deterministic": (False, False, is_bool),
        "allow_tf32": (True, True, is_bool),
        "fp32_precision": ("none", "none", is_precision),
        "depthwise_kernel": ("auto", "auto", anything),
    },
    version=none,
    is_available=false,
    is_acceptable=false,
    CUDNN_TENSOR_DTYPES={dtypes.float16, dtypes.float32, dtypes.float64},
    conv=Precision(),
    rnn=Precision(),
)
miopen = BackendModule("miopen", {"immediate": (False, False, is_bool)})
mkl = BackendModule("mkl", is_available=false, verbose=verbose, VERBOSE_OFF=0, VERBOSE_ON=1)
mkldnn = BackendModule(
    "mkldnn",
    {
        "enabled": (True, False, is_bool),
        "deterministic": (False, False, is_bool),
        "allow_tf32": (None, True, is_bool),
        "fp32_precision": ("none", "none", is_precision),
    },
    is_available=false,
    is_acl_available=false,
    verbose=verbose,
    VERBOSE_OFF=0,
    VERBOSE_ON=1,
    VERBOSE_ON_CREATION=2,
    matmul=Precision(),
    conv=Precision(),
    rnn=Precision(),
)
openmp = BackendModule("openmp", is_available=false)  # nbautograd has its own threads
opt_einsum = BackendModule(
    "opt_einsum",
    {"enabled": (False, False, is_bool), "strategy": (None, None, anything)},
    is_available=false,
    get_opt_einsum=none,
)
nnpack = BackendModule("nnpack", {"enabled": (False, False, is_bool)}, is_available=false)
kleidiai = BackendModule("kleidiai", is_available=false)
cusparselt = BackendModule("cusparselt", is_available=false, version=none, get_max_alg_id=none)
mps = BackendModule("mps", is_available=false, is_built=false, is_macos_or_newer=false, is_macos13_or_newer=false)


def get_cpu_capability() -> str:
    """Return the processor's vector instructions, by PyTorch's names: ``"AVX512"``, ``"AVX2"`` or ``"DEFAULT"``.

    >>> torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
    True
    """
    has = cpu_features.features()
    if all(has.get(name) for name in ("AVX512F", "AVX512BW", "AVX512DQ", "AVX512VL")) or has.get("AVX512_SKX"):
        return "AVX512"
    return "AVX2" if has.get("AVX2") and has.get("FMA3") else "DEFAULT"


cpu = BackendModule("cpu", get_cpu_capability=get_cpu_capability)


def _read_only(name: str, value: Any) -> None:
    raise RuntimeError("Assignment not supported")


def _engine(name: str, value: Any) -> None:
    if value not in ("none", "qnnpack", "onednn", "x86", "fbgemm"):
        raise RuntimeError(f"{value} is not a valid value for quantized engine")
    if value != "none":
        raise RuntimeError(f"quantized engine {value} is not supported: in nbautograd nothing is quantized")


quantized = BackendModule(
    "quantized", {"engine": ("none", "none", _engine), "supported_engines": (["none"], None, _read_only)}
)
xnnpack = BackendModule("xnnpack", {"enabled": (False, False, _read_only)})

_fastpath = {"enabled": True}


def get_fastpath_enabled() -> bool:
    """Return the setting of ``set_fastpath_enabled``, initially True; nbautograd has one path."""
    return _fastpath["enabled"]


def set_fastpath_enabled(value: bool) -> None:
    """Store the setting, which has no effect."""
    _fastpath["enabled"] = value


mha = BackendModule("mha", get_fastpath_enabled=get_fastpath_enabled, set_fastpath_enabled=set_fastpath_enabled)


# -- products in float32 -----------------------------------------------------------------------------------------------

_precision = "highest"
_chosen = "none"


def get_float32_matmul_precision() -> str:
    """Return the setting of ``set_float32_matmul_precision``, initially ``"highest"``.

    :returns: ``"highest"``, ``"high"`` or ``"medium"``.

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _precision


def set_float32_matmul_precision(precision: str) -> None:
    """Store the precision of float32 matrix products, which are always computed in float32.

    :param precision: ``"highest"``, ``"high"`` or ``"medium"``; other words cause PyTorch's warning.
    :returns: None.
    :raises RuntimeError: ``precision`` is not a string.

    >>> torch.set_float32_matmul_precision("high")
    >>> torch.backends.cuda.matmul.allow_tf32
    True
    >>> torch.set_float32_matmul_precision("highest")
    """
    global _precision, _chosen
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision not in ("highest", "high", "medium"):
        warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current call has no effect.")
        return
    _precision, _chosen = precision, "ieee" if precision == "highest" else "tf32"


class MatrixProducts:
    """Settings of matrix products on CUDA devices: stored, without effect."""

    __slots__ = ("_flags",)
    _flags: dict[str, bool]

    def __init__(self) -> None:
        names = "allow_fp16_reduced_precision_reduction allow_bf16_reduced_precision_reduction"
        splits = [f"{name}_split_k" for name in names.split()]
        flags = dict.fromkeys([*names.split(), *splits], True) | {"allow_fp16_accumulation": False}
        object.__setattr__(self, "_flags", flags)

    def __getattr__(self, name: str) -> Any:
        if name == "allow_tf32":
            return _precision != "highest"
        if name == "fp32_precision":
            return _chosen
        if name in self._flags:
            return self._flags[name]
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        global _chosen, _precision
        if name == "allow_tf32":
            is_bool("allow_tf32_cublas", value)
            set_float32_matmul_precision("high" if value else "highest")
        elif name == "fp32_precision":
            is_precision("fp32_precision", value)
            _chosen, _precision = value, "high" if value == "tf32" else "highest"
        elif name in self._flags:
            is_bool(f"{name}_cublas", value)
            self._flags[name] = value
        else:
            raise AttributeError(f"Unknown attribute {name}")


# -- CUDA --------------------------------------------------------------------------------------------------------------

_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "fp16_bf16_reduction_math": False}


def _setting(kind: str, reader: str, writer: str) -> dict[str, Callable[..., Any]]:
    """Return the getter and the setter of a setting of attention, by name."""

    def enabled() -> bool:
        return _attention[kind]

    def enable(enabled: bool) -> None:
        _attention[kind] = bool(enabled)

    first = _attention[kind]
    path = "torch.backends.cuda."
    example = f">>> import nbautograd as torch\n>>> {path}{{}}\n"
    enabled.__doc__ = (
        f"Return the setting of ``{writer}``, initially {first}; attention has one implementation.\n\n"
        f":returns: a Python bool.\n\n{example.format(reader + '()')}{first}\n"
    )
    enable.__doc__ = (
        "Store the setting, which has no effect.\n\n:param enabled: the setting, converted to a bool.\n"
        f":returns: None.\n\n{example.format(f'{writer}({not first})')}>>> {path}{reader}()\n{not first}\n"
        f">>> {path}{writer}({first})\n"
    )
    return {reader: enabled, writer: enable}


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[dict[str, bool]]:
    """Set options of attention in a ``with`` block; they have no effect.

    :param enable_flash, enable_math, enable_mem_efficient, enable_cudnn: the settings.
    :returns: a context manager, which returns an empty dict.

    >>> with torch.backends.cuda.sdp_kernel(enable_flash=False):
    ...     torch.backends.cuda.flash_sdp_enabled()
    False
    """
    before = dict(_attention)
    _attention.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _attention.update(before)


class _LinalgBackend(enum.Enum):
    Default, Cusolver, Magma = range(3)


class _BlasBackend(enum.Enum):
    Default, Cublas, Cublaslt, Ck = range(4)


def _preference_function(kinds: type[enum.Enum]) -> Callable[..., Any]:
    chosen = [next(iter(kinds))]

    def preferred(backend: Any = None) -> Any:
        """Store the preferred library, and return it; CuPy makes the choice.

        :param backend: the library or its name; None to query.
        :returns: the last library set.
        :raises RuntimeError: the library is unknown, or the argument is not a name.

        >>> import nbautograd as torch
        >>> torch.backends.cuda.preferred_linalg_library("default").name
        'Default'
        """
        by_name = {each.name.lower(): each for each in kinds}
        if isinstance(backend, str) and backend not in by_name:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(by_name)}.")
        if not (backend is None or isinstance(backend, (str, kinds))):
            raise RuntimeError(f"Unknown input value type: expected a library or its name, got {kind_of(backend)}.")
        if backend is not None:
            chosen[0] = by_name[backend] if isinstance(backend, str) else backend
        return chosen[0]

    return preferred


cuda = BackendModule(
    "cuda",
    is_built=_cuda.is_available,
    matmul=MatrixProducts(),
    sdp_kernel=sdp_kernel,
    preferred_linalg_library=_preference_function(_LinalgBackend),
    preferred_blas_library=_preference_function(_BlasBackend),
    is_flash_attention_available=false,
    is_ck_sdpa_available=false,
    can_use_flash_attention=false,
    can_use_efficient_attention=false,
    can_use_cudnn_attention=false,
    **_setting(
        "fp16_bf16_reduction_math", "fp16_bf16_reduction_math_sdp_allowed", "allow_fp16_bf16_reduction_math_sdp"
    ),
    **_setting("flash", "flash_sdp_enabled", "enable_flash_sdp"),
    **_setting("mem_efficient", "mem_efficient_sdp_enabled", "enable_mem_efficient_sdp"),
    **_setting("math", "math_sdp_enabled", "enable_math_sdp"),
    **_setting("cudnn", "cudnn_sdp_enabled", "enable_cudnn_sdp"),
)
fp32_precision = "none"
import_in_module(__name__)
MODULES = {name: value for name, value in vars().copy().items() if isinstance(value, BackendModule)}
"""The submodules, by name."""
