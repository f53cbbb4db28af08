"""Lazy loading, so that ``import nbautograd`` is fast.

Operations that most programs never use, and whole namespaces, are listed here by name. The package's ``__getattr__``
finds such a name; a descriptor in place of a method loads the module and passes the call to its declaration. No formula
outside a late module may name one of its operations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = __name__.partition(".")[0]
NAMESPACES = """
    __future__ accelerator amp backends compiler cpu cuda distributed distributions fft func futures hub jit library
    linalg masked multiprocessing nn ops optim overrides profiler random serialization signal sparse special storage
    testing torch_version types utils version""".split()  # noqa: SIM905
"""Modules that are loaded on access as attributes of the package; others are loaded when they are imported."""

FOREACH = """
    abs abs_ acos acos_ add add_ addcdiv addcdiv_ addcmul addcmul_ asin asin_ atan atan_ ceil ceil_ clamp_max
    clamp_max_ clamp_min clamp_min_ clone copy_ cos cos_ cosh cosh_ div div_ erf erf_ erfc erfc_ exp exp_ expm1
    expm1_ floor floor_ frac frac_ lerp lerp_ lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_ log_ max
    maximum maximum_ minimum minimum_ mm mul mul_ neg neg_ norm pow pow_ powsum reciprocal reciprocal_ round round_
    rsqrt rsqrt_ sigmoid sigmoid_ sign sign_ sin sin_ sinh sinh_ sqrt sqrt_ sub sub_ tan tan_ tanh tanh_ trunc
    trunc_ zero_"""
"""The functions of lists of tensors, without the prefix of their names."""

LATE = {
    "amp.autocast_mode": "| autocast",
    "amp.state": """
        | autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_cpu_dtype
        get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled
        is_autocast_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
        set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype""",
    "nn.functional": """
        hardshrink prelu | adaptive_avg_pool1d adaptive_max_pool1d alpha_dropout avg_pool1d bilinear celu celu_
        channel_shuffle conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity
        group_norm layer_norm max_pool1d max_pool2d max_pool3d pairwise_distance pdist pixel_shuffle pixel_unshuffle
        relu_ rms_norm rrelu rrelu_ selu selu_ threshold threshold_""",
    "_engine.ops.elementwise.bessel": "i0 || i0_",
    "_engine.ops.linalg.cholesky": "cholesky",
    "_engine.ops.linalg.qr": "qr",
    "_engine.ops.linalg.svd": "svd",
    "_engine.ops.reduction.distances": "dist renorm | cdist | renorm_",
    "_engine.ops.reduction.norms": "norm",
    "_engine.ops.linalg.einsum": "inner | einsum tensordot",
    "_engine.ops.creation.interop": "| asarray from_dlpack from_file frombuffer",
    "_engine.ops.linalg.least_squares": "pinverse",
    "_engine.ops.linalg.lowrank": "| lobpcg pca_lowrank svd_lowrank",
    "_engine.ops.linalg.lu": "lu lu_solve | lu_unpack",
    "_engine.ops.linalg.matrix_functions": "matrix_exp matrix_power | chain_matmul",
    "_engine.ops.reduction.sorting": "argsort msort sort topk",
    "_engine.ops.indexing.nonzero": "argwhere nonzero_static",
    "_engine.ops.reduction.searchsorted": "| bucketize searchsorted",
    "_engine.ops.reduction.quantiles": "kthvalue median mode nanmedian nanquantile quantile",
    "_engine.ops.reduction.unique": "unique unique_consecutive",
    "_engine.ops.shape.padding": "| constant_pad_nd",
    "_engine.ops.linalg.householder": "geqrf orgqr ormqr",
    "_engine.ops.indexing.slice_scatter": "as_strided_scatter diagonal_scatter select_scatter slice_scatter",
    "_engine.ops.indexing.index_add": """
        index_add index_copy index_fill index_reduce || index_add_ index_copy_ index_fill_ index_reduce_""",
    "_engine.ops.indexing.scatter": "scatter scatter_add scatter_reduce || scatter_ scatter_add_ scatter_reduce_",
    "_engine.ops.linalg.solvers": "cholesky_inverse cholesky_solve det inverse logdet slogdet triangular_solve",
    "_engine.ops.elementwise.special": """
        digamma erf erfc erfinv igamma igammac lgamma logit mvlgamma polygamma xlogy || digamma_ erf_ erfc_ erfinv_
        igamma_ igammac_ lgamma_ logit_ mvlgamma_ polygamma_ xlogy_""",
    "_engine.ops.reduction.statistics": "bincount corrcoef cov histc histogram | histogramdd",
    "_engine.ops.signal.stft": "istft stft",
    "_engine.ops.shape.triangular": """
        diag diag_embed diagflat trace tril triu | tril_indices triu_indices vander | fill_diagonal_ tril_ triu_""",
    "_engine.ops.signal.windows": "| bartlett_window blackman_window hamming_window hann_window kaiser_window",
    "_engine.core.printing": "| set_printoptions",
    "_engine.core.return_types": "| _rebuild_results",
    "_engine.ops.checks": """
        | _assert _assert_async _check _check_index _check_not_implemented _check_tensor_all _check_type _check_value
        _check_with _shape_as_tensor""",
    "sparse": """
        smm sspaddmm | hspmm sparse_coo_tensor sparse_csr_tensor | _indices _values sparse_mask to_sparse
        to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr""",
    "_engine.batching.transform": "| vmap",
    "serialization": "| load save",
    "storage": """
        | BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage
        FloatStorage HalfStorage IntStorage LongStorage ShortStorage""",
    "_names.import_hook": "| standing_in",
    "autograd.anomaly_mode": "| is_anomaly_check_nan_enabled is_anomaly_enabled",
    "autograd.inference": "| inference_mode",
    "_engine.rng.generator": "| Generator _rebuild_generator default_generator",
    "_engine.ops.creation.reparameterization": "| _dirichlet_grad _standard_gamma_grad",
    "_engine.ops.creation.distributions": "bernoulli multinomial | _sample_dirichlet _standard_gamma binomial poisson",
    "_engine.ops.linalg.addmm": "addbmm addmm addmv addr baddbmm || addbmm_ addmm_ addmv_ addr_ baddbmm_",
    "_engine.ops.linalg.vectors": "cross vdot",
    "_engine.ops.reduction.softmax": "log_softmax softmax",
    "_engine.ops.reduction.variance": "std var | std_mean var_mean",
    "_engine.ops.shape.rearrange": "fliplr flipud kron repeat_interleave roll rot90 || __reversed__ flip repeat tile",
    "_engine.ops.functions_of_methods": """
        | detach detach_ dsmm flip permute reshape spmm tile abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_
        arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_
        cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ fix_ floor_ frac_ gcd_ i0_ lcm_ ldexp_ log10_ log1p_ log2_
        log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_
        square_ tan_ tanh_ trunc_ xlogy_""",
    "_engine.ops.foreach": "| " + " ".join(f"_foreach_{name}" for name in FOREACH.split()),
    "_engine.ops.reduction.scan": """
        cummax cummin cumsum diff logcumsumexp | cumulative_trapezoid gradient trapezoid trapz | cumsum_""",
    "_engine.ops.reduction.products": "cumprod prod || cumprod_",
    "_engine.ops.shape.split": """
        chunk dsplit hsplit split split_with_sizes tensor_split unsafe_chunk unsafe_split unsafe_split_with_sizes
        vsplit""",
    "_engine.ops.elementwise.trigonometric": """
        acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh cos cosh deg2rad
        rad2deg sin sinc sinh tan tanh | polar | acos_ acosh_ arccos_ arccosh_ arcsin_ arcsinh_ arctan2_ arctan_
        arctanh_ asin_ asinh_ atan2_ atan_ atanh_ cos_ cosh_ deg2rad_ rad2deg_ sin_ sinc_ sinh_ tan_ tanh_""",
    "_engine.ops.shape.view_copies": """
        narrow_copy | alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy select_copy
        slice_copy split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy
        unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy""",
    "_engine.ops.creation.legacy_tensor_types": """
        | BFloat16Tensor BoolTensor ByteTensor CharTensor ComplexDoubleTensor ComplexFloatTensor DoubleTensor
        FloatTensor HalfTensor IntTensor LongTensor ShortTensor | _construct new type""",
    "_engine.ops.shape.as_strided": """
        as_strided as_strided_ resize_as_ | TypedStorage UntypedStorage | is_set_to resize_ set_ squeeze_ storage
        storage_offset storage_type swapaxes_ swapdims_ t_ transpose_ unsqueeze_ untyped_storage""",
    "_engine.ops.indexing.gather": """
        gather index_select masked_fill masked_scatter masked_select nonzero put take take_along_dim | unravel_index |
        masked_fill_ masked_scatter_ put_""",
    "_engine.ops.shape.joining": """
        unbind | block_diag cartesian_prod cat column_stack combinations concat concatenate dstack hstack meshgrid
        row_stack stack vstack""",
    "_engine.ops.reduction.minmax": "amax amin aminmax argmax argmin max min",
    "_engine.ops.creation.random": """
        | get_rng_state initial_seed manual_seed normal rand rand_like randint randint_like randn randn_like randperm
        seed set_rng_state""",
    "_compat.accelerator": "| Event Stream get_device_module",
    "_compat.backends": "| get_float32_matmul_precision set_float32_matmul_precision",
    "_compat.compiler": "| compile",
    "_compat.symbolic": "| SymBool SymFloat SymInt sym_float sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum",
    "_compat.futures": "| Future",
    "_compat.jit": "| fork wait",
    "_compat.process": """
        | compiled_with_cxx11_abi cond get_file_path has_lapack has_mkl has_openmp has_spectral init_num_threads
        is_distributed is_storage is_vulkan_available set_anomaly_enabled set_flush_denormal thread_safe_generator
        typename""",
    "nn.functional.native": """
        | alpha_dropout_ dropout dropout_ embedding_renorm_ feature_alpha_dropout feature_alpha_dropout_
        feature_dropout feature_dropout_""",
    "_engine.core.rare_methods": "|| apply_ map2_ map_ resize resize_as",
    "_engine.ops.creation.random_inplace": """
        || bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_""",
}
"""By module, its names, in three groups with bars between them: functions of the package that are also methods of
Tensor; other functions and classes; other methods. The module's declarations attach the methods.
"""


def _taken(place: int) -> dict[str, str]:
    """Return by module the names of the first group and of the one at a place."""
    groups = {module: f"{names}||".split("|") for module, names in LATE.items()}
    return {
        module: f"{parts[0]} {parts[place]}" for module, parts in groups.items() if (parts[0] + parts[place]).strip()
    }


FAMILIES, METHODS = _taken(1), _taken(2)

ABSENT_METHODS = """
    chalf const_data_ptr eig hash_tensor index int_repr ipu lstsq module_load mtia q_per_channel_axis
    q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme record_stream reinforce
    resize_as_sparse_ slice_inverse solve sparse_resize_ sparse_resize_and_clear_ symeig to_mkldnn to_padded_tensor
    xpu"""
"""Methods of PyTorch's tensors that are missing here: access explains why."""

