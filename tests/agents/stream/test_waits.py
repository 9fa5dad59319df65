"""What calls ask people, in the streams of runs whose processes end, and whose answers nobody has checked."""

from typing import Annotated

from anyio import Event, fail_after, sleep_forever
from pydantic import AfterValidator
from tests.agents._weather import look
from tests.agents.stream._recording import Law, Loops, RecordingStore

from stagepost.agents import (
    Agent,
    AgentFinished,
    AgentTool,
    Allow,
    ApprovalAsked,
    ApprovalDecided,
    ContextPolicy,
    Dismiss,
    DoubtRaised,
    DoubtSettled,
    QuestionAnswered,
    QuestionAsked,
    Refuse,
    ScriptedModel,
    StreamPart,
    Tasks,
    ToolReturned,
    call,
    external_tool,
    tool,
)
from stagepost.agents._stream._read import read
from stagepost.checkpoint import RunStatus
from stagepost.workflows import Inbox, Runner


async def parts_of(store: RecordingStore, runner: Runner) -> list[StreamPart]:
    await store.keep()
    law = Law(Loops(runner), "t")
    await law.holds_in(store.moments)
    return law.parts


class Shop:
    """A tool that a process does not see the end of, and that needs approval."""

    def __init__(self) -> None:
        self.entered = Event()
        self.is_open = False

        @tool(on_unknown="park", needs_approval=True)
        async def pay(sum: int) -> str:  # noqa: A002  # what the model reads
            self.entered.set()
            if not self.is_open:
                await sleep_forever()
            return f"paid {sum}"

        self.agent = Agent(
            "lead",
            "Lead.",
            model=ScriptedModel([[call("pay", sum=5), call("look", city="Rome")], "ok"]),
            tools=[pay, look],
        )

    async def life(self, store: RecordingStore) -> None:
        """Approve the call, and end in the middle of it."""
        async with Runner(store, workflows=[self.agent], grace=0) as runner:
            tasks = Tasks(runner)
            await (await tasks.start(self.agent, "hi", task_id="t")).settled()
            (wanted,) = await tasks.approvals()
            await tasks.decide(wanted.id, Allow(), by="ann")
            await self.entered.wait()
        self.is_open = True


async def test_a_doubt_takes_the_place_of_an_approval_and_both_are_told() -> None:
    shop = Shop()
    with fail_after(30):
        async with RecordingStore("t") as store:
            await shop.life(store)
            async with Runner(store, workflows=[shop.agent]) as runner:
                await runner.recover()
                await (await runner.get("t")).settled()
                (doubt,) = await Tasks(runner).doubts()
                await Tasks(runner).settle(doubt.id, "paid by hand")
                assert await (await runner.get("t")).settled() is RunStatus.COMPLETED
                parts = await parts_of(store, runner)
    told = [part for part in parts if part.seq == 2]
    assert [type(part) for part in told[:4]] == [ApprovalAsked, ApprovalDecided, DoubtRaised, DoubtSettled]
    asked, decided, raised, settled = told[:4]
    assert isinstance(asked, ApprovalAsked)
    assert (asked.tool, asked.arguments, asked.reason) == ("pay", {"sum": 5}, "")
    assert isinstance(decided, ApprovalDecided)
    assert (decided.approval_id, decided.allowed, decided.by) == (
        asked.approval_id,
        True,
        None,
    )  # nobody knows who it was
    assert isinstance(raised, DoubtRaised)
    assert (raised.doubt_id, raised.tool, raised.arguments) == (doubt.id, "pay", {"sum": 5})
    assert isinstance(settled, DoubtSettled)
    assert told[4].to_dict()["result"] == "paid by hand"


async def test_a_call_in_doubt_that_is_made_again_is_told_once() -> None:
    shop = Shop()
    with fail_after(30):
        async with RecordingStore("t") as store:
            await shop.life(store)
            async with Runner(store, workflows=[shop.agent]) as runner:
                await runner.recover()
                await (await runner.get("t")).settled()
                (doubt,) = await Tasks(runner).doubts()
                await Tasks(runner).settle(doubt.id, retry=True)
                assert await (await runner.get("t")).settled() is RunStatus.COMPLETED
                parts = await parts_of(store, runner)
    assert [part.type for part in parts if part.seq == 2][2:] == ["doubt_raised", "doubt_settled", "tool_result"]


