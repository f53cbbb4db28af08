"""Statements of random programs beside calls: operators, indices, modules, Functions, transforms, texts, writes."""

from __future__ import annotations

from collections.abc import Callable

from tests.engine.ops.drawn import Draws

__all__ = ["PHRASES"]

SHAPES = ["()", "(1,)", "(3,)", "(0,)", "(2, 3)", "(3, 1)", "(0, 3)", "(2, 3, 4)", "(1, 3, 2, 2)", "(2, 2)", "(3, 3)"]
DTYPES = ["float32"] * 5 + ["float64", "float64", "int64", "bool", "complex64", "float16", "bfloat16", "uint8"]


def some_tensor(draws: Draws, known: list[str], number: int, part: str = "x") -> list[str]:
    """Write a tensor, or choose an earlier one; the last line binds it to the name at its start."""
    name = f"a{number}{part}"
    if known and draws.integer(0, 2) == 0:
        return [f"{name} = {draws.choice(known)}"]
    dtype = draws.choice(DTYPES)
    made = f"V({draws.integer(0, 99)}, {draws.choice(SHAPES)}, {dtype!r})"
    if dtype[0] in "fbc" and dtype != "bool" and draws.integer(0, 2):
        made += ".requires_grad_()"
        if draws.integer(0, 2) == 0:
            made += draws.choice([" * 1", ".clone()", ".t()", ".detach()", "[None]", ".double()"])
    return [f"{name} = {made}"]


OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@", "<", "<=", "==", "!=", "&", "|", "^", "<<", ">>"]
SCALARS = [
    "2",
    "0",
    "-1",
    "1.5",
    "True",
    "1j",
    "3",
    "0.0",
    "None",
    "'x'",
    "2**40",
    "T.tensor(2)",
    "T.tensor(1.5)",
    "T.tensor(1.5, dtype=T.float64)",
    "T.tensor([1, 2, 3])",
    "[1, 2]",
]


def operator(draws: Draws, known: list[str], number: int) -> list[str]:
    lines = some_tensor(draws, known, number)
    other = draws.choice(SCALARS)
    if draws.integer(0, 1):
        lines += some_tensor(draws, known, number, "y")
        other = f"a{number}y"
    x, sign = f"a{number}x", draws.choice(OPERATORS)
    turn = draws.integer(0, 5)
    if turn == 0:
        return [*lines, f"r{number} = {other} {sign} {x}"]
    if turn == 1:
        name = {
            "+": "iadd",
            "-": "isub",
            "*": "imul",
            "/": "itruediv",
            "//": "ifloordiv",
            "%": "imod",
            "**": "ipow",
            "&": "iand",
            "|": "ior",
            "^": "ixor",
            "<<": "ilshift",
            ">>": "irshift",
        }.get(sign, "iadd")
        return [*lines, f"r{number} = {x}.__{name}__({other})"]
    if turn == 2:
        return [*lines, f"r{number} = {draws.choice(['-', '~', '+', 'abs', 'not '])}({x})"]
    return [*lines, f"r{number} = {x} {sign} {other}"]


KEYS = [
    "0",
    "-1",
    "5",
    "None",
    "...",
    ":",
    "1:",
    "::2",
    "0:0",
    "True",
    "False",
    "[0, 1]",
    "[True, False]",
    "[]",
    "T.tensor(0)",
    "T.tensor([0, 1])",
    "T.tensor([[0], [1]])",
    "T.tensor([True, False])",
    "T.tensor(True)",
    "T.zeros(0, dtype=T.int64)",
    "T.tensor([0, 1], dtype=T.uint8)",
    "T.tensor([0, 1], dtype=T.int32)",
    "1.5",
    "T.tensor([0.5])",
    "'x'",
    "::-1",
    "T.tensor([[True, False, True], [False, True, True]])",
    "(0, 1)",
    "-2:",
    "T.tensor([-1, 0])",
    "T.tensor([9])",
]
VALUES = [
    "0",
    "1.5",
    "True",
    "T.tensor(2.0)",
    "T.ones(3)",
    "T.ones(1, dtype=T.int64)",
    "[1.0]",
    "1j",
    "T.ones(2, 3)",
    "T.tensor(2.0, requires_grad=True)",
    "T.zeros(0)",
    "None",
    "T.ones(3, 1)",
    "float('nan')",
]


