"""Generators that the hub does not trust, and readers that vanish."""

import gc
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from anyio import (
    CancelScope,
    create_task_group,
    current_time,
    fail_after,
    get_cancelled_exc_class,
    move_on_after,
    sleep,
    sleep_forever,
    wait_all_tasks_blocked,
)
from anyio import Event as Flag
from anyio.lowlevel import checkpoint
from tests.hub._agents import until
from tests.hub._streams import Source, count, spell
from tests.hub._watching import LATE, watched

from stagepost.hub import Context, HandlerFailed, Hub, RequestTimeout
from stagepost.hub.testing import VirtualClock, idle


async def leave_at_once(hub: Hub, agent: str) -> None:
    async for _ in hub.stream(agent, "text"):
        return


async def yield_in_finally(text: str) -> AsyncIterator[str]:
    try:
        yield text
        await sleep_forever()
    finally:
        yield "one more"


async def swallow(text: str) -> AsyncIterator[str]:
    for _ in range(3):
        try:
            yield text
            await sleep_forever()
        except BaseException:  # noqa: BLE001 - the point
            await checkpoint() if text == "never" else None


def swallow_in_step(text: str) -> Iterator[str]:
    while True:
        with suppress(BaseException):
            yield text


async def linger(text: str) -> AsyncIterator[str]:
    try:
        yield text
        await sleep_forever()
    finally:
        with CancelScope(shield=True):
            await sleep(0.01)


async def turn_into_an_error(text: str) -> AsyncIterator[str]:
    try:
        yield text
        await sleep_forever()
    finally:
        raise ZeroDivisionError


def end_quietly_in_step(text: str) -> Iterator[str]:
    with suppress(BaseException):
        while True:
            yield text


async def end_quietly(text: str) -> AsyncIterator[str]:
    try:
        while True:
            yield text
    except BaseException:  # noqa: BLE001 - the point
        return


