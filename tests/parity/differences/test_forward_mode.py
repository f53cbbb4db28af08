"""Forward mode: dual tensors, their views and writes to them, printing and errors."""

from __future__ import annotations

from typing import Any

from tests.parity.differences.both import Raised, agrees, differs


def dual(torch: Any, *shape: int) -> Any:
    """Return a dual tensor of ones with a tangent of ones; requires a level."""
    return torch.autograd.forward_ad.make_dual(torch.ones(shape), torch.ones(shape))


def tangent(torch: Any, t: Any) -> Any:
    return torch.autograd.forward_ad.unpack_dual(t).tangent


def level(torch: Any) -> Any:
    return torch.autograd.forward_ad.dual_level()


# -- writing through views ---------------------------------------------------------------------------------------------


@agrees
def test_writes_through_views_of_a_dual(torch: Any) -> Any:
    tangents = []
    with level(torch):
        d = dual(torch, 3)
        d[0] *= 2
        tangents.append(tangent(torch, d).tolist())
        d[1] = 5.0
        tangents.append(tangent(torch, d).tolist())
        d.view(3)[1:].zero_()
        tangents.append(tangent(torch, d).tolist())
        d = dual(torch, 3, 3)
        d.t()[1:].t()[0].mul_(3)
        d.diagonal().copy_(dual(torch, 3) * 7)
        d.as_strided((2, 2), (3, 1), 4).add_(d[:2, :2].clone())
        d.unfold(0, 2, 2)[0, 1].zero_()
        d.chunk(2)[1].sum()
        tangents += [tangent(torch, d).tolist(), tangent(torch, d[1:].view(6)).tolist(), d]
    return tangents


@agrees
def test_a_write_to_a_dual_gives_its_primal_no_tangent(torch: Any) -> Any:
    with level(torch):
        f = torch.ones(2)
        d = torch.autograd.forward_ad.make_dual(f, torch.ones(2))
        d.mul_(2)
        f.mul_(3)
        primal = torch.autograd.forward_ad.unpack_dual(d).primal
        primal.add_(dual(torch, 2))
        return [tangent(torch, t) for t in (f, f * 3, d, primal)], f


@agrees
def test_writes_go_to_the_tangent_itself(torch: Any) -> Any:
    with level(torch):
        t = torch.ones(2)
        d = torch.autograd.forward_ad.make_dual(torch.ones(2), t)
        d *= 2
        after = t.tolist()
        d += dual(torch, 2)
        d[1:].exp_()
        return after, t, tangent(torch, d) is t, t._version


@agrees
def test_views_get_the_tangent_of_a_base_that_is_written_to(torch: Any) -> Any:
    with level(torch):
        base = torch.zeros(2, 3)
        row, column = base[0], base.t()[1]
        base[1] = dual(torch, 3)
        column[0] = dual(torch)
        return [tangent(torch, t) for t in (base, row, column)]


@agrees
def test_results_of_linear_operations_have_tangents_of_their_own(torch: Any) -> Any:
    with level(torch):
        d = dual(torch, 2)
        for e in (d + 0, d.clone(), d + torch.zeros(2), d.reshape(2).contiguous().clone(), d.sum().expand(2).clone()):
            e.mul_(2)
        x = torch.zeros(2)
        x.copy_(d)
        x.mul_(3)
        return tangent(torch, d), tangent(torch, x)


@agrees
def test_detach_in_place(torch: Any) -> Any:
    with level(torch):
        e = dual(torch, 2).clone()
        row = e[1:]
        e.detach_()
        return [tangent(torch, t) for t in (e, e * 2, row, e.detach())]


@agrees
def test_views_in_place(torch: Any) -> Any:
    with level(torch):
        t = torch.arange(6.0).view(2, 3)
        d = torch.autograd.forward_ad.make_dual(torch.ones(2, 3), t)
        row = d[0]
        d.transpose_(0, 1)
        d.unsqueeze_(0)
        row.mul_(2)
        e = (d * 1)[0]
        e.t_()
        e[0].zero_()
        return tuple(t.shape), tangent(torch, d), tangent(torch, d) is t, tangent(torch, e)


@agrees(says="a leaf Variable that requires grad is being used in an in-place operation")
def test_a_tangent_that_is_a_leaf_is_not_written_to(torch: Any) -> Any:
    with level(torch):
        torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2, requires_grad=True)).mul_(2)


# -- layouts and dtypes ------------------------------------------------------------------------------------------------


