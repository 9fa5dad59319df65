"""A conversation is handed over: who has it, what that agent sees and may do, and what goes on counting."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import fail_after
from pydantic import BaseModel

from stagepost.agents import (
    Agent,
    AgentResult,
    Agents,
    AgentTool,
    Allow,
    AssistantMessage,
    Budget,
    BudgetExceeded,
    Deny,
    FunctionModel,
    HandoffFailed,
    InvalidAgent,
    InvalidTool,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    OpenConversation,
    ProviderContent,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    TaskStatus,
    ToolContext,
    ToolMessage,
    UnknownAgent,
    Usage,
    UserMessage,
    call,
    converse,
    handoff,
    tool,
)
from stagepost.checkpoint import CheckpointStore, MemoryStore, SqliteStore
from stagepost.workflows import RunFailed, Runner


class Says:
    """A model that gives its answers in order, whoever said what before."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []

    async def answer(self, request: ModelRequest) -> ModelResponse:
        self.requests.append(request)
        said = self.answers.pop(0)
        if isinstance(said, str):
            return ModelResponse(said)
        if isinstance(said, ModelResponse):
            return said
        calls = said if isinstance(said, list) else [said]
        named = [made.model_copy(update={"id": f"c{len(self.requests)}-{index}"}) for index, made in enumerate(calls)]
        return ModelResponse("", named)


TO_REFUNDS = call("transfer_to_refunds", reason="She wants her money.")
TO_TRIAGE = call("transfer_to_triage")


@tool(idempotent=True)
def look(order: str) -> str:
    "Look an order up."
    return f"order {order}"


@tool
def pay(order: str) -> str:
    "Pay back."
    return f"paid {order}"


def refunds(*script: ScriptEntry, tools: Sequence[Any] = (pay,), **options: Any) -> Agent[Any]:
    return Agent("refunds", "You refund.", model=Says(*script), tools=tools, description="Pays back.", **options)


def triage(taker: Any, *script: ScriptEntry, filter: Any = None, tools: Sequence[Any] = (look,), **options: Any) -> Any:  # noqa: A002  # as handoff calls it
    made = taker if not isinstance(taker, Agent) else handoff(taker, filter=filter)
    return Agent("triage", "You find out.", model=Says(*script), tools=[*tools, made], **options)


def model_of(agent: Any) -> Says:
    assert isinstance(agent.model, Says)
    return agent.model


def said(request: ModelRequest) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in request.messages]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def tasks_of(agent: Agent[Any], store: CheckpointStore | None = None, **options: Any) -> AsyncIterator[Tasks]:
    with fail_after(20):
        async with store or MemoryStore() as opened, Runner(opened, workflows=[agent], **options) as runner:
            await runner.recover()
            yield Tasks(runner)


@asynccontextmanager
async def talking(folder: Path, agent: Agent[Any]) -> AsyncIterator[OpenConversation[Any]]:
    """A process that opens the conversation ``c``."""
    async with (
        SqliteStore(folder / "runs") as store,
        Runner(store, workflows=[agent]) as runner,
        converse(runner, agent, id="c") as talk,
    ):
        yield talk


async def test_the_other_agent_goes_on_with_its_prompt_model_and_tools() -> None:
    taker = refunds(call("pay", order="7"), "You got it back.")
    first = triage(taker, TO_REFUNDS)
    result = await first.run("My money back!")
    assert (result.output, result.agent, result.turns) == ("You got it back.", "refunds", 3)
    assert [tool.name for tool in model_of(first).requests[0].tools] == ["look", "transfer_to_refunds"]
    asked = model_of(taker).requests[0]
    assert [tool.name for tool in asked.tools] == ["pay"]
    assert said(asked) == [
        ("system", "You refund."),
        ("user", "My money back!"),
        ("assistant", ""),
        ("tool", "refunds has the conversation now"),
    ]
    assert (await triage(refunds("…"), "Hello.").run("Hi.")).agent == "triage"


