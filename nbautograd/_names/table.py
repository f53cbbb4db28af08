"""PyTorch's modules: one row for each, the only place with its particulars here.

The location of a name's code does not determine its module in PyTorch. All modules of the package without a row, and
not in ``OWN``, are internal.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["OWN", "TABLE", "Row", "row"]


class Row(NamedTuple):
    """One of PyTorch's modules."""

    names: str = ""
    """Names of the module that are found elsewhere here: in a package around the module."""
    lies_in: str = ""
    """The module of this package with its code, if its path differs."""
    is_hidden: bool = False
    """True if the package around it has a function of its name."""
    is_listed: bool = True
    """True if ``dir`` shows it; otherwise only an import finds it."""
    refuses: str = ""
    """The reason why its undefined names, and those of modules below it, raise when called."""
    answers: str = ""
    """The results of functions that do not raise."""


SEEDS = "initial_seed manual_seed manual_seed_all seed seed_all"
WINDOWS = "bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall"
ONE_PROCESS = "it is one process with one device"
NO_COMPILER = "functions run as they are written, without compilation"
NO_QUANTIZATION = "nothing is quantized; tensor.half() and tensor.bfloat16() save memory"
NO_DEVICE = "tensors are on the CPU or on CUDA devices"
NO_ACCELERATOR = """
    is_available=False is_initialized=False device_count=0 manual_seed=None manual_seed_all=None seed=None seed_all=None
    memory_allocated=0 max_memory_allocated=0 memory_reserved=0 max_memory_reserved=0 is_bf16_supported=False
    is_tf32_supported=False empty_cache=None"""

