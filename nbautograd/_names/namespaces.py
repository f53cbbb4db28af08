"""PyTorch's modules that nbautograd has, by their public names: what is served as ``torch...``, and what ``dir`` lists.

Where the code of a name lies says nothing about where PyTorch has it. This table says that, in one place: all other
modules of the package are internal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from nbautograd._names import absent, refused

__all__ = ["LIES_IN", "MODULES", "OWN", "children", "exists", "file_of", "is_hidden", "is_public", "module"]

PACKAGE = __name__.partition(".")[0]

_SEEDS = "initial_seed manual_seed manual_seed_all seed seed_all"
_WINDOWS = "bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall"

MODULES: dict[str, str] = {
    "_C": "",
    "__config__": "",
    "_dynamo": "",
    "_dynamo.config": "",
    "_inductor": "",
    "_inductor.config": "",
    "_tensor": "Tensor",
    "_tensor_str": "set_printoptions",
    "accelerator": "",
    "accelerator.memory": """
        empty_cache get_memory_info max_memory_allocated max_memory_reserved memory_allocated memory_reserved
        reset_peak_memory_stats""",
    "amp": "",
    "amp.autocast_mode": "",
    "amp.grad_scaler": "",
    "autograd": "",
    "autograd.anomaly_mode": "",
    "autograd.forward_ad": "",
    "autograd.function": "",
    "autograd.functional": "",
    "autograd.grad_mode": "enable_grad inference_mode no_grad set_grad_enabled set_multithreading_enabled",
    "autograd.gradcheck": "",
    "autograd.graph": "",
    "autograd.profiler": "",
    "autograd.profiler_util": "",
    "autograd.variable": "",
    "backends": "",
    "backends.cpu": "",
    "backends.cuda": "",
    "backends.cudnn": "",
    "backends.cusparselt": "",
    "backends.kleidiai": "",
    "backends.mha": "",
    "backends.miopen": "",
    "backends.mkl": "",
    "backends.mkldnn": "",
    "backends.mps": "",
    "backends.nnpack": "",
    "backends.openmp": "",
    "backends.opt_einsum": "",
    "backends.quantized": "",
    "backends.xnnpack": "",
    "compiler": "",
    "compiler.config": "",
    "cpu": "",
    "cpu.amp": "",
    "cpu.amp.autocast_mode": "autocast",
    "cpu.amp.grad_scaler": "GradScaler",
    "cuda": "",
    "cuda.amp": "",
    "cuda.amp.autocast_mode": "autocast custom_bwd custom_fwd",
    "cuda.amp.common": "amp_definitely_not_available",
    "cuda.amp.grad_scaler": "GradScaler",
    "cuda.memory": """
        empty_cache max_memory_allocated max_memory_reserved mem_get_info memory_allocated memory_reserved
        reset_peak_memory_stats""",
    "cuda.random": _SEEDS,
    "cuda.streams": "Event Stream",
    "distributed": "",
    "distributions": "",
    "distributions.bernoulli": "Bernoulli",
    "distributions.beta": "Beta",
    "distributions.binomial": "Binomial",
    "distributions.categorical": "Categorical",
    "distributions.cauchy": "Cauchy",
    "distributions.chi2": "Chi2",
    "distributions.constraint_registry": "",
    "distributions.constraints": "",
    "distributions.continuous_bernoulli": "ContinuousBernoulli",
    "distributions.dirichlet": "Dirichlet",
    "distributions.distribution": "",
    "distributions.exp_family": "",
    "distributions.exponential": "Exponential",
    "distributions.fishersnedecor": "FisherSnedecor",
    "distributions.gamma": "Gamma",
    "distributions.generalized_pareto": "GeneralizedPareto",
    "distributions.geometric": "Geometric",
    "distributions.gumbel": "Gumbel",
    "distributions.half_cauchy": "HalfCauchy",
    "distributions.half_normal": "HalfNormal",
    "distributions.independent": "",
    "distributions.inverse_gamma": "InverseGamma",
    "distributions.kl": "",
    "distributions.kumaraswamy": "Kumaraswamy",
    "distributions.laplace": "Laplace",
    "distributions.lkj_cholesky": "LKJCholesky",
    "distributions.log_normal": "LogNormal",
    "distributions.logistic_normal": "LogisticNormal",
    "distributions.lowrank_multivariate_normal": "LowRankMultivariateNormal",
    "distributions.mixture_same_family": "",
    "distributions.multinomial": "Multinomial",
    "distributions.multivariate_normal": "",
    "distributions.negative_binomial": "NegativeBinomial",
    "distributions.normal": "Normal",
    "distributions.one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "distributions.pareto": "Pareto",
    "distributions.poisson": "Poisson",
    "distributions.relaxed_bernoulli": "",
    "distributions.relaxed_categorical": "",
    "distributions.studentT": "StudentT",
    "distributions.transformed_distribution": "",
    "distributions.transforms": "",
    "distributions.uniform": "Uniform",
    "distributions.utils": "",
    "distributions.von_mises": "",
    "distributions.weibull": "Weibull",
    "distributions.wishart": "Wishart",
    "fft": "",
    "func": "",
    "export": "",
    "functional": """
        atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul
        einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive
        unravel_index""",
    "futures": "",
    "fx": "",
    "hub": "",
    "jit": "",
    "library": "",
    "linalg": "",
    "masked": "",
    "masked.maskedtensor": "",
    "masked.maskedtensor.core": "MaskedTensor is_masked_tensor",
    "masked.maskedtensor.creation": "as_masked_tensor masked_tensor",
    "multiprocessing": "",
    "multiprocessing.pool": "Pool",
    "multiprocessing.queue": "Queue SimpleQueue",
    "multiprocessing.spawn": """
        ProcessContext ProcessException ProcessExitedException ProcessRaisedException SpawnContext spawn
        start_processes""",
    "nested": "",
    "nn": "",
    "nn.attention": "",
    "nn.common_types": "",
    "nn.functional": "",
    "nn.grad": "",
    "nn.init": "",
    "nn.modules": "",
    "nn.modules.activation": "MultiheadAttention",
    "nn.modules.adaptive": "",
    "nn.modules.batchnorm": """
        BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm
        _BatchNorm _NormBase""",
    "nn.modules.channelshuffle": "ChannelShuffle",
    "nn.modules.container": "Container",
    "nn.modules.conv": """
        LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d""",
    "nn.modules.distance": "CosineSimilarity PairwiseDistance",
    "nn.modules.dropout": "",
    "nn.modules.flatten": "Flatten Unflatten",
    "nn.modules.fold": "Fold Unfold",
    "nn.modules.instancenorm": """
        InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d
        _InstanceNorm""",
    "nn.modules.lazy": "",
    "nn.modules.linear": "LazyLinear",
    "nn.modules.loss": "NLLLoss2d",
    "nn.modules.module": "",
    "nn.modules.normalization": "CrossMapLRN2d",
    "nn.modules.padding": "",
    "nn.modules.pixelshuffle": "PixelShuffle PixelUnshuffle",
    "nn.modules.pooling": "",
    "nn.modules.rnn": "",
    "nn.modules.sparse": "",
    "nn.modules.transformer": "",
    "nn.modules.upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
    "nn.modules.utils": "",
    "nn.parallel": "",
    "nn.parallel.data_parallel": "DataParallel data_parallel",
    "nn.parallel.distributed": "DistributedDataParallel",
    "nn.parallel.parallel_apply": "parallel_apply",
    "nn.parallel.replicate": "replicate",
    "nn.parallel.scatter_gather": "gather scatter scatter_kwargs",
    "nn.parameter": "",
    "nn.utils": "",
    "nn.utils.clip_grad": "",
    "nn.utils.convert_parameters": "",
    "nn.utils.fusion": "",
    "nn.utils.init": "",
    "nn.utils.memory_format": "",
    "nn.utils.parametrizations": "",
    "nn.utils.parametrize": "",
    "nn.utils.prune": "",
    "nn.utils.rnn": "",
    "nn.utils.spectral_norm": "",
    "nn.utils.stateless": "",
    "nn.utils.weight_norm": "",
    "ops": "",
    "optim": "",
    "optim._adafactor": "Adafactor",
    "optim._muon": "Muon",
    "optim.adadelta": "Adadelta",
    "optim.adagrad": "Adagrad",
    "optim.adam": "",
    "optim.adamax": "Adamax",
    "optim.adamw": "AdamW",
    "optim.asgd": "ASGD",
    "optim.lbfgs": "",
    "optim.lr_scheduler": "",
    "optim.nadam": "NAdam",
    "optim.optimizer": "",
    "optim.radam": "RAdam",
    "optim.rmsprop": "RMSprop",
    "optim.rprop": "Rprop",
    "optim.sgd": "SGD",
    "optim.sparse_adam": "",
    "optim.swa_utils": "",
    "overrides": "",
    "profiler": "",
    "profiler.profiler": "ProfilerAction profile schedule supported_activities tensorboard_trace_handler",
    "random": "thread_safe_generator",
    "return_types": "",
    "serialization": "",
    "signal": "",
    "sparse": "",
    "signal.windows": "",
    "signal.windows.windows": _WINDOWS,
    "special": "",
    "storage": "TypedStorage UntypedStorage",
    "testing": "",
    "torch_version": "",
    "types": "",
    "utils": "",
    "utils._foreach_utils": "",
    "utils._contextlib": "",
    "utils._pytree": "",
    "utils.benchmark": "",
    "utils.benchmark.utils": "",
    "utils.benchmark.utils.common": """
        Measurement TaskSpec ordered_unique select_unit set_torch_threads trim_sigfig unit_to_english""",
    "utils.benchmark.utils.compare": "Colorize Compare",
    "utils.benchmark.utils.timer": "Language Timer timer",
    "utils.checkpoint": "",
    "utils.collect_env": "",
    "utils.cpp_extension": "",
    "utils.data": "",
    "utils.data._utils": "",
    "utils.data._utils.collate": "default_collate default_convert",
    "utils.data._utils.worker": "get_worker_info",
    "utils.data.dataloader": "get_worker_info",
    "utils.data.dataset": "",
    "utils.data.distributed": "",
    "utils.data.sampler": "",
    "utils.deterministic": "",
    "utils.dlpack": "",
    "utils.hooks": "",
    "utils.model_zoo": "",
    "utils.tensorboard": "",
    "utils.weak": "",
    "version": "",
}
"""PyTorch's modules, and the names in them that are found elsewhere here: in a package around the module."""

