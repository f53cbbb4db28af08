"""Arguments of wrong types beside tensors of wrong shapes: PyTorch's operations look at all types first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.parity.differences.both import agrees

CALLS = {
    "avg_pool1d": "o(2,3,4) 2",
    "avg_pool2d": "o(2,3,4) 2",
    "avg_pool3d": "o(2,3,4,4) 2",
    "bilinear": "o(2,3) o(2,4) o(5,3,4) o(5)",
    "channel_shuffle": "o(1,4,2,2) 2",
    "conv1d": "o(1,2,5) o(3,2,2) o(3) 1 0 1 1",
    "conv2d": "o(1,2,5,5) o(3,2,2,2) o(3) 1 0 1 1",
    "conv_transpose1d": "o(1,2,5) o(2,3,2) o(3) 1 0 0 1",
    "cosine_similarity": "o(2,3) o(2,3) 1 1e-8",
    "gelu": "o(2)",
    "hardshrink": "o(2) .5",
    "linear": "o(2,3) o(4,3) o(4)",
    "logsigmoid": "o(2)",
    "one_hot": "o(2).long() 3",
    "pairwise_distance": "o(2,3) o(2,3) 2. 1e-6 False",
    "pdist": "o(2,3) 2.",
    "pixel_shuffle": "o(1,4,2,2) 2",
    "prelu": "o(2,3) o(1)",
    "scaled_dot_product_attention": "o(1,2,3) o(1,2,3) o(1,2,3) None",
    "softplus": "o(2)",
    "softshrink": "o(2) .5",
}
WRONG = ("'a'", "[1.5]", "None", "o(2)", "1j", "o", "2.5", "3")
KNOWN = {
    "bilinear": ("o(7,7)", "None o(2)"),  # which of two shapes is named
    "hardshrink": ("", "1j"),
    "softshrink": ("", "1j"),
}
"""The first words of a call, and the arguments in it, of which PyTorch raises another error."""


def calls() -> Iterator[str]:
    """Yield calls with one argument of a wrong type, and in some one tensor of a wrong shape."""
    for name, text in CALLS.items():
        arguments = text.split()
        for wrong_shape in (None, *range(len(arguments))):
            if wrong_shape is not None and not arguments[wrong_shape].startswith("o("):
                continue
            for place in range(len(arguments)):
                for wrong in WRONG if place != wrong_shape else ():
                    given = [*arguments]
                    if wrong_shape is not None:
                        given[wrong_shape] = "o(7,7)"
                    given[place] = wrong
                    shape, values = KNOWN.get(name, ("none", ""))
                    if not (wrong in values.split() and (not shape or shape in given)):
                        yield f"{name}({', '.join(given)})"


def kind(torch: Any, call: str) -> str:
    """Return the built-in type of the error that a call raises; nothing if it raises none."""
    try:
        eval(f"F.{call}", {"F": torch.nn.functional, "o": torch.ones})
    except Exception as error:
        return next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
    return ""


@agrees(exact=True)
def test_types_come_before_shapes(torch: Any) -> Any:
    return [(call, kind(torch, call)) for call in calls()]


@agrees(exact=True)
def test_a_tensor_is_a_number_if_it_is_0_d(torch: Any) -> Any:
    one = "o(1).long()"
    programs = (
        f"channel_shuffle(o(1,4,2,2), {one})",
        f"avg_pool1d(o(2,3,4), {one}[0])",
        f"pixel_shuffle(o(1,4,2,2), {one}[0])",
    )
    return [(call, kind(torch, call)) for call in programs]


DIMENSIONS = (
    *("transpose(x, {}, 1)", "flatten(x, {}, 1)", "select(x, {}, 1)", "argmax(x, {})", "cumsum(x, {})", "sort(x, {})"),
    *(
        "chunk(x, 2, {})",
        "unbind(x, {})",
        "gather(x, {}, i)",
        "softmax(x, {})",
        "unsqueeze(x, {})",
        "narrow(x, {}, 0, 1)",
    ),
    *("renorm(x, 2, {}, 1.)", "index_select(x, {}, i[0])", "index_add(x, {}, i[0, :1], x[:1])", "split(x, 1, {})"),
    *("unflatten(x, {}, (1, 2))", "cat([x, x], {})", "stack([x, x], {})", "mode(x, {})", "fft.fft(x, dim={})"),
    *("sum(x, {})", "mean(x, {})", "std(x, {})", "amax(x, {})", "logsumexp(x, {})", "roll(x, 1, {})", "nansum(x, {})"),
)
"""Functions of one dimension, and of several."""


@agrees(exact=True)
def test_a_vector_is_no_dimension(torch: Any) -> Any:
    x, i = torch.ones(2, 3), torch.zeros(1, 2, dtype=torch.int64)
    found = {}
    for call in DIMENSIONS:
        for dim in ("i[0, 0]", "i[0, :1]", "i[0]", "x[0, 0]", "True"):
            try:
                eval(f"torch.{call.format(dim)}", {"torch": torch, "x": x, "i": i})
                found[call, dim] = ""
            except Exception as error:
                found[call, dim] = next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
    return [(*key, value) for key, value in found.items()]


NUMBERS = """
    add(x, x, alpha={}); sub(x, x, alpha={}); addmm(x[0, 0], x, x.mT, alpha={}); addcmul(x, x, x, value={});
    addcdiv(x, x, x, value={}); isclose(x, x, rtol={}); allclose(x, x, atol={}); arange({}); full((2,), {});
    full_like(x, {}); x.new_full((2,), {}); nan_to_num(x, nan={}); renorm(x, {}, 0, 1.); histc(x, 2, max={});
    linspace(0, {}, 3); logspace(0, {}, 3); std(x, correction={}); polygamma(1, x); F.leaky_relu(x, {});
    F.elu(x, {}); F.hardtanh(x, -1, {}); F.threshold(x, {}, 0); F.softplus(x, {}); F.layer_norm(x, (3,), eps={});
    F.group_norm(x[None, 0], 1, eps={}); F.rms_norm(x, (3,), eps={}); F.pad(x, (1, 1), value={});
    F.avg_pool2d(x[None], 1, divisor_override={}); F.pairwise_distance(x, x, {}); topk(x, {}); tril(x, {});
    diag(x, {}); narrow(x, 0, 0, {}); roll(x, {}, 0); chunk(x, {}); bincount(i, minlength={}); unsqueeze(x, {});
    F.one_hot(i, {}); signal.windows.gaussian(3, std={}); eye({}); ones({}, 2)