@agrees
def test_a_tangent_lies_in_memory_as_its_tensor(torch: Any) -> Any:
    layouts = []
    with level(torch):
        t = torch.arange(6.0).view(2, 3)
        for primal in (torch.ones(2, 3), torch.ones(3, 2).t(), torch.ones(4, 3)[1:3], torch.ones(4, 6)[::2, ::2]):
            d = torch.autograd.forward_ad.make_dual(primal, t)
            own = tangent(torch, d)
            layouts.append((d.stride(), own.stride(), own.storage_offset(), own.untyped_storage().nbytes(), own is t))
            d.mul_(2)
            layouts.append((own, t))
            t = torch.arange(6.0).view(2, 3)
    return layouts


@agrees(says="more than one element of the written-to tensor refers to a single memory location")
def test_an_expanded_primal(torch: Any) -> Any:
    with level(torch):
        torch.autograd.forward_ad.make_dual(torch.ones(1).expand(3), torch.ones(3))


@agrees
def test_a_tangent_of_another_dtype_is_cast_where_it_is_copied(torch: Any) -> Any:
    with level(torch):
        primals = torch.ones(2, 2).t(), torch.ones(2, 2, dtype=torch.complex64).t()
        return [
            tangent(torch, torch.autograd.forward_ad.make_dual(primal, torch.ones(2, 2, dtype=torch.float64)))
            for primal in primals
        ]


@differs(
    "A tangent has the dtype of its tensor",
    pytorch=["float64", "float64", "complex64"],
    here=["float32", "float32", "float32"],
)
def test_a_tangent_of_another_dtype(torch: Any) -> Any:
    with level(torch):
        d = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2, dtype=torch.float64))
        c = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2, dtype=torch.complex64))
        return [tangent(torch, t).dtype for t in (d, d * 2, c)]


# -- printing, levels, errors ------------------------------------------------------------------------------------------


@agrees
def test_printing(torch: Any) -> Any:
    with level(torch):
        d = dual(torch, 2)
        x = torch.ones(2, requires_grad=True)
        texts = [str(d), repr([d]), str(dual(torch)), str(dual(torch, 2, 3)), str(dual(torch, 30))]
        texts += [str(torch.autograd.forward_ad.make_dual(torch.ones(2), x * 2)), str(d.double())]
        texts += [repr(torch.autograd.forward_ad.unpack_dual(d)), str(d.detach())]
    return texts, str(d)


@agrees
def test_current_level(torch: Any) -> Any:
    forward_ad = torch.autograd.forward_ad
    outside = forward_ad._current_level
    with forward_ad.dual_level() as number:
        return outside, number, forward_ad._current_level


@agrees(says="Nested forward mode AD is not supported at the moment")
def test_a_second_level(torch: Any) -> Any:
    with level(torch), level(torch):
        pass


@agrees(says="Dual level must be a positive number.")
def test_exit_without_a_level(torch: Any) -> Any:
    torch.autograd.forward_ad.exit_dual_level()


@agrees(says="Trying to exit a forward AD level that was not the last one that was created.")
def test_exit_of_another_level(torch: Any) -> Any:
    with level(torch):
        torch.autograd.forward_ad.exit_dual_level(level=3)


@agrees(says="Invalid level given to _make_dual")
def test_make_dual_at_a_level_that_is_not_there(torch: Any) -> Any:
    with level(torch):
        torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2), level=1)


@agrees(says="Invalid level given to _fw_primal")
def test_unpack_at_a_level_that_is_not_there(torch: Any) -> Any:
    with level(torch):
        torch.autograd.forward_ad.unpack_dual(dual(torch, 2), level=1)


@agrees
def test_unpack_what_has_no_tangent(torch: Any) -> Any:
    x, forward_ad = torch.ones(2), torch.autograd.forward_ad
    outside = forward_ad.unpack_dual(x, level=0).primal is x
    with level(torch):
        primal, none = forward_ad.unpack_dual(x, level=1)
        return outside, primal is x, primal._base is x, none


@agrees(says="Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0")
def test_a_dual_of_a_dual(torch: Any) -> Any:
    with level(torch):
        torch.autograd.forward_ad.make_dual(dual(torch, 2), torch.ones(2))


@agrees(says="Setting a forward grad that itself has a forward gradient at the same level")
def test_a_dual_as_a_tangent(torch: Any) -> Any:
    with level(torch):
        torch.autograd.forward_ad.make_dual(torch.ones(2), dual(torch, 2))


