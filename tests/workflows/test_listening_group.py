"""Of those who listen to a run and have read as much of it, one reads what follows for all of them."""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from anyio import create_task_group, fail_after, wait_all_tasks_blocked

from stagepost.workflows import Listening, MemoryRoom

MANY = 10


class Reads:
    """Counts reads; each waits until it may go on."""

    def __init__(self, *, go_on: bool = True) -> None:
        self.count = 0
        self.go_on = anyio.Event()
        if go_on:
            self.go_on.set()
        self.meanwhile: Callable[[], object] = lambda: None

    async def __call__(self) -> int:
        self.count += 1
        count = self.count
        await self.go_on.wait()
        self.meanwhile()
        return count


@contextmanager
def listeners(room: MemoryRoom, number: int = MANY) -> Iterator[list[Listening]]:
    with ExitStack() as stack:
        yield [stack.enter_context(room.listen()) for _ in range(number)]


async def in_time(*waits: Callable[[], Coroutine[Any, Any, object]]) -> None:
    with fail_after(10):
        async with create_task_group() as group:
            for wait in waits:
                group.start_soon(wait)


async def test_one_reads_for_all() -> None:
    room, read, found = MemoryRoom(), Reads(), list[int]()

    async def hear(listening: Listening) -> None:
        await listening.ready("place", read)
        assert "place" in listening.memo
        assert (await listening.next()).rung
        found.append(await listening.shared("place", read))

    async def ring() -> None:
        await wait_all_tasks_blocked()
        room._room.ring()

    with listeners(room) as heard:
        await in_time(ring, *[partial(hear, each) for each in heard])
    assert (read.count, found) == (1, [1] * MANY)
    assert not room._room._groups


async def test_who_waits_alone_reads_by_himself() -> None:
    room, read = MemoryRoom(), Reads()

    async def ring() -> None:
        await wait_all_tasks_blocked()
        room._room.ring()

    with room.listen() as listening:
        await in_time(ring, lambda: listening.ready("place", read))
        assert (await listening.next()).rung
    assert read.count == 0


async def test_it_is_read_once_more_if_it_has_rung_since_and_no_more_than_that() -> None:
    room, read = MemoryRoom(), Reads()
    read.meanwhile = room._room.ring

    async def ring() -> None:
        await wait_all_tasks_blocked()
        room._room.ring()

    with listeners(room) as heard:
        await in_time(ring, *[partial(each.ready, "place", read) for each in heard])
        assert not any("place" in listening.memo for listening in heard)
    assert read.count == 2


@pytest.mark.parametrize("is_reading", [True, False])
async def test_if_the_one_who_reads_is_cancelled_the_others_are_woken(*, is_reading: bool) -> None:
    room, read, woken = MemoryRoom(), Reads(go_on=False), list[int]()
    scope = anyio.CancelScope()

    async def first(listening: Listening) -> None:
        with scope:
            await listening.ready("place", read)

    async def other(listening: Listening) -> None:
        await listening.ready("place", read)
        woken.append(1)

    async def ring() -> None:
        await wait_all_tasks_blocked()
        if is_reading:
            room._room.ring()
            await wait_all_tasks_blocked()
        scope.cancel()
        await wait_all_tasks_blocked()
        read.go_on.set()
        room._room.ring()

    with listeners(room) as (one, *others):
        await in_time(lambda: first(one), *[partial(other, each) for each in others], ring)
    assert len(woken) == MANY - 1


async def test_what_is_told_wakes_all_unless_they_wait_for_what_is_read() -> None:
    room, read, woken = MemoryRoom(), Reads(go_on=False), list[int]()

    async def hear(listening: Listening) -> None:
        await listening.ready("place", read)
        woken.append(len((await listening.next()).told))
        await listening.ready("place", read)
        woken.append((await listening.next()).rung)

    async def tell() -> None:
        room._room.open()
        await wait_all_tasks_blocked()
        room._room.tell(room.run_id, "step", "word")
        await wait_all_tasks_blocked()
        assert woken == [1] * MANY
        room._room.ring()
        room._room.tell(room.run_id, "step", "word")
        await wait_all_tasks_blocked()
        assert woken == [1] * MANY
        assert read.count == 1
        read.go_on.set()

    with listeners(room) as heard:
        await in_time(tell, *[partial(hear, each) for each in heard])
    assert woken == [1] * 2 * MANY


async def test_who_hears_nothing_more_is_told_so() -> None:
    room, read, told = MemoryRoom(), Reads(), list[str]()

    async def hear(listening: Listening) -> None:
        with pytest.raises(ValueError, match="over"):
            await listening.ready("place", read)
        told.append("over")

    async def end() -> None:
        await wait_all_tasks_blocked()
        room._room.end(room.run_id, ValueError("over"))

    with listeners(room) as heard:
        await in_time(end, *[partial(hear, each) for each in heard])
    assert len(told) == MANY


async def test_a_read_that_fails_is_left_to_who_reads_by_himself() -> None:
    room, read, woken = MemoryRoom(), Reads(), list[bool]()

    def fail() -> None:
        raise ValueError("unreadable")

    async def hear(listening: Listening) -> None:
        await listening.ready("place", read)
        woken.append((await listening.next()).rung)
        with pytest.raises(ValueError, match="unreadable"):
            await listening.shared("place", read)

    async def ring() -> None:
        await wait_all_tasks_blocked()
        room._room.ring()

    read.meanwhile = fail
    with listeners(room) as heard:
        await in_time(ring, *[partial(hear, each) for each in heard])
    assert woken == [True] * MANY
