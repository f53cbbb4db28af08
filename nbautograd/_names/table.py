"""PyTorch's modules, and the only place with their particulars here: a row for each that has some.

The location of a name's code does not determine its module in PyTorch. All modules of the package without a row, and
not in ``OWN``, are internal.
"""

from __future__ import annotations

from typing import NamedTuple


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
QUANTIZING = "ao nn.intrinsic nn.qat nn.quantizable nn.quantized quantization"
NO_QUANTIZATION = "nothing is quantized; tensor.half() and tensor.bfloat16() save memory"
NO_DEVICE = "tensors are on the CPU or on CUDA devices"
NO_ACCELERATOR = """
    is_available=False is_initialized=False device_count=0 manual_seed=None manual_seed_all=None seed=None seed_all=None
    memory_allocated=0 max_memory_allocated=0 memory_reserved=0 max_memory_reserved=0 is_bf16_supported=False
    is_tf32_supported=False empty_cache=None"""

NO_ROW = Row()
WHOLE = """
    _dynamo.config _inductor.config amp amp.autocast_mode amp.grad_scaler autograd autograd.anomaly_mode
    autograd.forward_ad autograd.function autograd.functional autograd.gradcheck autograd.graph autograd.profiler
    autograd.profiler_util autograd.variable backends.cpu backends.cuda backends.cudnn backends.cusparselt
    backends.kleidiai backends.mha backends.miopen backends.mkl backends.mkldnn backends.mps backends.nnpack
    backends.openmp backends.opt_einsum backends.quantized backends.xnnpack compiler.config cpu cpu.amp cuda cuda.amp
    distributions distributions.constraint_registry distributions.constraints distributions.distribution
    distributions.exp_family distributions.independent distributions.kl distributions.mixture_same_family
    distributions.multivariate_normal distributions.relaxed_bernoulli distributions.relaxed_categorical
    distributions.transformed_distribution distributions.transforms distributions.utils distributions.von_mises fft func
    library linalg masked masked.maskedtensor nn nn.attention nn.common_types nn.functional nn.grad nn.init nn.modules
    nn.modules.adaptive nn.modules.dropout nn.modules.lazy nn.modules.module nn.modules.padding nn.modules.pooling
    nn.modules.rnn nn.modules.sparse nn.modules.transformer nn.modules.utils nn.parallel nn.parameter nn.utils
    nn.utils.clip_grad nn.utils.convert_parameters nn.utils.fusion nn.utils.init nn.utils.memory_format
    nn.utils.parametrizations nn.utils.parametrize nn.utils.prune nn.utils.rnn nn.utils.stateless optim optim.adam
    optim.lbfgs optim.lr_scheduler optim.optimizer optim.sparse_adam optim.swa_utils overrides profiler serialization
    signal signal.windows sparse special testing torch_version utils utils._contextlib utils._foreach_utils
    utils._pytree utils.benchmark utils.benchmark.utils utils.checkpoint utils.collect_env utils.data utils.data._utils
    utils.data.dataset utils.data.distributed utils.data.sampler utils.deterministic utils.dlpack utils.hooks
    utils.model_zoo utils.tensorboard utils.weak version"""