TABLE: dict[str, Row] = {
    "_C": Row(lies_in="_compat.native"),
    "__config__": Row(lies_in="_compat.build_settings"),
    "__future__": Row(lies_in="_compat.future"),
    "_dynamo": Row(lies_in="_compat.dynamo", refuses=NO_COMPILER),
    "_dynamo.config": Row(),
    "_inductor": Row(lies_in="_compat.inductor", refuses=NO_COMPILER),
    "_inductor.config": Row(),
    "_functorch": Row(lies_in="_compat.functorch"),
    "_functorch.apis": Row("grad grad_and_value vmap"),
    "_functorch.eager_transforms": Row("functionalize hessian jacfwd jacrev jvp linearize vjp"),
    "_subclasses": Row(lies_in="_compat.fake_tensors"),
    "_subclasses.fake_tensor": Row("FakeTensor FakeTensorMode is_fake"),
    "_tensor": Row("Tensor"),
    "_tensor_str": Row("set_printoptions"),
    "_vmap_internals": Row(lies_in="_compat.vmap_internals"),
    "accelerator": Row(lies_in="_compat.accelerator"),
    "accelerator.memory": Row(
        "empty_cache get_memory_info max_memory_allocated max_memory_reserved memory_allocated "
        "memory_reserved reset_peak_memory_stats"
    ),
    "amp": Row(),
    "amp.autocast_mode": Row(),
    "amp.grad_scaler": Row(),
    "ao": Row(refuses=NO_QUANTIZATION, is_listed=False),
    "autograd": Row(),
    "autograd.anomaly_mode": Row(),
    "autograd.forward_ad": Row(),
    "autograd.function": Row(),
    "autograd.functional": Row(),
    "autograd.grad_mode": Row("enable_grad inference_mode no_grad set_grad_enabled set_multithreading_enabled"),
    "autograd.gradcheck": Row(),
    "autograd.graph": Row(),
    "autograd.profiler": Row(),
    "autograd.profiler_util": Row(),
    "autograd.variable": Row(),
    "backends": Row(lies_in="_compat.backends"),
    "backends.cpu": Row(),
    "backends.cuda": Row(),
    "backends.cudnn": Row(),
    "backends.cusparselt": Row(),
    "backends.kleidiai": Row(),
    "backends.mha": Row(),
    "backends.miopen": Row(),
    "backends.mkl": Row(),
    "backends.mkldnn": Row(),
    "backends.mps": Row(),
    "backends.nnpack": Row(),
    "backends.openmp": Row(),
    "backends.opt_einsum": Row(),
    "backends.quantized": Row(),
    "backends.xnnpack": Row(),
    "compiler": Row(lies_in="_compat.compiler", refuses=NO_COMPILER),
    "compiler.config": Row(),
    "contrib": Row(refuses="it is code that PyTorch keeps for others", is_listed=False),
    "cpu": Row(),
    "cpu.amp": Row(),
    "cpu.amp.autocast_mode": Row("autocast"),
    "cpu.amp.grad_scaler": Row("GradScaler"),
    "cuda": Row(),
    "cuda.amp": Row(),
    "cuda.amp.autocast_mode": Row("autocast custom_bwd custom_fwd"),
    "cuda.amp.common": Row("amp_definitely_not_available"),
    "cuda.amp.grad_scaler": Row("GradScaler"),
    "cuda.memory": Row(
        "empty_cache max_memory_allocated max_memory_reserved mem_get_info memory_allocated memory_reserved "
        "reset_peak_memory_stats"
    ),
    "cuda.random": Row(SEEDS),
    "cuda.streams": Row("Event Stream"),
    "distributed": Row(
        lies_in="_compat.distributed",
        refuses=ONE_PROCESS,
        answers=(
            "is_backend_available=False is_gloo_available=False is_mpi_available=False is_nccl_available=False "
            "is_torchelastic_launched=False is_ucc_available=False is_xccl_available=False"
        ),
    ),
    "distributions": Row(),
    "distributions.bernoulli": Row("Bernoulli"),
    "distributions.beta": Row("Beta"),
    "distributions.binomial": Row("Binomial"),
    "distributions.categorical": Row("Categorical"),
    "distributions.cauchy": Row("Cauchy"),
    "distributions.chi2": Row("Chi2"),
    "distributions.constraint_registry": Row(),
    "distributions.constraints": Row(),
    "distributions.continuous_bernoulli": Row("ContinuousBernoulli"),
    "distributions.dirichlet": Row("Dirichlet"),
    "distributions.distribution": Row(),
    "distributions.exp_family": Row(),
    "distributions.exponential": Row("Exponential"),
    "distributions.fishersnedecor": Row("FisherSnedecor"),
    "distributions.gamma": Row("Gamma"),
    "distributions.generalized_pareto": Row("GeneralizedPareto"),
    "distributions.geometric": Row("Geometric"),
    "distributions.gumbel": Row("Gumbel"),
    "distributions.half_cauchy": Row("HalfCauchy"),
    "distributions.half_normal": Row("HalfNormal"),
    "distributions.independent": Row(),
    "distributions.inverse_gamma": Row("InverseGamma"),
    "distributions.kl": Row(),
    "distributions.kumaraswamy": Row("Kumaraswamy"),
    "distributions.laplace": Row("Laplace"),
    "distributions.lkj_cholesky": Row("LKJCholesky"),
    "distributions.log_normal": Row("LogNormal"),
    "distributions.logistic_normal": Row("LogisticNormal"),
    "distributions.lowrank_multivariate_normal": Row("LowRankMultivariateNormal"),
    "distributions.mixture_same_family": Row(),
    "distributions.multinomial": Row("Multinomial"),
    "distributions.multivariate_normal": Row(),
    "distributions.negative_binomial": Row("NegativeBinomial"),
    "distributions.normal": Row("Normal"),
    "distributions.one_hot_categorical": Row("OneHotCategorical OneHotCategoricalStraightThrough"),
    "distributions.pareto": Row("Pareto"),
    "distributions.poisson": Row("Poisson"),
    "distributions.relaxed_bernoulli": Row(),
    "distributions.relaxed_categorical": Row(),
    "distributions.studentT": Row("StudentT"),
    "distributions.transformed_distribution": Row(),
    "distributions.transforms": Row(),
    "distributions.uniform": Row("Uniform"),
    "distributions.utils": Row(),
    "distributions.von_mises": Row(),
    "distributions.weibull": Row("Weibull"),
    "distributions.wishart": Row("Wishart"),
    "export": Row(refuses=NO_COMPILER),
    "fft": Row(),
    "func": Row(),
    "functional": Row(
        "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist "
        "chain_matmul einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique "
        "unique_consecutive unravel_index"
    ),
    "futures": Row(lies_in="_compat.futures"),
    "fx": Row(
        lies_in="_compat.fx",
        refuses=(
            "functions run as they are written, and no graph is made of their code; nbautograd.viz draws what ran"
        ),
    ),
    "hub": Row(lies_in="_compat.hub"),
    "jit": Row(lies_in="_compat.jit", refuses="functions run as they are written, unless torch.jit.trace records them"),
    "library": Row(),
    "linalg": Row(),
    "masked": Row(),
    "masked.maskedtensor": Row(),
    "masked.maskedtensor.core": Row("MaskedTensor is_masked_tensor"),
    "masked.maskedtensor.creation": Row("as_masked_tensor masked_tensor"),
    "monitor": Row(
        refuses=("it reports to PyTorch's own services; time.perf_counter() and logging do for one process"),
        is_listed=False,
    ),
    "mps": Row(refuses=NO_DEVICE, answers="is_available=False device_count=0 manual_seed=None", is_listed=False),
    "mtia": Row(refuses=NO_DEVICE, answers=NO_ACCELERATOR, is_listed=False),
    "multiprocessing": Row(
        lies_in="_compat.multiprocessing", refuses="Python's own multiprocessing is behind it, and tensors are pickled"
    ),
    "multiprocessing.pool": Row("Pool"),
    "multiprocessing.queue": Row("Queue SimpleQueue"),
    "multiprocessing.spawn": Row(
        "ProcessContext ProcessException ProcessExitedException ProcessRaisedException SpawnContext spawn "
        "start_processes"
    ),
    "nested": Row(
        refuses=(
            "tensors are rectangular; torch.nn.utils.rnn.pad_sequence and a mask do for sequences of several lengths"
        )
    ),
    "nn": Row(),
    "nn.attention": Row(),
    "nn.common_types": Row(),
    "nn.functional": Row(),
    "nn.grad": Row(),
    "nn.init": Row(),
    "nn.intrinsic": Row(refuses=NO_QUANTIZATION, is_listed=False),
    "nn.modules": Row(),
    "nn.modules.activation": Row("MultiheadAttention"),
    "nn.modules.adaptive": Row(),
    "nn.modules.batchnorm": Row(
        "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm "
        "_BatchNorm _NormBase"
    ),
    "nn.modules.channelshuffle": Row("ChannelShuffle"),
    "nn.modules.container": Row("Container"),
    "nn.modules.conv": Row(
        "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d"
    ),
    "nn.modules.distance": Row("CosineSimilarity PairwiseDistance"),
    "nn.modules.dropout": Row(),
    "nn.modules.flatten": Row("Flatten Unflatten"),
    "nn.modules.fold": Row("Fold Unfold"),
    "nn.modules.instancenorm": Row(
        "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d "
        "LazyInstanceNorm3d _InstanceNorm"
    ),
    "nn.modules.lazy": Row(),
    "nn.modules.linear": Row("LazyLinear"),
    "nn.modules.loss": Row("NLLLoss2d"),
    "nn.modules.module": Row(),
    "nn.modules.normalization": Row("CrossMapLRN2d"),
    "nn.modules.padding": Row(),
    "nn.modules.pixelshuffle": Row("PixelShuffle PixelUnshuffle"),
    "nn.modules.pooling": Row(),
    "nn.modules.rnn": Row(),
    "nn.modules.sparse": Row(),
    "nn.modules.transformer": Row(),
    "nn.modules.upsampling": Row("Upsample UpsamplingBilinear2d UpsamplingNearest2d"),
    "nn.modules.utils": Row(),
    "nn.parallel": Row(),
    "nn.parallel.data_parallel": Row("DataParallel data_parallel"),
    "nn.parallel.distributed": Row("DistributedDataParallel"),
    "nn.parallel.parallel_apply": Row("parallel_apply"),
    "nn.parallel.replicate": Row("replicate"),
    "nn.parallel.scatter_gather": Row("gather scatter scatter_kwargs"),
    "nn.parameter": Row(),
    "nn.qat": Row(refuses=NO_QUANTIZATION, is_listed=False),
    "nn.quantizable": Row(refuses=NO_QUANTIZATION, is_listed=False),
    "nn.quantized": Row(refuses=NO_QUANTIZATION, is_listed=False),
    "nn.utils": Row(),
    "nn.utils.clip_grad": Row(),
    "nn.utils.convert_parameters": Row(),
    "nn.utils.fusion": Row(),
    "nn.utils.init": Row(),
    "nn.utils.memory_format": Row(),
    "nn.utils.parametrizations": Row(),
    "nn.utils.parametrize": Row(),
    "nn.utils.prune": Row(),
    "nn.utils.rnn": Row(),
    "nn.utils.spectral_norm": Row(lies_in="nn.utils._spectral_norm", is_hidden=True),
    "nn.utils.stateless": Row(),
    "nn.utils.weight_norm": Row(lies_in="nn.utils._weight_norm", is_hidden=True),
    "onnx": Row(
        refuses=("no graph is exported; PyTorch's torch.onnx exports a model with the weights of one from here"),
        answers="is_in_onnx_export=False",
        is_listed=False,
    ),
    "ops": Row(lies_in="_compat.ops"),
    "optim": Row(),
    "optim._adafactor": Row("Adafactor"),
    "optim._muon": Row("Muon"),
    "optim.adadelta": Row("Adadelta"),
    "optim.adagrad": Row("Adagrad"),
    "optim.adam": Row(),
    "optim.adamax": Row("Adamax"),
    "optim.adamw": Row("AdamW"),
    "optim.asgd": Row("ASGD"),
    "optim.lbfgs": Row(),
    "optim.lr_scheduler": Row(),
    "optim.nadam": Row("NAdam"),
    "optim.optimizer": Row(),
    "optim.radam": Row("RAdam"),
    "optim.rmsprop": Row("RMSprop"),
    "optim.rprop": Row("Rprop"),
    "optim.sgd": Row("SGD"),
    "optim.sparse_adam": Row(),
    "optim.swa_utils": Row(),
    "overrides": Row(),
    "package": Row(refuses="it packs Python code into archives; torch.save stores a state_dict", is_listed=False),
    "profiler": Row(),
    "profiler.profiler": Row("ProfilerAction profile schedule supported_activities tensorboard_trace_handler"),
    "quantization": Row(refuses=NO_QUANTIZATION, is_listed=False),
    "quasirandom": Row(refuses="scipy.stats.qmc.Sobol has the same sequence", is_listed=False),
    "random": Row("thread_safe_generator"),
    "return_types": Row(lies_in="_engine.core.return_types"),
    "serialization": Row(),
    "signal": Row(),
    "signal.windows": Row(),
    "signal.windows.windows": Row(WINDOWS),
    "sparse": Row(),
    "special": Row(),
    "storage": Row("TypedStorage UntypedStorage"),
    "testing": Row(),
    "torch_version": Row(),
    "types": Row(lies_in="_compat.types"),
    "utils": Row(),
    "utils._contextlib": Row(),
    "utils._foreach_utils": Row(),
    "utils._pytree": Row(),
    "utils.benchmark": Row(),
    "utils.benchmark.utils": Row(),
    "utils.benchmark.utils.common": Row(
        "Measurement TaskSpec ordered_unique select_unit set_torch_threads trim_sigfig unit_to_english"
    ),
    "utils.benchmark.utils.compare": Row("Colorize Compare"),
    "utils.benchmark.utils.timer": Row("Language Timer timer"),
    "utils.checkpoint": Row(),
    "utils.collect_env": Row(),
    "utils.cpp_extension": Row(
        refuses=("there is no C++ to compile against; torch.autograd.Function takes NumPy and CuPy code")
    ),
    "utils.data": Row(),
    "utils.data._utils": Row(),
    "utils.data._utils.collate": Row("default_collate default_convert"),
    "utils.data._utils.worker": Row("get_worker_info"),
    "utils.data.dataloader": Row("get_worker_info"),
    "utils.data.dataset": Row(),
    "utils.data.distributed": Row(),
    "utils.data.sampler": Row(),
    "utils.deterministic": Row(),
    "utils.dlpack": Row(),
    "utils.hooks": Row(),
    "utils.mobile_optimizer": Row(refuses="there is no runtime for phones", is_listed=False),
    "utils.model_zoo": Row(),
    "utils.tensorboard": Row(),
    "utils.weak": Row(),
    "version": Row(),
    "xpu": Row(refuses=NO_DEVICE, answers=NO_ACCELERATOR, is_listed=False),
}

OWN = ("errors", "protocol", "utils.allocator", "viz")
"""Documented modules of nbautograd's own."""


def row(path: str) -> Row:
    """Return the row of a module, or an empty one."""
    return TABLE.get(path, EMPTY)


EMPTY = Row()
