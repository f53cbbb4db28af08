"""Operations of a program's own, by ``torch.library``: programs that give the same results under both libraries."""

from __future__ import annotations

import typing
from typing import Any

from tests.parity.differences.both import agrees

# -- torch.library -----------------------------------------------------------------------------------------------------


def square(torch: Any, name: str = "differences::square") -> Any:
    """An operation of a program's own, with a derivative."""

    def body(x: Any, k: float = 2.0) -> Any:
        return x * x * k

    body.__annotations__ = {"x": torch.Tensor, "k": float, "return": torch.Tensor}
    op = torch.library.custom_op(name, body, mutates_args=())

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]

    def backward(ctx: Any, g: Any) -> Any:
        return 2 * ctx.k * ctx.saved_tensors[0] * g, None

    op.register_autograd(backward, setup_context=setup_context)
    return op


@agrees
def test_a_custom_op(torch: Any) -> Any:
    op = square(torch)
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    y = op(x)
    y.sum().backward()
    again = torch.ops.differences.square(x.detach(), k=3), torch.ops.differences.square.default(x.detach(), 1.0)
    return y, x.grad, again, type(y.grad_fn).__name__, repr(op), op._schema


@agrees(says="Trying to backward through differences.bare.default but no autograd formula was registered")
def test_a_custom_op_without_a_derivative(torch: Any) -> Any:
    def body(x: Any) -> Any:
        return x * 2

    body.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    op = torch.library.custom_op("differences::bare", body, mutates_args=())
    op(torch.ones(2, requires_grad=True)).sum().backward()


@agrees(says="Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'.")
def test_a_custom_op_of_a_number(torch: Any) -> Any:
    return square(torch, "differences::square_of_a_number")(3)


@agrees(says="Expected a value of type 'float' for argument 'k' but instead found type 'str'.")
def test_a_custom_op_with_a_text(torch: Any) -> Any:
    return square(torch, "differences::square_with_a_text")(torch.ones(1), k="a")


@agrees(says="The output of this custom operator (1) must not also be an input")
def test_a_custom_op_that_returns_its_input(torch: Any) -> Any:
    def body(x: Any) -> Any:
        return x

    body.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    return torch.library.custom_op("differences::same", body, mutates_args=())(torch.ones(1))


@agrees
def test_a_custom_op_that_writes(torch: Any) -> Any:
    def body(x: Any) -> Any:
        x.add_(1)

    body.__annotations__ = {"x": torch.Tensor, "return": None}
    op = torch.library.custom_op("differences::add_one", body, mutates_args={"x"})
    x = torch.ones(2)
    return op(x), x, op._schema


@agrees(says="Parameter x must have a type annotation")
def test_a_custom_op_without_annotations(torch: Any) -> Any:
    return torch.library.custom_op("differences::untyped", lambda x: x, mutates_args=())


@agrees
def test_kernels_of_a_custom_op(torch: Any) -> Any:
    op = square(torch, "differences::with_kernels")
    op.register_kernel("cpu")(lambda x, k=2.0: x * 10)
    with op.set_kernel_enabled("cpu", False):
        first = op(torch.ones(1))
    return first, op(torch.ones(1))


@agrees
def test_vmap_of_a_custom_op(torch: Any) -> Any:
    op = square(torch, "differences::batched")
    op.register_vmap(lambda info, in_dims, x, k=2.0: (op(x, k), in_dims[0]))
    return torch.vmap(op)(torch.ones(2, 3))


@agrees
def test_a_library_of_schemas(torch: Any) -> Any:
    lib = torch.library.Library("differences_lib", "FRAGMENT")
    name = lib.define("scaled(Tensor x, *, int k=2) -> Tensor")
    lib.impl("scaled", lambda x, k=2: x * k, "CompositeImplicitAutograd")
    x = torch.ones(2, requires_grad=True)
    torch.ops.differences_lib.scaled(x, k=3).sum().backward()
    result = name, x.grad, torch.ops.differences_lib.scaled(x.detach())
    if hasattr(lib, "_destroy"):
        lib._destroy()
    return result


@agrees
def test_define_and_impl(torch: Any) -> Any:
    torch.library.define("differences::plus_one", "(Tensor x) -> Tensor")
    torch.library.impl("differences::plus_one", "default", lambda x: x + 1)
    return torch.ops.differences.plus_one(torch.ones(1))


@agrees(says="'_OpNamespace' 'differences' object has no attribute 'nothing'")
def test_an_operation_that_is_not_there(torch: Any) -> Any:
    return torch.ops.differences.nothing


@agrees
def test_a_library_that_cannot_be_loaded(torch: Any) -> Any:
    return torch.ops.load_library("/nowhere/library.so")


@agrees
def test_schemas_of_functions(torch: Any) -> Any:
    def f(x: Any, n: int, flag: bool = True, *, scale: float = 1.5, name: str = "a", ys: Any = None) -> Any: ...

    f.__annotations__ = {
        "x": torch.Tensor,
        "n": int,
        "flag": bool,
        "scale": float,
        "name": str,
        "ys": typing.Optional[torch.Tensor],  # noqa: UP045
        "return": tuple[torch.Tensor, torch.Tensor],
    }
    return torch.library.infer_schema(f, mutates_args=()), torch.library.infer_schema(f, mutates_args={"x"})
