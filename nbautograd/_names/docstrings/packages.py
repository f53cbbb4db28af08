"""Shared docstrings: ``cuda``, ``signal.windows``, ``masked``, ``func``, ``autograd.functional``, and pytrees."""

from __future__ import annotations

from collections.abc import Mapping

from nbautograd._names.docstrings import Family

Package = tuple[Mapping[str, Family], Mapping[str, str]]
"""The families of a package, and the docstrings its functions share."""


NAMES_OF_WINDOWS = """
    bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall"""
NORMALIZATIONS = "cumprod cumsum log_softmax normalize softmax softmin"
REDUCTIONS = "amax amin argmax argmin logsumexp mean median norm prod std sum var"
WINDOWS: Package = (
    {
        name: ({}, "shape (M,), of a floating dtype.", (("ValueError", "a number is out of its range"),))
        for name in NAMES_OF_WINDOWS.split()
    },
    {
        "M": "the number of points.",
        "a": "the weights of the cosines.",
        "alpha": "the constant term.",
        "beta": "the shape: a larger one has lower side lobes.",
        "device": "the device of the result; the default device if None.",
        "dtype": "a floating dtype; the default one if None.",
        "layout": "``torch.strided``, the only layout of dense tensors.",
        "requires_grad": "True to record operations on the result for backward.",
        "std": "the standard deviation, in points.",
        "sym": "symmetric, to design filters; False for a periodic window, to take spectra.",
        "tau": "the time constant of the decay.",
    },
)
REDUCED = "a tensor without the reduced dimensions (of length 1 with ``keepdim``)."
MASKED: Package = (
    {
        **{name: ({}, REDUCED, (("IndexError", "``dim`` is out of range"),)) for name in REDUCTIONS.split()},
        **{
            name: ({}, "a tensor of the shape of ``input``.", (("IndexError", "``dim`` is out of range"),))
            for name in NORMALIZATIONS.split()
        },
        "logaddexp": ({}, "a tensor of the shape to which the operands broadcast.", ()),
        "is_masked_tensor": ({}, "a Python bool.", ()),
        "masked_tensor": ({}, "a masked tensor of the shape of ``data``.", ()),
        "as_masked_tensor": ({}, "a masked tensor of the shape of ``data``.", ()),
    },
    {
        "correction": "subtracted from the number of elements in the denominator.",
        "data": "a tensor.",
        "dim": "one dimension or several; None for all.",
        "dtype": "cast to this dtype first.",
        "input": "a tensor, or a masked tensor, whose mask is used.",
        "input_mask": "True for the elements of ``input`` to include.",
        "keepdim": "keep reduced dimensions with length 1.",
        "mask": "a bool tensor that broadcasts with ``input``: True for the elements to include; all by default.",
        "obj": "any object.",
        "other": "the second tensor.",
        "other_mask": "True for the elements of ``other`` to include.",
        "requires_grad": "True to record operations on the result for backward.",
        "unbiased": "a former form of ``correction=1`` (True) or ``correction=0`` (False).",
    },
)
MASKED_EXAMPLES = {
    "amax": ("x, 0", "tensor(2.)"),
    "amin": ("x, 0", "tensor(1.)"),
    "argmax": ("x, 0", "tensor(2.)"),
    "argmin": ("x, 0", "tensor(1.)"),
    "cumprod": ("x, 0", "tensor([1., 1., 2.])"),
    "cumsum": ("x, 0", "tensor([0., 1., 3.])"),
    "log_softmax": ("x, 0", "tensor([   -inf, -1.3133, -0.3133])"),
    "logsumexp": ("x, 0", "tensor(2.3133)"),
    "median": ("x, 0", "tensor(1.)"),
    "norm": ("x, 2, 0", "tensor(2.2361)"),
    "normalize": ("x, 1, 0", "tensor([0.0000, 0.3333, 0.6667])"),
    "softmin": ("x, 0", "tensor([0.0000, 0.7311, 0.2689])"),
    "std": ("x, 0", "tensor(0.7071)"),
}
"""The arguments and the result of each example, in which the first of three elements is masked out."""
PLACE = {"device": 'a number, a name such as ``"cuda:1"`` or a ``torch.device``; the current one by default.'}
NO_DEVICE = (
    ("CudaUnavailableError", "CUDA is not available, or the device does not exist"),
    ("ValueError", "the device is not a CUDA device"),
    ("TypeError", "the argument does not name a device"),
)
NO_USED_DEVICE = (
    ("CudaUnavailableError", "CUDA has been used, and the device does not exist"),
    ("ValueError", "CUDA has been used, and the device is not a CUDA device"),
)
OF_A_DEVICE = "current_stream default_stream get_device_capability get_device_name get_device_properties mem_get_info"
OF_MEMORY = "max_memory_allocated max_memory_reserved memory_allocated memory_reserved"
CUDA: Mapping[str, Family] = {
    **dict.fromkeys(OF_A_DEVICE.split(), (PLACE, "", NO_DEVICE)),
    **dict.fromkeys(["reset_peak_memory_stats", "set_device", "synchronize"], (PLACE, "None.", NO_DEVICE)),
    **dict.fromkeys(OF_MEMORY.split(), (PLACE, "an int; 0 before CUDA has been used.", NO_USED_DEVICE)),
    **dict.fromkeys(["empty_cache", "seed_all"], ({}, "None.", ())),
    **dict.fromkeys(["init", "set_stream"], ({}, "None.", (("CudaUnavailableError", "CUDA is not available"),))),
}
CUDA_EXAMPLES = {
    "current_device": "assert torch.cuda.current_device() < torch.cuda.device_count()",
    "current_stream": "stream = torch.cuda.current_stream()",
    "default_stream": "assert torch.cuda.default_stream().cuda_stream == 0",
    "empty_cache": "torch.cuda.empty_cache()",
    "get_device_capability": "major, minor = torch.cuda.get_device_capability()",
    "get_device_name": "assert torch.cuda.get_device_name(0)",
    "get_device_properties": "assert torch.cuda.get_device_properties(0).total_memory > 0",
    "init": "torch.cuda.init()",
    "initial_seed": "assert torch.cuda.initial_seed() >= 0",
    "max_memory_allocated": "assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated()",
    "max_memory_reserved": "assert torch.cuda.max_memory_reserved() >= torch.cuda.memory_reserved()",
    "mem_get_info": "free, total = torch.cuda.mem_get_info()",
    "memory_reserved": "assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()",
    "reset_peak_memory_stats": "torch.cuda.reset_peak_memory_stats()",
    "seed": "torch.cuda.seed()",
    "seed_all": "torch.cuda.seed_all()",
    "set_device": "torch.cuda.set_device(0)",
    "set_stream": "torch.cuda.set_stream(torch.cuda.current_stream())",
    "synchronize": "torch.cuda.synchronize()",
}
"""The example of each function: a statement, if CUDA is available."""
NOT_TENSORS = (("TypeError", "an argument or a result is not made of tensors"),)
TRANSFORMS: Package = (
    {
        "grad": ({}, "a function that returns the gradients, of the shapes of the arguments.", NOT_TENSORS),
        "grad_and_value": ({}, "a function that returns the gradients and the result.", NOT_TENSORS),
        "vjp": ({}, "the result, and a function of cotangents of its shape; with ``has_aux`` the rest.", NOT_TENSORS),
        "jvp": ({}, "the result and its tangent, of one shape; with ``has_aux`` the rest.", NOT_TENSORS),
        "jacrev": ({}, "a function that returns Jacobians: shapes of the result, then of the argument.", NOT_TENSORS),
        "jacfwd": ({}, "a function that returns Jacobians: shapes of the result, then of the argument.", NOT_TENSORS),
        "hessian": ({}, "a function that returns Hessians: the shape of the argument twice.", NOT_TENSORS),
        "linearize": ({}, "the result, and the linear map from tangents to tangents.", NOT_TENSORS),
        "functional_call": ({}, "the result of the module.", ()),
        "functionalize": ({}, "a function with the same results.", ()),
    },
    {
        "argnums": "the index of the argument to differentiate by, or a tuple of several.",
        "func": "the function.",
        "has_aux": "True if the function returns a pair, whose second item is passed on.",
        "kwargs": "keyword arguments.",
        "models": "modules of the same structure.",
        "module": "the module.",
        "primals": "the arguments.",
    },
)
DERIVATIVES: Package = (
    {
        "vjp": ({}, "the result, and the product, of the shapes of ``inputs``.", NOT_TENSORS),
        "jvp": ({}, "the result, and the product, of the shapes of the result.", NOT_TENSORS),
        "jacobian": ({}, "Jacobians: shapes of the result, then of the input.", NOT_TENSORS),
        "hessian": ({}, "Hessians: the shape of an input, then of another.", NOT_TENSORS),
        "hvp": ({}, "the result, and the product, of the shapes of ``inputs``.", NOT_TENSORS),
        "vhp": ({}, "the result, and the product, of the shapes of ``inputs``.", NOT_TENSORS),
    },
    {
        "create_graph": "record the derivatives, so that they can be differentiated.",
        "func": "a function of tensors.",
        "inputs": "a tensor, or a tuple of tensors.",
        "outer_jacobian_strategy": '``"reverse-mode"`` or ``"forward-mode"``.',
        "strict": "raise if the result does not depend on an input, instead of returning zeros.",
        "v": "the vector, of the shapes of ``inputs``.",
        "vectorize": "compute all rows at once, by ``vmap``.",
    },
)
OTHER_STRUCTURE = (("ValueError", "a further tree has another structure"),)
NO_KEYS = ("ValueError", "a container has been registered without ``flatten_with_keys_fn``")
TREES: Package = (
    {
        "map_only": ({}, "a decorator of functions of one argument.", ()),
        "register_constant": ({"cls": "the class."}, "None.", ()),
        "register_dataclass": ({"cls": "the class."}, "None.", ()),
        "register_pytree_node": ({"cls": "the class."}, "None.", ()),
        "tree_all": ({}, "a Python bool; True if there are no leaves.", ()),
        "tree_all_only": ({}, "a Python bool; True if there are no such leaves.", ()),
        "tree_any": ({}, "a Python bool; False if there are no leaves.", ()),
        "tree_any_only": ({}, "a Python bool; False if there are no such leaves.", ()),
        "tree_flatten_with_path": ({}, "a list of pairs, and a :class:`TreeSpec`.", (NO_KEYS,)),
        "tree_is_leaf": ({}, "a Python bool.", ()),
        "tree_leaves": ({}, "a list.", ()),
        "tree_leaves_with_path": ({}, "a list of pairs.", (NO_KEYS,)),
        "tree_map_": ({}, "``tree``.", OTHER_STRUCTURE),
        "tree_map_only": ({}, "a new tree of the same structure.", ()),
        "tree_map_only_": ({}, "``tree``.", ()),
        "tree_map_with_path": (
            {},
            "a new tree of the same structure.",
            (("ValueError", "a further tree has another structure, or a container was registered without keys"),),
        ),
        "tree_structure": ({}, "a :class:`TreeSpec`.", ()),
    },
    {
        "func": "the function.",
        "is_leaf": "a function that returns True for a container to treat as a leaf.",
        "pred": "a function called with leaves; its result is used as a bool.",
        "rests": "further trees, of the first one's structure down to its leaves; ``func`` also gets their parts.",
        "tree": "nested containers; anything else is a tree of one leaf.",
        "type_or_types": "a class, or a tuple of classes.",
        "type_or_types_or_pred": "a class, a tuple of classes, or a function that selects objects.",
    },
)
"""Functions of ``utils._pytree`` that take a function or a class, and reject other arguments."""
