"""Conversations cost what is new: what is stored, what is read, and what stays when retention deletes old turns."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from tests.agents._weather import look, results
from tests.agents.test_converse import Clock, echoing, said_in
from tests.agents.test_messaging import echo as echo_below
from tests.agents.test_tasks import Door, Held, mail, said, tasks_of
from tests.workflows._words import running

from stagepost.agents import (
    Agent,
    AgentResult,
    AssistantMessage,
    Budget,
    ConversationOver,
    FunctionModel,
    Image,
    ModelRequest,
    ModelResponse,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    UserMessage,
    call,
    converse,
    tool,
)
from stagepost.checkpoint import Keep, MemoryStore, Page, RunNotFound, SqliteStore
from stagepost.workflows import RunFailed, RunForgotten, Runner

LATE: Final = datetime(3000, 1, 1, tzinfo=UTC)
PIXEL: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080600000"
    "01f15c4890000000a49444154789c63000100000500010d0a2db40000000049454e44ae426082"
)


class Counting(MemoryStore):
    """Counts how often it is read, and how many elements of lists."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.reads = self.elements_read = self.loads = 0

    async def _read(self, query: Any) -> Any:
        self.reads += 1
        return await super()._read(query)

    async def load(self, run_id: str, *, at: int | None = None) -> Any:
        self.loads += 1
        return await super().load(run_id, at=at)

    async def elements(self, *args: Any, **options: Any) -> Page[bytes]:
        page = await super().elements(*args, **options)
        self.elements_read += len(page.items)
        return page


async def count(store: MemoryStore | SqliteStore, table: str) -> int:
    ((number,),) = await store.query(f"SELECT count(*) FROM {table}")  # noqa: S608  # a name of this file's own
    assert isinstance(number, int)
    return number


async def speak(runner: Runner, texts: Sequence[str], **options: Any) -> AgentResult[Any]:
    async with converse(runner, "echo", id="c", **options) as talk:
        for text in texts:
            result = await talk.send(text)
    return result


def texts_of(number: int) -> list[str]:
    return [f"text {each}" for each in range(number)]


def short(request: ModelRequest) -> str:
    """Says how many messages there were."""
    return str(len(request.messages) - 1)


def counter(**options: Any) -> Agent[str]:
    return Agent("echo", prompt="", model=FunctionModel(short), **options)


async def test_each_message_of_a_conversation_is_stored_once() -> None:
    store = MemoryStore()
    async with echoing(store) as runner:
        result = await speak(runner, texts_of(30))
        assert len(result.messages) == 60
        assert (await count(store, "elements"), await count(store, "lists")) == (60, 1)
    async with echoing(store) as runner:
        await speak(runner, ["in another process"])
        assert (await count(store, "elements"), await count(store, "lists")) == (62, 1)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # as files need
async def test_a_conversation_takes_the_room_of_what_was_said(tmp_path: Path) -> None:
    said, answered = "x" * 480, "y" * 480
    agent = Agent("echo", prompt="", model=FunctionModel(lambda _: answered))
    file = tmp_path / "runs.db"
    async with SqliteStore(file):
        pass
    empty = file.stat().st_size  # a page for each table and index
    async with running(SqliteStore(file, durability="process"), agent) as runner:
        await speak(runner, [said] * 100)
    grown = file.stat().st_size - empty
    assert grown < 350_000
    assert empty + 5 * grown < 3_000_000, "500 turns are to take 3 MB at most"


async def test_what_a_process_has_said_and_heard_it_does_not_read_again() -> None:
    store = Counting()
    async with running(store, counter()) as runner, converse(runner, "echo") as talk:
        await talk.send("first")
        reads = []
        for number in range(20):
            before = store.reads
            assert (await talk.send("next")).output == str(2 * number + 3)
            reads.append(store.reads - before)
        assert (set(reads), store.elements_read, store.loads) == ({reads[0]}, 0, 0)


async def test_after_a_turn_that_has_failed_the_transcript_is_not_read_again() -> None:
    def answer(request: ModelRequest) -> str:
        if request.messages[-1].text == "fail":
            raise OSError("down")
        return short(request)

    store = Counting()
    agent = Agent("echo", prompt="", model=FunctionModel(answer))
    async with running(store, agent) as runner, converse(runner, "echo") as talk:
        for number in range(10):
            with pytest.raises(RunFailed, match="down"):
                await talk.send("fail")
            assert (await talk.send("go on")).output == str(3 * number + 2)
        assert (store.elements_read, store.loads) == (0, 0)
        assert await count(store, "elements") == 30


