"""``nn.parallel`` on one device, where PyTorch's needs several."""

from __future__ import annotations

import pytest

import nbautograd as nb
from nbautograd.nn import parallel


def test_a_batch_is_split_and_joined() -> None:
    x = nb.arange(10.0).reshape(5, 2)
    parts = parallel.scatter({"x": x, "n": 3}, ["cpu", "cpu"])
    assert [part["x"].shape[0] for part in parts] == [3, 2] and [part["n"] for part in parts] == [3, 3]
    joined = parallel.gather(parts, "cpu")
    assert joined["x"].tolist() == x.tolist() and joined["n"] == 3
    given, keywords = parallel.scatter_kwargs((x,), {"y": x}, ["cpu", "cpu"])
    assert [part[0].shape[0] for part in given] == [part["y"].shape[0] for part in keywords] == [3, 2]
    assert parallel.gather([nb.tensor(1.0), nb.tensor(2.0)], "cpu").tolist() == [1, 2]


def test_one_device_has_one_copy() -> None:
    model = nb.nn.Linear(2, 1)
    assert parallel.replicate(model, ["cpu"]) == [model]
    with pytest.raises(RuntimeError, match="one process with one device"):
        parallel.replicate(model, [0, 1])
    x = nb.ones(3, 2)
    assert parallel.data_parallel(model, x).tolist() == model(x).tolist()


def test_modules_side_by_side() -> None:
    one, other = nb.nn.Linear(2, 1), nb.nn.Linear(2, 1)
    outputs = parallel.parallel_apply([one, other], [nb.ones(1, 2), (nb.zeros(1, 2),)])
    assert outputs[0].tolist() == one(nb.ones(1, 2)).tolist() and outputs[1].tolist() == [other.bias.tolist()]


def test_several_processes_are_refused() -> None:
    model = nb.nn.Linear(2, 1)
    assert not isinstance(model, parallel.DistributedDataParallel)  # which programs ask
    with pytest.raises(RuntimeError, match="DistributedDataParallel is not part of nbautograd: it is one process"):
        parallel.DistributedDataParallel(model)


def test_it_is_found_under_pytorchs_names() -> None:
    with nb.standing_in():
        from torch.nn import DataParallel
        from torch.nn.parallel import DistributedDataParallel
        from torch.nn.parallel.data_parallel import DataParallel as Same
        from torch.nn.parallel.scatter_gather import gather
    assert DataParallel is Same is parallel.DataParallel and gather is parallel.gather
    assert DistributedDataParallel is parallel.DistributedDataParallel and "DataParallel" in dir(nb.nn)


def test_it_pickles_and_copies() -> None:
    import copy
    import pickle

    wrapped = nb.nn.DataParallel(nb.nn.Linear(2, 1))
    for other in (pickle.loads(pickle.dumps(wrapped)), copy.deepcopy(wrapped)):
        assert other(nb.ones(1, 2)).tolist() == wrapped(nb.ones(1, 2)).tolist()
