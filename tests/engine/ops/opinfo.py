"""PyTorch's own database of operations, with its sample inputs, run through both libraries.

python -m tests.engine.ops.opinfo                       # every entry, float64: a figure per family, and what differs
python -m tests.engine.ops.opinfo -k 'linalg\\.' -v      # some entries, each with its first difference
python -m tests.engine.ops.opinfo --dtypes complex128,int64,bool --samples 20
python -m tests.engine.ops.opinfo --errors -v           # the error inputs of PyTorch: the same exception type?
python -m tests.engine.ops.opinfo --variants -v         # method, in-place and out= forms
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import re
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import nbautograd as nb
from tests import needs
from tests.engine.ops.opinfo_values import (
    GAUGED,
    LESS_EXACT,
    TWICE_LESS_EXACT,
    DisagreementError,
    compare,
    compare_derivatives,
    converted,
    describe,
    in_one_memory,
)

torch = needs.package("torch")
needs.package("expecttest")  # which PyTorch's database of operations imports

from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core

__all__ = [
    "ABSENT",
    "ENTRIES",
    "OTHERWISE",
    "DisagreementError",
    "Entry",
    "agree",
    "agree_on_errors",
    "agree_on_variants",
    "family",
]

for module in (common_utils, core):  # PyTorch searches the stack for a unittest with its source: none exists
    module.extract_test_fn = lambda: None

OUT_OF_SCOPE = re.compile(
    r"^(sparse\.|masked\.|torch\.|jiterator|to_sparse|hash_tensor|_segment_reduce|_chunk_cat|_softmax_backward_data"
    r"|_upsample|_unsafe_masked|native_|_native_|_batch_norm|max_pool2d_with_indices_backward"
    r"|nn\.functional\.linear_cross_entropy|nn\.functional\.upsample_)"
)
"""Entries that are sparse, nested, JIT-only, prototypes, or internal steps of other functions."""

ABSENT: dict[str, str] = {
    "chalf": "NumPy has no complex numbers of half precision",
    "slice": "an operator of TorchScript; tensors are sliced by indexing",
    "grid_sampler_2d": "an inner step of nn.functional.grid_sample",
    "grid_sampler_3d": "an inner step of nn.functional.grid_sample",
}
"""Entries that are in scope and that we do not have, with the reason."""

OTHERWISE: dict[str, str] = {
    "as_strided_scatter": "PyTorch's gradient of an overwritten one-element input is not that of finite differences",
    "linalg.norm subgradients_at_zero": "the second derivative of the norm at 0 is 0 here, nan in PyTorch",
    "as_strided partial_views": "the database's copies of its views share no memory, so that there is nothing to see",
    "nn.functional.triplet_margin_with_distance_loss": "the database calls a module of PyTorch's on our tensors",
}
"""Entries that we have, and whose results differ on purpose, with the reason."""

ACCEPTED: dict[str, str] = {
    "narrow_copy": "refused, with IndexError",
    "index_select": "out= of another shape gets other memory, so that it does not matter that it overlaps itself",
}
ACCEPTED |= dict.fromkeys(
    ["__radd__", "__rand__", "__rdiv__", "__rmul__", "__ror__", "__rxor__"], "called unbound, on a number"
)
"""Entries with an error input for which PyTorch raises another error, with the reason."""

VARIANTS_OTHERWISE = {
    "addbmm": "PyTorch lets a 0-d tensor grow in place",
    "fft.ihfftn": "PyTorch leaves out= empty",
    "linalg.eig": "eigenvectors are unique up to a phase",
    "linalg.eigh": "eigenvectors are unique up to a phase",
}
"""Entries whose methods or out= differ on purpose, with the reason."""

_SINGLE = {"logcumsumexp", "nn.functional.ctc_loss", "nn.functional.normalize"}
_HALF = {
    *_SINGLE,
    "complex",
    "matrix_exp",
    "nn.functional.scaled_dot_product_attention",
    "nn.functional.soft_margin_loss",
    "view_as_complex",
}
_EQUAL = {"argsort", "kthvalue", "msort", "sort", "topk"}
INEXACT = {"float32": _SINGLE, "float16": _HALF | _EQUAL, "bfloat16": _HALF | _EQUAL, "int64": _EQUAL, "bool": _EQUAL}
"""Entries not compared in a dtype: samples too ill-conditioned for single precision; values that overflow only in
PyTorch's half precision, or have no complex counterpart there; and indices among equal elements, whose order PyTorch
does not define.
"""


class Entry:
    """One entry of the database."""

    def __init__(self, info: Any) -> None:
        self.info = info
        self.name: str = info.name + (f" {info.variant_test_name}" if info.variant_test_name else "")

    def __str__(self) -> str:
        return self.name

    @property
    def ours(self) -> Callable[..., Any] | None:
        """Our function for the entry's; a wrapper of PyTorch's tests is run with our library in the place of theirs."""
        return None if self.name in ABSENT else translated(self.info.op, self.info.name)

    def samples(self, dtype: torch.dtype, grad: bool, limit: int) -> list[Any]:
        """Return sample inputs, spread over those of the database."""
        torch.manual_seed(0)
        made = self.info.sample_inputs("cpu", dtype, requires_grad=grad)
        found = list(itertools.islice(made, 5 * limit))  # some entries have thousands
        step = max(1, len(found) // limit)
        return found[::step][:limit]


ENTRIES = [Entry(info) for info in op_db if not OUT_OF_SCOPE.match(info.name)]


def family(entry: Entry) -> str:
    """The family by which figures are given: the namespace, or for ``torch.<name>`` the module of ours that has it."""
    space = entry.info.name.rpartition(".")[0]
    if space:
        return space
    function = lookup(entry.info.name)
    module = getattr(inspect.unwrap(function), "__module__", "") if function is not None else "absent"
    return str(module).removeprefix("nbautograd.")


def lookup(path: str) -> Any:
    """``nb.<path>``, or the method of that name."""
    found: Any = nb
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if callable(found) else getattr(nb.Tensor, path, None)


def translated(function: Any, name: str = "") -> Any:
    """A function of PyTorch's as ours: by name, or its code with our library where it says ``torch``."""
    if isinstance(function, types.FunctionType) and "common_methods_invocations" in function.__code__.co_filename:
        return with_ours(function)
    if isinstance(function, types.FunctionType) and "opinfo" in function.__code__.co_filename:
        return with_ours(function)
    return lookup(name or function.__name__)