async def test_what_the_tool_says_of_the_other_agent() -> None:
    told = triage(refunds()).tools[1].schema
    assert told.description == "Hand the conversation over to refunds, who answers the user from then on. Pays back."
    assert list(told.parameters["properties"]) == ["reason"]
    own = handoff(refunds(), name="refund", description="For refunds.", needs_approval=True)
    assert (own.name, own.needs_approval, own.description.endswith("then on. For refunds.")) == ("refund", True, True)


async def test_an_agent_hands_back_by_name() -> None:
    taker = refunds(TO_TRIAGE, tools=[handoff("triage")])
    first = triage(taker, TO_REFUNDS, "Anything else?")
    result = await first.run("My money back!")
    assert (result.output, result.agent) == ("Anything else?", "triage")
    assert [tool.name for tool in model_of(first).requests[1].tools] == ["look", "transfer_to_refunds"]


async def test_agents_that_only_hand_over_come_to_an_end() -> None:
    taker = Agent("refunds", "Refund.", model=FunctionModel(lambda _: TO_TRIAGE), tools=[handoff("triage", limit=4)])
    refused: list[str] = []

    def answer(request: ModelRequest) -> Any:
        last = request.messages[-1]
        if isinstance(last, ToolMessage) and last.is_error:
            refused.append(last.text)
            return "I answer."
        return TO_REFUNDS

    first = Agent("triage", "Find out.", model=FunctionModel(answer), tools=[handoff(taker, limit=4)])
    result = await first.run("Hello.")
    assert (result.output, result.agent) == ("I answer.", "triage")
    assert refused == ["nothing was handed over: that was done 4 times already in this run. Answer the user yourself"]
    with pytest.raises(BudgetExceeded):
        await Agent("triage", "Find out.", model=first.model, tools=first.tools, budget=Budget(turns=3)).run("Hello.")


async def test_other_calls_of_the_answer_are_done_before() -> None:
    taker = refunds("Paid.")
    first = triage(taker, [call("look", order="1"), TO_REFUNDS, call("look", order="2"), call("nothing")])
    result = await first.run("My money back!")
    results = [message.text for message in model_of(taker).requests[0].messages if isinstance(message, ToolMessage)]
    assert results[:3] == ["order 1", "refunds has the conversation now", "order 2"]
    assert results[3].startswith("there is no tool 'nothing'")
    assert result.agent == "refunds"


async def test_of_several_handoffs_the_first_counts() -> None:
    other = Agent("other", "Other.", model=Says())
    taker = refunds("Paid.")
    first = triage(taker, [TO_REFUNDS, call("transfer_to_other"), TO_REFUNDS], tools=[handoff(other)])
    result = await first.run("My money back!")
    assert result.agent == "refunds"
    errors = [message.text for message in result.messages if isinstance(message, ToolMessage) and message.is_error]
    assert len(errors) == 2
    assert all(text.startswith("nothing was handed over: another call of the same answer does that") for text in errors)


async def test_a_conversation_stays_with_the_agent_that_has_it(tmp_path: Path) -> None:
    def agents(*script: ScriptEntry, taken: Sequence[ScriptEntry]) -> tuple[Agent[Any], Agent[Any]]:
        taker = refunds(*taken, tools=[pay, handoff("triage")])
        return triage(taker, *script), taker

    first, taker = agents(TO_REFUNDS, taken=["Which order?"])
    async with talking(tmp_path, first) as talk:
        assert talk.agent == "triage"
        reply = await talk.send("My money back!")
        assert (reply.agent, talk.agent) == ("refunds", "refunds")
    first, taker = agents("Goodbye.", taken=["Paid.", TO_TRIAGE])
    async with talking(tmp_path, first) as talk:
        assert talk.agent == "refunds"
        assert (await talk.send("Order 7.")).output == "Paid."
        back = await talk.send("Thanks.")
        assert (back.output, back.agent, talk.agent) == ("Goodbye.", "triage", "triage")
    texts = [message.text for message in model_of(taker).requests[0].messages if isinstance(message, UserMessage)]
    assert texts == ["My money back!", "Order 7."]


