"""Webhooks of real tasks: calls, approvals, agents below."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

import anyio
import pytest
from anyio import fail_after
from tests.agents.webhooks._hooks import SECRET, SOON, forgotten
from tests.agents.webhooks._receiver import Receiver
from tests.agents.webhooks._victim import lead

from stagepost.agents import (
    Agent,
    Allow,
    InvalidCursor,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    Tasks,
    Webhooks,
    call,
    part_from_dict,
    tool,
)
from stagepost.agents._webhooks._reading import reading
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import Runner


@asynccontextmanager
async def opened(store: MemoryStore) -> AsyncIterator[tuple[Webhooks, Tasks, Runner]]:
    async with (
        store,
        Runner(store, workflows=[lead()]) as runner,
        Webhooks(runner, secret=SECRET, retries=SOON) as webhooks,
    ):
        yield webhooks, Tasks(runner), runner


async def approve(tasks: Tasks) -> None:
    while not (wanted := await tasks.approvals()):
        await anyio.wait_all_tasks_blocked()
    await tasks.decide(wanted[0].id, Allow(), by="ann")


async def test_all_numbered_parts_of_a_task_are_received_as_the_stream_has_them(receiver: Receiver) -> None:
    with fail_after(60):
        async with opened(MemoryStore()) as (webhooks, tasks, runner):
            await webhooks.add_for_all(f"{receiver.url}/all")
            await tasks.start("lead", "Go.", task_id="t")
            await webhooks.add("t", f"{receiver.url}/one")
            await approve(tasks)
            await (await runner.get("t")).result()
            while any(webhook.tasks for webhook in await webhooks.list()):
                await anyio.wait_all_tasks_blocked()
            async with reading(runner, "t", None) as parts:
                stored = [part async for part in parts]
    for path in ("/all", "/one"):
        got = [part_from_dict(each.part) for each in receiver.of(path)]
        assert [part.key for part in got] == [part.key for part in stored]
        assert {part.type for part in got} >= {"message", "tool_call", "tool_result", "approval_requested", "completed"}
        assert {part.path for part in got} == {("lead",), ("lead", "helper")}
        assert None not in {part.cursor for part in got}


async def test_a_webhook_can_begin_after_the_cursor_of_any_part(receiver: Receiver) -> None:
    with fail_after(60):
        async with opened(MemoryStore()) as (webhooks, tasks, runner):
            await tasks.start("lead", "Go.", task_id="t")
            await approve(tasks)
            await (await runner.get("t")).result()
            await webhooks.add("t", f"{receiver.url}/hook")
            await forgotten(webhooks)
            keys = [each.key for each in receiver.of()]
            for number in (0, 5, len(keys) - 1):
                path = f"/after-{number}"
                await webhooks.add("t", receiver.url + path, after=receiver.of()[number].part["cursor"])
                await forgotten(webhooks)
                assert [each.key for each in receiver.of(path)] == keys[number + 1 :]
            with pytest.raises(InvalidCursor):
                await webhooks.add("t", f"{receiver.url}/hook", after="nonsense")
            assert await webhooks.list() == []


async def test_a_task_that_nobody_has_recovered_yet_is_waited_for(receiver: Receiver) -> None:
    store = MemoryStore()
    with fail_after(60):
        async with opened(store) as (webhooks, tasks, _):
            await webhooks.add_for_all(f"{receiver.url}/hook")
            await tasks.start("lead", "Go.", task_id="t")
            await receiver.until(lambda: any(each.part["type"] == "approval_requested" for each in receiver.of()))
        before = len(receiver.of())
        async with opened(store) as (webhooks, tasks, runner):
            await anyio.wait_all_tasks_blocked()
            await runner.recover()
            await approve(tasks)
            await receiver.until(lambda: receiver.of()[-1].part["type"] == "completed")
            (webhook,) = await webhooks.list()
            assert webhook.status == "active"
    assert len(receiver.of()) > before
    keys = [each.key for each in receiver.of()]
    assert len(set(keys)) == len(keys)


async def test_the_end_of_a_cancelled_task_is_received(receiver: Receiver) -> None:
    with fail_after(60):
        async with opened(MemoryStore()) as (webhooks, tasks, _):
            await tasks.start("lead", "Go.", task_id="t")
            await webhooks.add("t", f"{receiver.url}/hook")
            await receiver.until(lambda: any(each.part["type"] == "approval_requested" for each in receiver.of()))
            await tasks.cancel("t")
            await forgotten(webhooks)
    assert receiver.of()[-1].part["type"] == "cancelled"


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_model_is_not_asked_for_tokens_only_because_a_webhook_follows_the_task(
    receiver: Receiver, *, streamed: bool
) -> None:
    entered, go_on, asked = anyio.Event(), anyio.Event(), list[bool]()

    class Watched:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            asked.append(request.on_token is not None)
            entered.set()
            await go_on.wait()
            return await ScriptedModel([call("again"), "done"]).answer(request)

    @tool(idempotent=True)
    async def again() -> str:
        """Do it again."""
        return "again"

    agent = Agent("lead", prompt="Lead.", model=Watched(), tools=[again])
    with fail_after(60):
        async with (
            MemoryStore() as store,
            Runner(store, workflows=[agent]) as runner,
            Webhooks(runner, secret=SECRET, retries=SOON) as webhooks,
        ):
            await webhooks.add_for_all(f"{receiver.url}/hook")
            run = await Tasks(runner).start("lead", "Go.", task_id="t")
            await entered.wait()
            await receiver.received(1)
            with runner.listen("t") if streamed else nullcontext():
                go_on.set()
                await run.result()
    assert asked == [False, streamed]
