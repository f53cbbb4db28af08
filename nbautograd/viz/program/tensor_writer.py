"""Write the program in tensors: in the vocabulary that PyTorch and this package share."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from nbautograd._engine.compiler.expressions import substituted
from nbautograd._engine.compiler.schema import OPS, OpSchema
from nbautograd._engine.compiler.source import compiled, evaluated, parsed
from nbautograd._engine.core.grad_mode import no_grad
from nbautograd._engine.core.tensor import wrap
from nbautograd.errors import ProgramError
from nbautograd.viz.program.expressions import Operand, arguments_of, formula_of, with_names, with_options, with_shapes
from nbautograd.viz.program.graph import Call, refuse
from nbautograd.viz.program.numpy_writer import NumpyWriter
from nbautograd.viz.program.statements import BACKWARD, GRADS, Line
from nbautograd.viz.program.variables import method

__all__ = ["AFFIXES", "OWNERS", "SINGLE", "TENSOR_FORMS", "VJP", "TensorWriter", "is_near"]


def _each(form: str, names: str, key: str = "{}") -> dict[str, str]:
    """Return a form of several operations, in which ``{}`` stands for the name; and likewise in the key of each."""
    return {key.replace("{}", name): form.replace("{}", name) for name in names.split()}


_FORMS = {
    "add": "input + other if alpha == 1 else torch.add(input, other, alpha=alpha)",
    "sub": "input - other if alpha == 1 else torch.sub(input, other, alpha=alpha)",
    "rsub": "other - input if alpha == 1 else torch.rsub(input, other, alpha=alpha)",
    "mul": "input * other",
    "neg": "-input",
    "clone": "input.clone()",
    "true_divide": "input / other",
    "pow_base": "base ** exponent",
    "_clamp_min": "torch.clamp(input, min=low)",
    "_clamp_max": "torch.clamp(input, max=high)",
    "mv": "input @ vec",
    "dot": "input @ tensor",
    "outer_product": "torch.outer(input, vec2)",
    "addmm": "torch.addmm(input, mat1, mat2) if alpha == 1 and beta == 1 else "
    "torch.addmm(input, mat1, mat2, beta=beta, alpha=alpha)",
    "permute": "input.permute(dims)",
    "squeeze_all": "input.squeeze()",
    "squeeze_some": "input.squeeze(dims)",
    "expand": "input.expand(size)",
    "slice_": "input[(slice(None),) * (dim % input.ndim) + (slice(start, stop, step),)]",
    "sum_along": "input.sum(dim, True)",
    "euclidean_norm": "torch.linalg.vector_norm(input, 2, dim, keepdim)",
    "_mse": "F.mse_loss(input, target, reduction=reduction)",
    "_gelu_tanh": "F.gelu(input, approximate='tanh')",
    "native_layer_norm": "F.layer_norm(input, own, weight, bias, eps)",
    "native_batch_norm": "F.batch_norm(input, None, None, weight, bias, True, 0.0, eps)",
    "convolution": "F.conv1d(input, weight, bias, stride, padding, dilation, groups) if input.ndim == 3 else "
    "F.conv2d(input, weight, bias, stride, padding, dilation, groups) if input.ndim == 4 else "
    "F.conv3d(input, weight, bias, stride, padding, dilation, groups)",
    "index": "input[key]",
    "_embedding": "F.embedding(index, weight)",
    "sum_to": "input.sum_to_size(shape)",
    "spread": "input.expand(shape) if dim is None else (input if keepdim else input.unsqueeze(dim)).expand(shape)",
    "zeros_of": "torch.zeros_like(input)",
    "_alias": "input.view_as(input)",
    "repeat": "input.repeat(repeats)",
    "_clamp_min_tensor": "torch.clamp(input, min=min)",
    "_clamp_max_tensor": "torch.clamp(input, max=max)",
    "absolute_norm": "torch.linalg.vector_norm(input, 1, dim, keepdim)",
    "power_norm": "torch.linalg.vector_norm(input, p, dim, keepdim)",
    "_prelu": "torch.where(input > 0, input, input * weight)",
    "as_strided_in": "torch.as_strided(input, size, stride, storage_offset)",
    "copy": "other.to(input).expand_as(input)",
    "crop_like": "input[tuple(slice(n) for n in shape)]",
    "pad_like": "F.pad(input, [n for pair in zip((0,) * len(shape), (m - n for m, n in "
    "zip(reversed(shape), reversed(input.shape)))) for n in pair])",
    "constant_pad": "F.pad(input, [n for pair in reversed(pads) for n in pair], value=value)",
    **{
        f"{mode}_pad{n}d": f"F.pad(input, [n for pair in reversed(pads[-{n}:]) for n in pair], mode='{mode}')"
        for mode in ("reflect", "replicate", "circular") for n in (1, 2, 3)
    },
    "_fft_c2c": "torch.fft.fftn(input, dim=dims, norm=norm) if forward else "
    "torch.fft.ifftn(input, dim=dims, norm=norm)",
    "_fft_r2c": "torch.fft.rfftn(input, dim=dims, norm=norm) if onesided else "
    "torch.fft.fftn(input, dim=dims, norm=norm)",
    "_fft_c2r": "torch.fft.irfftn(input, [*(input.shape[d] for d in dims[:-1]), length], dims, norm)",
    "divide_rounded": "torch.div(input, other, rounding_mode=rounding_mode)",
    "_clamp_tensors": "torch.clamp(input, low, high)",
    "both_extremes": "torch.aminmax(input, dim=dim, keepdim=keepdim)",
    "extreme_norm": "torch.linalg.vector_norm(input, float('inf' if largest else '-inf'), dim, keepdim)",
    "derivative_of_digamma": "torch.polygamma(order, input)",
    "put_at": "torch.index_put(input, key, values, accumulate)",
    "cholesky_parts": "torch.linalg.cholesky_ex(A, upper=upper)",
    "lu_triple": "torch.linalg.lu(A)",
    "lu_packed": "torch.linalg.lu_factor_ex(A)",
    "pinv_same": "torch.linalg.pinv(A, atol=atol, rtol=rtol, hermitian=hermitian)",
    "solve_same": "torch.linalg.solve(A, B, left=left)",
    "solve_columns": "torch.linalg.solve(A, B)",
    "triangle_solve": "torch.linalg.solve_triangular(A, B, upper=upper, left=left, unitriangular=unitriangular)",
    "linalg_cross_same": "torch.linalg.cross(input, other, dim=dim)",
    "_soft_margin": "F.softplus(-target * input) if reduction == 'none' else F.softplus(-target * input).mean() "
    "if reduction == 'mean' else F.softplus(-target * input).sum()",
    "_multi_margin": "F.multi_margin_loss(input, target, p=p, margin=margin, weight=weight, reduction=reduction)",
    "_multilabel_margin": "F.multilabel_margin_loss(input, target, reduction=reduction)",
    "im2col": "F.unfold(input, kernel, dilation, padding, stride)",
    "col2im": "F.fold(input, shape[-2:], kernel, dilation, padding, stride)",
    "elu": "F.elu(input, alpha)",
    "_smooth_l1": "F.smooth_l1_loss(input, target, reduction=reduction, beta=beta)",
    "_huber": "F.huber_loss(input, target, reduction=reduction, delta=delta)",
    "_bce": "F.binary_cross_entropy(input, target, weight, reduction=reduction)",
    "_bce_logits": "F.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, "
    "reduction=reduction)",
    **_each("input.{}()", "sum mean max min prod", "{}_all"),
    **_each("torch.split(input, sections, dim)", "evenly at apart apart_at", "split_{}"),
    **_each("input.reshape(shape)", "view unsafe_view reshape_copy"),
    **_each("input ** exponent", "number tensor", "pow_{}"),
    **_each("input.to(dtype)", "cast cast_back move"),
    **_each("torch.{}(input, dim, correction=correction, keepdim=keepdim)", "var std", "{}_over"),
    **_each("torch.{}_mean(input, dim, correction=correction, keepdim=keepdim)", "var std", "{}_and_mean"),
    "cumsum_over": "input.cumsum(dim)",
    **_each("input @ mat2", "mm mm_like bmm"),
    "conj": "torch.conj_physical(input)",
    **_each("input.squeeze(dim)", "squeeze_one squeezed"),
    **_each(
        "F.nll_loss(input, target, weight, reduction=reduction) if ignored is None else "
        "F.nll_loss(input, target, weight, ignore_index=ignored, reduction=reduction)", "rows images", "nll_{}",
    ),
    **_each("F.adaptive_max_pool{}d(input, out, return_indices=True)", "2 3", "adaptive_max_pool{}d"),
    **_each(
        "F.max_pool{}d(input, kernel, stride, padding, dilation, return_indices=True)", "2 3",
        "max_pool{}d_with_indices",
    ),
}  # fmt: skip
TENSOR_FORMS = {name: re.sub(r"\bF\.", "torch.nn.functional.", form) for name, form in _FORMS.items()}
"""By operation, its form on tensors. Others are called as ``torch.name`` or ``torch.nn.functional.name``."""
_FUNCTIONS = {
    "torch": """
        where _clamp cat_same stack_same unbind logsumexp_over sort_over topk_over _celu _lerp _round _complex
        _nan_to_num _polar nansum_over median_over softmax_over log_softmax_over maximum minimum _conj_physical
    """,
    "input": "t transpose unsqueeze select unfold sum_over mean_over max_over min_over prod_over cumprod_over",
    "torch.nn.functional": """
        _gelu _hardtanh softshrink threshold softplus leaky_relu _glu silu mish hardswish hardsigmoid logsigmoid
        adaptive_avg_pool2d adaptive_avg_pool3d
    """,
    "torch.linalg": """
        eig_parts linalg_matrix_exp linalg_householder_product inv_same linalg_det svd_parts eigh_parts qr_parts
        slogdet_parts
    """,
    "torch.special": "special_i1 special_i1e special_xlog1py special_zeta",
}
OWNERS = {name: owner for owner, names in _FUNCTIONS.items() for name in names.split()}
"""By operation, what has a function, or a method, that takes its operands and options by position."""
AFFIXES = "^_|^special_|^linalg_|_same$|_over$|_parts$"
"""The part of the name of such an operation that the function's does not have."""