HOSTILE: dict[str, tuple[Callable[..., object], str]] = {
    "yields in finally": (yield_in_finally, "cancelled"),
    "swallows its cancellation": (swallow, "cancelled"),
    "swallows everything": (swallow_in_step, "failed"),
    "lingers": (linger, "cancelled"),
    "turns it into an error": (turn_into_an_error, "failed"),
    "ends quietly": (end_quietly, "handled"),
    "ends quietly, not async": (end_quietly_in_step, "handled"),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("handler", "outcome"), HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_generator_harms_nobody(handler: Callable[..., object], outcome: str) -> None:
    with fail_after(10):
        async with Hub() as hub:
            hub.register("hostile", handler)
            hub.register("spell", spell)
            await leave_at_once(hub, "hostile")
            await idle(hub)
            assert [part async for part in hub.stream("spell", "ab")] == ["a", "b"]
            metrics = hub.metrics()
            ended = {"handled": metrics.handled - 1, "failed": metrics.failed, "cancelled": metrics.cancelled}
            assert ended == {**dict.fromkeys(ended, 0), outcome: 1}
            await leave_at_once(hub, "hostile")  # its worker goes on
    gc.collect()


async def test_a_generator_that_never_yields_ends_by_the_deadline() -> None:
    begun, closed, clock = Flag(), Flag(), VirtualClock()

    async def never(text: str) -> AsyncIterator[str]:
        try:
            begun.set()
            await sleep_forever()
            yield text
        finally:
            closed.set()

    with fail_after(10):
        async with Hub(clock=clock) as hub, create_task_group() as tasks:
            hub.register("never", never)

            async def read() -> None:
                with pytest.raises(RequestTimeout):
                    await anext(hub.stream("never", "", timeout=5))

            tasks.start_soon(read)
            await begun.wait()
            await clock.advance(6)
            await closed.wait()


async def test_a_scope_in_a_generator_covers_its_yields() -> None:
    async def patient(number: int) -> AsyncIterator[int]:
        yield 0
        with move_on_after(0.01):
            for part in range(1, number):
                yield part  # waits for a reader that does not come
        yield -1

    with fail_after(10):
        async with Hub() as hub:
            hub.register("patient", patient)
            async with hub.stream("patient", 100, window=2) as stream:
                assert await anext(stream) == 0
                await sleep(0.05)
                assert [part async for part in stream] == [1, 2, -1]
            assert hub.metrics().handled == 1


async def test_a_task_group_in_a_generator_ends_with_it() -> None:
    ended = Flag()

    async def beside() -> None:
        try:
            await sleep_forever()
        finally:
            ended.set()

    async def busy(number: int) -> AsyncIterator[int]:
        async with create_task_group() as tasks:
            tasks.start_soon(beside)
            for part in range(number):
                await checkpoint()
                yield part
            tasks.cancel_scope.cancel()

    with fail_after(10):
        async with Hub() as hub:
            hub.register("busy", busy)
            assert [part async for part in hub.stream("busy", 30)] == list(range(30))
            await ended.wait()
            ended = Flag()
            async for _ in hub.stream("busy", 1000):
                break
            await ended.wait()
            await idle(hub)
            assert hub.metrics().cancelled == 1


async def test_a_group_that_fails_beside_a_yield_fails_the_stream() -> None:
    async def crash() -> None:
        await checkpoint()
        raise ZeroDivisionError

    async def busy(text: str) -> AsyncIterator[str]:
        async with create_task_group() as tasks:
            tasks.start_soon(crash)
            while True:
                yield text

    with fail_after(10):
        async with Hub() as hub:
            hub.register("busy", busy)
            with pytest.raises(HandlerFailed) as caught:
                async for _ in hub.stream("busy", ""):
                    pass
            assert isinstance(caught.value.cause, ExceptionGroup)


async def test_a_generator_left_in_a_cycle_of_objects_is_collected() -> None:
    source = Source()
    with fail_after(10):
        async with Hub() as hub:
            hub.register(source)
            stream = hub.stream("source", 1000)
            await anext(stream)
            cycle: list[Any] = [stream]
            cycle.append(cycle)
            del stream, cycle
            gc.collect()
            await source.closed.wait()
            await idle(hub)
            assert source.ended_by is get_cancelled_exc_class()


async def test_a_reader_may_vanish_after_the_hub() -> None:
    async with Hub() as hub:
        hub.register("count", count)
        stream = hub.stream("count", 3)
        await anext(stream)
        await idle(hub)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del stream
        gc.collect()


@pytest.mark.parametrize("reads", [True, False], ids=["a fast reader", "nobody reads"])
async def test_a_stream_lets_others_run(reads: bool) -> None:  # noqa: FBT001 - a table
    def endless(number: int) -> Iterator[int]:
        yield from range(number)

    async with Hub() as hub:
        hub.register("async", count)
        hub.register("sync", endless)
        for agent in ("async", "sync"):
            async with watched() as late:
                if reads:
                    async for _ in hub.stream(agent, 30_000, window=None, timeout=None):
                        pass
                else:
                    await hub.send(agent, 30_000)
                    await idle(hub)
            assert late.most < LATE
            assert late.turns > 10


async def test_a_reader_that_is_slow_delays_only_its_own_agent() -> None:
    source, other = Source(), Source("other")
    with fail_after(10):
        async with Hub() as hub:
            hub.register(source)
            hub.register(other)
            slow = hub.stream("source", 1000)
            await anext(slow)
            await wait_all_tasks_blocked()
            began = current_time()
            quick = hub.stream("other", 1000)
            assert [await anext(quick) for _ in range(500)] == list(range(500))
            assert current_time() - began < 5
            await slow.aclose()
            await quick.aclose()


async def test_an_agent_that_is_cancelled_while_it_reads_cancels_those_below() -> None:
    source = Source()

    async def relay(number: int, context: Context) -> AsyncIterator[object]:
        async for part in context.stream("source", number):
            yield part

    with fail_after(10):
        async with Hub() as hub:
            hub.register(source)
            hub.register("relay", relay)
            async for _ in hub.stream("relay", 1000):
                break
            await until(lambda: source.ended_by is not None)
            await idle(hub)
            assert hub.metrics().cancelled == 2