async def test_tasks_say_who_has_them_and_follow_ups_go_there() -> None:
    entered, leave = anyio.Event(), anyio.Event()

    @tool(idempotent=True)
    async def wait() -> str:
        "Wait."
        entered.set()
        await leave.wait()
        return "waited"

    taker = refunds(call("wait"), "Told.", "Followed up.", tools=[wait])
    first = triage(taker, TO_REFUNDS)
    async with tasks_of(first) as tasks:
        run = await tasks.start(first, "My money back!", task_id="t")
        await entered.wait()
        assert (await tasks.get("t")).agent == "refunds"
        await tasks.tell("t", "Order 7.")
        leave.set()
        await run.result()
        assert ("user", "Order 7.") in said(model_of(taker).requests[1])
        more = await tasks.follow_up("t", "And now?")
        assert (await more.result())["output"] == "Followed up."
        assert (await tasks.get(more.id)).agent == "refunds"


async def test_a_result_is_continued_by_the_agent_that_gave_it() -> None:
    taker = refunds("Which order?", "Paid.")
    first = triage(taker, TO_REFUNDS)
    result = await first.run("Order 7.", after=await first.run("My money back!"))
    assert (result.output, result.agent) == ("Paid.", "refunds")


async def test_an_approval_beside_a_handoff_is_decided_first() -> None:
    taker = refunds("Paid.")
    first = triage(taker, [call("pay", order="7"), TO_REFUNDS], tools=[pay], approvals=["pay"])
    async with tasks_of(first) as tasks:
        run = await tasks.start(first, "My money back!", task_id="t")
        await run.settled()
        task = await tasks.get("t")
        assert (task.agent, task.status, task.approvals[0].agent) == ("triage", TaskStatus.AWAITING_APPROVAL, "triage")
        await tasks.decide(task.approvals[0].id, Allow())
        await run.result()
        assert (await tasks.get("t")).agent == "refunds"
    results = [message.text for message in model_of(taker).requests[0].messages if isinstance(message, ToolMessage)]
    assert results == ["paid 7", "refunds has the conversation now"]


@pytest.mark.parametrize("decision", [Allow(), Deny("stay")], ids=["allowed", "denied"])
async def test_a_handoff_may_need_approval(decision: Allow | Deny) -> None:
    taker = refunds("Paid.")
    first = triage(taker, TO_REFUNDS, "I stay.", approvals=["transfer_to_*"])
    async with tasks_of(first) as tasks:
        run = await tasks.start(first, "My money back!", task_id="t")
        await run.settled()
        (asked,) = await tasks.approvals()
        await tasks.decide(asked.id, decision)
        await run.result()
        task = await tasks.get("t")
        assert (task.agent, task.output) == (
            ("refunds", "Paid.") if isinstance(decision, Allow) else ("triage", "I stay.")
        )


async def test_rules_of_the_first_agent_hold_for_the_others(tmp_path: Path) -> None:
    def agents() -> Any:
        return triage(refunds(call("pay", order="7"), "Paid."), TO_REFUNDS, approvals=["pay"])

    async with tasks_of(agents(), SqliteStore(tmp_path / "runs")) as tasks:
        await (await tasks.start("triage", "My money back!", task_id="t")).settled()
    first = triage(refunds("Paid."), approvals=["pay"])
    async with tasks_of(first, SqliteStore(tmp_path / "runs")) as tasks:
        (asked,) = await tasks.approvals()
        assert (asked.agent, asked.task_id) == ("refunds", "t")
        await tasks.decide(asked.id, Allow(arguments={"order": "8"}))
        await (await tasks._runner.get("t")).result()  # the run of the task
        assert (await tasks.get("t")).messages[-2].text == "paid 8"


async def test_usage_and_the_budget_go_on_counting() -> None:
    def costing(text: Any) -> ModelResponse:
        if isinstance(text, str):
            return ModelResponse(text, usage=Usage(input_tokens=10))
        return ModelResponse("", [text], usage=Usage(input_tokens=5))

    taker = Agent("refunds", "R.", model=FunctionModel(lambda _: costing("Paid.")), budget=Budget(turns=1))
    first = Agent("triage", "T.", model=FunctionModel(lambda _: costing(TO_REFUNDS)), tools=[handoff(taker)])
    result = await first.run("Hello.")
    assert (result.usage.input_tokens, result.turns) == (15, 2)
    with pytest.raises(BudgetExceeded, match="agent 'triage' needs more than its budget of 1 turn"):
        await Agent("triage", "T.", model=first.model, tools=first.tools, budget=Budget(turns=1)).run("Hello.")