SINGLE = ("native_layer_norm", "native_batch_norm")
"""Operations of several results here, of which PyTorch's function gives the first."""
VJP = '''def vjp(function, x, *gradients):
    """The gradient of one operation's input, by the library's own derivative of it."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        results = function(x)
    results = results if isinstance(results, (tuple, list)) else (results,)
    pairs = [(y, g) for y, g in zip(results, gradients) if g is not None]
    return torch.autograd.grad([y for y, _ in pairs], x, [g for _, g in pairs])[0]
'''


HOMES = ("torch", "torch.nn.functional", "torch.linalg", "torch.special", "torch.fft")
_ARRAY = re.compile(r"np\.(\w+)\((.*)\)", re.DOTALL)
_DTYPE = re.compile(r"np\.dtype\((?:np\.|')(\w+?)_?'?\)")


class _Unknown(Exception):  # noqa: N818 - a way out
    """A formula names something that PyTorch does not have."""


class TensorWriter:
    """Rewrites the lines of a NumPy program, each of which is known to be right, in tensors; and computes them."""

    def __init__(self, base: NumpyWriter) -> None:
        self.base = base
        self.lines: list[Line] = []
        self.uses_vjp = False
        self.variable = base.names.new("v")
        ours = {"torch": sys.modules["nbautograd"]}
        vjp = types.FunctionType(compiled(VJP, "<program vjp>", "vjp"), ours)
        self.values: dict[str, Any] = {**ours, "vjp": vjp, "np": np}

    def write(self) -> None:
        """All lines."""
        with no_grad():
            for name, value in self.base.values.items():
                if isinstance(value, (np.ndarray, np.generic)):
                    self.values[name] = wrap(value)
            for line in self.base.lines:
                for text in self.rewritten(line):
                    self.lines.append(Line(text, line.comment, line.part, line.name, line.node, line.slot))

    def rewritten(self, line: Line) -> list[str]:
        """A line in tensors; none for one that only NumPy needs."""
        match line.origin:
            case "array", array:
                return [f"{line.name} = {self.array(line.text.partition(' = ')[2], array)}"]
            case "call", call, names:
                return [self.call(call, names)]
            case "term", call, slot, is_first, value:
                text = ast.unparse(self.term(call, slot, value))
                return [f"{line.name} = {text}" if is_first else f"{line.name} = {line.name} + {text}"]
            case "result", leaf, gradient, held:
                name = self.base.variable[leaf]
                gradient = re.sub(r"\.astype\(np\.(\w+)\)$", r".to(torch.\1)", gradient)
                if held is None:
                    return [f"{name}.grad = {gradient}"]
                return [f"{name}.grad = {self.base.results[leaf]}", f"{name}.grad += {gradient}"]
        if line.part == BACKWARD:
            return []
        if line.part == GRADS or not line.origin:
            return [f"{line.name} = {self.array(line.text.partition(' = ')[2], self.base.values[line.name])}"]
        raise ProgramError("a program of tensors cannot be written")

    def array(self, text: str, array: Any) -> str:
        """An array of NumPy's as a tensor: small numbers in torch's words, others by way of NumPy."""
        kind = f"torch.{array.dtype.name.rstrip('_')}"
        match = _ARRAY.fullmatch(text)
        if match is not None and not text.startswith(("np.lib", "np.broadcast")):
            function, inner = match[1], match[2].rpartition(", dtype=")[0] or match[2]
            if function == "array" and ".view(" not in text and ".transpose(" not in text:
                return f"torch.tensor({inner}, dtype={kind})"
            if function == array.dtype.name and isinstance(array, np.generic):
                return f"torch.tensor({match[2]}, dtype={kind})"
        return f"torch.as_tensor({text})"

    def call(self, call: Call, names: list[str]) -> str:
        """The line of an operation."""
        is_single = call.op.name in SINGLE
        names = names[:1] if is_single else names
        tree = self.checked(call, self.forward(call), [self.base.values[name] for name in names])
        targets = ", ".join(names) + ("," if len(names) == 1 and call.op.many and not is_single else "")
        return f"{targets} = {ast.unparse(tree)}"

    # -- expressions ---------------------------------------------------------------------------------------------------

    def forward(self, call: Call) -> ast.expr:
        """The result of an operation."""
        operands = self.operands(call)
        try:
            tree = _Words(operands, call.op.body.__module__).call(call.op)
            return with_names(tree, operands)  # type: ignore[no-any-return]
        except _Unknown:
            reason = f"PyTorch has no function that is {call.op.name}(): a program of NumPy has"
            raise refuse(call.node, reason) from None

    def operands(self, call: Call) -> dict[str, Operand]:
        """The arguments as they came."""
        base = self.base
        operands: dict[str, Operand] = {}
        for name, written in base.unpromoted(call).items():
            text = _DTYPE.sub(r"torch.\1", ast.unparse(written.tree))
            if "np." in text and isinstance(call.arguments.get(name), (np.ndarray, np.generic)):
                text = f"torch.as_tensor({text})"
            operands[name] = Operand(parsed(text), written.value)
        return operands

    def term(self, call: Call, slot: int, value: Any) -> ast.expr:
        """Return the gradient that a node sends to an input: by its formula, or by the library's own derivative."""
        if not call.op.lists:
            try:
                return self.checked(call, self.formula(call, call.op.inputs[slot], value), [value])
            except (_Unknown, ProgramError, TypeError, AttributeError, RuntimeError, ValueError, IndexError):
                pass
        tree = self.checked(call, self.derivative(call, slot), [value])
        self.uses_vjp = True
        return tree

    def formula(self, call: Call, name: str, value: Any) -> ast.expr:
        """Return the value of the formula of an input."""
        op, base = call.op, self.base
        operands = self.operands(call)
        base.add_results(operands, call)
        tree = formula_of(op.formulas[name], operands, value.dtype.kind == "c")
        tree = with_names(_Words(operands, op.body.__module__).visit(tree), operands)
        return self.brought_back(tree, value)

    def brought_back(self, tree: ast.expr, value: Any) -> ast.expr:
        """A gradient in the shape and dtype of its input."""
        found = self.computed(tree)
        if tuple(found.shape) != value.shape:
            tree = method(tree, "sum_to_size", parsed(repr(tuple(value.shape))))
        if found._a.dtype != value.dtype:
            tree = method(tree, "to", parsed(f"torch.{value.dtype.name}"))
        return tree

    def derivative(self, call: Call, slot: int) -> ast.expr:
        """The call of ``vjp``."""
        target = call.targets[slot]
        assert target is not None
        operands = self.operands(call)
        x, v = self.base.variable[target], self.variable
        op = call.op
        if op.lists:
            listed = operands[op.inputs[0]].tree
            assert isinstance(listed, ast.List)
            listed.elts[slot] = ast.Name(v, ast.Load())
        else:
            operands[op.inputs[slot]] = Operand(ast.Name(v, ast.Load()), self.base.values[x])
        body = with_names(_Words(operands, op.body.__module__).call(op), operands)
        gs = [self.base.gradient.get(output) or "None" for output in call.results]
        gs = gs[:1] if op.name in SINGLE else gs
        return parsed(f"vjp(lambda {v}: {ast.unparse(body)}, {x}, {', '.join(gs)})")

    # -- computing -----------------------------------------------------------------------------------------------------

    def computed(self, tree: ast.expr) -> Any:
        """Return the value of an expression, in tensors of this package."""
        return evaluated(ast.unparse(tree), self.values, {})

    def checked(self, call: Call, tree: ast.expr, expected: list[Any]) -> ast.expr:
        """The expression, if it has the value of the NumPy program."""
        try:
            value = self.computed(tree)
        except Exception as error:
            raise refuse(call.node, f"in tensors: {type(error).__name__}: {error}") from error
        values = list(value) if isinstance(value, (tuple, list)) else [value]
        if not all(map(is_near, values, expected)):
            raise refuse(call.node, "in tensors it comes to other numbers")
        return tree