def index(draws: Draws, known: list[str], number: int) -> list[str]:
    lines = some_tensor(draws, known, number)
    key = ", ".join(draws.choice(KEYS) for _ in range(draws.choice([1, 1, 1, 2, 2, 3])))
    x, r = f"a{number}x", f"r{number}"
    if draws.integer(0, 2):
        return [*lines, f"{r} = {x}[{key}]"]
    lines.append(f"{r} = {x} * 1" if draws.integer(0, 1) else f"{r} = {x}")
    return [*lines, f"{r}[{key}] = {draws.choice(VALUES)}"]


MODULES = [
    "Linear(3, 2)",
    "Linear(3, 2, bias=False)",
    "Conv1d(3, 2, 1)",
    "Conv2d(3, 2, 2)",
    "LayerNorm(3)",
    "BatchNorm1d(3)",
    "BatchNorm2d(3)",
    "GroupNorm(1, 3)",
    "InstanceNorm1d(3)",
    "ReLU()",
    "ReLU(inplace=True)",
    "GELU()",
    "Softmax(-1)",
    "Softmax(1)",
    "LogSoftmax(0)",
    "Flatten()",
    "Flatten(0)",
    "Embedding(4, 3)",
    "MaxPool2d(2)",
    "AvgPool1d(2)",
    "AdaptiveAvgPool2d(1)",
    "Dropout(0.0)",
    "Dropout(1.0)",
    "Sigmoid()",
    "Tanh()",
    "ELU()",
    "Softplus()",
    "Hardtanh()",
    "LeakyReLU(0.1, inplace=True)",
    "GRU(3, 2)",
    "RNN(3, 2, batch_first=True)",
    "LSTM(3, 2, num_layers=2)",
    "LSTMCell(3, 2)",
    "Bilinear(3, 3, 2)",
    "PReLU()",
    "PixelShuffle(1)",
    "ZeroPad2d(1)",
    "ConstantPad1d(1, 0.5)",
    "ReflectionPad1d(1)",
    "Upsample(scale_factor=2)",
    "Identity()",
    "Unflatten(-1, (3, 1))",
    "GLU()",
    "GLU(0)",
    "CELU()",
    "Threshold(0.1, 20)",
    "Softmin(0)",
    "CosineSimilarity()",
    "MultiheadAttention(3, 1)",
    "TransformerEncoderLayer(3, 1, 4, dropout=0.0)",
    "RMSNorm(3)",
    "LocalResponseNorm(2)",
    "ConvTranspose2d(3, 2, 2)",
    "Fold((2, 2), 1)",
    "Unfold(1)",
    "ChannelShuffle(1)",
    "Softshrink()",
    "Hardswish(inplace=True)",
    "MSELoss()",
    "L1Loss(reduction='none')",
    "CrossEntropyLoss()",
    "BCEWithLogitsLoss()",
    "NLLLoss()",
    "SmoothL1Loss(beta=0.0)",
    "KLDivLoss(reduction='batchmean')",
    "HuberLoss()",
    "PoissonNLLLoss()",
    "SoftMarginLoss()",
    "MultiMarginLoss()",
]


def module(draws: Draws, known: list[str], number: int) -> list[str]:
    lines = some_tensor(draws, known, number)
    made, m, r = draws.choice(MODULES), f"m{number}", f"r{number}"
    lines.append(f"{m} = T.nn.{made}")
    if draws.integer(0, 7) == 0:
        lines.append(
            draws.choice(
                [f"{m} = {m}.eval()", f"{m} = {m}.double()", f"{m} = {m}.half()", f"{m} = {m}.requires_grad_(False)"]
            )
        )
    lines.append(f"{m} = {m}.apply(lambda m: [p.data.fill_(0.25 + i / 8) for i, p in enumerate(m.parameters(False))])")
    if "Loss" in made or made[:8] in ("Bilinear", "CosineSi"):
        lines += some_tensor(draws, known, number, "y")
        lines.append(f"{r} = {m}(a{number}x, a{number}y)")
    elif "Multihead" in made:
        lines.append(f"{r} = {m}(a{number}x, a{number}x, a{number}x)")
    else:
        lines.append(f"{r} = {m}(a{number}x)")
    end = draws.integer(0, 3)
    if end == 0:
        lines.append(f"r{number}p = [p for p in {m}.parameters()]")
    elif end == 1:
        lines.append(f"r{number}p = repr({m})")
    elif end == 2:
        lines.append(f"r{number}p = {m}.state_dict()")
    return lines