"""Modules whose names are all in the module of this package with the same path."""
WITH_ONE = """
    _tensor=Tensor _tensor_str=set_printoptions cpu.amp.autocast_mode=autocast cpu.amp.grad_scaler=GradScaler
    cuda.amp.common=amp_definitely_not_available cuda.amp.grad_scaler=GradScaler distributions.bernoulli=Bernoulli
    distributions.beta=Beta distributions.binomial=Binomial distributions.categorical=Categorical
    distributions.cauchy=Cauchy distributions.chi2=Chi2 distributions.continuous_bernoulli=ContinuousBernoulli
    distributions.dirichlet=Dirichlet distributions.exponential=Exponential distributions.fishersnedecor=FisherSnedecor
    distributions.gamma=Gamma distributions.generalized_pareto=GeneralizedPareto distributions.geometric=Geometric
    distributions.gumbel=Gumbel distributions.half_cauchy=HalfCauchy distributions.half_normal=HalfNormal
    distributions.inverse_gamma=InverseGamma distributions.kumaraswamy=Kumaraswamy distributions.laplace=Laplace
    distributions.lkj_cholesky=LKJCholesky distributions.log_normal=LogNormal
    distributions.logistic_normal=LogisticNormal distributions.lowrank_multivariate_normal=LowRankMultivariateNormal
    distributions.multinomial=Multinomial distributions.negative_binomial=NegativeBinomial distributions.normal=Normal
    distributions.pareto=Pareto distributions.poisson=Poisson distributions.studentT=StudentT
    distributions.uniform=Uniform distributions.weibull=Weibull distributions.wishart=Wishart multiprocessing.pool=Pool
    nn.modules.activation=MultiheadAttention nn.modules.channelshuffle=ChannelShuffle nn.modules.container=Container
    nn.modules.linear=LazyLinear nn.modules.loss=NLLLoss2d nn.modules.normalization=CrossMapLRN2d
    nn.parallel.distributed=DistributedDataParallel nn.parallel.parallel_apply=parallel_apply
    nn.parallel.replicate=replicate optim._adafactor=Adafactor optim._muon=Muon optim.adadelta=Adadelta
    optim.adagrad=Adagrad optim.adamax=Adamax optim.adamw=AdamW optim.asgd=ASGD optim.nadam=NAdam optim.radam=RAdam
    optim.rmsprop=RMSprop optim.rprop=Rprop optim.sgd=SGD random=thread_safe_generator
    utils.data._utils.worker=get_worker_info utils.data.dataloader=get_worker_info"""
"""Modules with one name that is found elsewhere here."""