OWN = ("errors", "protocol", "_engine.core.tracing", "utils.allocator", "viz")
"""Modules of nbautograd's own that are documented."""

_COMPAT = """
    _dynamo _inductor accelerator backends compiler distributed futures fx hub jit multiprocessing ops types"""
LIES_IN = {
    "_C": "_compat.native",
    "__config__": "_compat.build_settings",
    "return_types": "_engine.core.return_types",
    **{name: f"_compat.{name.lstrip('_')}" for name in _COMPAT.split()},
}
"""Modules of PyTorch that lie elsewhere here."""
HIDDEN = {
    "nn.utils.spectral_norm": "nn.utils._spectral_norm",
    "nn.utils.weight_norm": "nn.utils._weight_norm",
}
"""Those in whose place the package around has a function of the name, once that is loaded."""


class _Names(ModuleType):
    """A module of PyTorch's that is none here: its names are found in a package around it when they are asked for."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{PACKAGE}.{path}", f"The names that PyTorch has in ``torch.{path}``.")
        self.__all__ = MODULES.get(path, "").split()
        self.__path__: list[str] = []  # there may be modules below

    def __getattr__(self, name: str) -> Any:
        path = self.__name__[len(PACKAGE) + 1 :]
        return _look_up(path, name) if name in vars(self)["__all__"] else _absent_name(path, name)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *self.__all__})


def _absent_name(path: str, name: str) -> Any:
    """What a module of PyTorch's answers where it has no such name: a module below it, what refuses, or an error."""
    below = f"{path}.{name}"
    if is_public(below):
        return module(below)
    if refused.why(path) is not None and name in absent.names(path):
        return refused.stand_in(path, name)
    return absent.fail(path, name)