async def test_of_a_task_that_goes_on_only_what_is_new_is_read() -> None:
    door = Door()
    script: list[ScriptEntry] = [*[call("look", city="Oslo")] * 9, "done"]
    model = Held(script, {5: door})
    store = Counting()
    async with tasks_of(Agent("w", prompt="", model=model, tools=[look]), store=store) as (tasks, _):
        run = await tasks.start("w", "go", task_id="t")
        await door.entered.wait()
        assert [len((await tasks.get("t")).messages) for _ in range(3)] == [11] * 3
        assert store.elements_read == 11
        door.open.set()
        await run.result()
        assert len((await tasks.get("t")).messages) == 20
    assert store.elements_read == 11


@pytest.mark.parametrize("turns", [3, 60])
async def test_a_conversation_is_opened_with_few_reads_however_long_it_is(turns: int) -> None:
    store = Counting()
    async with running(store, counter()) as runner:
        await speak(runner, texts_of(turns))
    async with running(store, counter()) as runner:
        await anyio.wait_all_tasks_blocked()  # the runner has looked at what it has to do
        before = store.reads
        async with converse(runner, "echo", id="c") as talk:
            assert (store.reads - before, store.elements_read, store.loads) == (3, 2 * turns, 0)
            assert said_in(talk.messages) == texts_of(turns)
            assert (await talk.send("more")).output == str(2 * turns + 1)
            assert store.elements_read == 2 * turns


async def test_the_last_turn_is_found_behind_the_runs_of_sub_agents() -> None:
    model = ScriptedModel(["one", [call("message_agent", agent_name="echo", message=str(n)) for n in range(30)], "two"])
    lead = Agent("lead", prompt="", model=model, sub_agents=[echo_below])
    store = MemoryStore()
    async with running(store, lead) as runner, converse(runner, "lead", id="c") as talk:
        await talk.send("a")
        await talk.send("b")
        async with converse(runner, "lead", id="c") as other:
            assert other.messages == talk.messages
        found = await runner.runs.list(labels={"conversation": "c"}, workflow="lead")
        assert [info.run_id for info in found.items] == ["c-0", "c-1"]


async def test_conversations_whose_ids_look_like_turns_are_told_apart() -> None:
    async with running(MemoryStore(), counter()) as runner:
        for conversation in ("c", "c-1", "c-1-1", "c-"):
            async with converse(runner, "echo", id=conversation) as talk:
                assert (await talk.send("a")).output == "1"
        for conversation in ("c", "c-1", "c-1-1", "c-"):
            async with converse(runner, "echo", id=conversation) as talk:
                assert (await talk.send("b")).output == "3"


async def test_the_last_turn_is_gone_on_with_although_the_clock_was_put_back() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    async with echoing(store, clock=clock) as runner:
        await speak(runner, texts_of(25), idle=None)
        clock.now -= 3600
        await speak(runner, "ab", idle=None)
        async with converse(runner, "echo", id="c", idle=None) as talk:
            assert (await talk.send("last")).output == " / ".join([*texts_of(25), *"ab", "last"])


# Retention.


async def test_a_conversation_goes_on_when_all_turns_but_the_last_are_deleted() -> None:
    store = MemoryStore()
    async with echoing(store) as runner:
        await speak(runner, "abc")
        for number in range(2):
            await store.delete(f"c-{number}")
        assert (await speak(runner, "d")).output == "a / b / c / d"
    async with echoing(store) as runner:
        await store.delete("c-2")
        async with converse(runner, "echo", id="c") as talk:
            assert said_in(talk.messages) == ["a", "b", "c", "d"]
            assert (await talk.send("e")).output == "a / b / c / d / e"
        assert [info.run_id for info in (await runner.runs.list()).items] == ["c-3", "c-4"]


@asynccontextmanager
async def month_by_month(clock: Clock, store: MemoryStore) -> AsyncIterator[Runner]:
    """A runner that forgets what has ended a month ago, and has done so."""
    clock.now += timedelta(days=31).total_seconds()
    async with echoing(store, clock=clock, keep_for=timedelta(days=30)) as runner:
        while await store.prune(datetime.fromtimestamp(clock.now, UTC) - timedelta(days=30)):
            pass
        yield runner


async def test_a_conversation_outlives_the_retention_of_its_older_turns() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    async with echoing(store, clock=clock) as runner:
        await speak(runner, "abc")
        clock.now += timedelta(days=20).total_seconds()
        await speak(runner, "d", idle=None)
    clock.now -= timedelta(days=10).total_seconds()
    async with month_by_month(clock, store) as runner:
        assert [info.run_id for info in (await runner.runs.list()).items] == ["c-3"]
        async with converse(runner, "echo", id="c", idle=None) as talk:
            assert said_in(talk.messages) == ["a", "b", "c", "d"]
            assert (await talk.send("e")).output == "a / b / c / d / e"
            with pytest.raises(RunNotFound):
                await Tasks(runner).get("c-0")
            assert len((await Tasks(runner).get("c-4")).messages) == 10


