"""Streams of tasks: readers come and go, tasks wait, end, fail, are resumed, their runners are left."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio import fail_after
from tests.agents._ways import working
from tests.agents.stream._streaming import Writer, all_of, numbered, text_of, types, until

from stagepost.agents import (
    Agent,
    Allow,
    ApprovalAsked,
    ApprovalDecided,
    Budget,
    Compacted,
    ContextPolicy,
    ConversationOver,
    Deny,
    Gap,
    InvalidCursor,
    InvalidRequest,
    KeepLast,
    NotAnAgent,
    ScriptedModel,
    ScriptEntry,
    StreamPart,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    Tasks,
    TokenArrived,
    ToolReturned,
    call,
    converse,
    sse,
    tool,
)
from stagepost.agents._stream._finding import loops_of
from stagepost.agents._stream._sse import sse_event
from stagepost.checkpoint import MemoryStore, RunNotFound, RunStatus, Snapshot
from stagepost.workflows import (
    Chain,
    RunCancelled,
    RunConflict,
    RunFailed,
    Runner,
    RunnerNotOpen,
    RunnerStopped,
    RunNotHeld,
    State,
)


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay {amount}."""
    return f"paid {amount}"


def payer() -> Agent[str]:
    return Agent("payer", prompt="", model=ScriptedModel([call("pay", amount=3), "It is paid."]), tools=[pay])


def writer(model: Writer) -> Agent[str]:
    return Agent("writer", prompt="", model=model)


def talker(*said: str) -> Agent[str]:
    return Agent("talker", prompt="", model=ScriptedModel(said))


@asynccontextmanager
async def tasks_of(agent: Agent[Any], **options: Any) -> AsyncIterator[Tasks]:
    async with working(agent, **options) as runner:
        yield Tasks(runner)


async def told(tasks: Tasks, after: str | None = None) -> list[StreamPart]:
    """All numbered parts of task ``t`` that follow a cursor."""
    async with tasks.stream("t", after=after) as stream:
        return numbered(await all_of(stream))


# tasks that end, and readers that come back


async def test_a_reader_of_a_finished_task_gets_all_its_numbered_parts() -> None:
    async with tasks_of(talker("Hello.")) as tasks:
        async with tasks.start_stream("talker", "go", task_id="t") as stream:
            live = await all_of(stream)
        assert await told(tasks) == await told(tasks, "") == numbered(live)
        assert not await tasks.heard_all("t", "")
        assert types(live) == ["message", "turn", "token", "message", "completed"]


async def test_each_cursor_leads_to_the_parts_after_it() -> None:
    async with tasks_of(payer()) as tasks:
        run = await tasks.start("payer", "go", task_id="t")
        await run.settled()
        (wanted,) = await tasks.approvals()
        await tasks.decide(wanted.id, Allow())
        await run.result()
        parts = await told(tasks)
        for index, part in enumerate(parts, 1):
            assert await told(tasks, part.cursor) == parts[index:]


async def test_a_stream_after_the_end_ends_at_once_and_has_the_result() -> None:
    async with tasks_of(talker("Hello.")) as tasks:
        await (await tasks.start("talker", "go", task_id="t")).result()
        end = (await told(tasks))[-1].cursor
        async with tasks.stream("t", after=end) as stream:
            assert await all_of(stream) == []
            assert (stream.result.output, stream.cursor) == ("Hello.", end)


async def test_the_result_of_a_run_that_completes_here_is_not_read_from_the_store() -> None:
    reads: list[str] = []

    class Noting(MemoryStore):
        async def load(self, run_id: str, *, at: int | None = None) -> Snapshot:
            reads.append(run_id)
            return await super().load(run_id, at=at)

    async with Noting() as store, tasks_of(talker("Hello."), store=store) as tasks:
        async with tasks.start_stream("talker", "go", task_id="t") as stream:
            await all_of(stream)
        assert stream.result.output == "Hello."
        assert reads == []


@pytest.mark.parametrize("cursor", ["garbage", "0000-1.1"])
async def test_what_is_no_cursor_of_the_task_is_refused_before_anything_is_sent(cursor: str) -> None:
    async with tasks_of(talker("Well.")) as tasks:
        await tasks.start("talker", "go", task_id="t")
        with pytest.raises(InvalidCursor, match="from the start"):
            sse(tasks.stream("t", after=cursor))