async def test_an_agent_without_a_model_asks_that_of_the_first() -> None:
    model = Says(TO_REFUNDS, call("message_agent", agent_name="clerk", message="?"), "Here.", "Paid.")
    clerk = Agent("clerk", "C.")
    taker = Agent("refunds", "R.", sub_agents=[clerk])
    result = await Agent("triage", "T.", model=model, tools=[handoff(taker)]).run("Hello.")
    assert [request.messages[0].text for request in model.requests] == ["T.", "R.", "C.", "R."]
    assert result.output == "Paid."
    other = Says(TO_REFUNDS, "Stood in.")
    taker = Agent("refunds", "R.")
    assert (await Agent("triage", "T.", model=model, tools=[handoff(taker)]).run("?", override_model=other)).output


async def test_conversations_stay_with_the_agent_that_leads_them() -> None:
    clerk = Agent("clerk", "C.", model=FunctionModel(lambda _: "Here."))
    ask = call("message_agent", agent_name="clerk", message="?")
    taker = refunds(
        [call("message_agent", conversation_id="clerk-0-0", message="?"), ask],
        call("message_agent", conversation_id="clerk-2-1", message="!"),
        TO_TRIAGE,
        tools=[handoff("triage")],
        sub_agents=[clerk],
    )
    first = triage(
        taker,
        ask,
        TO_REFUNDS,
        call("message_agent", conversation_id="clerk-0-0", message="!"),
        "Bye.",
        sub_agents=[clerk],
    )
    async with tasks_of(first) as tasks:
        run = await tasks.start(first, "Hello.", task_id="t")
        state = await run.result()
        task = await tasks.get("t")
    results = [message.text for message in state["messages"] if isinstance(message, ToolMessage)]
    assert results[2].startswith("there is no conversation 'clerk-0-0'; there are: none")
    assert [len(talk.exchanges) for talk in task.conversations] == [2, 2]


async def test_agents_below_hand_over_within_their_own_conversation() -> None:
    taker = refunds("Paid.", "Paid again.")
    below = triage(taker, TO_REFUNDS)
    script = [
        call("message_agent", agent_name="triage", message="Her money back!"),
        call("message_agent", conversation_id="triage-0-0", message="Again!"),
    ]
    lead = Agent("lead", "L.", model=Says(*script, "Done."), sub_agents=[below])
    async with tasks_of(lead) as tasks:
        await (await tasks.start(lead, "Hello.", task_id="t")).result()
        task = await tasks.get("t")
    (talk,) = task.conversations
    assert [exchange.response for exchange in talk.exchanges] == ["Paid.", "Paid again."]
    assert task.agent == "lead"
    asked = AgentTool(triage(refunds("Paid."), TO_REFUNDS))
    assert not asked.idempotent
    result = await Agent("lead", "L.", model=Says(call("triage", request="?"), "Ok."), tools=[asked]).run("?")
    assert result.messages[2].text == "Paid."


async def test_the_last_turn_is_without_tools_also_after_a_handoff() -> None:
    taker = refunds(call("pay", order="7"))
    first = triage(taker, TO_REFUNDS, budget=Budget(turns=2))
    with pytest.raises(BudgetExceeded):
        await first.run("Hello.")
    assert model_of(taker).requests[0].tools == ()


async def test_after_a_handoff_the_tools_of_the_agent_before_are_gone() -> None:
    taker = refunds(call("look", order="7"), "Paid.")
    result = await triage(taker, TO_REFUNDS).run("Hello.")
    assert result.messages[-2].text == "there is no tool 'look'; there are: pay"