TABLE: dict[str, Row] = {
    **dict.fromkeys(WHOLE.split(), NO_ROW),
    **{path: Row(name) for path, _, name in (each.partition("=") for each in WITH_ONE.split())},
    **{path: Row(lies_in=f"_compat.{path}") for path in ("accelerator", "backends", "futures", "hub", "ops", "types")},
    **dict.fromkeys(QUANTIZING.split(), Row(refuses=NO_QUANTIZATION, is_listed=False)),
    "_C": Row(lies_in="_compat.native"),
    "__config__": Row(lies_in="_compat.build_settings"),
    "__future__": Row(lies_in="_compat.future"),
    "_dynamo": Row(lies_in="_compat.dynamo", refuses=NO_COMPILER),
    "_inductor": Row(lies_in="_compat.inductor", refuses=NO_COMPILER),
    "_functorch": Row(lies_in="_compat.functorch"),
    "_functorch.apis": Row("grad grad_and_value vmap"),
    "_functorch.eager_transforms": Row("functionalize hessian jacfwd jacrev jvp linearize vjp"),
    "_subclasses": Row(lies_in="_compat.fake_tensors"),
    "_subclasses.fake_tensor": Row("FakeTensor FakeTensorMode is_fake"),
    "_vmap_internals": Row(lies_in="_compat.vmap_internals"),
    "accelerator.memory": Row(
        "empty_cache get_memory_info max_memory_allocated max_memory_reserved memory_allocated "
        "memory_reserved reset_peak_memory_stats"
    ),
    "autograd.grad_mode": Row("enable_grad inference_mode no_grad set_grad_enabled set_multithreading_enabled"),
    "compiler": Row(lies_in="_compat.compiler", refuses=NO_COMPILER),
    "contrib": Row(refuses="it is code that PyTorch keeps for others", is_listed=False),
    "cuda.amp.autocast_mode": Row("autocast custom_bwd custom_fwd"),
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
    "distributions.one_hot_categorical": Row("OneHotCategorical OneHotCategoricalStraightThrough"),
    "export": Row(refuses=NO_COMPILER),
    "functional": Row(
        "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist "
        "chain_matmul einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique "
        "unique_consecutive unravel_index"
    ),
    "fx": Row(
        lies_in="_compat.fx",
        refuses="functions run as they are written, and no graph is made of their code; nbautograd.viz draws what ran",
    ),
    "jit": Row(lies_in="_compat.jit", refuses="functions run as they are written, unless torch.jit.trace records them"),
    "masked.maskedtensor.core": Row("MaskedTensor is_masked_tensor"),
    "masked.maskedtensor.creation": Row("as_masked_tensor masked_tensor"),
    "monitor": Row(
        refuses="it reports to PyTorch's own services; time.perf_counter() and logging do for one process",
        is_listed=False,
    ),
    "mps": Row(refuses=NO_DEVICE, answers="is_available=False device_count=0 manual_seed=None", is_listed=False),
    "mtia": Row(refuses=NO_DEVICE, answers=NO_ACCELERATOR, is_listed=False),
    "multiprocessing": Row(
        lies_in="_compat.multiprocessing", refuses="Python's own multiprocessing is behind it, and tensors are pickled"
    ),
    "multiprocessing.queue": Row("Queue SimpleQueue"),
    "multiprocessing.spawn": Row(
        "ProcessContext ProcessException ProcessExitedException ProcessRaisedException SpawnContext spawn "
        "start_processes"
    ),
    "nested": Row(
        refuses="tensors are rectangular; torch.nn.utils.rnn.pad_sequence and a mask do for sequences of several "
        "lengths"
    ),
    "nn.modules.batchnorm": Row(
        "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm "
        "_BatchNorm _NormBase"
    ),
    "nn.modules.conv": Row(
        "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d"
    ),
    "nn.modules.distance": Row("CosineSimilarity PairwiseDistance"),
    "nn.modules.flatten": Row("Flatten Unflatten"),
    "nn.modules.fold": Row("Fold Unfold"),
    "nn.modules.instancenorm": Row(
        "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d "
        "LazyInstanceNorm3d _InstanceNorm"
    ),
    "nn.modules.pixelshuffle": Row("PixelShuffle PixelUnshuffle"),
    "nn.modules.upsampling": Row("Upsample UpsamplingBilinear2d UpsamplingNearest2d"),
    "nn.parallel.data_parallel": Row("DataParallel data_parallel"),
    "nn.parallel.scatter_gather": Row("gather scatter scatter_kwargs"),
    "nn.utils.spectral_norm": Row(lies_in="nn.utils._spectral_norm", is_hidden=True),
    "nn.utils.weight_norm": Row(lies_in="nn.utils._weight_norm", is_hidden=True),
    "onnx": Row(
        refuses="no graph is exported; PyTorch's torch.onnx exports a model with the weights of one from here",
        answers="is_in_onnx_export=False",
        is_listed=False,
    ),
    "package": Row(refuses="it packs Python code into archives; torch.save stores a state_dict", is_listed=False),
    "profiler.profiler": Row("ProfilerAction profile schedule supported_activities tensorboard_trace_handler"),
    "quasirandom": Row(refuses="scipy.stats.qmc.Sobol has the same sequence", is_listed=False),
    "return_types": Row(lies_in="_engine.core.return_types"),
    "signal.windows.windows": Row(WINDOWS),
    "storage": Row("TypedStorage UntypedStorage"),
    "utils.benchmark.utils.common": Row(
        "Measurement TaskSpec ordered_unique select_unit set_torch_threads trim_sigfig unit_to_english"
    ),
    "utils.benchmark.utils.compare": Row("Colorize Compare"),
    "utils.benchmark.utils.timer": Row("Language Timer timer"),
    "utils.cpp_extension": Row(
        refuses="there is no C++ to compile against; torch.autograd.Function takes NumPy and CuPy code"
    ),
    "utils.data._utils.collate": Row("default_collate default_convert"),
    "utils.mobile_optimizer": Row(refuses="there is no runtime for phones", is_listed=False),
    "xpu": Row(refuses=NO_DEVICE, answers=NO_ACCELERATOR, is_listed=False),
}
TABLE = dict(sorted(TABLE.items()))  # a class that several modules have gets the name of the first

OWN = ("errors", "protocol", "utils.allocator", "viz")
"""Documented modules of nbautograd's own."""


def row(path: str) -> Row:
    """Return the row of a module, or an empty one."""
    return TABLE.get(path, NO_ROW)
