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
    names = {"T": T, "x": x, "i": T.zeros(2, 2, dtype=T.int64), "s": x @ x.t() + T.eye(2), "a": x[None]}
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


F = "T.nn.functional."
FURTHER_CALLS = (
    *("T.add(x, x, alpha={})", "T.sub(x, x, alpha={})", "T.addmm(x, x, x, beta={})", "T.baddbmm(a, a, a, alpha={})"),
    *("T.addcmul(x, x, x, value={})", "T.diagonal(x, {})", "T.diag_embed(x, {})", "T.cumsum(x, 0, dtype={})"),
    *("T.softmax(x, 0, dtype={})", "T.meshgrid(x[0], x[1], indexing={})", "T.combinations(x[0], with_replacement={})"),
    *(F + "layer_norm(x, {})", F + "rms_norm(x, {})", F + "adaptive_avg_pool2d(a, {})", F + "max_pool1d(a, {})"),
    *(F + "adaptive_max_pool1d(a, {})", F + "avg_pool1d(a, 1, ceil_mode={})", F + "conv1d(a, a, groups={})"),
    *(F + "conv1d(a, a, stride={})", F + "batch_norm(x, None, None, training={})", F + "pad(x, (1, 1), {})"),
    *(F + "instance_norm(a, use_input_stats={})", F + "pad(x, (1, 1), 'constant', {})", F + "group_norm(x, 1, eps={})"),
    *("T.constant_pad_nd(x, (1, 1), {})", F + "threshold(x, 0, {})"),
)


@agrees
def test_types_of_further_options(torch: Any) -> Any:
    """Numbers, sizes, dtypes; and functions of neural networks."""
    values = [value for value in VALUES if value not in ("True", "1j")]
    return [f"{call} {value} {outcome(torch, call.format(value))}" for call in FURTHER_CALLS for value in values]


REFUSING = (
    *("T.cholesky(x)", "T.cholesky_inverse(x)", "T.cholesky_solve(x, x)", "T.geqrf(x)", "T.ormqr(x, x[0], x)"),
    *(
        "T.triangular_solve(x, x)",
        "T.linalg.eigh(x)",
        "T.linalg.eigvalsh(x)",
        "T.linalg.lu(x)",
        "T.linalg.lu_factor(x)",
    ),
    *("T.linalg.householder_product(x, x[0])", "T.linalg.solve_triangular(x, x, upper=True)", "T.linalg.svd(x)"),
    *("T.linalg.qr(x)", "T.linalg.vander(x)", "T.trace(x)", "T.argmax(x)", "T.argmin(x, 0)"),
    *("T.trapezoid(x)", "T.cumulative_trapezoid(x, x)", "T.polar(x, x)", F + "unfold(x[None], 1)"),
    *(F + "fold(x.reshape(4, 1), (1, 1), 1)", F + "mse_loss(x, x)", F + "max_unpool1d(x, i, 1)"),
)


@agrees
def test_kinds_of_errors_of_dtypes(torch: Any) -> Any:
    found = []
    for text in REFUSING:
        for kind in ("bool", "uint8", "int64", "float16", "float32"):
            x = torch.tensor([[3.0, 1.0], [1.0, 2.0]]).to(getattr(torch, kind))
            names = {"T": torch, "x": x, "i": torch.tensor([[0, 1], [0, 1]])}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    eval(text, names)
                found.append(f"{text} {kind} ok")
            except NotImplementedError:
                found.append(f"{text} {kind} NotImplementedError")
            except RuntimeError:
                found.append(f"{text} {kind} RuntimeError")
    return found


@agrees
def test_augmented_assignments(torch: Any) -> Any:
    """Those of other operands return NotImplemented, so that the operand's own method can answer."""

    class Other:
        def __radd__(self, left: Any) -> str:
            return "radd"

    names = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "ilshift"]
    x = torch.ones(2)
    found = [f"{name} {getattr(x, f'__{name}__')(other)}" for name in names for other in (None, "x", [1, 2])]
    x += Other()
    return found, x


LOSSES = (
    *(F + "nll_loss(x, t, weight=g)", F + "cross_entropy(x, t, weight=g)", F + "multi_margin_loss(x, t, weight=g)"),
    *(F + "binary_cross_entropy(p, p, weight=g)", F + "binary_cross_entropy_with_logits(x, p, pos_weight=g)"),
    *(F + "batch_norm(x, g, g)", F + "batch_norm(x, g, g, training=True)", F + "cross_entropy(x, p, weight=g)"),
    *("T.linalg.pinv(x, g[0])", F + "multilabel_soft_margin_loss(x, p, weight=g)", F + "prelu(x, g)"),
)


@agrees
def test_tensors_without_derivative(torch: Any) -> Any:
    """A gradient that would be missing in silence is an error, unless nothing is recorded."""
    found = []
    for text in LOSSES:
        for recorded in (True, False):
            x, g = torch.tensor([[0.1, 0.5, -0.3], [0.7, -0.2, 0.4]]), torch.ones(3, requires_grad=True)
            names = {"T": torch, "x": x, "g": g, "t": torch.tensor([0, 2]), "p": x.sigmoid()}
            with torch.set_grad_enabled(recorded):
                try:
                    found.append(f"{text} {recorded} {eval(text, names).requires_grad}")
                except RuntimeError as error:
                    found.append(f"{text} {recorded} {'not differentiable' in str(error) or 'pinv' in text}")
    return found


@agrees
def test_shapes_that_modules_take(torch: Any) -> Any:
    """A single cell is a mean of any dimensions; dtypes of recurrent layers are checked before their sizes."""
    modules = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.AdaptiveAvgPool3d(1), torch.nn.Unfold(1), torch.nn.GRU(3, 2)]
    found = []
    for module in modules:
        for shape in ((), (3,), (2, 3), (2, 0, 3), (2, 3, 4), (1, 3, 2, 2), (1, 1, 2, 2, 2)):
            for dtype in (torch.float32, torch.float64, torch.complex64):
                try:
                    result = module(torch.ones(shape, dtype=dtype, requires_grad=True))
                    result = result[0] if isinstance(result, tuple) else result
                    found.append(
                        f"{type(module).__name__} {shape} {result.dtype} {result.shape} {result.requires_grad}"
                    )
                except (ValueError, RuntimeError, IndexError) as error:
                    kind = next(base for base in (ValueError, IndexError, RuntimeError) if isinstance(error, base))
                    found.append(f"{type(module).__name__} {shape} {dtype} {kind.__name__}")
    x = torch.ones(1, 2, 3, 3, requires_grad=True)
    return found, [type(m(x).grad_fn).__name__ for m in modules[:2]]


@agrees
def test_writes_that_count(torch: Any) -> Any:
    """Batch norm's running statistics and ``x[False] = 1`` count none; results of comparisons go into leaves, too."""
    norm, x = torch.nn.BatchNorm1d(2), torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    norm(x)
    x[False] = torch.ones(7)
    x[False, 0] = 1
    leaf = torch.ones(2, requires_grad=True)
    torch.lt(leaf, 2, out=leaf)
    return x._version, norm.running_mean, norm.running_mean._version, norm.running_var._version, leaf, leaf._version


@agrees
def test_dtypes_of_soft_margin_loss(torch: Any) -> Any:
    kinds = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
    loss = torch.nn.functional.soft_margin_loss
    return [str(loss(torch.ones(2, dtype=a), torch.ones(2, dtype=b)).dtype) for a in kinds for b in kinds]