@agrees(says="Trying to use forward AD with igamma that does not support it because it has not been implemented yet")
def test_an_operation_without_derivative(torch: Any) -> Any:
    with level(torch):
        torch.igamma(dual(torch, 2), dual(torch, 2))


@agrees(says="Trying to use forward AD with add_out that does not support it because it is an out= function")
def test_out_with_a_tangent(torch: Any) -> Any:
    with level(torch):
        torch.add(torch.ones(2), torch.ones(2), out=dual(torch, 2))


@agrees(says="Trying to use forward AD with mul_out that does not support it because it is an out= function")
def test_out_of_arguments_with_tangents(torch: Any) -> Any:
    with level(torch):
        torch.mul(dual(torch, 2), torch.ones(2), out=torch.zeros(2))


@agrees(says="because it is an out= function")
def test_out_of_several(torch: Any) -> Any:
    with level(torch):
        torch.max(torch.ones(2, 3), 0, out=(dual(torch, 3), torch.zeros(3, dtype=torch.int64)))


@agrees(says="because it is an out= function")
def test_out_of_functions_made_of_others(torch: Any) -> Any:
    with level(torch):
        torch.matmul(dual(torch, 2), torch.ones(2), out=torch.ones(()))


@agrees
def test_inference_mode(torch: Any) -> Any:
    forward_ad = torch.autograd.forward_ad
    with torch.inference_mode():
        a = torch.ones(2)
        with level(torch):
            b = forward_ad.make_dual(a, torch.ones(2))
            inside = tangent(torch, b), tangent(torch, b * 2), b.is_inference()
    with level(torch):
        c = forward_ad.make_dual(a, torch.ones(2))
        return inside, tangent(torch, c * 2), c.is_inference()


@agrees(says="cannot resize variables that has a forward grad")
def test_resize(torch: Any) -> Any:
    with level(torch):
        dual(torch, 2).resize_(1)


@agrees(says="Trying to use forward AD with set_ that does not support it because it has not been implemented yet")
def test_set(torch: Any) -> Any:
    with level(torch):
        dual(torch, 2).set_(torch.zeros(2))


@agrees
def test_running_statistics_have_no_tangent(torch: Any) -> Any:
    with level(torch):
        norm = torch.nn.BatchNorm1d(2)
        x = torch.autograd.forward_ad.make_dual(torch.arange(6.0).view(3, 2) ** 2, torch.arange(6.0).view(3, 2))
        return tangent(torch, norm(x)), norm.running_mean, tangent(torch, norm.running_mean)


@agrees
def test_checkpoint(torch: Any) -> Any:
    with level(torch):
        x = torch.tensor([0.5, 1.0], requires_grad=True)
        d = torch.autograd.forward_ad.make_dual(x, torch.ones(2))
        y = torch.utils.checkpoint.checkpoint(lambda a: (a**3).exp(), d, use_reentrant=False)
        return tangent(torch, y), tangent(torch, torch.autograd.grad(y.sum(), d)[0])


@agrees
def test_kinds_of_numbers(torch: Any) -> Any:
    make_dual = torch.autograd.forward_ad.make_dual
    with level(torch):
        z = make_dual(torch.full((3,), 1j), torch.full((3,), 2 + 1j))
        z.real.mul_(3)
        z.imag[0] = 5.0
        torch.view_as_real(z)[1, 0] = 7.0
        half = make_dual(torch.ones(3, dtype=torch.float16), torch.full((3,), 2.0, dtype=torch.float16))
        half.mul_((half * half).exp())
        whole = torch.ones(3, dtype=torch.int64)
        whole.copy_(make_dual(torch.ones(3), torch.ones(3)))
        return [tangent(torch, t) for t in (z, z.abs(), half, half.double(), whole)], z, half


@agrees
def test_a_module_with_dual_parameters(torch: Any) -> Any:
    with level(torch):
        layer = torch.nn.Linear(2, 2)
        torch.nn.init.constant_(layer.bias, 0.5)
        weight = torch.nn.init.constant_(layer.weight, 0.5)
        del layer.weight
        layer.weight = torch.autograd.forward_ad.make_dual(weight, torch.ones(2, 2))
        return tangent(torch, layer(torch.ones(2))).detach()


