"""The hub's own tasks go on when somebody else cancels them; only asyncio lets anybody do that."""

import asyncio
from collections.abc import Awaitable

import pytest
from anyio import fail_after
from anyio.lowlevel import checkpoint
from tests.hub._agents import Ping, Pong, until

from stagepost.hub import AgentStopped, Hub, HubError, RequestTimeout, Restart, handles
from stagepost.hub.testing import Probe

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


def cancel_tasks(name: str) -> int:
    """Cancel the tasks whose name holds a text; how many there were."""
    found = [task for task in asyncio.all_tasks() if name in task.get_name()]
    for task in found:
        task.cancel()
    return len(found)


async def failure(call: Awaitable[object]) -> HubError | None:
    """The error that a call raises."""
    try:
        await call
    except HubError as error:
        return error
    return None


class Lively:
    """An agent that counts the starts and stops of its instances."""

    log: list[str]

    def on_start(self) -> None:
        self.log.append("start")

    def on_stop(self) -> None:
        self.log.append("stop")

    @handles
    async def answer(self, ping: Ping) -> Pong:
        return Pong(1 // ping.number)


async def test_p5_the_life_of_an_agent_goes_on_when_its_task_is_cancelled() -> None:
    Lively.log = []
    with fail_after(5):
        async with Hub() as hub:
            hub.register("lively", Lively, supervision=Restart(backoff=0.0))
            for _ in range(3):
                await hub.request("lively", Ping(1))
                assert cancel_tasks("lifecycle of lively") == 1
                for _ in range(3):
                    await checkpoint()
            await failure(hub.request("lively", Ping(0)))
            await hub.request("lively", Ping(1))
            await hub.unregister("lively")
    assert Lively.log == ["start", "stop", "start", "stop"]


async def test_p5_deadlines_pass_when_their_task_is_cancelled() -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register(Probe("deaf", replies=[lambda _: asyncio.sleep(60), lambda _: asyncio.sleep(60)]))
            for _ in range(2):
                assert isinstance(await failure(hub.request("deaf", 1, timeout=0.01)), RequestTimeout)
                assert cancel_tasks("stagepost deadlines") == 1


async def test_p5_all_requests_expire_when_the_task_of_deadlines_is_cancelled_meanwhile() -> None:
    errors: list[object] = []

    async def ask(hub: Hub) -> None:
        errors.append(await failure(hub.request("deaf", 1, timeout=0.05)))
        if len(errors) % 500 == 1:
            cancel_tasks("stagepost deadlines")

    with fail_after(10):
        async with Hub() as hub, asyncio.TaskGroup() as tasks:
            hub.register(Probe("deaf", replies=[lambda _: asyncio.sleep(60)]), mailbox=None)
            for _ in range(2_000):
                tasks.create_task(ask(hub))
    assert len(errors) == 2_000
    assert all(isinstance(error, RequestTimeout) for error in errors)


async def test_p2_all_requests_to_a_failed_agent_end_when_the_task_that_ends_them_is_cancelled() -> None:
    errors: list[object] = []

    async def fail(ping: Ping) -> None:
        await until(lambda: hub.metrics().depth == 1_999)
        raise ValueError

    async def ask() -> None:
        errors.append(await failure(hub.request("bad", Ping(), timeout=None)))
        if len(errors) % 500 == 0:
            cancel_tasks("end of bad")

    with fail_after(10):
        async with Hub() as hub, asyncio.TaskGroup() as tasks:
            hub.register("bad", fail, mailbox=None, supervision="stop")
            for _ in range(2_000):
                tasks.create_task(ask())
    assert sum(isinstance(error, AgentStopped) for error in errors) == 1_999