async def test_a_conversation_of_which_retention_has_left_nothing_is_over_and_not_new() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    async with echoing(store, clock=clock) as runner:
        await speak(runner, "ab")
    async with month_by_month(clock, store) as runner:
        assert (await runner.runs.list()).items == ()
        async with converse(runner, "echo", id="c", idle=None) as talk:
            assert talk.messages == ()
            for key in (None, "k"):
                with pytest.raises(ConversationOver, match="retention has deleted its last turn"):
                    await talk.send("c", key=key)
            await talk.end()
        await store.delete("c-0")  # what is remembered of it
        assert (await speak(runner, ["new"], idle=None)).output == "new"


async def test_a_conversation_that_is_open_while_retention_deletes_it_is_over() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    async with echoing(store, clock=clock) as runner, converse(runner, "echo", id="c", idle=None) as talk:
        await talk.send("a")
        await talk.send("b")
        assert await store.prune(LATE) == 2
        with pytest.raises(ConversationOver):
            await talk.send("c")
        await talk.end()


async def test_a_conversation_whose_last_turn_somebody_deletes_goes_on_with_the_one_before() -> None:
    store = MemoryStore()
    async with echoing(store) as runner, converse(runner, "echo", id="c") as talk:
        for text in "abc":
            await talk.send(text)
        await store.delete("c-2")
        assert (await talk.send("d")).output == "a / b / d"
        assert [info.run_id for info in (await runner.runs.list()).items] == ["c-0", "c-1", "c-2"]
        for number in range(3):
            await store.delete(f"c-{number}")
        assert (await talk.send("e")).output == "e"


async def test_a_message_with_a_key_whose_turn_is_deleted_is_not_said_again() -> None:
    store = MemoryStore()
    async with echoing(store) as runner, converse(runner, "echo", id="c") as talk:
        await talk.send("a", key="k")
        ended = (await store.info("c-0")).finished_at
        await talk.send("b")
        assert ended is not None
        assert await store.prune(ended + timedelta(microseconds=1)) == 1
        with pytest.raises(RunForgotten):
            await talk.send("a", key="k")
        assert (await talk.send("c")).output == "a / b / c"


async def test_the_end_of_a_conversation_outlives_the_turns_before_it() -> None:
    store = MemoryStore()
    async with echoing(store) as runner:
        async with converse(runner, "echo", id="c") as talk:
            await talk.send(["a", Image(data=PIXEL, media_type="image/png")])
            await talk.end()
        await store.delete("c-0")
        async with converse(runner, "echo", id="c") as talk:
            assert (said_in(talk.messages), talk.is_complete) == (["a"], True)
            with pytest.raises(ConversationOver, match="somebody has ended it"):
                await talk.send("b")


async def test_a_conversation_keeps_what_it_needs_where_runs_leave_nothing() -> None:
    store = MemoryStore()
    for text, output in (("a", "a"), ("b", "a / b")):
        async with echoing(store, keep=Keep.NONE) as runner:
            assert (await speak(runner, [text])).output == output
    async with echoing(store, keep=Keep.ALL) as runner:
        await speak(runner, "c")
        assert (await store.history("c-2")).items


async def test_pictures_that_were_sent_are_there_for_later_turns_when_theirs_are_deleted() -> None:
    seen: list[list[bytes | None]] = []

    def look_at(request: ModelRequest) -> str:
        messages = [message for message in request.messages if isinstance(message, UserMessage)]
        seen.append([part.data for message in messages for part in message.parts])
        return "seen"

    store = MemoryStore()
    agent = Agent("echo", prompt="", model=FunctionModel(look_at))
    picture = Image(data=PIXEL, media_type="image/png")
    async with running(store, agent) as runner, converse(runner, "echo", id="c") as talk:
        await talk.send(["What is this?", picture])
        await talk.send("And?")
        await store.delete("c-0")
    async with running(store, agent) as runner:
        await speak(runner, ["And now?"])
    assert seen == [[PIXEL]] * 3


# Follow-ups, and conversations with sub-agents.


async def test_a_follow_up_stores_what_is_new_and_outlives_what_it_follows() -> None:
    model = FunctionModel(lambda request: " / ".join(said(request)))
    store = Counting()
    async with tasks_of(Agent("echo", prompt="", model=model), store=store) as (tasks, _):
        await (await tasks.start("echo", "0", task_id="t-0")).result()
        reads: list[int] = []
        for number in range(1, 20):
            before = store.reads
            await (await tasks.follow_up(f"t-{number - 1}", str(number), new_id=f"t-{number}")).result()
            reads.append(store.reads - before)
        assert (await count(store, "elements"), await count(store, "lists")) == (40, 1)
        assert (set(reads), store.elements_read, store.loads) == ({reads[0]}, 0, 0)
        for number in range(19):
            await store.delete(f"t-{number}")
        task = await tasks.get("t-19")
        assert [message.text for message in task.messages if isinstance(message, UserMessage)] == [
            str(number) for number in range(20)
        ]
        assert len(task.messages) == 40


