"""Workflows as agents on the hub."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.workflows._words import NOTHING, PATIENCE, Counted, Gate, Store, running

from stagepost.checkpoint import RunStatus
from stagepost.hub import AgentStopped, DuplicateAgent, HandlerFailed, Hub, RequestTimeout
from stagepost.hub.testing import idle
from stagepost.workflows import (
    Ask,
    Chain,
    DefinitionError,
    HubRequired,
    Pattern,
    RunFailed,
    Runner,
    RunOver,
    RunPart,
    State,
    StateShown,
    StepContext,
    StepSaved,
    step,
)


class Order(BaseModel):
    item: str
    number: int = 1


@asynccontextmanager
async def serving(store: Store, *workflows: Pattern, **options: Any) -> AsyncIterator[tuple[Hub, Runner]]:
    async with Hub(grace=0) as hub, running(store, hub=hub, **options) as runner:
        for workflow in workflows:
            await runner.serve(workflow)
        yield hub, runner


def doubling() -> Chain:
    return Chain("doubling", [step("double", lambda state: {"twice": 2 * state["number"]}, inline=True)])


@pytest.mark.parametrize("payload", [{"number": 4}, Order(item="x", number=4)], ids=["mapping", "model"])
async def test_a_request_starts_a_run_and_is_answered_with_its_state(store: Store, payload: object) -> None:
    async with serving(store, doubling()) as (hub, _):
        reply = await hub.request("doubling", payload, expect=State)
        assert reply["twice"] == 8
        (run,) = (await store.find()).items
        assert (run.workflow, run.status) == ("doubling", RunStatus.COMPLETED)


async def test_a_typed_workflow_is_asked_with_its_model(store: Store) -> None:
    work = Chain("work", [step("more", lambda order: {"number": order.number + 1}, inline=True)], state=Order)
    async with serving(store, work) as (hub, _):
        assert await hub.request("work", Order(item="x"), expect=Order) == Order(item="x", number=2)
        assert await hub.request("work", {"item": "y"}, expect=Order) == Order(item="y", number=2)


async def test_requests_with_one_key_join_one_run(store: Store) -> None:
    gate, replies = Gate(), list[State]()
    async with serving(store, Chain("work", [gate.step])) as (hub, _), anyio.create_task_group() as group:

        async def ask() -> None:
            replies.append(await hub.request("work", {}, expect=State, headers={"idempotency-key": "k"}))

        for _ in range(3):
            group.start_soon(ask)
        await gate.entered.wait()
        gate.open.set()
    assert (len(replies), gate.calls) == (3, 1)


async def test_requests_without_a_key_are_runs_of_their_own(store: Store) -> None:
    async with serving(store, Chain("work", [NOTHING])) as (hub, _):
        for _ in range(2):
            await hub.request("work", {})
        assert len((await store.find()).items) == 2


async def test_a_requester_who_gives_up_does_not_stop_the_run(store: Store) -> None:
    gate = Gate()
    async with serving(store, Chain("work", [gate.step])) as (hub, runner):
        with pytest.raises(RequestTimeout):
            await hub.request("work", {}, timeout=0.01, headers={"idempotency-key": "k"})
        await gate.entered.wait()
        gate.open.set()
        (info,) = (await store.find()).items
        await (await runner.get(info.run_id)).result()
        assert not gate.cancelled


async def test_a_failed_run_fails_the_request(store: Store) -> None:
    async with serving(store, Chain("work", [Counted().fails("b")])) as (hub, _):
        with pytest.raises(HandlerFailed) as caught:
            await hub.request("work", {})
    assert isinstance(caught.value.cause, RunFailed)


async def test_what_is_no_state_is_refused(store: Store) -> None:
    async with serving(store, Chain("work", [NOTHING])) as (hub, _):
        with pytest.raises(HandlerFailed, match="workflow 'work' is asked with a mapping or a model, not int"):
            await hub.request("work", 7)
        assert (await store.find()).items == ()


async def test_a_requester_hears_that_the_runner_was_left(store: Store) -> None:
    gate, errors = Gate(), list[str]()

    async def ask(hub: Hub) -> None:
        try:
            await hub.request("work", {})
        except (HandlerFailed, AgentStopped) as error:
            errors.append(str(error))

    with fail_after(PATIENCE):
        async with Hub() as hub, anyio.create_task_group() as group, running(store, hub=hub, grace=0) as runner:
            await runner.serve(Chain("work", [gate.step]))
            group.start_soon(ask, hub)
            await gate.entered.wait()
    assert "recover() goes on with it" in errors[0]


async def test_serving_needs_a_hub_and_a_free_name(store: Store) -> None:
    async with running(store) as runner:
        with pytest.raises(HubRequired, match="workflow 'doubling'"):
            await runner.serve(doubling())
    async with serving(store, doubling()) as (hub, runner):
        with pytest.raises(DefinitionError, match="another one of version 1 is registered"):
            await runner.serve(doubling())
        hub.register("taken", print_nothing)
        with pytest.raises(DuplicateAgent):
            await runner.serve(Chain("taken", [NOTHING]))


async def print_nothing(order: Order) -> None:
    """An agent."""


async def test_what_can_be_seen_as_a_workflow_is_served_as_one(store: Store) -> None:
    class Shop:
        def as_workflow(self) -> Pattern:
            return doubling()

    async with Hub(grace=0) as hub, running(store, hub=hub) as runner:
        await runner.serve(Shop())
        assert (await hub.request("doubling", {"number": 1}, expect=State))["twice"] == 2


async def test_a_recovered_step_joins_the_run_that_it_asked_for(store: Store) -> None:
    """Parent and child are both open when the process ends; nobody starts the child again."""
    counted, gate = Counted(), Gate()
    child = Chain("child", [counted.adds("begin"), gate.step, counted.adds("end")])
    ask = Ask("child", lambda state: {"n": state["n"]}, into="answer", name="ask")
    parent = Chain("parent", [ask, step("after", lambda state: {"path": state["answer"]["path"]}, inline=True)])
    async with serving(store, child, parent, grace=0) as (_, runner):
        await runner.start(parent, {"n": 1}, run_id="p1")
        await gate.entered.wait()
    gate.open.set()
    async with serving(store, child, parent) as (_, runner):
        await runner.recover()
        result = await (await runner.get("p1")).result()
        assert result["path"] == ["begin", "end"]
        runs = {run.workflow: run for run in (await store.find()).items}
    assert counted.calls == ["begin", "end"]
    assert (len(runs), runs["child"].key, runs["child"].input) == (2, "p1/ask", b'{"n":1}')


async def test_a_step_that_ran_again_gets_the_answer_that_was_given(store: Store) -> None:
    """The child had ended, the parent's commit was missing."""
    counted, gate = Counted(), Gate()
    child = Chain("child", [counted.adds("a")])

    async def ask_and_wait(state: State, context: StepContext) -> Mapping[str, object]:
        assert context.hub is not None
        headers = {"idempotency-key": context.idempotency_key}
        reply = await context.hub.request("child", {}, expect=State, headers=headers)
        await gate.pass_through(state)
        return {"path": reply["path"]}

    parent = Chain("parent", [ask_and_wait])
    async with serving(store, child, parent, grace=0) as (_, runner):
        await runner.start(parent, run_id="p1")
        await gate.entered.wait()
    gate.open.set()
    async with serving(store, child, parent) as (_, runner):
        (run,) = (await runner.recover()).resumed
        assert (await run.result())["path"] == ["a"]
    assert counted.calls == ["a"]


