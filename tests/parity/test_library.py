"""The home of ``@op`` for extensions, and the code that it shows."""

import ast

import numpy as np
import pytest

import nbautograd as T
from nbautograd import cli, library
from nbautograd._engine.compiler.op import OPS

SOME = [name for name in ("mul", "add", "exp", "sum_all", "view", "cat", "where", "mm", "sigmoid") if name in OPS]


@pytest.mark.parametrize("kind", [kind for kind in library.KINDS if kind != "cuda"])
@pytest.mark.parametrize("name", SOME)
def test_the_source_is_the_code_that_runs(name, kind):
    code = library._generated(OPS[name], kind)
    if code is None:
        with pytest.raises(ValueError, match=f"{name} has no {kind} code"):
            library.source(name, kind)
        return
    text = library.source(name, kind)
    (function,) = ast.parse(text).body
    assert function.name == code.co_name
    again = next(c for c in compile(text, code.co_filename, "exec").co_consts if hasattr(c, "co_code"))
    assert again.co_code == code.co_code and again.co_names == code.co_names


def test_the_code_for_cuda_needs_no_device():
    text = library.source(T.tanh, "cuda")
    assert "__device__ void tanh(const float input_in, float &result_out)" in text
    assert "// the gradient of input, g * (1 - result * result)\n" in text
    assert "const float t1 = 1.0f - t0;" in text
    assert "for exponent = 2.0" in library.source("pow_number", "cuda")
    assert "step by step by CuPy's functions" in library.source(T.digamma, "cuda")
    assert "long long" in library.source(T.gcd, "cuda")
    for name in ("mm", "sum_all", "view"):
        with pytest.raises(ValueError, match=f"{name} has no cuda code"):
            library.source(name, "cuda")


def test_functions_methods_and_names_are_told():
    assert library.source(T.mul) == library.source(T.Tensor.mul) == library.source("mul")
    assert library.source(T.Tensor.__mul__, "operator").startswith("def mul(input, other):")
    assert library.source(T.Tensor.mul_, "inplace").startswith("def mul_(input, other):")
    assert "grad_other" in library.source(T.mul, "backward")


def test_a_composite_shows_its_own_source_and_has_no_other():
    assert library.source(T.softmax).lstrip("@").startswith(("def softmax(", "composite("))
    with pytest.raises(ValueError, match="softmax is composed of other operations and has no backward code"):
        library.source(T.softmax, "backward")
    with pytest.raises(ValueError, match="the operation 'nix' does not exist"):
        library.source("nix")
    with pytest.raises(ValueError, match="kind must be one of forward"):
        library.source(T.mul, "sideways")


def test_the_command_prints_it(capsys):
    assert cli.main(["source", "mul", "--backward"]) == 0
    assert capsys.readouterr().out.rstrip() == library.source(T.mul, "backward").rstrip()
    assert cli.main(["source", "linalg.det", "--double-backward"]) == 0
    assert capsys.readouterr().out.startswith("def vjp_graph(")
    assert cli.main(["source", "tanh", "--cuda"]) == 0
    assert capsys.readouterr().out.rstrip() == library.source(T.tanh, "cuda").rstrip()
    assert cli.main(["source", "nix"]) == 2
    assert "operation 'nix' does not exist" in capsys.readouterr().err


def test_functions_and_methods_are_tiled_as_operators_are():
    x = T.rand(1 << 17, requires_grad=True)
    y = T.rand(1 << 17)
    for result in (x + y, T.add(x, y), x.add(y), T.sub(x, y), x - y):
        assert type(result.grad_fn).takes_lazy_gradient
    expected = x.detach().numpy() + y.numpy() * np.float32(3)
    np.testing.assert_array_equal(T.add(x, y, alpha=3).detach().numpy(), expected)
    for name in ("add", "sub"):
        assert "compute_tiled(OP, 'input_array" in library.source(name)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x, y: x * y, "mul"),
        (lambda x, y: 2 + x - y, "sub"),
        (lambda x, y: T.add(x, y), "add"),
        (lambda x, y: x.half() * y.half(), "mul"),
        (lambda x, y: x.double() / y.int(), "true_divide"),
        (lambda x, y: T.atan2(x, y), "atan2"),
        (lambda x, y: x.maximum(y), "maximum"),
        (lambda x, y: x**y, "pow"),
        (lambda x, y: T.heaviside(x, y), "heaviside"),
    ],
)
def test_shapes_that_do_not_broadcast_name_the_operation(call, name):
    with pytest.raises(RuntimeError, match=rf"^{name}\(\): The size of tensor a \(3\) must match the size of tensor b"):
        call(T.ones(3), T.ones(4))