async def test_whether_a_reader_has_heard_all() -> None:
    async with tasks_of(talker("Hello.")) as tasks:
        await (await tasks.start("talker", "go", task_id="t")).result()
        parts = await told(tasks)
        heard = [await tasks.heard_all("t", part.cursor) for part in parts]
        assert heard == [False] * (len(parts) - 1) + [True]
        assert not await tasks.heard_all("t", None)


async def test_what_is_no_task_has_no_stream() -> None:
    def nothing(_: State) -> dict[str, object]:
        return {}

    plain = Chain("plain", [nothing])
    with fail_after(10):
        async with MemoryStore() as store, Runner(store, workflows=[talker("Hello."), plain]) as runner:
            tasks = Tasks(runner)
            assert [tasks.is_agent(name) for name in ("talker", "plain", "nothing")] == [True, False, False]
            await runner.start(plain, {}, run_id="p")
            await tasks.start("talker", "go", task_id="t")
            for task_id, error in (("nobody", RunNotFound), ("p", NotAnAgent)):
                with pytest.raises(error):
                    await tasks.stream(task_id).__aenter__()
                with pytest.raises(error):
                    await tasks.heard_all(task_id, None)
            with pytest.raises(LookupError):
                loops_of(runner)("plain", 1)
            with pytest.raises(InvalidCursor):
                await told(tasks, "no cursor")
            with pytest.raises(InvalidCursor):
                await tasks.heard_all("t", "no cursor")
        with pytest.raises(RunnerNotOpen):
            await tasks.stream("t").__aenter__()


async def test_long_transcripts_are_read_in_pages() -> None:
    @tool
    def look(number: int) -> str:
        return f"seen {number}"

    script: list[ScriptEntry] = [*([call("look", number=n)] for n in range(150)), "Done."]
    agent = Agent(
        "looker", prompt="", model=ScriptedModel(script), tools=[look], budget=Budget(turns=200, tool_calls=200)
    )
    async with tasks_of(agent) as tasks:
        async with tasks.start_stream(agent, "go", task_id="t") as stream:
            live = await all_of(stream)
        parts = await told(tasks)
        assert parts == numbered(live)
        assert len(parts) == 1 + 2 * 150 + 1 + 1
        assert await told(tasks, parts[250].cursor) == parts[251:]


async def test_a_run_of_an_agent_below_has_a_stream_of_its_own() -> None:
    helper = Agent("helper", prompt="", description="It helps.", model=ScriptedModel(["Here."]))
    asks = call("message_agent", agent_name="helper", message="help")
    lead = Agent("lead", prompt="", model=ScriptedModel([asks, "Done."]), sub_agents=[helper])
    async with tasks_of(lead) as tasks:
        async with tasks.start_stream(lead, "go", task_id="t") as stream:
            visits = {part.visit for part in await all_of(stream) if part.path == ("lead", "helper")}
        (visit,) = visits
        async with tasks.stream(f"t.{visit}") as stream:
            assert types(await all_of(stream)) == ["message", "message", "completed"]
            assert stream.result.output == "Here."


# starting with a stream


async def test_a_stream_that_starts_a_task_gives_it_an_id() -> None:
    async with tasks_of(talker("Hello.")) as tasks:
        async with tasks.start_stream("talker", "go", labels={"for": "ann"}) as stream:
            await all_of(stream)
        assert (await tasks.get(stream.task_id)).output == "Hello."


async def test_a_stream_joins_the_task_that_has_its_key() -> None:
    async with tasks_of(talker("Hello.")) as tasks:
        async with tasks.start_stream("talker", "go", task_id="t", key="k") as stream:
            first = await all_of(stream)
        async with tasks.start_stream("talker", "go", key="k") as stream:
            assert stream.task_id == "t"
            assert numbered(await all_of(stream)) == numbered(first)
        async with tasks.start_stream("talker", "go", task_id="t", after=first[0].cursor) as stream:
            assert numbered(await all_of(stream)) == numbered(first)[1:]
        with pytest.raises(RunConflict):
            await tasks.start_stream("talker", "other", key="k").__aenter__()
        with pytest.raises(InvalidRequest):
            await tasks.start_stream("talker", 3).__aenter__()


# several readers


