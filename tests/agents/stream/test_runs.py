"""The parts of real runs: whoever reads when, gets each once, and the same ones as who reads from the start."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from anyio import Event, fail_after
from tests.agents._weather import Report, look
from tests.agents.stream._recording import Law, Loops, RecordingStore

from stagepost.agents import (
    Agent,
    AgentStarted,
    AgentTool,
    Allow,
    ApprovalAsked,
    ApprovalDecided,
    Approvals,
    Deny,
    HandedOver,
    MessageSaid,
    ModelRequest,
    ModelResponse,
    QuestionAsked,
    ScriptedModel,
    StreamPart,
    Tasks,
    ToolCall,
    ToolReturned,
    call,
    external_tool,
    handoff,
    tool,
)
from stagepost.checkpoint import RunStatus, WaitKind
from stagepost.workflows import PendingWait, Run, Runner


@tool(needs_approval=True)
def buy(what: str) -> str:
    "Buy a thing."
    return f"bought {what}"


price = external_tool("price", "Find the price of a thing.", returns=int)


def scout(*answers: Any) -> Agent[str]:
    return Agent("scout", "Look.", model=ScriptedModel(list(answers)), tools=[look, buy])


Drive: TypeAlias = Callable[[Runner, Tasks, Run], Awaitable[None]]


async def ending(_runner: Runner, _tasks: Tasks, run: Run) -> None:
    assert not (await run.settled()).is_open


async def deciding(runner: Runner, tasks: Tasks, run: Run) -> None:
    """Decide and answer everything, the last first."""
    while (await run.settled()).is_open:
        waits = [wait for wait in await runner.waits() if wait.kind is WaitKind.ANSWER]
        if waits:
            await respond(tasks, waits[-1])


async def respond(tasks: Tasks, wait: PendingWait) -> None:
    if wait.name.startswith("ask-"):
        await tasks.answer(wait.id, 5, by="ben")
    else:
        is_denied = wait.shown["arguments"] == {"what": "no"}
        await tasks.decide(wait.id, Deny("not this") if is_denied else Allow(), by="ann")


async def told(agent: Agent[Any], drive: Drive = ending, run_id: str = "t") -> list[StreamPart]:
    """The parts of a run, which were read after each of its commits."""
    with fail_after(30):
        async with RecordingStore("t", "t2") as store, Runner(store, workflows=[agent]) as runner:
            tasks = Tasks(runner)
            await drive(runner, tasks, await tasks.start(agent, "hi", task_id="t"))
            await store.keep()
            law = Law(Loops(runner), run_id)
            await law.holds_in(store.moments)
            return law.parts


def types(parts: list[StreamPart]) -> list[str]:
    return [f"{'>' * (len(part.path) - 1)}{part.type}" for part in parts]


async def test_a_plain_answer() -> None:
    parts = await told(Agent("lead", "Lead.", model=ScriptedModel(["hello"])))
    assert types(parts) == ["message", "message", "completed"]
    assert [part.seq for part in parts] == [0, 1, None]
    assert parts[-1].to_dict()["result"] == "hello"
    assert {part.path for part in parts} == {("lead",)}


async def test_a_call() -> None:
    parts = await told(Agent("lead", "Lead.", model=ScriptedModel([call("look", city="Rome"), "ok"]), tools=[look]))
    assert types(parts) == ["message", "tool_call", "tool_result", "message", "completed"]
    assert parts[1].to_dict()["phrase"] == "Weather of Rome now..."


async def test_parallel_calls_with_approvals_questions_and_agents() -> None:
    helper = Agent("helper", "Help.", model=ScriptedModel(["helped", "helped"]))
    first = [
        call("buy", what="a"),
        call("look", city="Rome"),
        call("message_agent", agent_name="scout", message="go"),
        call("buy", what="no"),
        call("price"),
        call("ask_helper", request="help"),
        call("nothing"),
    ]
    second = [call("message_agent", conversation_id="scout-0-2", message="again"), call("ask_helper", request="help")]
    below = scout(call("look", city="Oslo"), "seen", [call("buy", what="b"), call("buy", what="no")], "bought")
    model = ScriptedModel([first, second, "done"])
    ask = AgentTool(helper, name="ask_helper")
    lead = Agent("lead", "Lead.", model=model, tools=[look, buy, price, ask], sub_agents=[below])
    parts = await told(lead, deciding)
    start = "message tool_call tool_call tool_call tool_call tool_call tool_call tool_call"
    approved = "approval_requested approval_decided tool_result"
    helped = "agent_started >message >message agent_finished tool_result"
    asked = [
        *(start, approved, "tool_result"),
        "agent_started >message >tool_call >tool_result >message agent_finished tool_result",
        *(approved, "question_asked question_answered tool_result", helped, "tool_result tool_call tool_call"),
        "agent_started >message >tool_call >tool_call >approval_requested >approval_decided >tool_result",
        ">approval_requested >approval_decided >tool_result >message agent_finished tool_result",
        *(helped, "message completed"),
    ]
    assert types(parts) == " ".join(asked).split()
    decided = [part for part in parts if isinstance(part, ApprovalDecided)]
    assert [(part.allowed, part.by, part.reason) for part in decided] == [
        (True, "ann", None),
        (False, "ann", "not this"),
        (True, "ann", None),
        (False, "ann", "not this"),
    ]
    started = [part for part in parts if isinstance(part, AgentStarted)]
    assert [(part.agent, part.conversation_id) for part in started] == [
        ("scout", "scout-0-2"),
        ("helper", None),
        ("scout", "scout-0-2"),
        ("helper", None),
    ]


async def test_ids_of_waits_are_those_that_people_answer() -> None:
    found: list[str] = []

    async def drive(runner: Runner, tasks: Tasks, run: Run) -> None:
        await run.settled()
        found.extend(wait.id for wait in await runner.waits() if wait.kind is WaitKind.ANSWER)
        await deciding(runner, tasks, run)

    model = ScriptedModel([[call("buy", what="a"), call("price")], "done"])
    parts = await told(Agent("lead", "Lead.", model=model, tools=[buy, price]), drive)
    asked = [part.approval_id for part in parts if isinstance(part, ApprovalAsked)]
    asked += [part.question_id for part in parts if isinstance(part, QuestionAsked)]
    assert sorted(asked) == sorted(found)


async def test_messages_that_are_told_and_complaints_are_messages() -> None:
    gate = Event()

    @tool(idempotent=True)
    async def wait() -> str:
        await gate.wait()
        return "waited"

    async def telling(_: Runner, tasks: Tasks, run: Run) -> None:
        await tasks.tell("t", "By train, please.")
        gate.set()
        assert not (await run.settled()).is_open

    model = ScriptedModel([call("wait"), "", "done"])
    parts = await told(Agent("lead", "Lead.", model=model, tools=[wait]), telling)
    said = [(part.role, part.text) for part in parts if isinstance(part, MessageSaid)]
    assert said[:3] == [("user", "hi"), ("user", "By train, please."), ("assistant", "")]
    assert said[3][0] == "user"
    assert said[4] == ("assistant", "done")


async def test_a_typed_answer_is_a_call_and_its_result() -> None:
    model = ScriptedModel(
        [call("return", city="Oslo"), [call("look", city="Oslo"), call("return", city="Oslo", degrees=3)]]
    )
    parts = await told(Agent("lead", "Lead.", model=model, tools=[look], output=Report))
    assert types(parts) == (
        ["message", "tool_call", "tool_result", "tool_call", "tool_call", "tool_result", "tool_result", "completed"]
    )
    assert parts[-1].to_dict()["result"] == {"city": "Oslo", "degrees": 3}
    assert [part.success for part in parts if isinstance(part, ToolReturned)] == [False, True, True]


async def test_a_model_that_gives_up_ends_with_an_error() -> None:
    model = ScriptedModel([call("fail", reason="too hard")])
    parts = await told(Agent("lead", "Lead.", model=model, output=Report))
    assert types(parts) == ["message", "tool_call", "tool_result", "error"]
    assert "too hard" in parts[-1].to_dict()["error"]


async def test_a_follow_up_tells_its_own_messages_and_counts_on() -> None:
    async def drive(_: Runner, tasks: Tasks, run: Run) -> None:
        await run.settled()
        await (await tasks.follow_up("t", "And now?", new_id="t2")).settled()

    model = ScriptedModel(
        [call("look", city="Rome"), "ok", [call("look", city="Oslo"), call("look", city="Bonn")], "more"]
    )
    parts = await told(Agent("lead", "Lead.", model=model, tools=[look]), drive, "t2")
    assert types(parts) == ["message", "tool_call", "tool_call", "tool_result", "tool_result", "message", "completed"]
    assert [part.seq for part in parts] == [4, 5, 5, 6, 7, 8, None]
    assert {part.task_id for part in parts} == {"t2"}


async def test_calls_without_results_get_theirs_in_the_stream_of_the_follow_up() -> None:
    async def drive(_: Runner, tasks: Tasks, run: Run) -> None:
        await run.settled()
        await tasks.cancel("t")
        await run.settled()
        await (await tasks.follow_up("t", "And now?", new_id="t2")).settled()

    def agent() -> Agent[str]:
        model = ScriptedModel([[call("buy", what="a"), call("look", city="Rome"), call("buy", what="b")], "more"])
        return Agent("lead", "Lead.", model=model, tools=[look, buy])

    cancelled = await told(agent(), drive)
    assert types(cancelled) == (
        [
            "message",
            "tool_call",
            "tool_call",
            "tool_call",
            "approval_requested",
            "tool_result",
            "approval_requested",
            "cancelled",
        ]
    )
    parts = await told(agent(), drive, "t2")
    assert types(parts) == ["tool_result", "tool_result", "tool_result", "message", "message", "completed"]
    assert [part.seq for part in parts] == [2, 3, 4, 5, 6, None]


async def test_a_run_that_is_resumed_goes_on_with_the_numbers_and_ends_again() -> None:
    class Broken:
        def __init__(self) -> None:
            self.asked = 0

        async def answer(self, _request: ModelRequest) -> ModelResponse:
            self.asked += 1
            if self.asked in {2, 3}:
                raise RuntimeError("broken")
            text = "" if self.asked == 1 else "done"
            calls = [ToolCall(id="c", name="look", arguments='{"city": "Rome"}')] if self.asked == 1 else []
            return ModelResponse(text=text, calls=calls)

    async def drive(runner: Runner, _tasks: Tasks, run: Run) -> None:
        for _ in range(2):
            assert await run.settled() is RunStatus.FAILED
            run = await runner.resume("t")
        assert await run.settled() is RunStatus.COMPLETED

    parts = await told(Agent("lead", "Lead.", model=Broken(), tools=[look]), drive)
    assert types(parts) == ["message", "tool_call", "tool_result", "message", "completed"]
    assert [part.seq for part in parts] == [0, 1, 2, 3, None]


async def test_handoffs_change_the_path() -> None:
    to_refunds, to_triage = call("transfer_to_refunds"), call("transfer_to_triage", reason="no order")
    model = ScriptedModel(
        [[call("look", city="Rome"), to_refunds], call("look", city="Bonn"), to_triage, [to_refunds, to_refunds], "bye"]
    )
    refunds = Agent("refunds", "Refund.", model=model, tools=[look, handoff("triage")])
    parts = await told(Agent("triage", "Triage.", model=model, tools=[look, handoff(refunds)]))
    by_triage = ["tool_call", "tool_call", "tool_result", "tool_result", "handoff"]
    by_refunds = ["tool_call", "tool_result", "tool_call", "tool_result", "handoff"]
    assert [(part.type, part.path) for part in parts] == [
        ("message", ("triage",)),
        *((each, ("triage",)) for each in by_triage),
        *((each, ("refunds",)) for each in by_refunds),
        *((each, ("triage",)) for each in by_triage),
        ("message", ("refunds",)),
        ("completed", ("refunds",)),
    ]
    handed = [(part.agent, part.by, part.seq) for part in parts if isinstance(part, HandedOver)]
    assert handed == [("refunds", "triage", 3), ("triage", "refunds", 7), ("refunds", "triage", 9)]


async def test_a_follow_up_begins_with_the_agent_that_has_the_conversation() -> None:
    async def drive(_: Runner, tasks: Tasks, run: Run) -> None:
        await run.settled()
        await (await tasks.follow_up("t", "And now?", new_id="t2")).settled()

    to_refunds, to_triage = call("transfer_to_refunds"), call("transfer_to_triage", reason="no order")
    for more in (["fine"], [to_triage, "fine"], [to_triage, to_refunds, "fine"]):
        model = ScriptedModel([to_refunds, "bye", *more])
        refunds = Agent("refunds", "Refund.", model=model, tools=[handoff("triage")])
        parts = await told(Agent("triage", "Triage.", model=model, tools=[handoff(refunds)]), drive, "t2")
        assert parts[0].path == ("refunds",)
        assert sum(part.type == "handoff" for part in parts) == len(more) - 1
        assert parts[-1].path == (("refunds",) if len(more) != 2 else ("triage",))


async def test_conversations_of_one_answer_run_one_after_another() -> None:
    again = call("message_agent", conversation_id="scout-0-0", message="and?")
    model = ScriptedModel([call("message_agent", agent_name="scout", message="go"), [again, again], again, "done"])
    lead = Agent("lead", "Lead.", model=model, sub_agents=[scout("one", "two", "three", "four")])
    parts = await told(lead)
    one = ["agent_started", ">message", ">message", "agent_finished", "tool_result"]
    assert types(parts) == [
        *["message", "tool_call"],
        *one,
        "tool_call",
        "tool_call",
        *one,
        *one,
        "tool_call",
        *one,
        "message",
        "completed",
    ]
    texts = [part.text for part in parts if isinstance(part, MessageSaid) and len(part.path) == 2]
    assert texts == ["go", "one", "and?", "two", "and?", "three", "and?", "four"]


async def test_a_follow_up_goes_on_with_conversations() -> None:
    async def drive(_: Runner, tasks: Tasks, run: Run) -> None:
        await run.settled()
        await (await tasks.follow_up("t", "And now?", new_id="t2")).settled()

    again = call("message_agent", conversation_id="scout-0-0", message="and?")
    model = ScriptedModel([call("message_agent", agent_name="scout", message="go"), "done", again, again, "more"])
    lead = Agent("lead", "Lead.", model=model, sub_agents=[scout("one", "two", "three")])
    parts = await told(lead, drive, "t2")
    one = ["tool_call", "agent_started", ">message", ">message", "agent_finished", "tool_result"]
    assert types(parts) == ["message", *one, *one, "message", "completed"]
    below = [part for part in parts if len(part.path) == 2]
    assert [part.seq for part in below] == [2, 3, 4, 5]
    assert {part.visit for part in below} == {"scout-0-0-1", "scout-0-0-2"}


async def test_agents_below_agents_below_agents() -> None:
    low = Agent(
        "low",
        "Low.",
        model=ScriptedModel([[call("look", city="Rome"), call("buy", what="x")], "low done"]),
        tools=[look, buy],
    )
    middle = Agent(
        "middle",
        "Middle.",
        model=ScriptedModel([[call("ask_low", request="a"), call("look", city="Bonn")], "middle done"]),
        tools=[look, AgentTool(low, name="ask_low")],
    )
    top = Agent(
        "top",
        "Top.",
        model=ScriptedModel([[call("message_agent", agent_name="middle", message="go"), call("price")], "done"]),
        tools=[price],
        sub_agents=[middle],
    )
    parts = await told(top, deciding)
    assert {part.path for part in parts} == {("top",), ("top", "middle"), ("top", "middle", "low")}
    assert types(parts).count(">>approval_decided") == 1


async def test_an_approval_that_expires_is_decided_by_nobody() -> None:
    model = ScriptedModel([call("buy", what="a"), "done"])
    lead = Agent("lead", "Lead.", model=model, tools=[buy], approvals=Approvals(within=60))
    now = [1_000_000.0]
    with fail_after(30):
        async with RecordingStore("t") as store:
            async with Runner(store, workflows=[lead], clock=lambda: now[0]) as runner:
                assert (await (await Tasks(runner).start(lead, "hi", task_id="t")).settled()).is_open
            now[0] += 61
            async with Runner(store, workflows=[lead], clock=lambda: now[0]) as runner:
                await runner.recover()
                await (await runner.get("t")).result()
                law = Law(Loops(runner), "t")
                await law.holds_in(store.moments)
    (decided,) = [part for part in law.parts if isinstance(part, ApprovalDecided)]
    assert (decided.allowed, decided.by) == (False, None)
    assert "in time" in str(decided.reason)
