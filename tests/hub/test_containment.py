import asyncio
from contextvars import ContextVar

import pytest
from anyio import CancelScope, create_task_group, fail_after, sleep_forever
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, echo, error_of, fail, until

from stagepost.hub import HandlerFailed, Hub, HubStopped, RequestTimeout
from stagepost.hub.testing import idle


async def test_a_failure_in_a_handlers_task_group_reaches_the_requester() -> None:
    async def grouped(ping: Ping) -> None:
        async with create_task_group() as tasks:
            tasks.start_soon(fail, ping)

    with fail_after(5):
        async with Hub() as hub:
            hub.register("grouped", grouped)
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("grouped", Ping())
    assert isinstance(caught.value.cause, ExceptionGroup)


async def test_a_task_group_that_fails_while_it_is_cancelled_is_contained() -> None:
    async def bitter() -> None:
        try:
            await sleep_forever()
        finally:
            raise ZeroDivisionError

    async def grouped(ping: Ping) -> None:
        async with create_task_group() as tasks:
            tasks.start_soon(bitter)
            await sleep_forever()

    with fail_after(5):
        async with Hub() as hub:
            hub.register("grouped", grouped)
            hub.register("echo", echo)
            with pytest.raises(RequestTimeout):
                await hub.request("grouped", Ping(), timeout=0.05)
            await idle(hub)
            assert hub.metrics().failed == 1
            assert await hub.request("echo", Ping(1)) == Pong(1)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_awaiting_something_cancelled_is_a_failure_like_any_other(anyio_backend: str) -> None:
    async def unlucky(ping: Ping) -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    with fail_after(5):
        async with Hub() as hub:
            hub.register("unlucky", unlucky)
            for _ in range(2):
                with pytest.raises(HandlerFailed) as caught:
                    await hub.request("unlucky", Ping())
                assert isinstance(caught.value.cause, asyncio.CancelledError)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_worker_killed_at_rest_is_replaced(anyio_backend: str) -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            assert await hub.request("echo", Ping(1)) == Pong(1)
            (worker,) = (task for task in asyncio.all_tasks() if task.get_name() == "stagepost agent echo")
            worker.cancel()
            assert await hub.request("echo", Ping(2)) == Pong(2)
            assert worker.done()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_agent_may_leave_while_its_worker_is_being_killed(anyio_backend: str) -> None:
    with fail_after(5):
        async with Hub() as hub:
            hub.register("echo", echo)
            assert await hub.request("echo", Ping(1)) == Pong(1)
            (worker,) = (task for task in asyncio.all_tasks() if task.get_name() == "stagepost agent echo")
            worker.cancel()
            await hub.unregister("echo")
            assert worker.done()


async def test_a_failure_that_is_escalated_ends_the_hub_and_answers_all() -> None:
    class Shutdown(BaseException):
        pass

    async def leave(ping: Ping) -> None:
        await gate.opened.wait()
        raise Shutdown

    gate, other = Gate(), Gate("other")
    hub = Hub()
    hub.register("leave", leave, supervision="escalate")
    hub.register(other)
    errors: list[HubStopped | HandlerFailed] = []

    async def own(tasks: TaskGroup) -> None:
        async with hub:
            tasks.start_soon(error_of, HandlerFailed, lambda: hub.request("leave", Ping()), errors)
            for number in range(2):
                tasks.start_soon(error_of, HubStopped, lambda n=number: hub.request("other", Ping(n)), errors)
            await until(lambda: hub.metrics().accepted == 3)
            await other.entered.wait()
            gate.opened.set()
            try:
                await sleep_forever()
            finally:
                with CancelScope(shield=True):
                    await other.cancelled.wait()
                    for _ in range(5):
                        await checkpoint()

    with fail_after(5):
        async with create_task_group() as tasks:
            with pytest.raises(Shutdown):
                await own(tasks)
    assert sorted(type(error).__name__ for error in errors) == ["HandlerFailed", "HubStopped", "HubStopped"]
    assert len(other.seen) == 1
    assert hub.metrics().in_flight == 0


async def test_several_such_errors_come_as_a_group() -> None:
    class Shutdown(BaseException):
        pass

    async def leave(ping: Ping) -> None:
        try:
            await sleep_forever()
        finally:
            raise Shutdown

    async def own() -> None:
        async with Hub(grace=0.05) as hub:
            hub.register("leave", leave, concurrency=2, supervision="escalate")
            await hub.send("leave", Ping())
            await hub.send("leave", Ping())

    with fail_after(5), pytest.raises(BaseExceptionGroup) as caught:
        await own()
    assert len(caught.value.exceptions) == 2


async def test_handlers_do_not_see_the_senders_context_variables() -> None:
    user: ContextVar[str] = ContextVar("user", default="nobody")
    seen: list[str] = []

    async def note(ping: Ping) -> None:
        seen.append(user.get())

    with fail_after(5):
        async with Hub() as hub:
            hub.register("note", note)
            user.set("first sender")
            await hub.request("note", Ping())
    assert seen == ["nobody"]