async def test_who_joins_in_the_middle_of_an_answer_gets_its_text_so_far_as_one_token() -> None:
    model = Writer("It is three.")
    async with tasks_of(writer(model)) as tasks, tasks.start_stream("writer", "go", task_id="t") as first:
        early = [await anext(first) for _ in range(4)]
        assert text_of(early) == "It is"
        async with tasks.stream("t") as second:
            late = [await anext(second) for _ in range(3)]
            assert types(late) == ["message", "turn", "token"]
            assert text_of(late) == "It is"
            model.may_go_on.set()
            early += await all_of(first)
            late += await all_of(second)
    assert numbered(early) == numbered(late)
    assert text_of(late) == text_of(early) == "It is three."


async def test_leaving_a_stream_early_touches_nothing() -> None:
    model = Writer("It is three.")
    async with tasks_of(writer(model)) as tasks:
        async with tasks.start_stream("writer", "go", task_id="t") as stream:
            await until(stream, TokenArrived)
        with pytest.raises(ZeroDivisionError):
            async with tasks.stream("t") as stream:
                raise ZeroDivisionError
        with anyio.CancelScope() as scope:
            async with tasks.stream("t") as stream:
                scope.cancel()
                await all_of(stream)
        model.may_go_on.set()
        async with tasks.stream("t", after=None) as stream:
            await all_of(stream)
            assert stream.result.output == "It is three."


async def test_a_stalled_reader_makes_nobody_late_and_loses_only_tokens() -> None:
    model = Writer(" ".join(str(number) for number in range(50)), after=1)
    async with tasks_of(writer(model)) as tasks, tasks.start_stream("writer", "go", task_id="t", buffer=5) as stalled:
        seen = await until(stalled, TokenArrived)
        async with tasks.stream("t") as other:
            model.may_go_on.set()
            assert types(await all_of(other)) == ["message", "turn", "token", "message", "completed"]
        assert len(stalled._entered.listening.buffer._sections) <= 5
        seen += await all_of(stalled)
        assert any(isinstance(part, Gap) for part in seen)
        assert numbered(seen) == await told(tasks)


async def test_readers_at_the_same_place_share_what_is_read() -> None:
    class Counting(MemoryStore):
        heads = 0

        async def head(self, run_id: str) -> Any:
            self.heads += 1
            return await super().head(run_id)

        async def head_with(self, run_id: str, path: str, key: str, **page: Any) -> Any:
            self.heads += 1
            return await super().head_with(run_id, path, key, **page)

    model = Writer("It is three.")
    async with Counting() as store, tasks_of(writer(model), store=store) as tasks:
        await tasks.start("writer", "go", task_id="t")
        await model.has_written.wait()
        store.heads = 0
        ends: list[Sequence[StreamPart]] = []

        async def listen() -> None:
            async with tasks.stream("t") as stream:
                ends.append(await all_of(stream))

        async with anyio.create_task_group() as group:
            for _ in range(100):
                group.start_soon(listen)
            await anyio.wait_all_tasks_blocked()
            assert store.heads == 1
            model.may_go_on.set()
        assert store.heads < 10
        assert len(ends) == 100
        assert all(numbered(end) == numbered(ends[0]) for end in ends)


# people


@pytest.mark.parametrize("decision", [Allow(), Deny("not today")], ids=["allowed", "denied"])
async def test_a_reader_hears_of_approvals_that_another_task_decides(decision: Allow | Deny) -> None:
    async with tasks_of(payer()) as tasks, tasks.start_stream("payer", "go", task_id="t") as stream:

        async def decide() -> None:
            while not (wanted := await tasks.approvals()):
                await anyio.lowlevel.checkpoint()
            await tasks.decide(wanted[0].id, decision, by="ann")

        async with anyio.create_task_group() as group:
            group.start_soon(decide)
            parts = await all_of(stream)
    asked, decided = (
        next(part for part in parts if isinstance(part, kind)) for kind in (ApprovalAsked, ApprovalDecided)
    )
    assert isinstance(asked, ApprovalAsked)
    assert isinstance(decided, ApprovalDecided)
    assert (asked.tool, asked.arguments, asked.approval_id) == ("pay", {"amount": 3}, decided.approval_id)
    assert (decided.allowed, decided.by) == (isinstance(decision, Allow), "ann")
    assert types(parts)[3:7] == ["tool_call", "approval_requested", "approval_decided", "tool_result"]


async def test_a_cancelled_task_ends_its_streams() -> None:
    async with tasks_of(payer()) as tasks, tasks.start_stream("payer", "go", task_id="t") as stream:
        await until(stream, ApprovalAsked)
        await tasks.cancel("t")
        assert types(await all_of(stream)) == ["cancelled"]
        with pytest.raises(RunCancelled):
            _ = stream.result


