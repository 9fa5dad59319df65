"""The items of a fan-out, handed out to workers."""

import anyio
from anyio import fail_after
from tests.workflows._words import PATIENCE

from stagepost.workflows._engine._queue import ItemQueue
from stagepost.workflows._execution._items import ItemRecord
from stagepost.workflows._values._state import Value


def queue(count: int) -> ItemQueue:
    return ItemQueue("outer[1]/fan", [ItemRecord(index, Value(b"null")) for index in range(count)])


async def taken(items: ItemQueue) -> int | None:
    item = await items.take()
    return None if item is None else item.idx


async def test_items_are_taken_in_their_order_until_none_is_left() -> None:
    items = queue(2)
    assert [await taken(items), await taken(items)] == [0, 1]
    items.put_down()
    items.put_down()
    assert await taken(items) is None


async def test_an_item_that_rests_comes_back_when_a_wait_below_it_has_ended() -> None:
    items = queue(2)
    for _ in range(2):
        item = await items.take()
        assert item is not None
        items.rest(item, again=False)
        items.put_down()
    assert (items.has_work, items.is_resting) == (False, True)
    items.hear(["ask", "fan[0]/ask", "outer[0]/fan[0]/ask", "outer[1]/fan[2]/ask"])  # all of them elsewhere
    assert not items.has_work
    items.hear(["outer[1]/fan[1]/inner[0]/ask#1"])
    assert await taken(items) == 1
    items.hear(["outer[1]/fan[1]"])  # it does not rest now
    assert not items.has_work


async def test_an_item_that_news_came_for_is_taken_again_at_once() -> None:
    items = queue(1)
    item = await items.take()
    assert item is not None
    items.rest(item, again=True)
    assert (items.has_work, items.is_resting) == (True, False)


async def test_a_worker_waits_as_long_as_another_one_may_put_an_item_back() -> None:
    items, found = queue(1), list[int | None]()
    item = await items.take()
    assert item is not None

    async def wait() -> None:
        found.append(await taken(items))

    with fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert found == []
            items.rest(item, again=False)
            items.hear(["outer[1]/fan[0]/ask"])
    assert found == [0]


async def test_workers_that_wait_end_with_the_last_one() -> None:
    items, found = queue(1), list[int | None]()
    await items.take()

    async def wait() -> None:
        found.append(await taken(items))

    with fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            items.put_down()
    assert found == [None, None]
