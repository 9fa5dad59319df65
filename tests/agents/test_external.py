"""External tools: their calls wait for a value from outside."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after
from pydantic import BaseModel, field_validator
from tests.agents._ways import result_of, started, told, working
from tests.agents._weather import look, results

from stagepost.agents import (
    Agent,
    AgentTool,
    Allow,
    Answer,
    Approvals,
    ExternalTool,
    InvalidTool,
    NobodyToAnswer,
    Refuse,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    TaskStatus,
    ToolCall,
    ToolContext,
    ToolResult,
    call,
    external_tool,
)
from stagepost.checkpoint import CannotStore, MemoryStore, RunStatus, SqliteStore
from stagepost.workflows import Inbox, Runner

on_asyncio = pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the store's


class Offer(BaseModel):
    price: float
    until: datetime | None = None

    @field_validator("price")
    @classmethod
    def _positive(cls, price: float) -> float:
        if price <= 0:
            raise ValueError("a price is more than nothing")
        return price


class Wanted(BaseModel):
    item: str
    count: int = 1


def quote(**options: Any) -> ExternalTool:
    return external_tool("quote", "Asks the supplier.", parameters=Wanted, returns=Offer, **options)


def buyer(*script: ScriptEntry, tools: Any = None, **options: Any) -> tuple[Agent[str], ScriptedModel]:
    model = ScriptedModel(script or (call("quote", item="nails"), "bought"))
    return Agent("buyer", prompt="Buy.", model=model, tools=[quote()] if tools is None else tools, **options), model


async def test_a_call_waits_is_listed_and_goes_on_with_the_value() -> None:
    agent, model = buyer()
    async with working(agent) as runner:
        tasks = Tasks(runner)
        run = await tasks.start(agent, "Buy nails.", task_id="t")
        assert await run.settled() is RunStatus.WAITING
        task = await tasks.get("t")
        assert (task.status, task.approvals, task.doubts) == (TaskStatus.AWAITING_ANSWER, (), ())
        (asked,) = await tasks.questions()
        assert task.questions == (asked,)
        assert (asked.task_id, asked.agent, asked.tool, asked.arguments) == (
            "t",
            "buyer",
            "quote",
            {"item": "nails", "count": 1},
        )
        assert asked.schema["required"] == ["price"]
        assert (asked.message, asked.server, asked.due_at, asked.refused) == ("", None, None, None)
        assert await tasks.approvals() == ()
        await tasks.answer(asked.id, {"price": "3.5"}, by="ann")
        result = await result_of(run, agent)
    assert result.output == "bought"
    assert told(model.requests[-1]) == ['{"price":3.5,"until":null}']
    assert not results(result)[0].is_error


@pytest.mark.parametrize(
    ("returns", "value", "text"),
    [
        (str, "yes", "yes"),
        (int, 3, "3"),
        (list[int], [1, 2], "[1,2]"),
        (Offer, Offer(price=2, until=datetime(2026, 1, 1, tzinfo=UTC)), '{"price":2.0,"until":"2026-01-01T00:00:00Z"}'),
        (None, {"any": [None]}, '{"any":[null]}'),
        ({"type": "object", "required": ["ok"]}, {"ok": True}, '{"ok":true}'),
        (bool | None, None, "null"),
        (str, Answer("yes"), "yes"),
    ],
    ids=["text", "number", "list", "model", "anything", "schema", "null", "answer"],
)
async def test_values_of_all_types_are_told_as_results_of_tools_are(returns: Any, value: Any, text: str) -> None:
    agent, model = buyer(call("ask"), "done", tools=[external_tool("ask", "Asks.", returns=returns)])
    async with working(agent) as runner:
        tasks = Tasks(runner)
        run = await tasks.start(agent, "go")
        await run.settled()
        (asked,) = await tasks.questions()
        await tasks.answer(asked.id, value)
        await run.result()
    assert told(model.requests[-1]) == [text]


@pytest.mark.parametrize(
    ("returns", "value", "why"),
    [
        (Offer, {"price": "much"}, "price"),
        (Offer, {"price": -1}, "more than nothing"),
        (Offer, "free", "valid"),
        (
            {"type": "object", "properties": {"n": {"type": "integer"}}},
            {"n": 1.5},
            'n: it does not fit type: "integer"',
        ),
        (int, object(), "no JSON form"),
    ],
    ids=["type", "validator", "kind", "schema", "no JSON"],
)
async def test_a_value_that_does_not_fit_is_refused_and_the_call_keeps_waiting(
    returns: Any, value: Any, why: str
) -> None:
    agent, _ = buyer(call("ask"), "done", tools=[external_tool("ask", "Asks.", returns=returns)])
    async with working(agent) as runner:
        tasks = Tasks(runner)
        run = await tasks.start(agent, "go")
        await run.settled()
        (asked,) = await tasks.questions()
        with pytest.raises(CannotStore, match=why):
            await tasks.answer(asked.id, value)
        assert await tasks.questions() == (asked,)
        await tasks.answer(asked.id, Refuse("no time"))
        (told,) = results(await result_of(run, agent))
    assert (told.text, told.is_error) == ("ask has failed: no time", True)


async def test_a_refusal_without_a_reason_says_so() -> None:
    agent, model = buyer()
    async with working(agent) as runner:
        run = await Tasks(runner).start(agent, "go")
        await run.settled()
        (asked,) = await Tasks(runner).questions()
        await Tasks(runner).answer(asked.id, Refuse())
        await run.result()
    assert told(model.requests[-1]) == ["quote has failed, and nobody says why"]


async def test_several_calls_wait_at_once_beside_ordinary_ones() -> None:
    agent, model = buyer(
        [call("quote", item="nails"), call("look", city="Oslo"), call("quote", item="glue", count=2)],
        "bought",
        tools=[quote(), look],
    )
    async with working(agent) as runner:
        tasks = Tasks(runner)
        run = await tasks.start(agent, "go")
        await run.settled()
        by_item = {asked.arguments["item"]: asked.id for asked in await tasks.questions()}
        assert sorted(by_item) == ["glue", "nails"]
        await tasks.answer(by_item["glue"], {"price": 2})
        await run.settled()
        (left,) = await tasks.questions()
        assert left.id == by_item["nails"]
        await tasks.answer(left.id, {"price": 1})
        await run.result()
    assert told(model.requests[-1]) == [
        '{"price":1.0,"until":null}',
        '{"city":"Oslo","degrees":3}',
        '{"price":2.0,"until":null}',
    ]


async def test_a_call_that_needs_approval_is_asked_for_with_the_approved_arguments() -> None:
    agent, model = buyer(tools=[quote(needs_approval=True)])
    async with working(agent) as runner:
        tasks = Tasks(runner)
        run = await tasks.start(agent, "go", task_id="t")
        await run.settled()
        (wanted,) = await tasks.approvals()
        assert (await tasks.get("t")).status is TaskStatus.AWAITING_APPROVAL
        assert await tasks.questions() == ()
        await tasks.decide(wanted.id, Allow(arguments={"item": "screws"}))
        while not (asked := await tasks.questions()):
            await run.settled()
        assert asked[0].arguments == {"item": "screws", "count": 1}
        with pytest.raises(CannotStore):
            await runner.answer(asked[0].id, Allow())
        await tasks.answer(asked[0].id, {"price": 1})
        await run.result()
    assert told(model.requests[-1]) == ['{"price":1.0,"until":null}']


async def test_the_model_is_told_when_nobody_has_answered_in_time() -> None:
    agent, model = buyer(tools=[quote(within=60)])
    clock = [1_000_000.0]
    async with MemoryStore() as store:
        async with working(agent, store=store, clock=clock) as runner:
            run = await Tasks(runner).start(agent, "go", task_id="t")
            await run.settled()
            (asked,) = await Tasks(runner).questions()
            assert asked.due_at is not None
            assert (asked.due_at - datetime.fromtimestamp(clock[0], UTC)).total_seconds() == 60
        clock[0] += 61
        async with working(agent, store=store, clock=clock) as runner:
            await runner.recover()
            await (await runner.get("t")).result()
    assert told(model.requests[-1]) == ["nobody has answered in time: there is no result of quote"]


async def test_in_memory_a_call_fails_the_run_and_says_what_to_do() -> None:
    agent, _ = buyer()
    with pytest.raises(NobodyToAnswer, match=r"agent 'buyer' calls 'quote'.*run the agent on a Runner"):
        await agent.run("go")
    with pytest.raises(NobodyToAnswer, match="'quote' was called"):
        await quote()(item="nails")  # type: ignore[misc]  # what is returned is awaitable


@pytest.mark.parametrize("arguments", [{"count": 1}, {"item": "x", "count": "many"}, {"item": 1}])
async def test_arguments_that_do_not_fit_are_told_and_nobody_is_asked(arguments: dict[str, Any]) -> None:
    agent, model = buyer(call("quote", **arguments), "done")
    async with working(agent) as runner:
        await (await Tasks(runner).start(agent, "go")).result()
    assert told(model.requests[-1])[0].startswith("the arguments do not fit, nothing was called")


async def test_arguments_of_a_schema_are_checked() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 2}}, "required": ["n"]}
    tool = external_tool("ask", "Asks.", parameters=schema)
    agent, model = buyer(
        call("ask", n=1), ToolCall(id="x", name="ask", arguments="[]"), call("ask"), "done", tools=[tool]
    )
    async with working(agent) as runner:
        await (await Tasks(runner).start(agent, "go")).result()
    assert [text.rpartition("called: ")[2] for text in told(model.requests[-1])] == [
        "n: it does not fit minimum: 2",
        'it does not fit type: "object"',
        "n: it is missing (required)",
    ]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"parameters": int}, "give a pydantic model"),
        ({"parameters": {"type": "string"}}, "an object whose properties"),
        ({"parameters": {"type": "object", "properties": {"a b": {"type": "string"}}}}, "an object whose properties"),
        ({"parameters": {"$ref": "#/$defs/gone"}}, "cannot be sent"),
        ({"returns": Callable[[], int]}, "cannot be expressed as JSON"),
    ],
    ids=["no model", "no object", "odd name", "broken", "no JSON"],
)
def test_an_external_tool_that_cannot_be_told_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidTool, match=why):
        external_tool("ask", "Asks.", **options)


@pytest.mark.parametrize("as_tool", [False, True], ids=["sub-agent", "tool"])
async def test_a_call_below_shows_on_the_root_task(as_tool: bool) -> None:  # noqa: FBT001  # a parameter of the table
    below, model = buyer()
    asks = call("buyer", request="Buy.") if as_tool else call("message_agent", agent_name="buyer", message="Buy.")
    lead = Agent(
        "lead",
        prompt="Lead.",
        model=ScriptedModel([asks, "done"]),
        tools=[AgentTool(below)] if as_tool else [],
        sub_agents=[] if as_tool else [below],
    )
    async with working(lead) as runner:
        tasks = Tasks(runner)
        run = await tasks.start(lead, "go", task_id="t")
        await run.settled()
        (asked,) = (await tasks.get("t")).questions
        assert (asked.task_id, asked.agent, (await tasks.get("t")).status) == ("t", "buyer", "awaiting_answer")
        with pytest.raises(CannotStore, match="more than nothing"):
            await tasks.answer(asked.id, {"price": 0})
        await tasks.answer(asked.id, {"price": 4})
        await run.result()
    assert told(model.requests[-1]) == ['{"price":4.0,"until":null}']


async def test_hooks_surround_the_call_and_may_change_what_is_asked_and_told() -> None:
    class Louder:
        async def tool_call(self, call: ToolCall, context: ToolContext, proceed: Any) -> ToolResult:  # noqa: ARG002  # the protocol's
            result: ToolResult = await proceed(call.model_copy(update={"arguments": '{"item": "NAILS"}'}))
            return result._replace(text=f"{result.text}!")

    agent, model = buyer(hooks=[Louder()])
    async with working(agent) as runner:
        run = await Tasks(runner).start(agent, "go")
        await run.settled()
        (asked,) = await Tasks(runner).questions()
        assert asked.arguments["item"] == "NAILS"
        await Tasks(runner).answer(asked.id, {"price": 1})
        await run.result()
    assert told(model.requests[-1]) == ['{"price":1.0,"until":null}!']


async def test_rules_of_approvals_count_for_external_tools() -> None:
    agent, _ = buyer(approvals=Approvals(["quo*"]))
    async with working(agent) as runner:
        run = await started(runner, agent)
        await run.settled()
        assert [wanted.rule for wanted in await Tasks(runner).approvals()] == ["quo*"]


@on_asyncio
async def test_with_definitions_a_value_is_checked_before_it_is_stored(tmp_path: Path) -> None:
    agent, model = buyer()
    with fail_after(60):
        async with SqliteStore(tmp_path / "runs.db") as store, Runner(store, workflows=[agent]) as runner:
            run = await Tasks(runner).start(agent, "go", task_id="t")
            await run.settled()
            async with SqliteStore.inbox(tmp_path / "runs.db") as other:
                inbox = Inbox(other, workflows=[agent])
                (wait,) = await inbox.waits("t")
                with pytest.raises(CannotStore, match="more than nothing"):
                    await inbox.answer(wait.id, Answer({"price": 0}))
                await inbox.answer(wait.id, Answer({"price": 1}), by="eve")
            await run.result()
    assert told(model.requests[-1]) == ['{"price":1.0,"until":null}']


@on_asyncio
async def test_without_definitions_what_does_not_fit_opens_the_call_again(tmp_path: Path) -> None:
    agent, model = buyer()
    with fail_after(60):
        async with SqliteStore(tmp_path / "runs.db") as store, Runner(store, workflows=[agent]) as runner:
            tasks = Tasks(runner)
            run = await tasks.start(agent, "go", task_id="t")
            await run.settled()
            async with SqliteStore.inbox(tmp_path / "runs.db") as other:
                inbox = Inbox(other)
                for wrong in ({"price": 3}, {"kind": "answer", "value": {"price": 0}}):
                    (wait,) = await inbox.waits("t")
                    await inbox.answer(wait.id, wrong)
                    while not (left := await tasks.questions()) or left[0].refused == wait.refused:
                        await run.settled()
                assert left[0].refused is not None
                assert "more than nothing" in left[0].refused
                await inbox.answer(left[0].id, {"kind": "answer", "value": {"price": 2}})
            await run.result()
    assert told(model.requests[-1]) == ['{"price":2.0,"until":null}']