# failures, restarts


def failing() -> Agent[str]:
    """Fails once after its first answer."""

    @tool
    def look() -> str:
        return "seen"

    return Agent("failing", prompt="", model=ScriptedModel([call("look"), OSError("down"), "Done."]), tools=[look])


async def test_a_resumed_task_is_told_from_where_it_had_failed() -> None:
    agent = failing()
    with fail_after(10):
        async with MemoryStore() as store, Runner(store, workflows=[agent]) as runner:
            tasks = Tasks(runner)
            async with tasks.start_stream(agent, "go", task_id="t") as stream:
                before = await all_of(stream)
                assert before[-1].type == "error"
                with pytest.raises(RunFailed, match="down"):
                    _ = stream.result
            assert await tasks.heard_all("t", stream.cursor)
            await runner.resume("t")
            assert not await tasks.heard_all("t", stream.cursor)
            async with tasks.stream("t", after=stream.cursor) as stream:
                after = await all_of(stream)
                assert stream.result.output == "Done."
            assert numbered(after)[-1].type == "completed"
            whole = [*numbered(before)[:-1], *numbered(after)]
            assert [part.key for part in whole] == [part.key for part in await told(tasks)]


async def test_leaving_the_runner_ends_its_streams() -> None:
    model = Writer("It is three.")
    parts: list[StreamPart] = []
    with fail_after(10):
        async with MemoryStore() as store:
            async with anyio.create_task_group() as group:
                runner = Runner(store, workflows=[writer(model)], grace=0)
                await runner.__aenter__()
                stream = Tasks(runner).start_stream("writer", "go", task_id="t")

                async def listen() -> None:
                    async with stream:
                        parts.extend([await anext(stream) for _ in range(4)])
                        with pytest.raises(RunnerStopped):
                            await anext(stream)

                group.start_soon(listen)
                await model.has_written.wait()
                await anyio.wait_all_tasks_blocked()
                await runner.__aexit__(None, None, None)
            assert types(parts) == ["message", "turn", "token"]
            model.may_go_on.set()
            async with Runner(store, workflows=[writer(model)]) as runner:
                await runner.recover()
                async with Tasks(runner).stream("t", after=stream.cursor) as stream:
                    assert types(numbered(await all_of(stream))) == ["message", "completed"]


async def test_an_open_task_that_nobody_here_works_on_is_told_as_it_is_stored() -> None:
    model = Writer("It is three.")
    with fail_after(10):
        async with MemoryStore() as store:
            async with Runner(store, workflows=[writer(model)], grace=0) as runner:
                await Tasks(runner).start("writer", "go", task_id="t")
                await model.has_written.wait()
            async with Runner(store, workflows=[writer(model)]) as runner:
                tasks = Tasks(runner)
                async with tasks.stream("t") as stream:
                    assert types([await anext(stream)]) == ["message"]
                    with pytest.raises(RunNotHeld):
                        await anext(stream)
                model.may_go_on.set()
                await runner.recover()
                async with tasks.stream("t", after=stream.cursor) as stream:
                    assert (await all_of(stream))[-1].type == "completed"


async def test_a_parked_task_is_heard_after_a_restart_without_recovery() -> None:
    agent = payer()
    with fail_after(10):
        async with MemoryStore() as store:
            async with Runner(store, workflows=[agent]) as runner:
                run = await Tasks(runner).start(agent, "go", task_id="t")
                assert await run.settled() is RunStatus.WAITING
            async with Runner(store, workflows=[agent]) as runner, Tasks(runner).stream("t") as stream:
                parts = await until(stream, ApprovalAsked)
                assert isinstance(parts[-1], ApprovalAsked)
                await Tasks(runner).decide(parts[-1].approval_id, Allow())
                assert (await all_of(stream))[-1].type == "completed"


# compaction


async def test_a_reader_is_told_when_the_model_sees_less() -> None:
    @tool
    def look(number: int) -> str:
        return "seen " * 50

    script: list[ScriptEntry] = [*(call("look", number=number) for number in range(6)), "Done."]
    policy = ContextPolicy(messages=4, compact=[KeepLast(messages=2)])
    agent = Agent("looker", prompt="", model=ScriptedModel(script), tools=[look], context=policy)
    async with tasks_of(agent) as tasks, tasks.start_stream(agent, "go", task_id="t") as stream:
        parts = await all_of(stream)
    compacted = [part for part in parts if isinstance(part, Compacted)]
    assert compacted
    assert compacted[0].hidden > 0
    assert sum(isinstance(part, ToolReturned) for part in parts) == 6, "the transcript stays whole"