def of_users(messages: Sequence[Any]) -> Sequence[Any]:
    return [message for message in messages if message.role == "user"]


def last_two(messages: Sequence[Any]) -> Sequence[Any]:
    return messages[-2:]


def results_only(messages: Sequence[Any]) -> Sequence[Any]:
    return [message for message in messages if message.role == "tool"]


def calls_only(messages: Sequence[Any]) -> Sequence[Any]:
    return [message for message in messages if message.role != "tool"]


def half(messages: Sequence[Any]) -> Sequence[Any]:
    return [message for message in messages if message.text != "order 1"]


def nothing(messages: Sequence[Any]) -> Sequence[Any]:
    return []


FILTERS: dict[str, tuple[Any, list[str]]] = {
    "the user's": (of_users, ["user: Hello."]),
    "the end": (last_two, ["user: Hello.", "assistant: Over. 1", "tool: refunds has the conversation now"]),
    "results without calls": (results_only, ["user: Hello."]),
    "calls without results": (
        calls_only,
        ["user: Hello.", "assistant: Look. 0", "assistant: Over. 0", "user: [You have the conversation now: go on.]"],
    ),
    "one result of two": (
        half,
        [
            "user: Hello.",
            "assistant: Look. 1",
            "tool: order 2",
            "assistant: Over. 1",
            "tool: refunds has the conversation now",
        ],
    ),
    "nothing": (nothing, ["user: Hello."]),
}


@pytest.mark.parametrize(("filtering", "shown"), FILTERS.values(), ids=FILTERS)
async def test_a_filter_says_what_the_other_agent_sees(filtering: Any, shown: list[str]) -> None:
    taker = refunds(call("pay", order="7"), "Paid.", "Once more.")
    script = [
        ModelResponse("Look.", [call("look", order="1"), call("look", order="2")]),
        ModelResponse("Over.", [TO_REFUNDS]),
    ]
    first = triage(taker, *script, filter=filtering)
    result = await first.run("Hello.")
    asked = model_of(taker).requests
    assert [_shown(message) for message in asked[0].messages[1:]] == shown
    assert [_shown(message) for message in asked[1].messages[1:]] == [*shown, "assistant:  1", "tool: paid 7"]
    assert len(result.messages) == 9
    await first.run("And now?", after=result)
    assert [_shown(message) for message in asked[2].messages[1:]] == [
        *shown,
        "assistant:  1",
        "tool: paid 7",
        "assistant: Paid. 0",
        "user: And now?",
    ]


async def test_an_answer_of_nothing_but_calls_goes_with_their_results() -> None:
    taker = refunds("Paid.")
    await triage(taker, call("look", order="1"), TO_REFUNDS, filter=calls_only).run("Hello.")
    assert [_shown(message) for message in model_of(taker).requests[0].messages[1:]] == ["user: Hello."]


def _shown(message: Any) -> str:
    return f"{message.role}: {message.text}" + (
        f" {len(message.calls)}" if isinstance(message, AssistantMessage) else ""
    )


BROKEN: dict[str, tuple[Any, str]] = {
    "raises": (lambda _: 1 / 0, "ZeroDivisionError"),
    "no messages": (lambda _: ["text"], "it has returned 'text', which is no message"),
    "no list": (lambda _: None, "TypeError"),
}


@pytest.mark.parametrize(("filtering", "why"), BROKEN.values(), ids=BROKEN)
async def test_a_filter_that_fails_fails_the_run(filtering: Any, why: str) -> None:
    with pytest.raises(HandoffFailed, match=rf"the filter= of handoff 'transfer_to_refunds' has failed: .*{why}"):
        await triage(refunds("Paid."), TO_REFUNDS, filter=filtering).run("Hello.")


async def test_of_what_belongs_to_a_provider_all_is_kept() -> None:
    own = ProviderContent(provider="anthropic", model="m", data=({"sealed": "x"},))
    taker = refunds("Paid.")
    first = triage(taker, ModelResponse("Over.", [TO_REFUNDS], provider=[own]))
    await first.run("Hello.")
    (answer,) = [message for message in model_of(taker).requests[0].messages if isinstance(message, AssistantMessage)]
    assert list(answer.provider) == [own]  # the model of the other provider leaves it out, as everywhere