BODIES = [
    "x * x",
    "x.sin().sum()",
    "x.exp() + x",
    "x.sum(0)",
    "x[0]",
    "x.prod()",
    "x.mean()",
    "x.softmax(-1)",
    "x.t()",
    "x.cumsum(0)",
    "x.norm()",
    "x.max()",
    "x.sort()[0]",
    "(x @ x).sum()",
    "x.abs().sqrt()",
    "x.clone().mul_(2)",
    "x.view(-1)",
    "x.double()",
    "x.flip(0)",
    "T.where(x > 0, x, 0)",
    "x.std()",
    "x.long()",
    "x.detach() * x",
    "(x, x * 2)",
    "x.logsumexp(0)",
    "T.stack([x, x])",
    "x.index_select(0, T.tensor([0]))",
    "x.masked_fill(x > 0, 1.0)",
    "x ** 3",
    "x.relu().sum()",
    "x.reshape(-1)[:2]",
    "x.diagonal()",
]
TRANSFORMS = [
    "T.func.grad(f)(x)",
    "T.vmap(f)(x)",
    "T.func.jacrev(f)(x)",
    "T.func.jacfwd(f)(x)",
    "T.func.jvp(f, (x,), (x,))",
    "T.vmap(T.func.grad(f))(x)",
    "T.func.grad(T.func.grad(f))(x)",
    "T.func.hessian(f)(x)",
    "T.vmap(f, in_dims=-1)(x)",
    "T.vmap(f, out_dims=-1)(x)",
    "T.func.vjp(f, x)[0]",
    "T.func.grad_and_value(f)(x)",
    "T.vmap(T.vmap(f))(x)",
    "T.autograd.functional.jacobian(f, x)",
    "T.autograd.functional.hessian(f, x)",
    "T.autograd.functional.vjp(f, x)",
    "T.autograd.functional.jvp(f, x, x)",
    "T.func.linearize(f, x)[0]",
    "T.func.functionalize(f)(x)",
    "T.vmap(f, chunk_size=1)(x)",
    "T.func.jvp(T.func.grad(f), (x,), (x,))",
    "T.vmap(f, in_dims=None)(x)",
    "T.utils.checkpoint.checkpoint(f, x, use_reentrant=False)",
]


def transform(draws: Draws, known: list[str], number: int) -> list[str]:
    lines = some_tensor(draws, known, number)
    called = draws.choice(TRANSFORMS).replace("(x", f"(a{number}x").replace(" x", f" a{number}x")
    body = draws.choice(BODIES)
    return [*lines, f"f{number} = lambda x: {body}", f"r{number} = {called.replace('(f', f'(f{number}')}"]


FORWARDS = [
    "x * 2",
    "x",
    "x.view(-1)",
    "x.sum()",
    "(x * 2, x + 1)",
    "x.detach()",
    "x.exp()",
    "x.long()",
    "None",
    "x.mul_(2)",
    "x[0]",
]
BACKWARDS = [
    "g * 2",
    "g",
    "None",
    "(g, g)",
    "g.sum()",
    "g[None]",
    "g.double()",
    "1",
    "g.expand(2, 2)",
    "g * ctx.saved_tensors[0]",
]
BEFORE = [
    "ctx.save_for_backward(x)",
    "ctx.mark_dirty(x)",
    "ctx.mark_non_differentiable(x)",
    "ctx.set_materialize_grads(False)",
    "None",
]


def function(draws: Draws, known: list[str], number: int) -> list[str]:
    lines = some_tensor(draws, known, number)
    members = {
        "forward": f"staticmethod(lambda ctx, x: ({draws.choice(BEFORE)}, {draws.choice(FORWARDS)})[1])",
        "backward": f"staticmethod(lambda ctx, *gs: (lambda g: {draws.choice(BACKWARDS)})(gs[0]))",
    }
    if draws.integer(0, 3) == 0:
        members["forward"] = f"staticmethod(lambda x: {draws.choice(FORWARDS)})"
        members["setup_context"] = "staticmethod(lambda ctx, inputs, output: ctx.save_for_backward(*inputs))"
    if draws.integer(0, 4) == 0:
        members["jvp"] = "staticmethod(lambda ctx, t: t * 2)"
    if draws.integer(0, 4) == 0:
        members["generate_vmap_rule"] = "True"
    inside = ", ".join(f"'{key}': {value}" for key, value in members.items())
    x = f"a{number}x"
    way = draws.choice(
        ["F.apply(x)"] * 5
        + [
            "T.vmap(F.apply)(x)",
            "T.func.grad(lambda x: F.apply(x).sum())(x)",
            "F.apply(x, 2)",
            "T.func.jvp(F.apply, (x,), (x,))",
            "F.apply(x.clone())",
            "F.apply(2)",
        ]
    )
    way = (
        way.replace("(x", f"({x}")
        .replace(" (x", f" ({x}")
        .replace("F.", f"F{number}.")
        .replace(f"lambda {x}", "lambda x")
    )
    return [*lines, f"F{number} = type('F', (T.autograd.Function,), {{{inside}}})", f"r{number} = {way}"]