# conversations


async def test_a_message_of_a_conversation_is_streamed() -> None:
    agent = talker("Hello.", "Still here.", "Bye.")
    async with working(agent) as runner, converse(runner, agent, id="c") as talk:
        async with talk.stream("hi") as stream:
            first = await all_of(stream)
        assert (stream.task_id, stream.result.output, text_of(first)) == ("c-0", "Hello.", "Hello.")
        assert [message.text for message in talk.messages] == ["hi", "Hello."]
        async with talk.stream("you there?", key="k") as stream:
            second = await all_of(stream)
        assert [part.seq for part in numbered(second)] == [2, 3, None]
        async with talk.stream("you there?", key="k") as stream:
            assert numbered(await all_of(stream)) == numbered(second)
        assert (await talk.send("so long")).output == "Bye."
        await talk.end()
        with pytest.raises(ConversationOver):
            await talk.stream("?").__aenter__()


async def test_the_next_message_waits_for_a_turn_whose_stream_was_left() -> None:
    model = Writer("It is three.", "Four.")
    agent = writer(model)
    async with working(agent) as runner, converse(runner, agent, id="c") as talk:
        async with talk.stream("hi") as stream:
            await until(stream, TokenArrived)
        answers: list[str] = []

        async def ask() -> None:
            answers.append((await talk.send("and?")).output)

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert answers == []
            model.may_go_on.set()
        assert answers == ["Four."]
        assert [message.text for message in talk.messages] == ["hi", "It is three.", "and?", "Four."]


# server-sent events


async def test_parts_are_told_as_server_sent_events() -> None:
    async with tasks_of(talker("Hello.")) as tasks:
        events = [event async for event in sse(tasks.start_stream("talker", "go", task_id="t"))]
        parts = await told(tasks)
    assert events[0] == b":\n"
    ids = [line for event in events for line in event.decode().split("\n") if line.startswith("id: ")]
    assert ids == [f"id: {part.cursor}" for part in parts]
    first = sse_event(parts[0]).decode().split("\n")
    assert first[:2] == ["event: message", f"id: {parts[0].cursor}"]
    assert first[2].startswith('data: {"type":"message"')
    assert first[3:] == ["", ""]
    assert [event.split(b"\n")[0] for event in events[2:4]] == [b"event: turn", b"event: token"]


async def test_a_comment_is_sent_while_nothing_is_told() -> None:
    model = Writer("It is three.")
    async with tasks_of(writer(model)) as tasks:
        events: list[bytes] = []
        async for event in sse(tasks.start_stream("writer", "go", task_id="t"), every=0.01):
            events.append(event)
            if events[-2:] == [b":\n", b":\n"]:
                model.may_go_on.set()
        assert events[-1].startswith(b"event: completed\n")


@pytest.mark.parametrize("end", [TaskCompleted, TaskFailed, TaskCancelled])
async def test_a_reader_of_a_task_of_which_nothing_is_kept_is_told_its_end(end: type[StreamPart]) -> None:
    model = ScriptedModel([]) if end is TaskFailed else Writer("It is three.")
    agent = Agent("writer", prompt="", model=model)
    async with tasks_of(agent, keep="none") as tasks, tasks.start_stream(agent, "go", task_id="t") as stream:
        if isinstance(model, Writer):
            await until(stream, TokenArrived)
            if end is TaskCancelled:
                await tasks.cancel("t")
            model.may_go_on.set()
        parts = await all_of(stream)
        assert types(parts[-1:]) == [end.type]
        if end is TaskCompleted:
            assert (parts[-1].to_dict()["result"], stream.result.output) == ("It is three.", "It is three.")
        else:
            with pytest.raises(RunFailed if end is TaskFailed else RunCancelled):
                _ = stream.result


async def test_a_deleted_task_has_no_stream_that_goes_on() -> None:
    async with tasks_of(payer()) as tasks:
        await tasks.start("payer", "go", task_id="t")
        async with tasks.stream("t") as stream:
            (asked,) = [part for part in await until(stream, ApprovalAsked) if isinstance(part, ApprovalAsked)]
            await tasks.decide(asked.approval_id, Allow())
            await (await tasks._runner.get("t")).result()
            await tasks._runner.store.delete("t")
            parts = await all_of(stream)
        assert types(parts)[-1] == "completed"
