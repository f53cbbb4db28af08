"""The sampler of one process of several, under both libraries."""

from __future__ import annotations

from typing import Any

import pytest

from tests import oracle


@pytest.mark.parametrize("options", [{}, {"shuffle": False}, {"drop_last": True}, {"seed": 3, "shuffle": True}])
@pytest.mark.parametrize("size", [0, 1, 5, 12])
def test_the_sampler_of_one_process_of_several(size: int, options: dict[str, Any]) -> None:
    def program(T: Any) -> Any:
        samplers = [T.utils.data.DistributedSampler(range(size), 4, rank, **options) for rank in range(4)]
        orders = [[*sampler] for sampler in samplers]
        for sampler in samplers:
            sampler.set_epoch(2)
        again = [[*sampler] for sampler in samplers]
        with pytest.raises(ValueError, match="Invalid rank 4, rank should be in the interval"):
            T.utils.data.DistributedSampler(range(size), 4, 4)
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            T.utils.data.DistributedSampler(range(size))
        return orders, again, [len(sampler) for sampler in samplers]

    oracle.check(program, exact=True)