TEXTS = [
    "repr(x)",
    "str(x)",
    "f'{x}'",
    "x.tolist()",
    "repr(x.shape)",
    "x.item()",
    "float(x)",
    "int(x)",
    "bool(x)",
    "len(x)",
    "list(x)",
    "repr(x.dtype)",
    "f'{x:.2f}'",
    "repr(x.grad_fn).split(' object')[0]",
    "x.type()",
    "repr([x])",
    "x in x",
    "repr(x.size())",
    "x.element_size()",
    "x.nbytes",
    "x.is_contiguous()",
    "x.stride()",
    "x.data.equal(x)",
    "x.dim_order()",
    "repr(x.double() / 3)",
    "repr(x * 1e6)",
    "repr(x.abs() * 1e-6)",
    "repr(x.expand(2, *x.shape))",
    "repr(T.cat([x.reshape(-1)] * 400))",
    "repr(x.cfloat())",
    "repr(x.to(T.float16))",
    "x.numpy().dtype.name",
    "complex(x)",
    "x.__index__()",
    "x.is_same_size(x)",
    "repr(x.mean())",
    "repr(T.nn.Parameter(x))",
    "[*x.unbind()]",
    "x.grad",
    "x.names",
    "x.itemsize",
    "repr(x.max(-1))",
    "x.new_tensor([1]).dtype",
    "x.retain_grad()",
    "x.requires_grad_(True)",
    "x.is_complex()",
    "repr(x.detach().requires_grad_())",
    "divmod(x, 2)",
    "round(x, 1)",
]


def printed(draws: Draws, known: list[str], number: int) -> list[str]:
    lines = some_tensor(draws, known, number)
    text = draws.choice(TEXTS)
    return [*lines, f"r{number} = (lambda x: {text})(a{number}x)"]


WRITES = [
    "x.mul_(2)",
    "x[0].zero_()",
    "x.t_()",
    "x.copy_(T.ones(3))",
    "x.detach_()",
    "x.data.add_(1)",
    "x.view(-1).mul_(3)",
    "x.squeeze_()",
    "x.unsqueeze_(0)",
    "x.fill_(2)",
    "x.transpose_(0, 1)",
    "x.requires_grad_()",
    "x.set_(T.ones(2))",
    "x.add_(T.ones(2, 3, dtype=T.float64))",
    "x.masked_fill_(x > 0, 7)",
    "x.index_add_(0, T.tensor([0]), x[:1])",
    "x.zero_()",
    "x.expand(2, *x.shape).add_(1)",
    "x.sub_(T.tensor(1.0, requires_grad=True))",
    "x.diagonal().fill_(1)",
    "x.clamp_(0, 1)",
    "x.unbind()[0].mul_(2)",
    "x.chunk(2)[0].add_(1)",
    "x.detach().mul_(2)",
    "x.real.mul_(2)",
    "x.swapaxes_(0, -1)",
    "x.abs_()",
    "x.add_(x)",
    "x.pow_(2)",
    "x.exp_()",
    "x.sum().backward()",
    "x.scatter_(0, T.zeros(1, dtype=T.int64), 1.5)",
    "x.uniform_(1, 2)",
    "x.neg_().sum().backward()",
    "x.lerp_(x.clone(), 0.5)",
    "x.true_divide_(2)",
    "x.floor_divide_(2)",
    "x.random_(3)",
    "x.fmod_(2)",
]


def write(draws: Draws, known: list[str], number: int) -> list[str]:
    lines = some_tensor(draws, known, number)
    x = f"a{number}x"
    if draws.integer(0, 1):
        lines.append(f"{x} = {x} * 1")
    within = draws.choice(["{}"] * 4 + ["T.no_grad()({})", "T.inference_mode()({})"])
    called = (
        within.format(f"lambda x: {draws.choice(WRITES)}") if "(" in within else f"lambda x: {draws.choice(WRITES)}"
    )
    return [*lines, f"r{number} = ({called})({x})", f"r{number}v = {x}"]


PHRASES: list[Callable[[Draws, list[str], int], list[str]]] = [
    *(operator, operator, index, index, module, module, transform, transform, function, printed, printed, write, write),
]