NAMES = {name: module for module, names in FAMILIES.items() for name in names.split()}
NAMES.update({name: name for name in NAMESPACES})


def attributes(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package; ``names`` maps each name to the module below that has it.

    A module gives the name of one beside it with a dot: ``".former_jacobians"``.

    PyTorch's modules are also found; no others are listed.
    """
    scope = vars(sys.modules[package])
    below = package.partition(".")[2] and f"{package.partition('.')[2]}."

    def get(name: str) -> Any:
        if name == "__all__":  # ``from package import *`` is for everything
            return [each for each in list_all() if not each.startswith("_")]
        module = names.get(name, name)
        if module != name:
            value = scope[name] = getattr(import_module(f".{module}", package), name)
            return value
        if name == "__path__":  # which ``from package.module import`` asks for each time
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        from nbautograd._names import absent, namespaces  # late: import nbautograd loads little

        if name in names:
            value = scope[name] = namespaces.module(below + name)
            return value
        if namespaces.is_public(below + name):
            return namespaces.module(below + name)
        return absent.fail(below.rstrip("."), name)

    def list_all() -> list[str]:
        return sorted(name for name in {*scope, *names} if is_listed(name, scope.get(name)))

    def is_listed(name: str, value: Any) -> bool:
        if isinstance(value, ModuleType):
            from nbautograd._names import namespaces

            return namespaces.is_public(below + name)
        return name not in ("TYPE_CHECKING", "annotations")

    return get, list_all


class Importer:
    """An importer, by its method: it asks ``import_hook`` about the package's modules."""

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of a module for the import system; None for other packages."""
        if not fullname.startswith(f"{PACKAGE}."):
            return None
        spec: ModuleSpec | None = import_module(f"{PACKAGE}._names.import_hook").OWN.find_spec(fullname, path, target)
        return spec


def install() -> None:
    """Make ``import nbautograd.x`` find PyTorch's modules located elsewhere here; used after Python's own finders."""
    if Importer not in sys.meta_path:
        sys.meta_path.append(Importer)


class _Method:
    """A placeholder for a method of a class until its module is loaded."""

    __slots__ = ("module", "name", "owner")

    def __init__(self, owner: type, name: str, module: str) -> None:
        self.owner, self.name, self.module = owner, name, module

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        module = import_module(self.module)
        method = vars(self.owner)[self.name]
        if method is self:  # restored after a patch of the class; or requested by the loading module
            method = getattr(module, self.name, None)
            if method is None:
                raise AttributeError(f"{self.owner.__name__!r} object has no attribute {self.name!r}")
            setattr(self.owner, self.name, method)
        return method.__get__(instance, owner)


class AbsentMethod:
    """A placeholder for a method that a class lacks: ``hasattr`` is False, and the error explains why."""

    def __init__(self, owner: str, name: str) -> None:
        self.owner, self.name = owner, name

    def __get__(self, instance: Any, owner: type) -> Any:
        from nbautograd._names import absent

        subject = f"type object {owner.__name__!r}" if instance is None else f"{owner.__name__!r} object"
        message = f"{subject} has no attribute {self.name!r}: {absent.reason(self.owner, self.name)}"
        raise AttributeError(message, name=self.name, obj=owner if instance is None else instance)


def put_off(owner: type, module: str, names: str) -> None:
    """Give the class a placeholder for each method that it does not have yet, and that a module attaches to it."""
    own, module = vars(owner), f"{PACKAGE}.{module}"
    for name in names.split():
        if name not in own:
            setattr(owner, name, _Method(owner, name, module))


def attach(owner: type) -> None:
    """Give the class a placeholder for each lazy method that it does not have yet, and each of PyTorch's it lacks."""
    for module, names in METHODS.items():
        put_off(owner, module, names)
    for name in ABSENT_METHODS.split():
        if name not in vars(owner):
            setattr(owner, name, AbsentMethod(owner.__name__, name))


def load() -> None:
    """Load every lazy module and method.

    >>> from nbautograd._engine.compiler.schema import OPS
    >>> load()
    >>> OPS["convolution"].symbol
    '∗'
    """
    from nbautograd._names import namespaces

    for module in LATE:  # always in the same order
        import_module(f"{PACKAGE}.{module}")
    for path in NAMESPACES:
        namespaces.module(path)
