"""Futures and processes: programs that give the same results under both libraries."""

from __future__ import annotations

from typing import Any

from tests.parity.differences.both import agrees, differs

# -- torch.futures -----------------------------------------------------------------------------------------------------


@agrees
def test_a_future(torch: Any) -> Any:
    future, seen = torch.futures.Future(), []
    future.add_done_callback(lambda done: seen.append(done.wait()))
    later = future.then(lambda done: done.value() + 1)
    before = future.done(), later.done()
    future.set_result(3)
    future.add_done_callback(lambda done: 1 / 0)  # which is only logged
    return (
        before,
        seen,
        future.done(),
        future.wait(),
        future.value(),
        later.wait(),
        later.then(lambda f: f.wait()).wait(),
    )


@agrees
def test_a_future_with_an_exception(torch: Any) -> Any:
    future = torch.futures.Future()
    future.set_exception(KeyError("x"))
    return future.done(), future.wait()


@agrees(says="Got the following error when running the callback: ZeroDivisionError: division by zero")
def test_a_callback_that_raises(torch: Any) -> Any:
    future = torch.futures.Future()
    future.set_result(1)
    return future.then(lambda done: 1 / 0).wait()


@agrees(says="Attempting to mark a completed Future as complete again.")
def test_a_second_result(torch: Any) -> Any:
    future = torch.futures.Future()
    future.set_result(1)
    future.set_result(2)


@agrees(says="3 is of type <class 'int'>, not an Exception.")
def test_an_exception_that_is_none(torch: Any) -> Any:
    torch.futures.Future().set_exception(3)


@agrees
def test_a_value_that_is_not_there(torch: Any) -> Any:
    return torch.futures.Future().value()


@agrees
def test_a_callback_that_cannot_be_called(torch: Any) -> Any:
    return torch.futures.Future().then(3)


@agrees(says="Can not pickle torch.futures.Future")
def test_a_future_is_not_pickled(torch: Any) -> Any:
    import pickle

    pickle.dumps(torch.futures.Future())


@agrees(says="Expected devices to have indices, got cpu")
def test_devices_of_a_future(torch: Any) -> Any:
    torch.futures.Future(devices=["cpu"])


@agrees
def test_several_futures(torch: Any) -> Any:
    a, b = torch.futures.Future(), torch.futures.Future()
    both = torch.futures.collect_all([a, b])
    b.set_result(2)
    before = both.done()
    a.set_result(1)
    all_of_none = torch.futures.collect_all([]).wait(), torch.futures.wait_all([])
    return before, both.done(), [each.wait() for each in both.wait()], torch.futures.wait_all([a, b]), all_of_none


@agrees
def test_several_futures_with_an_exception(torch: Any) -> Any:
    a, b = torch.futures.Future(), torch.futures.Future()
    a.set_result(1)
    b.set_exception(KeyError("x"))
    return torch.futures.wait_all([a, b])


@agrees
def test_what_is_no_future(torch: Any) -> Any:
    return torch.futures.collect_all([1])


# -- processes ---------------------------------------------------------------------------------------------------------


@differs("Distributed training is not supported", True, False)
def test_distributed_is_not_available(torch: Any) -> Any:
    return torch.distributed.is_available()


@agrees
def test_nothing_is_distributed(torch: Any) -> Any:
    dist = torch.distributed
    return dist.is_initialized(), dist.is_nccl_available(), dist.is_torchelastic_launched(), dist.is_mpi_available()


@agrees(says="Default process group has not been initialized, please make sure to call init_process_group")
def test_a_rank_without_a_group(torch: Any) -> Any:
    return torch.distributed.get_rank()


@agrees(says="Default process group has not been initialized")
def test_a_world_size_without_a_group(torch: Any) -> Any:
    return torch.distributed.get_world_size()


@agrees
def test_nothing_is_exported(torch: Any) -> Any:
    import importlib

    name = "nbautograd" if torch.__name__ == "nbautograd" else "torch"
    return importlib.import_module(f"{name}.onnx").is_in_onnx_export()


@agrees
def test_sharing_strategies(torch: Any) -> Any:
    mp = torch.multiprocessing
    first = mp.get_sharing_strategy()
    mp.set_sharing_strategy("file_system")
    second = mp.get_sharing_strategy()
    mp.set_sharing_strategy(first)
    return sorted(mp.get_all_sharing_strategies()), first, second, mp.get_all_start_methods(), mp.cpu_count()


@agrees(says="invalid sharing strategy 'none'")
def test_an_unknown_sharing_strategy(torch: Any) -> Any:
    torch.multiprocessing.set_sharing_strategy("none")