async def test_an_answer_that_nobody_has_checked_is_told_once_it_was_taken() -> None:
    @tool(needs_approval=True)
    def buy(what: str) -> str:
        return f"bought {what}"

    lead = Agent("lead", "Lead.", model=ScriptedModel([call("buy", what="x"), "ok"]), tools=[buy])
    with fail_after(30):
        async with RecordingStore("t") as store:
            async with Runner(store, workflows=[lead]) as runner:
                await (await Tasks(runner).start(lead, "hi", task_id="t")).settled()
                (wanted,) = await Tasks(runner).approvals()
            other = Inbox(store)
            await other.answer(wanted.id, {"kind": "perhaps"}, by="eve")
            await store.keep()
            async with Runner(store, workflows=[lead]) as runner:
                await runner.recover()
                assert await (await runner.get("t")).settled() is RunStatus.WAITING
            await other.answer(wanted.id, {"kind": "deny", "reason": "no"}, by="ann")
            await store.keep()
            async with Runner(store, workflows=[lead]) as runner:
                await runner.recover()
                assert await (await runner.get("t")).settled() is RunStatus.COMPLETED
                parts = await parts_of(store, runner)
    (decided,) = [part for part in parts if isinstance(part, ApprovalDecided)]
    assert (decided.allowed, decided.by, decided.reason) == (False, "ann", "no")


async def test_questions_of_one_call_follow_each_other() -> None:
    price = external_tool("price", "Find the price of a thing.", returns=int)
    calls = [call("price"), call("price"), call("price")]
    lead = Agent("lead", "Lead.", model=ScriptedModel([calls, "ok"]), tools=[price])
    with fail_after(30):
        async with RecordingStore("t") as store, Runner(store, workflows=[lead]) as runner:
            run = await Tasks(runner).start(lead, "hi", task_id="t")
            await run.settled()
            first, second, third = await Tasks(runner).questions()
            await Tasks(runner).answer(second.id, Refuse("sold out"), by="ben")
            await Tasks(runner).answer(third.id, Dismiss())
            await Tasks(runner).answer(first.id, 5)
            assert await run.settled() is RunStatus.COMPLETED
            parts = await parts_of(store, runner)
    answers = [part for part in parts if isinstance(part, QuestionAnswered)]
    assert [(part.answer, part.value, part.by, part.reason) for part in answers] == [
        ("answer", 5, None, None),
        ("refuse", None, "ben", "sold out"),
        ("dismiss", None, None, None),
    ]
    assert [part.schema for part in parts if isinstance(part, QuestionAsked)] == [{"type": "integer"}] * 3


async def test_a_value_that_a_tool_refuses_is_asked_for_again() -> None:
    def even(value: int) -> int:
        if value % 2:
            raise ValueError("give an even number")
        return value

    price = external_tool("price", "Find the price of a thing.", returns=Annotated[int, AfterValidator(even)])
    lead = Agent("lead", "Lead.", model=ScriptedModel([call("price"), "ok"]), tools=[price])
    with fail_after(30):
        async with RecordingStore("t") as store:
            async with Runner(store, workflows=[lead]) as runner:
                await (await Tasks(runner).start(lead, "hi", task_id="t")).settled()
                (question,) = await Tasks(runner).questions()
            await Inbox(store).answer(question.id, {"kind": "answer", "value": 3})
            async with Runner(store, workflows=[lead]) as runner:
                await runner.recover()
                assert await (await runner.get("t")).settled() is RunStatus.WAITING
                (question,) = await Tasks(runner).questions()
                await Tasks(runner).answer(question.id, 4)
                assert await (await runner.get("t")).settled() is RunStatus.COMPLETED
                parts = await parts_of(store, runner)
    asked = [part for part in parts if isinstance(part, QuestionAsked | QuestionAnswered)]
    assert [part.type for part in asked] in (
        ["question_asked", "question_answered"],
        ["question_asked", "question_answered"] * 2,
    )