async def test_an_agent_that_is_gone_fails_the_run_until_it_is_back() -> None:
    store = MemoryStore()
    first = triage(refunds("Which order?"), TO_REFUNDS)
    async with tasks_of(first, store) as tasks:
        await (await tasks.start(first, "Hello.", task_id="t")).result()
    for taker in (handoff(Agent("other", "O.")), look):
        without = triage(taker, "Hm.", tools=[])
        async with tasks_of(without, store) as tasks:
            run = await tasks.follow_up("t", "Order 7.")
            with pytest.raises(RunFailed, match="UnknownAgent"):
                await run.result()
    async with tasks_of(triage(refunds("Paid.")), store) as tasks:
        assert (await (await tasks.follow_up("t", "Order 7.")).result())["output"] == "Paid."
    assert issubclass(UnknownAgent, KeyError)


class Query(BaseModel):
    order: str


class Report(BaseModel):
    text: str


@pytest.mark.parametrize("is_durable", [False, True], ids=["in memory", "durable"])
async def test_settings_are_those_of_the_agent_and_of_the_run(is_durable: bool) -> None:  # noqa: FBT001  # a table's column
    taker = refunds("Paid.", settings=ModelSettings(max_tokens=9))
    first = triage(taker, TO_REFUNDS, settings=ModelSettings(temperature=1, seed=1))
    given = ModelSettings(seed=7)
    if is_durable:
        async with tasks_of(first) as tasks:
            await (await tasks.start(first, "Hello.", settings=given)).result()
    else:
        await first.run("Hello.", settings=given)
    assert model_of(first).requests[0].settings == ModelSettings(temperature=1, seed=7)
    assert model_of(taker).requests[0].settings == ModelSettings(max_tokens=9, seed=7)


async def test_a_hook_that_fails_after_a_handoff_stops_it() -> None:
    class Failing:
        async def tool_call(self, made: Any, _context: Any, go_on: Any) -> Any:
            await go_on(made)
            raise ValueError("not now")

    result = await triage(refunds(), TO_REFUNDS, "I stay.", hooks=[Failing()]).run("Hello.")
    assert (result.agent, result.messages[2].text) == ("triage", "ValueError: not now")


async def test_inherited_hooks_and_paths() -> None:
    seen: list[tuple[str, tuple[str, ...]]] = []

    class Journal:
        inherited = True

        async def model_call(self, request: ModelRequest, context: Any, go_on: Any) -> ModelResponse:
            seen.append((context.agent, tuple(context.path)))
            answer: ModelResponse = await go_on(request)
            return answer

    clerk = Agent("clerk", "C.", model=Says("Here."))
    taker = refunds(call("message_agent", agent_name="clerk", message="?"), "Paid.", sub_agents=[clerk])
    await triage(taker, TO_REFUNDS, hooks=[Journal()]).run("Hello.")
    assert seen == [
        ("triage", ("triage",)),
        ("refunds", ("refunds",)),
        ("clerk", ("refunds", "clerk")),
        ("refunds", ("refunds",)),
    ]


async def test_secrets_of_an_agent_that_takes_over_are_hidden() -> None:
    taker = refunds("The key is sk-4711-live.", settings=ModelSettings(extra={"api_key": "sk-4711-live"}))
    first = triage(taker, TO_REFUNDS)
    async with tasks_of(first) as tasks:
        state = await (await tasks.start(first, "Hello.")).result()
    assert state["output"] == "The key is ***."


async def test_fields_and_output_are_the_same_for_all() -> None:
    taker = Agent("refunds", "Refund {order}.", model=Says(call("return", text="Paid.")), input=Query, output=Report)
    first = Agent("triage", "T {order}.", model=Says(TO_REFUNDS), tools=[handoff(taker)], input=Query, output=Report)
    result = await first.run({"order": "7"})
    assert result.output == Report(text="Paid.")
    assert model_of(taker).requests[0].messages[0].text == "Refund 7."


