"""Cases: views and shapes."""

from __future__ import annotations

from tests.engine.ops.cases.case import case


def _view_written(x):
    v = x.view(3, 2)
    x.mul_(3)
    return v


CASES = [
    case("view", lambda T, x: x.view(3, 2) * 2, (2, 3)),
    case("view_as", lambda T, x, y: x.view_as(y) * y, (2, 3), (3, 2)),
    case("reshape", lambda T, x: x.t().reshape(6), (2, 3)),
    case("reshape_as", lambda T, x, y: x.t().reshape_as(y) * y, (2, 3), (6,)),
    case("flatten", lambda T, x: x.flatten(1), (2, 3, 2)),
    case("ravel", lambda T, x: x.ravel(), (2, 3)),
    case("unflatten", lambda T, x: x.unflatten(1, (2, -1)), (2, 4)),
    case("permute", lambda T, x: x.permute(2, 0, 1), (2, 3, 4)),
    case("transpose", lambda T, x: x.transpose(0, -1), (2, 3, 4)),
    case("swapaxes", lambda T, x: x.swapaxes(0, 1), (2, 3)),
    case("swapdims", lambda T, x: T.swapdims(x, 0, 1), (2, 3)),
    case("t", lambda T, x: x.t(), (2, 3)),
    case("T", lambda T, x: x.T, (2, 3)),
    case("mT", lambda T, x: x.mT, (2, 3, 4)),
    case("H", lambda T, x: x.H * 1, (2, 3)),
    case("mH", lambda T, x: x.mH * 1, (2, 3, 4)),
    case("adjoint", lambda T, x: x.adjoint() * 1, (2, 3, 4)),
    case("movedim", lambda T, x: T.movedim(x, 0, 2), (2, 3, 4)),
    case("moveaxis", lambda T, x: x.moveaxis((0, 1), (1, 2)), (2, 3, 4)),
    case("squeeze", lambda T, x: x.squeeze(), (2, 1, 3)),
    case("squeeze dim", lambda T, x: x.squeeze(1), (2, 1, 3)),
    case("squeeze dims", lambda T, x: x.squeeze((0, 1)), (2, 1, 3)),
    case("unsqueeze", lambda T, x: x.unsqueeze(-1), (2, 3)),
    case("atleast_3d", lambda T, x: T.atleast_3d(x), (2, 3)),
    case("expand", lambda T, x: x.expand(4, 2, 3), (2, 1)),
    case("expand_as", lambda T, x, y: x.expand_as(y) * y, (1, 3), (2, 3)),
    case("broadcast_to", lambda T, x: x.broadcast_to((2, 3)), (3,)),
    case("broadcast_tensors", lambda T, x, y: T.broadcast_tensors(x, y)[0], (3,), (2, 1)),
    case("select", lambda T, x: x[0], (2, 3)),
    case("select 2", lambda T, x: x[:, 1], (2, 3)),
    case("select 0-d", lambda T, x: x[1, 2], (2, 3)),
    case("select method", lambda T, x: x.select(1, -1), (2, 3)),
    case("slice", lambda T, x: x[1:3, ::2], (4, 3)),
    case("narrow", lambda T, x: x.narrow(1, 1, 2), (2, 3)),
    case("diagonal", lambda T, x: x.diagonal(1), (3, 4)),
    case("diagonal of three", lambda T, x: x.diagonal(-1, 2, 0), (3, 2, 4)),
    case("unfold", lambda T, x: x.unfold(1, 3, 1), (2, 5)),
    case("unfold apart", lambda T, x: x.unfold(0, 2, 3), (6, 2)),
    case("as_strided", lambda T, x: x.as_strided((2, 2), (1, 2), 1), (2, 3)),
    case("as_strided overlapping", lambda T, x: x.t().as_strided((3, 2), (1, 1)), (2, 3)),
    case("clone", lambda T, x: x.clone(), (2, 3)),
    case("contiguous", lambda T, x: x.t().contiguous(), (2, 3)),
    case("channels_last", lambda T, x: x.contiguous(memory_format=T.channels_last), (1, 2, 2, 3)),
    case("to", lambda T, x: x.to(T.float32).to(T.float64).mul(2), (2, 3)),
    case("view_copy", lambda T, x: T.view_copy(x, (3, 2)) * 1, (2, 3)),
    case("permute_copy", lambda T, x: T.permute_copy(x, (1, 0)) * 1, (2, 3)),
    case("split_copy", lambda T, x: T.split_copy(x, 2, 1)[0] * 1, (2, 3)),
    case("as_strided_copy", lambda T, x: T.as_strided_copy(x, (2, 2), (1, 2)) * 1, (2, 3)),
    case("view of a contiguous tensor", lambda T, x: x.contiguous().view(3, 2), (2, 3)),
    case("view of a base written to", lambda T, x: _view_written(x * 1), (2, 3)),
]