"""
"""Functions of a number."""


@agrees
def test_a_tensor_stands_for_a_number_if_it_is_0_d_and_needs_no_gradient(torch: Any) -> Any:
    given = {"one": torch.tensor(1), "float": torch.tensor(1.0), "leaf": torch.tensor(1.0, requires_grad=True)}
    x, i = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.tensor([0])
    names = {"torch": torch, "F": torch.nn.functional, "x": x, "i": i, **given}
    found = []
    for call in NUMBERS.split(";"):
        for number in given:
            text = call.strip().format(number)
            try:
                result = eval(text if text[:2] in ("F.", "x.") else f"torch.{text}", names)
                found.append((text, result))
            except Exception as error:
                kind = next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
                found.append((text, kind))
    return found


NOTHING = """
    zeros() ones() empty() rand() randn() x.view() x.new_zeros() x.new_ones() x.new_empty() x[0,0].view()
    zeros(()) x[0,0].view(()) x[0,0].expand(()) rand(()) zeros([]) x.sum(()) x.squeeze(()) x.flip(()) x.tile(())
    zeros(size=()) ones(*x.shape) x.view(*x.shape)
"""


@agrees(exact=True)
def test_a_size_must_be_given(torch: Any) -> Any:
    found = []
    for call in NOTHING.split():
        try:
            text = call if call.startswith("x") else f"torch.{call}"
            found.append((call, list(eval(text, {"torch": torch, "x": torch.zeros(2, 3)}).shape)))
        except Exception as error:
            found.append((call, type(error).__name__))
    return found


@agrees(says="0D or 1D target tensor expected, multi-target not supported")
def test_several_targets_of_a_sample_are_not_supported(torch: Any) -> Any:
    return torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.zeros(2, 1, dtype=torch.long))


@agrees(says="only batches of spatial targets supported (3D tensors)")
def test_images_have_targets_of_three_dimensions(torch: Any) -> Any:
    return torch.nn.functional.cross_entropy(torch.ones(2, 3, 4, 5), torch.zeros(2, 4, dtype=torch.long))


@agrees(says="allclose(): argument 'other' (position 2) must be Tensor, not int")
def test_allclose_names_itself(torch: Any) -> Any:
    return eval("torch.allclose(torch.ones(2), 1)", {"torch": torch})


TUPLES = (
    *("permute(x, {})", "reshape(x, {})", "tile(x, {})", "flip(x, {})", "permute_copy(x, {})", "expand_copy(x, {})"),
    *("broadcast_to(x, {})", "view_copy(x, {})", "split_with_sizes(x, {})", "movedim(x, 0, {})", "roll(x, 1, {})"),
    *("sum(x, {})", "squeeze(x, {})", "unflatten(x, 0, {})", "count_nonzero(x, {})", "as_strided(x, {}, (1,))"),
    *("linalg.matrix_norm(x, 1, {})", "norm(x, 'nuc', {})", "full({}, 1.)", "randint(2, {})"),
    *("Tensor.permute(x, {})", "Tensor.reshape(x, {})", "Tensor.tile(x, {})", "Tensor.flip(x, {})"),
    *("Tensor.expand(x, {})", "Tensor.broadcast_to(x, {})", "Tensor.repeat(x, {})", "Tensor.view(x, {})"),
)
"""Functions that take a tuple of integers, some of them an integer in its place, and methods."""


def outcome(torch: Any, call: str, **names: Any) -> str:
    """Return the shape of a result, or the built-in type of the error that a call raises."""
    try:
        result = eval(f"torch.{call}", {"torch": torch, **names})
    except Exception as error:
        return next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")
    return str([*result.shape]) if hasattr(result, "shape") else type(result).__name__


@agrees(exact=True)
def test_an_integer_in_place_of_a_tuple(torch: Any) -> Any:
    names = {"x": torch.ones(2, 3)}
    given = ("0", "1", "6", "2, 3", "(2, 3)", "[0, 1]", "None", "True", "1.5", "'a'")
    return [(call, value, outcome(torch, call.format(value), **names)) for call in TUPLES for value in given]


OPTIONAL = (
    *("max(x, {})", "min(x, {})", "prod(x, {})", "squeeze(x, {})", "logsumexp(x, {})", "median(x, {})"),
    *("nanmedian(x, {})", "argmax(x, {})", "aminmax(x, dim={})", "sum(x, {})", "mean(x, {})", "nansum(x, {})"),
    *("amax(x, {})", "all(x, {})", "cummax(x, {})", "topk(x, 1, {})", "norm(x, 2., {})", "norm(x, {})"),
    *("squeeze_copy(x, {})", "reshape(x, shape={})", "tile(x, dims={})", "flip(x, dims={})", "permute(x, dims={})"),
    *("quantile(x, .5, {})", "unique(x, dim={})", "bincount(i, {})", "searchsorted(x[0], x, sorter={})"),
    *("searchsorted(x[0], x, side={})", "clamp(x, {}, 1)", "round(x, decimals={})", "nan_to_num(x, {})"),
    *("logit(x, {})", "diff(x, 1, -1, {})", "cumsum(x, 0, dtype={})", "div(x, x, rounding_mode={})"),
    *("count_nonzero(x, {})", "gradient(x, dim={})", "full((2,), {})", "fft.fft(x, {})", "fft.fft(x, 3, {})"),
    *("addcmul(x, x, x, value={})", "add(x, x, alpha={})", "isclose(x, x, {})", "nonzero(x, as_tuple={})"),
    *("vander(x[0], {})", "eye(2, 2, dtype={})", "std(x, {})", "var(x, correction={})", "cov(x, correction={})"),
    *("linalg.norm(x, {})", "histogram(x, 4, range={})"),
    *("nn.functional.softmax(x, 0, dtype={})", "nn.functional.max_pool1d(x, 2, {})"),
    *("nn.functional.pad(x, (1, 1), value={})", "nn.functional.interpolate(x[None], {}, 2)"),
)
"""Functions with an option that may be None, or only left out."""


@agrees(exact=True)
def test_options_that_are_none(torch: Any) -> Any:
    names = {"x": torch.ones(2, 3), "i": torch.zeros(3, dtype=torch.int64)}
    return [(call, outcome(torch, call.format("None"), **names)) for call in OPTIONAL]


VECTORS = (
    *("vander(x[0], {})", "rot90(x, {})", "tril(x, {})", "diagonal(x, {})", "diag(x, {})", "diff(x, {})"),
    *("nan_to_num(x, {})", "logit(x, {})", "histc(x, 4, 0, {})", "renorm(x, 2, 0, {})", "multinomial(x, {})"),
    *("kthvalue(x, {})", "topk(x, {})", "linalg.matrix_power(x @ x.T, {})", "fft.fft(x, {})", "fft.rfft(x, {})"),
    *("bincount(i, None, {})", "linspace(0, {}, 2)", "logspace(0, {}, 2)", "dist(x, x, {})", "cdist(x, x, {})"),
    *("unfold_copy(x, 0, {}, 1)", "round(x, decimals={})", "clamp(x, {})"),
    *("nn.functional.pixel_shuffle(x, {})", "nn.functional.softshrink(x, {})"),
)
"""Functions of a number, to which a vector is given."""


@agrees(exact=True)
def test_vectors_in_place_of_numbers(torch: Any) -> Any:
    names = {"x": torch.ones(2, 3), "i": torch.zeros(3, dtype=torch.int64), "v": torch.ones(2)}
    given = ("v", "v[:1]", "v[0]", "v.long()", "v.long()[0]")
    return [(call, value, outcome(torch, call.format(value), **names)) for call in VECTORS for value in given]