def _look_up(path: str, name: str) -> Any:
    """Look a name of one of PyTorch's modules up in the nearest enclosing package that has it."""
    while path:
        path = path.rpartition(".")[0]
        value = getattr(module(path), name, None)
        if value is not None:
            return value
    raise AttributeError(f"module {PACKAGE!r} has no attribute {name!r}")


def exists(path: str) -> bool:
    """Whether there is a file for a module of PyTorch."""
    name = file_of(path)
    if name in sys.modules:
        return True
    try:
        package = import_module(name.rpartition(".")[0])
    except ModuleNotFoundError:
        return False
    return PathFinder.find_spec(name, getattr(package, "__path__", [])) is not None


def is_hidden(path: str) -> bool:
    """Whether the package around a module has something else of its name: a function, or a module from elsewhere."""
    above, _, leaf = path.rpartition(".")
    if path in HIDDEN:
        getattr(module(above), leaf, None)  # a function of that name may not have been loaded
    there = vars(module(above)).get(leaf)
    return there is not None and there is not sys.modules.get(file_of(path))


def file_of(path: str) -> str:
    """The full name of the file that a module of PyTorch would have here.

    >>> file_of("jit"), file_of("nn.functional")
    ('nbautograd._compat.jit', 'nbautograd.nn.functional')
    """
    if path in HIDDEN:
        return f"{PACKAGE}.{HIDDEN[path]}"
    first, dot, below = path.partition(".")
    return f"{PACKAGE}.{LIES_IN.get(first, first)}{dot}{below}"


