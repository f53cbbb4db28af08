"""Grad modes in generators and coroutines."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.parity.differences.both import agrees, differs


@agrees
def test_decorated_generator(torch: Any) -> Any:
    log = []

    @torch.no_grad()
    def generate() -> Any:
        log.append(torch.is_grad_enabled())
        got = yield 1
        log.append((torch.is_grad_enabled(), got))
        try:
            yield 2
        except KeyError:
            log.append(torch.is_grad_enabled())
        with torch.enable_grad():
            yield 3
            log.append(torch.is_grad_enabled())
        log.append(torch.is_grad_enabled())
        return 4

    generator = generate()
    log.append((next(generator), torch.is_grad_enabled()))
    log.append((generator.send("sent"), torch.is_grad_enabled()))
    log.append((generator.throw(KeyError()), torch.is_grad_enabled()))
    try:
        next(generator)
    except StopIteration as stop:
        log.append((stop.value, torch.is_grad_enabled()))
    return log


@agrees
def test_generator_with_a_block_of_its_own(torch: Any) -> Any:
    """The mode of a block around a generator leaks to its caller, in both."""

    def generate() -> Any:
        with torch.no_grad():
            yield torch.is_grad_enabled()
            yield torch.is_grad_enabled()

    generator = generate()
    log = [next(generator), torch.is_grad_enabled(), next(generator), torch.is_grad_enabled()]
    generator.close()
    return [*log, torch.is_grad_enabled()]


@agrees
def test_generator_that_a_decorated_function_returns(torch: Any) -> Any:
    @torch.no_grad()
    def make() -> Any:
        return (torch.is_grad_enabled() for _ in range(2))

    return list(make())


@pytest.mark.parametrize("mode", ["no_grad", "enable_grad", "inference_mode"])
def test_decorated_methods_and_generators(mode: str) -> None:
    def program(torch: Any) -> Any:
        class Thing:
            @getattr(torch, mode)()
            def method(self, x: Any) -> Any:
                return torch.is_grad_enabled(), (x * 2).requires_grad

            @classmethod
            @getattr(torch, mode)()
            def of_class(cls) -> Any:
                return torch.is_grad_enabled()

            @getattr(torch, mode)()
            def generator(self) -> Any:
                yield torch.is_grad_enabled()
                yield from (torch.is_grad_enabled() for _ in range(2))

        x = torch.ones(1, requires_grad=True)
        with torch.set_grad_enabled(mode == "no_grad"):
            thing = Thing()
            return thing.method(x), Thing.of_class(), list(thing.generator()), thing.method.__name__

    agrees(program)()


@agrees
def test_decorated_coroutine(torch: Any) -> Any:
    """The decorator is around the call, which creates the coroutine without running it."""

    @torch.no_grad()
    async def work() -> Any:
        log = [torch.is_grad_enabled()]
        await asyncio.sleep(0)
        return [*log, torch.is_grad_enabled()]

    async def main() -> Any:
        other = asyncio.ensure_future(asyncio.sleep(0))
        return [*await work(), torch.is_grad_enabled(), *([] if await other is None else [0])]

    return asyncio.run(main())


@differs(
    "Tasks do not see each other's grad mode",
    pytorch=[False, True],
    here=[True, False],
)
def test_tasks_have_their_own_grad_mode(torch: Any) -> Any:
    log: list[bool] = []

    async def without() -> None:
        with torch.no_grad():
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            log.append(torch.is_grad_enabled())

    async def other() -> None:
        await asyncio.sleep(0)
        log.append(torch.is_grad_enabled())
        with torch.enable_grad():
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(without(), other())

    try:
        asyncio.run(main())
    finally:
        torch.set_grad_enabled(True)
    return log