def with_ours(function: types.FunctionType) -> Any:
    def seeded(op: Any, *args: Any, **kwargs: Any) -> Any:  # the database itself sets PyTorch's seed
        nb.manual_seed(42)
        return op(*args, **kwargs)

    scope = {**function.__globals__, "torch": nb, "wrapper_set_seed": seeded}
    cells = function.__closure__ and tuple(
        types.CellType(
            with_ours(c.cell_contents) if isinstance(c.cell_contents, types.FunctionType) else c.cell_contents
        )
        for c in function.__closure__
    )
    made = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def call(function: Any, sample_input: Any, args: Any, kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(sample_input, *args, **kwargs)


def agree(entry: Entry, dtype: torch.dtype, limit: int = 8, second: bool = True) -> int:
    """Run the samples of one dtype through both libraries; return their number.

    :raises DisagreementError: something differs, or ours raised.
    """
    info = entry.info
    # In half precision PyTorch rounds after each step of a derivative, nbautograd at its end: only values are compared.
    exact = dtype not in (torch.float16, torch.bfloat16)
    differentiable = exact and info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
    function = entry.ours
    samples = entry.samples(dtype, differentiable, limit)
    least = LESS_EXACT.get(info.name, 0.0)
    for number, sample in enumerate(samples):
        leaves: dict[int, Any] = {}
        try:
            mine = converted((sample.input, sample.args, sample.kwargs), leaves)
        except (AttributeError, TypeError) as error:
            raise DisagreementError(f"sample {number}: arguments: {error}") from error
        about = describe(sample)
        torch.manual_seed(1)
        try:
            theirs = call(info.op, sample.input, sample.args, sample.kwargs)
        except Exception:
            continue  # a sample that needs another build of PyTorch
        nb.manual_seed(1)
        try:
            ours = call(function, *mine)
        except Exception as error:
            raise DisagreementError(f"sample {number} {about}: {type(error).__name__}: {error}") from error
        random = info.name.startswith(("empty", "new_empty", "nn.functional.empty"))
        process = sample.output_process_fn_grad
        try:
            shown = (translated(process)(ours), process(theirs)) if info.name.startswith(GAUGED) else (ours, theirs)
            if not random:
                compare(*shown, f"sample {number} {about}: result", least)
            if differentiable:
                results = (translated(process)(ours), process(theirs))
                compare_derivatives(
                    results,
                    sample,
                    leaves,
                    second and info.supports_gradgrad,
                    f"sample {number} {about}",
                    least,
                    max(least, TWICE_LESS_EXACT.get(info.name, 0.0)),
                )
        except DisagreementError:
            raise
        except Exception as error:
            raise DisagreementError(f"sample {number} {about}: backward: {type(error).__name__}: {error}") from error
    return len(samples)


# -- errors and variants ---------------------------------------------------------------------------------------------


def agree_on_errors(entry: Entry) -> int:
    """PyTorch's error inputs raise the same exception type here; return their number."""
    info, count = entry.info, 0
    if info.error_inputs_func is None:
        return 0
    torch.manual_seed(0)
    for number, error_input in enumerate(info.error_inputs("cpu")):
        sample = error_input.sample_input
        try:
            call(info.op, sample.input, sample.args, sample.kwargs)
            continue
        except Exception as error:
            expected = error
        try:
            mine = arguments(sample)
        except (AttributeError, TypeError, ValueError, RuntimeError):
            continue  # meta tensors, more dimensions than NumPy has, memory that PyTorch has taken away
        count += 1
        try:
            result = call(entry.ours, *mine)
        except Exception as error:
            if not isinstance(error, type(expected)) and not isinstance(expected, type(error)):
                raise DisagreementError(
                    f"error {number} {describe(sample)}: {type(error).__name__}: {error!s:.80}; "
                    f"PyTorch's {type(expected).__name__}: {expected!s:.80}"
                ) from error
            continue
        raise DisagreementError(
            f"error {number} {describe(sample)}: no error but {result!r:.50}; "
            f"PyTorch's {type(expected).__name__}: {expected!s:.100}"
        )
    return count


def arguments(sample: Any) -> Any:
    """The arguments of a sample for our library, with overlaps of memory where ours has the same."""
    values = (sample.input, sample.args, sample.kwargs)
    try:
        return in_one_memory(values, {})
    except (RuntimeError, ValueError):
        return converted(values, {})


def agree_on_variants(entry: Entry, dtype: torch.dtype = torch.float64, limit: int = 3) -> int:
    """Compare method, in-place method and ``out=`` with PyTorch's, and return their number."""
    info, count = entry.info, 0
    for sample in entry.samples(dtype, False, limit):
        for what, theirs_call, ours_call in variants(info, sample):
            torch.manual_seed(1)
            try:
                theirs = call(theirs_call, *copied(sample))
            except Exception:
                continue
            nb.manual_seed(1)
            count += 1
            try:
                ours = call(ours_call, *converted((sample.input, sample.args, sample.kwargs), {}))
            except Exception as error:
                raise DisagreementError(f"{what} {describe(sample)}: {type(error).__name__}: {error}") from error
            compare(ours, theirs, f"{what} {describe(sample)}", LESS_EXACT.get(info.name, 0.0))
    return count


def copied(sample: Any) -> tuple[Any, Any, Any]:
    def copy(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().clone()
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return type(value)(copy(item) for item in value)
        return value

    return copy(sample.input), copy(sample.args), {k: copy(v) for k, v in sample.kwargs.items()}


def variants(info: Any, sample: Any) -> Iterator[tuple[str, Any, Any]]:
    name = info.name.rpartition(".")[2]
    if isinstance(info.op, types.FunctionType):
        return
    if info.method_variant is not None and isinstance(sample.input, torch.Tensor):
        yield "method", getattr(torch.Tensor, name, None) or info.method_variant, _method(name)
    if info.inplace_variant is not None and isinstance(sample.input, torch.Tensor):
        yield "in-place", info.inplace_variant, _method(name + "_")
    if info.supports_out and not info.name.startswith("empty"):

        def with_out(library: Any, function: Any) -> Any:
            def run(sample_input: Any, *args: Any, **kwargs: Any) -> Any:
                plain = function(sample_input, *args, **kwargs)
                if isinstance(plain, tuple):
                    out: Any = tuple(library.empty((0,), dtype=t.dtype) for t in plain)
                else:
                    out = library.empty((0,), dtype=plain.dtype)
                result = function(sample_input, *args, **kwargs, out=out)
                if not isinstance(plain, tuple) and result is not out:
                    raise DisagreementError("out= is not what is returned")
                return out

            return run

        yield "out=", with_out(torch, info.op), with_out(nb, lookup(info.name))


def _method(name: str) -> Any:
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


# -- the program -----------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="a regular expression that names entries")
    parser.add_argument("-v", action="store_true", help="say how each entry went")
    parser.add_argument("--dtypes", default="float64", help="dtypes, separated by commas")
    parser.add_argument("--samples", type=int, default=8, help="at most so many samples per entry and dtype")
    parser.add_argument("--errors", action="store_true", help="run the inputs that PyTorch refuses")
    parser.add_argument("--variants", action="store_true", help="run methods, in-place methods and out=")
    options = parser.parse_args()
    figures: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for entry in ENTRIES:
        if not re.search(options.k, entry.name):
            continue
        trouble = examine(entry, options)
        figures[family(entry)][0] += trouble is None
        figures[family(entry)][1] += 1
        if trouble is not None and (options.v or options.k):
            print(f"{entry.name}: {trouble}", flush=True)
        elif options.v:
            print(f"{entry.name}: OK", flush=True)
    for name, (good, total) in sorted(figures.items()):
        print(f"{name:28} {good:4} of {total:4}")
    good, total = sum(f[0] for f in figures.values()), sum(f[1] for f in figures.values())
    print(f"{'all':28} {good:4} of {total:4} = {100 * good / max(1, total):.1f} %")


def examine(entry: Entry, options: Any) -> str | None:
    """Return the error of an entry, or None."""
    if entry.ours is None:
        return "MISSING"
    try:
        if options.errors:
            agree_on_errors(entry)
        elif options.variants:
            agree_on_variants(entry)
        else:
            for name in options.dtypes.split(","):
                dtype = getattr(torch, name)
                if dtype in entry.info.supported_dtypes("cpu"):
                    agree(entry, dtype, options.samples)
    except DisagreementError as difference:
        return str(difference)
    except Exception as error:
        return f"{type(error).__name__}: {error} (in the comparison)"
    return None


if __name__ == "__main__":
    main()