async def test_agents_know_each_other_by_name() -> None:
    agents = Agents(
        [
            Agent("triage", "T.", model=Says(TO_REFUNDS, "Bye."), tools=[handoff("refunds")]),
            Agent("refunds", "R.", model=Says(TO_TRIAGE), tools=[handoff("triage")]),
        ]
    )
    assert (await agents["triage"].run("Hello.")).output == "Bye."
    assert agents["refunds"].describe()["tools"][0]["hands_over_to"] == "triage"  # type: ignore[index, call-overload]  # JSON
    loaded = Agents.load(
        {"agents": [{"name": "a", "prompt": "A.", "tools": ["to_b"], "model": "m"}, {"name": "b", "prompt": "B."}]},
        tools={"to_b": handoff("b", name="to_b")},
        models={"m": ScriptedModel([call("to_b"), "From b."])},
    )
    assert (await loaded["a"].run("Hello.")).agent == "b"


async def test_agents_are_found_by_themselves_too() -> None:
    clerk = Agent("clerk", "C.", model=Says("Here."))
    asking = call("message_agent", agent_name="clerk", message="?")
    taker = refunds(asking, "Paid.", sub_agents=["clerk"])
    apart = Agent("apart", "A.", model=Says("Apart."))
    agents = Agents([triage(taker, TO_REFUNDS), taker, clerk, Agent("x", "X.", tools=[handoff(apart)])])
    assert (await agents["triage"].run("Hello.")).output == "Paid."
    model = Says(call("transfer_to_apart"))
    assert (await agents["x"].run("Hello.", model=model)).agent == "apart"


def wrong() -> dict[str, tuple[Any, str]]:
    text, other = refunds(), refunds()
    return {
        "itself": (lambda: triage(handoff("triage")), "hands over to the agent itself"),
        "another output": (
            lambda: triage(handoff(Agent("b", "B.", output=Report))),
            "has another output=: whoever asks would not know",
        ),
        "another input": (lambda: triage(handoff(Agent("b", "B.", input=Query))), "has another input="),
        "two of one name": (
            lambda: triage(handoff(text), tools=[handoff(other, name="other")]),
            "another agent there has this name",
        ),
        "two tools of one name": (lambda: triage(handoff(text), tools=[handoff(text)]), "two tools are named"),
        "an unknown name": (
            lambda: triage(handoff("nobody")).as_workflow(),
            "'nobody', which is only a name, and none",
        ),
        "unknown among agents": (lambda: Agents([triage(handoff("nobody"))]), "which is none of these agents: triage"),
        "native": (lambda: triage(text, output=Report, output_mode="native"), "native"),
    }


@pytest.mark.parametrize("case", wrong())
def test_handoffs_are_checked_when_an_agent_is_built(case: str) -> None:
    build, why = wrong()[case]
    with pytest.raises(InvalidAgent, match=why):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda: handoff(7),  # type: ignore[arg-type]
        lambda: handoff(refunds(), limit=0),
        lambda: handoff(refunds(), filter="x"),  # type: ignore[arg-type]
        lambda: handoff(refunds())(context=ToolContext("r", "a", "c", "k", None)),
    ],
    ids=["no agent", "no limit", "no filter", "called by itself"],
)
def test_a_handoff_is_checked_when_it_is_made(build: Any) -> None:
    with pytest.raises(InvalidTool):
        build()


async def test_calls_that_an_ended_run_left_are_answered_for_the_next_agent() -> None:
    taker = refunds("Still here.")
    first = triage(taker, [TO_REFUNDS, call("look", order="1")], budget=Budget(tool_calls=1))
    async with tasks_of(first) as tasks:
        with pytest.raises(RunFailed):
            await (await tasks.start(first, "Hello.", task_id="t")).result()
        model_of(first).answers.append("I am here.")
        run = await tasks.follow_up("t", "And now?")
        assert (await run.result())["output"] == "I am here."
        assert (await tasks.get(run.id)).agent == "triage"


def test_a_result_has_its_agent() -> None:
    assert AgentResult.__dataclass_fields__["agent"].default == ""