async def test_a_runner_that_is_left_takes_what_it_served_off_the_hub(store: Store) -> None:
    work = doubling()
    with fail_after(PATIENCE):
        async with Hub() as hub, store:
            async with Runner(store, hub=hub) as runner:
                await runner.serve(work)
                assert "doubling" in hub.agents
            assert "doubling" not in hub.agents
            async with Runner(store, hub=hub) as runner:
                await runner.serve(work)
                assert (await hub.request("doubling", {"number": 1}, expect=State))["twice"] == 2


async def test_leaving_a_runner_answers_whoever_still_waits_for_what_it_served(store: Store) -> None:
    begun, failures = anyio.Event(), list[str]()

    async def wait(state: State) -> None:
        begun.set()
        await anyio.sleep_forever()

    async def ask(hub: Hub) -> None:
        with pytest.raises(HandlerFailed) as caught:
            await hub.request("work", {}, timeout=None)
        failures.append(type(caught.value.cause).__name__)

    with fail_after(PATIENCE):
        async with (
            Hub() as hub,
            store,
            anyio.create_task_group() as tasks,
            Runner(store, hub=hub, grace=0) as runner,
        ):
            await runner.serve(Chain("work", [wait]))
            tasks.start_soon(ask, hub)
            await begun.wait()
    assert failures == ["RunnerStopped"]


async def test_a_hub_that_was_left_before_its_runner_is_no_trouble(store: Store) -> None:
    hub = Hub()
    with fail_after(PATIENCE):
        async with store, Runner(store, hub=hub) as runner, hub:
            await runner.serve(doubling())
    assert hub.metrics().in_flight == 0


async def test_a_stream_of_a_served_workflow_is_that_of_its_run(store: Store) -> None:
    gate, key = Gate(), {"idempotency-key": "k"}
    async with serving(store, Chain("work", [gate.step, NOTHING])) as (hub, runner):
        parts = []
        async for part in hub.stream("work", {"number": 4}, expect=RunPart, headers=key):
            parts.append(part)
            await gate.entered.wait()
            gate.open.set()
        assert isinstance(parts[0], StateShown)
        assert any(isinstance(part, StepSaved) for part in parts)
        assert isinstance(parts[-1], RunOver)
        (info,) = (await store.find()).items
        async with runner.stream(info.run_id) as stream:
            again = [part.to_dict() async for part in stream]
        assert [
            part.to_dict() async for part in hub.stream("work", {"number": 4}, expect=RunPart, headers=key)
        ] == again
        assert gate.calls == 1


async def test_leaving_the_stream_of_a_served_workflow_does_not_stop_the_run(store: Store) -> None:
    gate = Gate()
    with fail_after(PATIENCE):
        async with serving(store, Chain("work", [gate.step])) as (hub, runner):
            async for _ in hub.stream("work", {}):
                await gate.entered.wait()
                break
            await idle(hub)  # nothing on the hub waits for the run
            gate.open.set()
            (info,) = (await store.find()).items
            await (await runner.get(info.run_id)).result()
            assert not gate.cancelled


async def test_what_cannot_be_started_fails_the_stream(store: Store) -> None:
    async with serving(store, Chain("work", [NOTHING])) as (hub, _):
        with pytest.raises(HandlerFailed, match="workflow 'work' is asked with a mapping or a model, not int"):
            await anext(hub.stream("work", 7))
