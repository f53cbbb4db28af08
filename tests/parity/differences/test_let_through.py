"""Calls for which PyTorch raises: an option of another type, ``out=`` of another dtype, operands of several dtypes."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tests.parity.differences.both import agrees, differs

CALLS = (
    *("x.sum(0, {})", "x.sum(0, keepdim={})", "x.mean(0, {})", "x.max(0, {})", "x.argmax(0, {})", "x.sort(0, {})"),
    *("x.sort(descending={})", "x.topk(2, largest={})", "x.any(0, keepdim={})", "x.unique(sorted={})"),
    *("x.argsort(descending={})", "x.logsumexp(0, {})", "x.cumsum({})", "T.linalg.eigh(s, UPLO={})"),
    *("T.linalg.vander(x[0], N={})", "T.scatter_reduce(x, 0, i, x, {})", "T.bucketize(x, x[0], out_int32={})"),
    *("x.unique_consecutive(return_inverse={})", "x.nonzero(as_tuple={})", "T.linalg.pinv(s, hermitian={})"),
    *("x.index_put((i[0],), x[:1], accumulate={})", "T.searchsorted(x[0], x, right={})", "T.round(x, decimals={})"),
    *("x.quantile(0.5, interpolation={})", "T.div(x, 2, rounding_mode={})", "T.linalg.cholesky(s, upper={})"),
    *("T.kthvalue(x, 1, 0, {})", "T.std(x, 0, keepdim={})", "T.nn.functional.embedding(i, x, sparse={})"),
)
VALUES = ("True", "False", "1", "0.5", "'x'", "(0, 1)", "[True]", "1j")


def outcome(T: Any, text: str) -> str:
    """Return the dtype and shape of a call's result, or the kind of its error."""
    x = T.tensor([[3.0, 1.0], [2.0, 4.0]])
    names = {"T": T, "x": x, "i": T.zeros(2, 2, dtype=T.int64), "s": x @ x.t() + T.eye(2)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(text, names)
    except (TypeError, ValueError, IndexError) as error:
        return "TypeError" if isinstance(error, TypeError) else type(error).__name__
    except RuntimeError:
        return "RuntimeError"
    first = result[0] if isinstance(result, tuple) else result
    return f"{first.dtype} {list(first.shape)}"


@agrees
def test_types_of_options(torch: Any) -> Any:
    return [f"{call} {value} {outcome(torch, call.format(value))}" for call in CALLS for value in VALUES]


UNARY = ("floor", "ceil", "trunc", "round", "sign", "sgn", "neg", "frac", "tril", "triu", "isneginf", "isposinf",
         "signbit", "exp", "sqrt")  # fmt: skip
ALONG = ("all", "any", "amax", "amin", "argmax", "argmin", "logcumsumexp", "softmax")
KINDS = ("bool", "uint8", "int64", "float32", "float64", "complex64")


@agrees
def test_dtypes_of_out(torch: Any) -> Any:
    """The version of ``out=`` after a resize."""
    found = []
    for name in (*UNARY, *ALONG):
        for kind in ("float32", "int64"):
            for dtype in KINDS:
                out = torch.zeros(0, dtype=getattr(torch, dtype))
                try:
                    x = torch.ones(2, 2, dtype=getattr(torch, kind)).t()
                    result = getattr(torch, name)(x, *[0] * (name in ALONG), out=out)
                    found.append(f"{name} {kind} {dtype} {result.dtype} {list(result.shape)} {out._version}")
                except RuntimeError:
                    found.append(f"{name} {kind} {dtype} RuntimeError")
    return found


PRODUCTS = (
    *("a @ b", "T.mm(a, b)", "T.mv(a, b[0])", "T.dot(a[0], b[0])", "T.vdot(a[0], b[0])", "T.bmm(a[None], b[None])"),
    *("T.addmm(a, a, b)", "T.addmm(b, a, b)", "T.nn.functional.linear(a, b)", "T.einsum('ij,jk->ik', a, b)"),
    *("T.tensordot(a, b)", "T.inner(a, b)", "T.linalg.vecdot(a, b)", "T.linalg.multi_dot([a, b])"),
    *("T.scatter_add(a, 0, i, b)", "T.index_add(a, 0, i[0], b)", "T.masked_scatter(a, a > 0, b)", "T.cross(c, d)"),
    *("T.linalg.cross(c, d)", "a + b", "T.where(a > 0, a, b)", "T.cat([a, b])", "T.outer(a[0], b[0])"),
    *("T.nn.functional.mse_loss(a, b)", "T.nn.functional.cosine_similarity(a, b)", "T.kron(a, b)", "T.lerp(a, b, 0.5)"),
)


@agrees
def test_products_of_several_dtypes(torch: Any) -> Any:
    """Half precision is computed in float32, but raises beside float32."""
    found = []
    kinds = ("float16", "bfloat16", "float32", "float64")
    for first in kinds:
        for second in kinds:
            a, b = torch.ones(2, 2, dtype=getattr(torch, first)), torch.ones(2, 2, dtype=getattr(torch, second))
            names = {"T": torch, "a": a, "b": b, "i": torch.zeros(2, 2, dtype=torch.int64)}
            names |= {"c": torch.ones(3, dtype=a.dtype), "d": torch.ones(3, dtype=b.dtype)}
            for text in PRODUCTS:
                try:
                    found.append(f"{text} {first} {second} {eval(text, names).dtype}")
                except RuntimeError:
                    found.append(f"{text} {first} {second} RuntimeError")
    return found


@differs("A call that fails changes nothing", pytorch=[1.0, 0.0], here=[0.0, 0.0])
def test_calls_that_fail(torch: Any) -> Any:
    x = torch.zeros(2)
    with pytest.raises(IndexError):
        x[[0, 5]] = torch.ones(2)
    return x.tolist()


@agrees
def test_thresholds_of_integers(torch: Any) -> Any:
    """Both numbers are in the dtype of the input."""
    threshold = torch.nn.functional.threshold
    x = torch.tensor([-9, -8, 0, 3])
    return threshold(x, -8.5, -0.5), threshold(x, 2.9, 7.9), threshold(x.double(), -8.5, -0.5)


@agrees
def test_saved_inputs_that_are_returned(torch: Any) -> Any:
    """They raise whether or not an input requires grad, unless nothing is recorded."""

    def outcome(requires_grad: bool, recorded: bool) -> str:
        members = {
            "forward": staticmethod(lambda x: x),
            "setup_context": staticmethod(lambda ctx, inputs, output: ctx.save_for_backward(*inputs)),
        }
        function = type("AsItIs", (torch.autograd.Function,), members)
        with torch.set_grad_enabled(recorded):
            try:
                return str(function.apply(torch.ones(2, requires_grad=requires_grad)).tolist())
            except RuntimeError as error:
                return str(error).partition(".")[0]

    return [outcome(requires_grad, recorded) for requires_grad in (True, False) for recorded in (True, False)]


@agrees
def test_versions_of_resized_results(torch: Any) -> Any:
    outs = [torch.zeros(0), torch.zeros(2), torch.zeros(0), torch.zeros(1)]
    torch.full((2,), 3.0, out=outs[0])
    torch.ones(2, out=outs[1])
    torch.eye(2, out=outs[2])
    return [(t, t._version) for t in (*outs, outs[3].resize_(1, 1))]
