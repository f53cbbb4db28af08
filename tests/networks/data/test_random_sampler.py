"""A ``RandomSampler`` of more indices than memory holds."""

from __future__ import annotations

import itertools
import time
from typing import Any

from tests import oracle


def test_a_random_sampler_of_ten_billion_draws_as_it_is_asked() -> None:
    """In chunks, so that the first batch comes soon; the same indices as PyTorch's."""

    def program(library: Any) -> Any:
        library.manual_seed(3)
        sampler = library.utils.data.RandomSampler(range(1000), replacement=True, num_samples=int(1e10))
        loader = library.utils.data.DataLoader(list(range(1000)), batch_size=8, sampler=sampler)
        batches = itertools.islice(loader, 10)
        start = time.process_time()
        found = [batch.tolist() for batch in batches]
        assert time.process_time() - start < 5 and len(sampler) == 10**10
        return found

    oracle.check(program, exact=True)
