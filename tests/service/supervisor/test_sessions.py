"""Sessions: one turn at a time, keys, readers that leave, limits, and what a restart leaves."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.service.supervisor._shop import (
    HOT,
    WORKERS,
    Gate,
    both,
    echo,
    heard,
    names,
    new_session,
    opened,
    supervisor,
    text_of,
)

from stagepost.agents import FunctionModel, ModelRequest, ScriptedModel, Tasks, TaskStatus, ToolCall, call
from stagepost.checkpoint import MemoryStore, SqliteStore
from stagepost.service.supervisor import (
    ChatRequest,
    ChatSessions,
    InvalidEventId,
    KeyReused,
    Resumption,
    SessionBusy,
    TurnLimits,
    response_of,
)
from stagepost.service.supervisor._keeper import Keeper
from stagepost.workflows import Runner, RunnerNotOpen

SOON = TurnLimits(grace=0.02)


async def turns_of(sessions: ChatSessions, session: str) -> list[TaskStatus]:
    tasks = Tasks(sessions._runner)
    return [(await tasks.get(turn)).status for turn in await sessions.turns(session)]


async def until_ended(sessions: ChatSessions, session: str) -> TaskStatus:
    with anyio.fail_after(20):
        while True:
            (status,) = await turns_of(sessions, session)
            if not status.is_open:
                return status
            await anyio.sleep(0.005)


async def test_a_session_remembers_and_another_one_does_not() -> None:
    async with opened(supervisor()) as sessions:
        one, other = new_session(), new_session()
        assert text_of(await heard(sessions, "Miami?", one)) == "Miami?"
        assert text_of(await heard(sessions, "And Oslo?", one)) == "Miami? / And Oslo?"
        assert text_of(await heard(sessions, "Rome?", other)) == "Rome?"


async def test_a_worker_forgets_and_its_inner_talk_stays_out_of_the_session() -> None:
    seen: list[list[str]] = []

    def lead(request: ModelRequest) -> ToolCall | str:
        messages = request.messages
        seen.append([message.text for message in messages])
        return call("ask_weather_agent", request="Miami?") if messages[-1].role == "user" else "Hot."

    weather = ScriptedModel([call("get_weather", city_name="Miami"), HOT])
    async with opened(supervisor(FunctionModel(lead), weather=weather)) as sessions:
        session = new_session()
        await heard(sessions, "How is it?", session)
        await heard(sessions, "And now?", session)
    assert seen[-1][1:] == ["How is it?", "", HOT, "Hot.", "And now?", "", HOT]
    assert weather.requests[-1].messages[1].text == "Miami?"
    assert len(weather.requests) == 4
    assert weather.requests[2].messages[1:] == weather.requests[0].messages[1:]


async def test_the_answer_has_the_calls_of_this_turn_only_repeated_ones_each_time() -> None:
    twice = [call("ask_weather_agent", request="Miami?"), call("ask_weather_agent", request="Miami?")]
    async with opened(supervisor(ScriptedModel([twice, "Hot.", "Indeed."]))) as sessions:
        session = new_session()
        first = response_of(await heard(sessions, "Twice?", session), WORKERS)
        second = response_of(await heard(sessions, "Really?", session), WORKERS)
    assert [each.worker_request for each in first.worker_details] == ["Miami?", "Miami?"]
    assert all(each.duration_ms > 0 and each.status == "ok" for each in first.worker_details)
    assert second.model_dump() == {"response": "Indeed.", "supervisor_tool_calls": [], "worker_details": []}


async def test_of_two_messages_to_a_session_the_second_waits() -> None:
    gate = Gate(FunctionModel(echo))
    async with opened(supervisor(gate)) as sessions, anyio.create_task_group() as group:
        session, texts = new_session(), []

        async def say(text: str) -> None:
            texts.append(text_of(await heard(sessions, text, session)))

        with anyio.fail_after(20):
            group.start_soon(say, "one")
            await gate.reached.wait()
            group.start_soon(say, "two")
            await anyio.wait_all_tasks_blocked()
            assert await turns_of(sessions, session) == [TaskStatus.THINKING]
            gate.opened.set()
    assert texts == ["one", "one / two"]


async def test_a_message_to_a_busy_session_is_refused_if_it_may_not_wait() -> None:
    gate = Gate(FunctionModel(echo))
    limits = TurnLimits(waits=False)
    async with opened(supervisor(gate), limits=limits) as sessions, anyio.create_task_group() as group:
        session = new_session()
        with anyio.fail_after(20):
            group.start_soon(heard, sessions, "one", session)
            await gate.reached.wait()
            with pytest.raises(SessionBusy):
                await heard(sessions, "two", session)
            gate.opened.set()
            await until_ended(sessions, session)
            assert text_of(await heard(sessions, "two", session)) == "one / two"


async def test_messages_with_one_key_are_one_turn_also_at_once() -> None:
    gate = Gate(FunctionModel(echo))
    async with opened(supervisor(gate)) as sessions, anyio.create_task_group() as group:
        session, texts = new_session(), []

        async def say() -> None:
            texts.append(text_of(await heard(sessions, "one", session, key="k")))

        with anyio.fail_after(20):
            for _ in range(5):
                group.start_soon(say)
            await gate.reached.wait()
            group.start_soon(say)
            await anyio.wait_all_tasks_blocked()
            gate.opened.set()
    assert texts == ["one"] * 6
    assert gate.asked == 1


async def test_of_two_messages_with_one_key_at_once_one_is_refused() -> None:
    gate = Gate(FunctionModel(echo))
    async with opened(supervisor(gate)) as sessions, anyio.create_task_group() as group:
        session, texts = new_session(), []

        async def say(text: str) -> None:
            try:
                texts.append(text_of(await heard(sessions, text, session, key="k")) == text)
            except KeyReused:
                gate.opened.set()

        with anyio.fail_after(20):
            group.start_soon(say, "one")
            group.start_soon(say, "two")
            await gate.opened.wait()
    assert texts == [True]


async def test_a_key_stands_for_its_message_and_its_session_only() -> None:
    async with opened(supervisor()) as sessions:
        session, other = new_session(), new_session()
        await heard(sessions, "one", session, key="k")
        with pytest.raises(KeyReused):
            await heard(sessions, "two", session, key="k")
        assert text_of(await heard(sessions, "two", other, key="k")) == "two"


async def test_a_message_with_a_known_key_joins_after_a_restart(tmp_path: Path) -> None:
    gate = Gate(FunctionModel(echo), is_open=True)
    agent, session = supervisor(gate), new_session()
    async with opened(agent, SqliteStore(tmp_path / "chats.db")) as sessions:
        before = await heard(sessions, "one", session, key="k")
    async with opened(agent, SqliteStore(tmp_path / "chats.db")) as sessions:
        assert text_of(await heard(sessions, "one", session, key="k")) == "one"
        assert (
            await sessions.turn(ChatRequest(message="one", session_id=session), Resumption(after=before[-1].id)) is None
        )
        after = await heard(sessions, "one", session, key="k", after=before[0].id)
        assert names(after) == ["done"]
        assert text_of(await heard(sessions, "two", session)) == "one / two"
    assert gate.asked == 2


async def test_a_turn_that_nobody_reads_is_cancelled_after_a_grace() -> None:
    gate = Gate(FunctionModel(echo))
    async with opened(supervisor(gate), limits=SOON) as sessions, anyio.create_task_group() as group:
        kept, detached, dropped = new_session(), new_session(), new_session()

        async def read(session: str, scope: anyio.CancelScope, **how: Any) -> None:
            with scope:
                await heard(sessions, "one", session, **how)

        for session, how in ((kept, {"key": "k"}), (detached, {"detach": True}), (dropped, {})):
            scope, gate.reached = anyio.CancelScope(), anyio.Event()
            group.start_soon(partial(read, session, scope, **how))
            with anyio.fail_after(20):
                await gate.reached.wait()
            scope.cancel()
        assert await until_ended(sessions, dropped) is TaskStatus.CANCELLED
        gate.opened.set()
        assert await until_ended(sessions, kept) is TaskStatus.COMPLETED
        assert await until_ended(sessions, detached) is TaskStatus.COMPLETED
        turn = await sessions.last(dropped)
        assert turn is not None
        assert names([event async for event in turn.events()]) == ["error"]


async def test_a_turn_that_somebody_reads_again_is_not_cancelled() -> None:
    gate = Gate(FunctionModel(echo))
    async with opened(supervisor(gate)) as sessions, anyio.create_task_group() as group:
        session = new_session()
        group.start_soon(heard, sessions, "one", session)
        with anyio.fail_after(20):
            await gate.reached.wait()
        (turn,) = await sessions.turns(session)
        sessions._unread(turn)
        await sessions._left(turn, sessions._leavings[turn])
        assert (await turns_of(sessions, session))[0].is_open
        gate.opened.set()


async def test_the_grace_of_a_turn_begins_when_its_last_reader_has_left() -> None:
    gate = Gate(FunctionModel(echo))
    async with opened(supervisor(gate)) as sessions, anyio.create_task_group() as group:
        session, scope = new_session(), anyio.CancelScope()

        async def read() -> None:
            with scope:
                await heard(sessions, "one", session)

        group.start_soon(read)
        with anyio.fail_after(20):
            await gate.reached.wait()
            scope.cancel()
            (turn,) = await sessions.turns(session)
            while turn not in sessions._leavings:  # noqa: ASYNC110  # until its reader has left
                await anyio.sleep(0.005)
        first = sessions._leavings[turn]
        sessions._unread(turn)  # somebody has read it again, and left
        await sessions._left(turn, first)
        assert (await turns_of(sessions, session))[0].is_open
        await sessions._left(turn, sessions._leavings[turn])
        assert not (await turns_of(sessions, session))[0].is_open


async def test_a_turn_that_takes_too_long_is_cancelled() -> None:
    gate = Gate(FunctionModel(echo))
    async with opened(supervisor(gate), limits=TurnLimits(deadline=0.02)) as sessions:
        with anyio.fail_after(20):
            events = await heard(sessions, "one", new_session(), key="k")
    assert names(events) == ["error"]


async def test_a_turn_that_waits_for_a_person_is_not_cancelled() -> None:
    careful = WORKERS[0].model_copy(update={"needs_approval": True})
    model = ScriptedModel([call("ask_weather_agent", request="Miami?"), "Hot."])
    workers = (careful,)
    async with opened(supervisor(model, workers=workers), workers=workers) as sessions:
        session = new_session()
        await heard(sessions, "one", session, until=lambda event: event.name == "approval_requested")
        (turn,) = await sessions.turns(session)
        sessions._unread(turn)
        await sessions._left(turn, sessions._leavings[turn])
        await sessions._late(turn)
        assert await turns_of(sessions, session) == [TaskStatus.AWAITING_APPROVAL]


async def test_an_id_of_another_session_or_turn_is_refused() -> None:
    async with opened(supervisor()) as sessions:
        one, other = new_session(), new_session()
        first = await heard(sessions, "one", one, key="a")
        await heard(sessions, "two", one, key="b")
        with pytest.raises(InvalidEventId):
            await heard(sessions, "one", other, after=first[0].id)
        with pytest.raises(InvalidEventId):
            await heard(sessions, "two", one, key="b", after=first[0].id)
        with pytest.raises(InvalidEventId):
            await sessions.last(one, "nonsense")


async def test_without_a_key_a_reader_resumes_the_last_turn() -> None:
    async with opened(supervisor(both())) as sessions:
        session = new_session()
        events = await heard(sessions, "Both?", session)
        again = await heard(sessions, "Both?", session, after=events[2].id)
        assert text_of(events[:3] + again) == text_of(events)
        assert len(await sessions.turns(session)) == 1
        assert await sessions.last(new_session()) is None


async def test_a_turn_that_an_earlier_process_has_left_is_cancelled_if_nobody_comes_for_it(tmp_path: Path) -> None:
    gate, session, kept = Gate(FunctionModel(echo)), new_session(), new_session()
    agent = supervisor(ScriptedModel([call("ask_weather_agent", request="Miami?"), "Hot."]), weather=gate)
    async with opened(agent, SqliteStore(tmp_path / "chats.db"), grace=0) as sessions:
        await heard(sessions, "one", kept, key="k", until=lambda event: event.name == "worker_started")
        await heard(sessions, "one", session, until=lambda event: event.name == "worker_started")
    async with opened(agent, SqliteStore(tmp_path / "chats.db"), limits=SOON) as sessions:
        assert await until_ended(sessions, session) is TaskStatus.CANCELLED
        gate.opened.set()
        assert text_of(await heard(sessions, "one", kept, key="k")) == "Hot."


async def test_of_two_messages_at_once_one_is_refused_if_none_may_wait() -> None:
    gate = Gate(FunctionModel(echo))
    async with opened(supervisor(gate), limits=TurnLimits(waits=False)) as sessions:
        session, refused = new_session(), []

        async def say(text: str) -> None:
            try:
                await heard(sessions, text, session)
            except SessionBusy as error:
                refused.append(error.session_id)
                if len(refused) == 2:
                    gate.opened.set()

        async with anyio.create_task_group() as group:
            group.start_soon(say, "one")
            group.start_soon(say, "two")
            group.start_soon(say, "three")
        assert refused == [session, session]


async def test_what_goes_wrong_with_one_turn_does_not_stop_the_keeping_of_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    keeper, done = Keeper(anyio.current_time), anyio.Event()

    async def fail() -> None:
        raise OSError("the store is gone")

    async def succeed() -> None:
        done.set()

    async with anyio.create_task_group() as group:
        group.start_soon(keeper.run)
        keeper.after(0.001, fail)
        keeper.after(0.002, succeed)
        with anyio.fail_after(20):
            await done.wait()
        group.cancel_scope.cancel()
    assert "the store is gone" in caplog.text


@pytest.mark.long
async def test_fifty_sessions_of_twenty_turns_at_once_do_not_mix(tmp_path: Path) -> None:
    def lead(request: ModelRequest) -> ToolCall | str:
        asked = request.messages[-1].role == "user" and request.messages[-1].text.endswith("?")
        return call("ask_weather_agent", request=request.messages[-1].text) if asked else echo(request)

    weather = FunctionModel(lambda request: f"About {request.messages[-1].text}")
    async with opened(supervisor(FunctionModel(lead), weather=weather), SqliteStore(tmp_path / "chats.db")) as sessions:

        async def talk(number: int) -> None:
            session, said = new_session(), []
            for turn in range(20):
                said.append(f"{number}-{turn}{'?' if turn % 2 else '.'}")
                events = await heard(sessions, said[-1], session, key=str(turn))
                assert text_of(events) == " / ".join(said)
                answers = [each.worker_response for each in response_of(events, WORKERS).worker_details]
                assert answers == ([f"About {said[-1]}"] if turn % 2 else [])

        with anyio.fail_after(300):
            async with anyio.create_task_group() as group:
                for number in range(50):
                    group.start_soon(talk, number)


async def test_two_detached_messages_of_one_moment_are_two() -> None:
    async with opened(supervisor(), clock=lambda: 1_000.0) as sessions:
        session = new_session()
        await heard(sessions, "Miami?", session, detach=True)
        assert text_of(await heard(sessions, "Oslo?", session, detach=True)) == "Miami? / Oslo?"


async def test_sessions_that_cannot_begin_leave_no_task() -> None:
    agent = supervisor()
    runner = Runner(MemoryStore(), workflows=[agent])  # not entered
    before = len(anyio.get_running_tasks())
    with pytest.raises(RunnerNotOpen):
        await ChatSessions(runner, agent, WORKERS).__aenter__()
    assert len(anyio.get_running_tasks()) == before