class _Words(ast.NodeTransformer):
    """Exchanges the operations in a formula for functions of PyTorch's."""

    def __init__(self, operands: Mapping[str, Operand], module: str) -> None:
        self.operands, self.module = operands, module

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name):
            op = OPS.get(node.func.id)
            if op is None:
                if node.func.id == "times":
                    return ast.BinOp(self.visit(node.args[0]), ast.Mult(), self.visit(node.args[1]))
                if node.func.id == "sum_along":
                    arguments = {"input": self.visit(node.args[0]), "dim": node.args[1]}
                    return substituted(parsed(TENSOR_FORMS["sum_along"]), arguments)  # type: ignore[no-any-return]
                return self.number(node)
            node.args = [self.visit(part) for part in node.args]
            return node.args[0] if op.name.startswith("along_") else self.call(op, node)
        self.generic_visit(node)
        return node

    def number(self, node: ast.Call) -> ast.expr:
        """Return the value of a function of constants, such as a number of elements."""
        try:
            arguments = [ast.literal_eval(part) for part in node.args]
            value = getattr(sys.modules[self.module], node.func.id)(*arguments)  # type: ignore[attr-defined]
        except (ValueError, AttributeError):
            value = None
        if value.__class__ not in (int, float, tuple):
            raise _Unknown(ast.unparse(node.func))
        return parsed(repr(value))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = getattr(sys.modules[self.module], node.id, None)
        if node.id not in self.operands and value.__class__ in (int, float):
            return ast.Constant(value)
        if node.id in self.operands or node.id in ("torch", "slice", "np") or node.id.startswith("__variable__"):
            return node
        raise _Unknown(node.id)

    def call(self, op: OpSchema, call: ast.Call | None = None) -> ast.expr:
        """A call of an operation in PyTorch's words."""
        form = TENSOR_FORMS.get(op.name)
        if form is None:
            owner = OWNERS.get(op.name) or _home_of(op)
            name = re.sub(AFFIXES, "", op.name) if op.name in OWNERS else op.name
            keywords = [f"{name}={name}" for name in op.keywords]
            form = f"{owner}.{name}({', '.join([*op.positional[owner == 'input' :], *keywords])})"
            if op.rest:  # as a method, which takes a tuple
                form = f"{op.positional[0]}.{op.name}({op.rest})"
        arguments = arguments_of(op, call)
        if arguments is None:
            raise _Unknown(op.name)
        known: dict[str, Operand] = {
            name: self.operands[part.id] if isinstance(part, ast.Name) and part.id in self.operands
            else Operand(part, None)
            for name, part in arguments.items()
        }  # fmt: skip
        tree = with_shapes(parsed(form), known)
        tree = with_options(tree, {n: o for n, o in known.items() if not isinstance(o.tree, ast.List)})
        return substituted(tree, arguments)  # type: ignore[no-any-return]


def _home_of(op: OpSchema) -> str:
    """Return PyTorch's namespace of an operation with the same name."""
    for home in HOMES:
        module = importlib.import_module(home.replace("torch", "nbautograd", 1))
        if getattr(module, op.name, None) is op.function and not op.name.startswith("_"):
            return home
    raise _Unknown(op.name)


def is_near(have: Any, want: Any) -> bool:
    """Return whether a tensor has the shape and dtype of an array, and its numbers up to rounding."""
    array = getattr(have, "_a", None)
    if array is None or array.shape != want.shape or array.dtype != want.dtype:
        return False
    loose = want.dtype.itemsize <= (8 if want.dtype.kind == "c" else 4)
    return np.allclose(array, want, rtol=1e-3 if loose else 1e-7, atol=1e-5 if loose else 1e-10, equal_nan=True)
