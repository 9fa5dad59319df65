import anyio
from anyio import fail_after, wait_all_tasks_blocked

from stagepost.agents._webhooks._slots import Slots


async def test_a_host_has_no_more_than_its_share_and_all_no_more_than_there_are() -> None:
    slots, inside, leave = Slots(3, 2), list[str](), anyio.Event()

    async def send(host: str) -> None:
        async with slots.one(host):
            inside.append(host)
            await leave.wait()

    with fail_after(30):
        async with anyio.create_task_group() as group:
            for host in ("a", "a", "a", "b", "b"):
                group.start_soon(send, host)
                await wait_all_tasks_blocked()  # trio starts tasks in any order
            assert sorted(inside) == ["a", "a", "b"]
            leave.set()
    assert sorted(inside) == ["a", "a", "a", "b", "b"]
    assert not slots._hosts


async def test_whoever_stops_waiting_takes_no_slot() -> None:
    slots = Slots(1, 1)
    with fail_after(30):
        async with slots.one("a"):
            with anyio.move_on_after(0):
                async with slots.one("a"):
                    raise AssertionError
        async with slots.one("a"):
            pass
    assert not slots._hosts