def is_public(path: str) -> bool:
    """Whether the package has a public module of this name, which is given without the package's own."""
    return path in MODULES or path in OWN or refused.covers(path)


def children(path: str) -> Iterator[str]:
    """The modules of the table directly below one; "" is the package itself."""
    return (each for each in MODULES if each.rpartition(".")[0] == path)


def module(path: str) -> ModuleType:
    """The module that stands for one of PyTorch's: ours of that name, with every name of the table, or one of names.

    It is an attribute of the package around it, if that has none of the name: a function keeps its place.

    >>> module("nn.functional").__name__, module("storage").UntypedStorage.__name__
    ('nbautograd.nn.functional', 'UntypedStorage')
    >>> module("nn.modules.flatten").__all__
    ['Flatten', 'Unflatten']
    """
    if not path:
        return sys.modules[PACKAGE]
    above, _, leaf = path.rpartition(".")
    package = module(above)
    result = vars(package).get(leaf)
    if not isinstance(result, ModuleType) or result.__name__ not in (f"{PACKAGE}.{path}", file_of(path)):
        result = import_module(file_of(path)) if exists(path) else _Names(path)
        if path not in HIDDEN:
            vars(package).setdefault(leaf, result)
    for name in MODULES.get(path, "").split():
        if name not in vars(result) and not hasattr(result, name):
            setattr(result, name, _look_up(path, name))
    if is_public(path) and not isinstance(result, _Names):
        vars(result).setdefault("__getattr__", partial(_absent_name, path))
    if path in LIES_IN:
        vars(result).setdefault("__path__", [])  # there may be modules below
    return result