async def test_a_question_that_nobody_answers_in_time_has_expired() -> None:
    price = external_tool("price", "Find the price of a thing.", returns=int, within=60)
    lead = Agent("lead", "Lead.", model=ScriptedModel([call("price"), "ok"]), tools=[price])
    now = [1_000_000.0]
    with fail_after(30):
        async with RecordingStore("t") as store:
            async with Runner(store, workflows=[lead], clock=lambda: now[0]) as runner:
                await (await Tasks(runner).start(lead, "hi", task_id="t")).settled()
            now[0] += 61
            async with Runner(store, workflows=[lead], clock=lambda: now[0]) as runner:
                await runner.recover()
                assert await (await runner.get("t")).settled() is RunStatus.COMPLETED
                parts = await parts_of(store, runner)
    (answered,) = [part for part in parts if isinstance(part, QuestionAnswered)]
    assert (answered.answer, answered.value, answered.by) == ("expired", None, None)


async def test_a_cancelled_task_ends_the_agents_below_it_first() -> None:
    @tool(needs_approval=True)
    def buy(what: str) -> str:
        return f"bought {what}"

    below = Agent(
        "below",
        "Below.",
        model=ScriptedModel([[call("buy", what="x"), call("look", city="Bonn")], "ok"]),
        tools=[buy, look],
    )
    lead = Agent(
        "lead",
        "Lead.",
        model=ScriptedModel([[call("ask", request="go"), call("look", city="Rome")], "ok"]),
        tools=[look, AgentTool(below, name="ask")],
    )
    with fail_after(30):
        async with RecordingStore("t") as store, Runner(store, workflows=[lead]) as runner:
            tasks = Tasks(runner)
            await (await tasks.start(lead, "hi", task_id="t")).settled()
            await tasks.cancel("t")
            parts = await parts_of(store, runner)
    assert parts[-1].type == "cancelled"
    (finished,) = [part for part in parts if isinstance(part, AgentFinished)]
    assert (finished.agent, finished.status, finished.visit) == ("below", "cancelled", "ask-0-0-tool")
    assert sum(part.type == "approval_requested" for part in parts) == 1


async def test_a_call_of_an_agent_that_takes_too_long_ends_before_its_result() -> None:
    @tool(idempotent=True)
    async def hang() -> str:
        await sleep_forever()
        raise AssertionError

    below = Agent("below", "Below.", model=ScriptedModel([call("hang"), "ok"]), tools=[hang])
    lead = Agent(
        "lead",
        "Lead.",
        model=ScriptedModel([call("ask", request="go"), "ok"]),
        tools=[AgentTool(below, name="ask", timeout=0.05)],
    )
    with fail_after(30):
        async with RecordingStore("t") as store, Runner(store, workflows=[lead]) as runner:
            run = await Tasks(runner).start(lead, "hi", task_id="t")
            assert await run.settled() is RunStatus.COMPLETED
            parts = await parts_of(store, runner)
    types = [part.type for part in parts]
    assert types[types.index("agent_started") :] == [
        "agent_started",
        "message",
        "tool_call",
        "agent_finished",
        "tool_result",
        "message",
        "completed",
    ]
    assert parts[types.index("agent_finished")].to_dict()["status"] == "cancelled"


async def test_what_reads_on_in_a_result_is_told_with_the_results_of_all_calls() -> None:
    @tool(idempotent=True)
    async def book() -> str:
        return "".join(f"{number:04} " for number in range(400))

    @tool(needs_approval=True)
    def buy(what: str) -> str:
        return f"bought {what}"

    calls = [call("read_result", result=2, offset=600), call("buy", what="x")]
    model = ScriptedModel([call("book"), calls, "ok"])
    lead = Agent("lead", "Lead.", model=model, tools=[book, buy], context=ContextPolicy(result_limit=500))
    with fail_after(30):
        async with RecordingStore("t") as store, Runner(store, workflows=[lead]) as runner:
            tasks = Tasks(runner)
            run = await tasks.start(lead, "hi", task_id="t")
            await run.settled()
            (wanted,) = await tasks.approvals()
            await store.keep()
            batch = await read(store.moments[-1], Loops(runner), "t")
            assert batch.parts[-1].type == "approval_requested"
            await tasks.decide(wanted.id, Allow())
            assert await run.settled() is RunStatus.COMPLETED
            parts = await parts_of(store, runner)
    (found,) = [part for part in parts if isinstance(part, ToolReturned) and part.name == "read_result"]
    assert "0130" in found.result
