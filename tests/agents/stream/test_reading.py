"""What is read of runs: pages, cursors of others, runs of former versions, agents that nobody knows."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from anyio import fail_after
from pydantic_core import from_json, to_json
from tests.agents._weather import look
from tests.agents.stream._recording import Law, Loops, Moment, RecordingStore, all_parts, in_order, moment_of

from stagepost.agents import (
    Agent,
    AgentTool,
    Budget,
    ContextPolicy,
    FunctionModel,
    InvalidCursor,
    KeepLast,
    MessageSaid,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEntry,
    StreamPart,
    Tasks,
    ToolCall,
    ToolCalled,
    call,
    tool,
)
from stagepost.agents._stream._compactions import compactions
from stagepost.agents._stream._cursor import render
from stagepost.agents._stream._position import CallTold, Cursor, Position
from stagepost.agents._stream._read import read, told
from stagepost.agents._stream._reading import Reading
from stagepost.checkpoint import MemoryStore, Page, RunNotFound
from stagepost.workflows import Runner, WorkflowNotFound

LARGE = Budget(turns=None, tool_calls=None)
LOOK = call("look", city="Rome")


class Read:
    """A run that has ended, and what reads it."""

    def __init__(self, moment: Moment, loops: Loops) -> None:
        self.moment = moment
        self.loops = loops

    async def parts(self, cursor: str | None = None, limit: int = 200) -> list[StreamPart]:
        return (await all_parts(self.moment, self.loops, "t", cursor, limit))[0]


async def ended(agent: Agent[Any]) -> Read:
    with fail_after(60):
        async with MemoryStore() as store, Runner(store, workflows=[agent]) as runner:
            run = await Tasks(runner).start(agent, "hi", task_id="t")
            assert not (await run.settled()).is_open
            return Read(await moment_of(store, "t"), Loops(runner))


def keys(parts: Sequence[StreamPart]) -> list[object]:
    return [part.key for part in parts]


async def test_a_long_transcript_is_read_page_by_page() -> None:
    script: list[ScriptEntry] = [[LOOK, LOOK] if turn % 3 else LOOK for turn in range(180)]
    it = await ended(Agent("lead", "Lead.", model=ScriptedModel([*script, "done"]), tools=[look], budget=LARGE))
    most, batches, cursor, found = 0, 0, None, list[StreamPart]()
    while True:
        it.moment.reads = 0
        batch = await read(it.moment, it.loops, "t", cursor)
        most, batches, cursor = max(most, it.moment.reads), batches + 1, batch.cursor
        found += batch.parts
        if not batch.has_more:
            break
    assert (batch.is_over, batches > 3, most <= 110) == (True, True, True)
    assert keys(found) == keys(await it.parts(limit=1)) == keys(await it.parts(limit=10_000))
    assert [part.seq for part in found][-2:] == [481, None]
    assert len(set(keys(found))) == len(found) == 1 + 2 * (60 + 2 * 120) + 2


async def test_what_is_new_is_read_without_what_was_told() -> None:
    script = [LOOK] * 300
    it = await ended(Agent("lead", "Lead.", model=ScriptedModel([*script, "done"]), tools=[look], budget=LARGE))
    parts = await it.parts()
    it.moment.reads = 0
    assert keys(await it.parts(parts[-4].cursor)) == keys(parts[-3:])
    assert it.moment.reads <= 5


async def test_an_answer_with_more_calls_than_a_page_comes_with_its_results() -> None:
    model = ScriptedModel([LOOK, [LOOK] * 150, "done"])
    it = await ended(Agent("lead", "Lead.", model=model, tools=[look], budget=LARGE))
    parts = await it.parts()
    assert keys(parts) == keys(await it.parts(limit=7))
    assert len(parts) == 1 + 2 * 151 + 2


async def test_agents_below_with_long_transcripts_are_read_one_after_another() -> None:
    below = Agent("below", "Below.", model=ScriptedModel([*[LOOK] * 110, "done"]), tools=[look], budget=LARGE)
    ask = call("ask_below", request="go")
    model = ScriptedModel([[ask] * 6, [ask, LOOK], "done"])
    lead = Agent("lead", "Lead.", model=model, tools=[look, AgentTool(below, name="ask_below")], budget=LARGE)
    it = await ended(lead)
    batch = await read(it.moment, it.loops, "t", limit=100_000)
    assert batch.has_more
    assert len(batch.parts) < 1_000
    parts = await it.parts(limit=100_000)
    in_order(parts)
    assert len(parts) == len(set(keys(parts))) == 1 + 8 * 2 + 7 * (2 + 222) + 2
    for place in (1, 300, 600, 900):
        after = await it.parts(parts[place].cursor)
        assert len(after) == len(parts) - place - 1
        assert {*keys(after)} == {*keys(parts[place + 1 :])}


async def test_a_reader_of_a_finished_task_gets_everything_and_is_told_that_it_is_over() -> None:
    it = await ended(Agent("lead", "Lead.", model=ScriptedModel(["done"])))
    batch = await read(it.moment, it.loops, "t")
    assert (batch.is_over, batch.has_more, batch.status.value) == (True, False, "completed")
    again = await read(it.moment, it.loops, "t", batch.cursor)
    assert (again.parts, again.cursor, again.is_over) == ([], batch.cursor, True)


async def test_a_run_that_does_not_exist_is_not_found() -> None:
    it = await ended(Agent("lead", "Lead.", model=ScriptedModel(["done"])))
    with pytest.raises(RunNotFound):
        await read(it.moment, it.loops, "other")


async def test_a_cursor_beyond_the_run_is_refused() -> None:
    it = await ended(Agent("lead", "Lead.", model=ScriptedModel(["done"])))
    cursor = render(Cursor(Position(2, 1)), "t")
    with pytest.raises(InvalidCursor, match="after message 2, and run 't' has 2 messages") as caught:
        await read(it.moment, it.loops, "t", cursor)
    assert caught.value.cursor == cursor


@pytest.mark.parametrize("calls", [{2: CallTold(result=True), 4: CallTold()}, {3: CallTold(approvals=1)}])
async def test_a_cursor_with_calls_that_the_run_has_not_is_refused(calls: dict[int, CallTold]) -> None:
    it = await ended(Agent("lead", "Lead.", model=ScriptedModel([LOOK, "done"]), tools=[look]))
    with pytest.raises(InvalidCursor, match="message 1 of run 't'"):
        await read(it.moment, it.loops, "t", render(Cursor(Position(1, 1, 0, calls)), "t"))


async def test_a_cursor_of_another_run_is_refused() -> None:
    it = await ended(Agent("lead", "Lead.", model=ScriptedModel(["done"])))
    with pytest.raises(InvalidCursor, match="another run"):
        await read(it.moment, it.loops, "t", render(Cursor(Position(0)), "u"))


def without(data: bytes, *names: str) -> bytes:
    given = from_json(data)
    return to_json({name: value for name, value in given.items() if name not in names})


def former(moment: Moment) -> Moment:
    """As a former version has stored it."""
    runs = {}
    for run_id, snapshot in moment.runs.items():
        state = {name: value for name, value in snapshot.root.state.items() if name != "call"}
        root = snapshot.root._replace(state=state)
        run = snapshot.run._replace(input=without(snapshot.run.input, "call"))
        runs[run_id] = snapshot._replace(run=run, frames={"": root})
    return Moment(runs, moment.messages)


def talker() -> Agent[Any]:
    helper = Agent("helper", "Help.", model=ScriptedModel(["helped"]))
    scout = Agent("scout", "Look.", model=ScriptedModel(["one", LOOK, "three", "four"]), tools=[look])
    go, again = (
        call("message_agent", agent_name="scout", message="go"),
        call("message_agent", conversation_id="scout-0-1", message="again"),
    )
    other = call("message_agent", conversation_id="scout-0-1", message="other")
    none = call("message_agent", conversation_id="nobody", message="other")
    both = call("message_agent", conversation_id="scout-0-1", agent_name="scout", message="other")
    script: list[ScriptEntry] = [
        [call("ask_helper", request="a"), go],
        again,
        [none, both, other, call("message_agent")],
        "done",
    ]
    tools = [AgentTool(helper, name="ask_helper")]
    return Agent("lead", "Lead.", model=ScriptedModel(script), tools=tools, sub_agents=[scout])


async def test_runs_below_of_a_former_version_are_told_at_their_calls() -> None:
    it = await ended(talker())
    parts = await it.parts()
    assert sum(part.type == "agent_started" for part in parts) == 4
    old = Read(former(it.moment), it.loops)
    assert not any(b'"call":' in each.run.input for each in old.moment.runs.values())
    assert keys(await old.parts()) == keys(parts)


async def test_a_run_below_that_is_gone_is_left_out() -> None:
    it = await ended(talker())
    runs = {run_id: it.moment.runs[run_id] for run_id in it.moment.runs if "helper" not in run_id}
    parts = await Read(Moment(runs, it.moment.messages), it.loops).parts()
    assert sum(part.type == "agent_started" for part in parts) == 3
    started = next(part for part in await it.parts() if part.type == "agent_started")
    left = await Read(Moment(runs, it.moment.messages), it.loops).parts(started.cursor)
    assert left[0].type == "tool_result"


async def test_what_a_run_was_started_with_need_not_be_known() -> None:
    it = await ended(talker())
    runs = {run_id: each._replace(run=each.run._replace(input=b"")) for run_id, each in it.moment.runs.items()}
    parts = await Read(Moment(runs, it.moment.messages), it.loops).parts()
    assert sum(part.type == "agent_started" for part in parts) == 2  # those whose keys say it
    texts = [part.text for part in parts if isinstance(part, MessageSaid) and len(part.path) == 2]
    assert texts == ["a", "helped", "go", "one"]


async def test_agents_that_nobody_knows_are_told_without_descriptions() -> None:
    it = await ended(talker())

    def loops(workflow: str, version: int) -> Any:
        if workflow != "lead":
            raise WorkflowNotFound(workflow, ())
        return it.loops(workflow, version)

    parts, is_over = await all_parts(it.moment, loops, "t")
    assert is_over
    assert {part.path for part in parts} == {("lead",), ("lead", "scout"), ("lead", "ask_helper")}
    phrases = {part.name: part.phrase for part in parts if isinstance(part, ToolCalled)}
    assert phrases == {
        "ask_helper": "Calling ask_helper...",
        "message_agent": "Sending a message to another agent...",
        "look": "Calling look...",
    }


async def test_tools_that_an_agent_has_no_more_are_called_by_their_names() -> None:
    it = await ended(Agent("lead", "Lead.", model=ScriptedModel([LOOK, "done"]), tools=[look]))
    async with (
        MemoryStore() as store,
        Runner(store, workflows=[Agent("lead", "Lead.", model=ScriptedModel([]))]) as other,
    ):
        parts, _ = await all_parts(it.moment, Loops(other), "t")
    (called,) = [part for part in parts if isinstance(part, ToolCalled)]
    assert called.phrase == "Calling look..."


async def followed(*answers: ScriptEntry, is_cancelled: bool = False) -> Read:
    """The task ``t2``, which follows up ``t``."""

    @tool(needs_approval=True)
    def buy(what: str) -> str:
        return f"bought {what}"

    agent = Agent("lead", "Lead.", model=ScriptedModel(list(answers)), tools=[look, buy])
    with fail_after(30):
        async with MemoryStore() as store, Runner(store, workflows=[agent]) as runner:
            tasks = Tasks(runner)
            run = await tasks.start(agent, "hi", task_id="t")
            await run.settled()
            if is_cancelled:
                await tasks.cancel("t")
            await (await tasks.follow_up("t", "more?", new_id="t2")).settled()
            return Read(await moment_of(store, "t", "t2"), Loops(runner))


@pytest.mark.parametrize(
    ("answers", "is_cancelled", "places"),
    [
        (["one", "two"], False, [2, 3, None]),
        ([[LOOK, LOOK], "one", "two"], False, [5, 6, None]),
        ([[call("buy", what="x"), LOOK, call("buy", what="y")], "two"], True, [2, 3, 4, 5, 6, None]),
    ],
)
async def test_where_a_run_goes_on_is_known_from_what_it_was_started_with_or_from_its_request(
    answers: list[ScriptEntry], *, is_cancelled: bool, places: list[int | None]
) -> None:
    it = await followed(*answers, is_cancelled=is_cancelled)
    parts, _ = await all_parts(it.moment, it.loops, "t2")
    assert [part.seq for part in parts] == places
    runs = {run_id: each._replace(run=each.run._replace(input=b"")) for run_id, each in it.moment.runs.items()}
    again, _ = await all_parts(Moment(runs, it.moment.messages), it.loops, "t2")
    assert keys(again) == keys(parts)


async def test_a_run_that_only_records_an_end_has_no_messages() -> None:
    agent = Agent("lead", "Lead.", model=ScriptedModel([LOOK, "done"]), tools=[look])
    with fail_after(30):
        async with MemoryStore() as store, Runner(store, workflows=[agent]) as runner:
            loop = Loops(runner)("lead", 1)
            before = await (await Tasks(runner).start(agent, "hi", task_id="t")).result()
            await (await runner.start(loop, loop.end(before, "t"), run_id="t2")).result()
            await (await runner.start(loop, loop.end(None, None), run_id="t3")).result()
            moment, loops = await moment_of(store, "t2", "t3"), Loops(runner)
            for run_id in ("t2", "t3"):
                batch = await read(moment, loops, run_id)
                assert [part.type for part in batch.parts] == ["completed"]
                again = await read(moment, loops, run_id, batch.cursor)
                assert (again.parts, again.is_over) == ([], True)


class Stingy(Moment):
    """Gives one element at a time, and none after some."""

    most = 100

    async def elements(self, run_id: str, key: str, after: int, limit: int = 100) -> Page[bytes]:
        page = await super().elements(run_id, key, after, min(limit, 1))
        return page if after < self.most else Page(())


async def test_a_page_may_hold_less_than_was_asked_for() -> None:
    it = await ended(Agent("lead", "Lead.", model=ScriptedModel([[LOOK, LOOK], "done"]), tools=[look]))
    stingy = Stingy(it.moment.runs, it.moment.messages)
    assert keys((await all_parts(stingy, it.loops, "t"))[0]) == keys(await it.parts())
    stingy.most = 1
    batch = await read(stingy, it.loops, "t")
    assert ([part.type for part in batch.parts], batch.is_over) == (["message"], False)


async def test_what_was_read_without_the_results_of_an_answer_is_told_without_them() -> None:
    it = await ended(Agent("lead", "Lead.", model=ScriptedModel([[LOOK, LOOK], "done"]), tools=[look]))
    tree = await Reading(it.moment, it.loops).root("t", None)
    batch = told(tree._replace(messages=tree.messages[:3]), None)
    assert [part.type for part in batch.parts] == ["message", "tool_call", "tool_call"]
    assert (batch.is_over, batch.has_more) == (False, True)
    assert keys(told(tree, None).parts) == keys(await it.parts())


async def test_arguments_that_are_no_json_are_told_as_they_are() -> None:
    def broken(request: ModelRequest) -> ModelResponse:
        if any(message.role == "assistant" for message in request.messages):
            return ModelResponse(text="done")
        calls = [ToolCall(id="a", name=name, arguments="{broken") for name in ("look", "message_agent")]
        calls += [ToolCall(id="b", name="message_agent", arguments="[]")]
        return ModelResponse(text="", calls=calls)

    below = Agent("below", "Below.", model=ScriptedModel([]))
    it = await ended(Agent("lead", "Lead.", model=FunctionModel(broken), tools=[look], sub_agents=[below]))
    called = [part for part in await it.parts() if isinstance(part, ToolCalled)]
    assert [part.arguments for part in called] == ["{broken", "{broken", []]
    assert called[0].phrase == "Weather of a city now..."


async def test_secrets_in_phrases_are_hidden() -> None:
    it = await ended(Agent("lead", "Lead.", model=ScriptedModel([LOOK, "done"]), tools=[look]))
    batch = await read(it.moment, it.loops, "t", mask=lambda text: text.replace("Rome", "***"))
    (called,) = [part for part in batch.parts if isinstance(part, ToolCalled)]
    assert called.phrase == "Weather of *** now..."


async def test_only_the_beginning_of_a_result_is_told() -> None:
    @tool(idempotent=True)
    async def long() -> str:
        return "x" * 999 + "yz"

    parts = await (
        await ended(Agent("lead", "Lead.", model=ScriptedModel([call("long"), "done"]), tools=[long]))
    ).parts()
    assert parts[2].to_dict()["result"] == "x" * 999 + "y"


async def test_less_that_a_model_sees_is_told_once_and_without_a_number() -> None:
    policy = ContextPolicy(compact=[KeepLast(turns=2)], messages=8)
    script: list[ScriptEntry] = [*[LOOK] * 12, "done"]
    lead = Agent("lead", "Lead.", model=ScriptedModel(script), tools=[look], context=policy)
    with fail_after(30):
        async with RecordingStore("t") as store, Runner(store, workflows=[lead]) as runner:
            await (await Tasks(runner).start(lead, "hi", task_id="t")).result()
            loops, law = Loops(runner), Law(Loops(runner), "t")
            await law.holds_in(store.moments)
            batches = [await read(each, loops, "t") for each in store.moments if each.runs]
    less = [
        part
        for before, after in pairwise(batches)
        for part in compactions(before.runs, after.runs, task_id="t", at=law.parts[0].timestamp)
    ]
    assert less
    assert [part.hidden for part in less] == sorted({part.hidden for part in less})
    assert {(part.path, part.seq, part.cursor, part.visit) for part in less} == {(("lead",), None, None, "")}
    assert compactions({}, batches[-1].runs, task_id="t", at=law.parts[0].timestamp) == []