async def test_two_follow_ups_of_one_task_do_not_meet() -> None:
    model = FunctionModel(lambda request: " / ".join(said(request)))
    async with tasks_of(Agent("echo", prompt="", model=model)) as (tasks, _):
        await (await tasks.start("echo", "a", task_id="t")).result()
        for name in "bc":
            await (await tasks.follow_up("t", name, new_id=name)).result()
        for name in "bc":
            await (await tasks.follow_up(name, "d", new_id=f"{name}d")).result()
        outputs = [(await tasks.get(name)).output for name in ("t", "b", "c", "bd", "cd")]
    assert outputs == ["a", "a / b", "a / c", "a / b / d", "a / c / d"]


async def test_calls_that_a_cancelled_task_has_left_have_results_in_what_follows_it() -> None:
    model = ScriptedModel([[call("look", city="Oslo"), call("mail", to="eve")], "fine", "again"])
    async with tasks_of(Agent("m", prompt="", model=model, tools=[look, mail])) as (tasks, _):
        run = await tasks.start("m", "hello", task_id="t")
        await run.settled()
        await tasks.cancel("t")
        await (await tasks.follow_up("t", "more", new_id="u")).result()
        await (await tasks.follow_up("u", "and more", new_id="v")).result()
        before, after = [await tasks.get(name) for name in "tv"]
    assert [message.role for message in before.messages] == ["user", "assistant"]
    assert [message.role for message in after.messages] == [
        *("user", "assistant", "tool", "tool", "user", "assistant", "user", "assistant")
    ]
    assert [result.text for result in results(list(after.messages))] == ["not called: the run ended before"] * 2


async def test_conversations_with_sub_agents_store_what_is_new() -> None:
    turns = 20
    script: list[ScriptEntry] = [
        call("message_agent", agent_name="echo", message="0"),
        *(call("message_agent", conversation_id="echo-0-0", message=str(number)) for number in range(1, turns)),
        "done",
    ]
    budget = Budget(turns=3 * turns)
    lead = Agent("lead", prompt="", model=ScriptedModel(script), sub_agents=[echo_below], budget=budget)
    store = Counting()
    async with tasks_of(lead, store=store) as (tasks, _):
        await (await tasks.start("lead", "go", task_id="t")).result()
        task = await tasks.get("t")
        assert len(task.messages) == 2 * turns + 2
        assert (await count(store, "elements")) == len(task.messages) + 2 * turns
        assert (await count(store, "lists"), store.loads, store.elements_read) == (2, 0, 0)
        (conversation,) = task.conversations
        assert conversation.exchanges[-1].response == " / ".join(map(str, range(turns)))


async def test_a_conversation_with_a_sub_agent_says_which_run_it_needs() -> None:
    store = MemoryStore()

    @tool
    async def forget() -> None:
        await store.delete("t")

    script: list[ScriptEntry] = [
        call("message_agent", agent_name="echo", message="one"),
        "done",
        call("forget"),
        call("message_agent", conversation_id="echo-0-0", message="two"),
        "done again",
    ]
    lead = Agent("lead", prompt="", model=ScriptedModel(script), sub_agents=[echo_below], tools=[forget])
    async with tasks_of(lead, store=store) as (tasks, _):
        await (await tasks.start("lead", "go", task_id="t")).result()
        state = await (await tasks.follow_up("t", "more", new_id="u")).result()
        (conversation,) = (await tasks.get("u")).conversations
    assert "its last answer, a run below 't', has failed, or is no longer stored" in results(state["messages"])[-1].text
    assert conversation.is_complete


async def test_in_memory_a_transcript_is_shared_and_not_stored_anew() -> None:
    agent = counter()
    result = await agent.run("0")
    first = result.messages
    for number in range(1, 20):
        result = await agent.run(str(number), after=result)
    assert result.output == "39"
    assert all(one is other for one, other in zip(first, result.messages, strict=False))
    branch = await agent.run("x", after=result)
    other = await agent.run("y", after=result)
    assert [each.messages[-2] for each in (branch, other)] == [UserMessage(text="x"), UserMessage(text="y")]
    assert len(result.messages) == 40
    assert isinstance(result.messages[-1], AssistantMessage)


async def test_a_result_of_a_conversation_is_gone_on_with_in_memory() -> None:
    agent = Agent("echo", prompt="", model=FunctionModel(lambda request: ModelResponse(text=short(request))))
    async with running(MemoryStore(), agent) as runner:
        result = await speak(runner, "ab")
    assert (await agent.run("c", after=result)).output == "5"
