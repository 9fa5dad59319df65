"""Runs with programs leave nothing in memory, whether they end, fail, wait for people or are cancelled."""

import gc
import threading
from typing import Any

import anyio
import pytest
from tests.agents.programs._orders import Asked

from stagepost.agents import AgentGaveUp, Tasks, tool
from stagepost.checkpoint import MemoryStore
from stagepost.programs._running._strands import Strands
from stagepost.workflows import Runner


@tool(needs_approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def alive() -> int:
    """How many programs are in memory."""
    for _ in range(3):  # what the first one ends makes more garbage
        gc.collect()
    return sum(isinstance(each, Strands) for each in gc.get_objects())


@pytest.mark.parametrize("count", [50, pytest.param(1000, marks=pytest.mark.long)])
async def test_runs_leave_nothing_in_memory(count: int) -> None:
    ending = Asked("(pmap (fn [i] (tool/look {:id i})) [1 2]) (return {:total 1})")
    failing = Asked('(tool/look {:id 1}) (fail "no")')
    before = alive()

    async def both(times: int) -> int:
        for _ in range(times):
            await ending.run()
            with pytest.raises(AgentGaveUp):
                await failing.run()
            ending.model._requests.clear()
            failing.model._requests.clear()
        assert alive() == before
        return len(gc.get_objects())

    first = await both(count // 2)
    assert await both(count) - first < count // 2


async def test_a_cancelled_program_is_ended() -> None:
    before = alive()
    called = anyio.Event()

    @tool
    async def never() -> str:
        """Wait."""
        called.set()
        await anyio.sleep_forever()
        return ""

    asked = Asked("(pmap (fn [_] (tool/never)) [1 2])", tools=[never])
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(asked.run)
            await called.wait()
            group.cancel_scope.cancel()
    assert alive() == before


@pytest.mark.parametrize("collects", ["here", "in another thread"])
async def test_programs_that_wait_for_people_are_not_kept_in_memory(collects: str) -> None:
    before = alive()
    agent = Asked("(pmap (fn [i] (tool/pay {:amount i})) [1 2])", tools=[pay]).agent
    await _parked(agent)
    if collects == "in another thread":
        thread = threading.Thread(target=gc.collect)
        thread.start()
        thread.join()
    await Asked("(return {:total 1})").run()  # what another thread has collected ends with the next program of this one
    assert alive() == before


async def _parked(agent: Any) -> None:
    async with MemoryStore() as store, Runner(store, workflows=[agent]) as runner:
        tasks = Tasks(runner)
        for number in range(5):
            await (await tasks.start(agent, {"rows": []}, task_id=f"t{number}")).settled()
        assert len(await tasks.approvals()) == 10