@agrees
def test_levels_inside_each_other(torch: Any) -> Any:
    def write(x: Any) -> Any:
        y = x.clone()
        y[0] *= 3
        y.sin_()
        z = torch.zeros(3)
        z[:2] = y
        return z

    x, jvp = torch.tensor([1.0, 2.0]), torch.func.jvp
    confused = jvp(lambda a: a * jvp(lambda b: a + b, (x,), (torch.ones(2),))[1], (x,), (torch.ones(2),))
    second = jvp(lambda a: jvp(write, (a,), (a * 2,))[1], (x,), (torch.ones(2),))
    third = jvp(
        lambda a: jvp(lambda b: jvp(lambda c: a * b * c**3, (b,), (x,))[1], (a,), (x,))[1], (x,), (torch.ones(2),)
    )
    return (
        confused,
        second,
        third,
        jvp(lambda a: jvp(torch.func.grad(lambda b: (b**4).sum()), (a,), (x,))[1], (x,), (x,)),
    )


@agrees
def test_data_and_copies(torch: Any) -> Any:
    import copy

    with level(torch):
        d = dual(torch, 2)
        copies = [d.data, copy.copy(d), copy.deepcopy(d), d.detach(), d.long(), d > 0, d.round()]
        tangents = [tangent(torch, c) for c in copies]
        d.data = torch.zeros(2)
        return tangents, d, tangent(torch, d)


@differs("`conj()` computes at once", pytorch=[True, True], here=[False, False])
def test_lazy_conjugates(torch: Any) -> Any:
    z = torch.ones(2, dtype=torch.complex64)
    return [z.conj().is_conj(), z.conj().imag.is_neg()]


# -- together with reverse mode ----------------------------------------------------------------------------------------


@agrees
def test_gradients_carry_tangents(torch: Any) -> Any:
    with level(torch):
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        d = torch.autograd.forward_ad.make_dual(x, torch.tensor([1.0, 10.0]))
        return tangent(torch, torch.autograd.grad((d**3).sum(), d)[0])


@differs("What is accumulated into `.grad` carries its tangent", pytorch=[None, [12.0]], here=[[12.0], [24.0]])
def test_accumulated_gradients_carry_tangents(torch: Any) -> Any:
    tangents = []
    with level(torch):
        x = torch.tensor([2.0], requires_grad=True)
        d = torch.autograd.forward_ad.make_dual(x, torch.tensor([1.0]))
        for _ in range(2):
            (d**3).sum().backward()
            tangents.append(tangent(torch, x.grad))
    return [None if t is None else t.tolist() for t in tangents]


@agrees
def test_saved_before_a_write(torch: Any) -> Any:
    with level(torch):
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        d = torch.autograd.forward_ad.make_dual(x, torch.tensor([1.0, 10.0])) * 1
        y = d * 3
        d.mul_(torch.tensor([2.0, 4.0]))
        (gradient,) = torch.autograd.grad((y * d).sum(), x)
        return tangent(torch, gradient), gradient


@agrees
def test_tangents_that_require_grad(torch: Any) -> Any:
    with level(torch):
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        v = torch.tensor([1.0, 10.0], requires_grad=True)
        d = torch.autograd.forward_ad.make_dual(x, v * 1)
        e = d * d
        e[0] *= d[1]
        along = tangent(torch, e)
        return torch.autograd.grad((along * torch.tensor([1.0, 2.0])).sum(), (x, v)), along


@agrees
def test_hooks_on_saved_tensors(torch: Any) -> Any:
    with level(torch):
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        d = torch.autograd.forward_ad.make_dual(x, torch.tensor([1.0, 10.0]))
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
            y = (d * d * d).exp().sum()
        return tangent(torch, torch.autograd.grad(y * 1e-9, d)[0])


@agrees
def test_given_gradients_with_tangents(torch: Any) -> Any:
    with level(torch):
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        return tangent(torch, torch.autograd.grad(x * 2, x, dual(torch, 2))[0])


@agrees
def test_anomaly_mode_looks_at_gradients_alone(torch: Any) -> Any:
    with level(torch), torch.autograd.detect_anomaly():
        return str(tangent(torch, torch.autograd.forward_ad.make_dual(torch.zeros(2), torch.zeros(2)).sqrt()))


@differs(
    "`torch.func.jvp` works inside of a `dual_level()`", pytorch=Raised(RuntimeError), here=[[2.0, 4.0], [2.0, 2.0]]
)
def test_func_inside_of_a_level(torch: Any) -> Any:
    with level(torch):
        x = torch.autograd.forward_ad.make_dual(torch.tensor([1.0, 2.0]), torch.ones(2))
        along = torch.func.jvp(lambda y: y * y, (x,), (torch.ones(2),))[1]
        return torch.autograd.forward_ad.unpack_dual(along).primal.tolist(), tangent(torch, along).tolist()
