"""Conversations of somebody outside with an agent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from tests.agents._weather import REPORT, Query, Report, look, results
from tests.agents.test_tasks import Door, Held, mail, said, until
from tests.workflows._words import running

from stagepost.agents import (
    Agent,
    Allow,
    AssistantMessage,
    ConversationOver,
    FunctionModel,
    InvalidRequest,
    NotAnAgent,
    ScriptedModel,
    TaskNotFinished,
    Tasks,
    UserMessage,
    call,
    converse,
)
from stagepost.agents._loop._loop import AgentLoop
from stagepost.agents._tasks._turns import Turns
from stagepost.checkpoint import LabelRefused, MemoryStore
from stagepost.hub import InvalidName
from stagepost.workflows import Chain, DefinitionError, RunConflict, RunFailed, Runner, Sleep, WorkflowNotFound


class Clock:
    """A time that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def echo() -> Agent[str]:
    """Says what was said to it so far."""
    return Agent("echo", prompt="", model=FunctionModel(lambda request: " / ".join(said(request))))


@asynccontextmanager
async def echoing(store: MemoryStore | None = None, **options: Any) -> AsyncIterator[Runner]:
    async with running(store or MemoryStore(), echo(), **options) as runner:
        yield runner


async def test_each_message_is_answered_with_what_was_said_before() -> None:
    async with echoing() as runner, converse(runner, "echo") as talk:
        assert talk.messages == ()
        first = await talk.send("a")
        assert talk.messages == first.messages == (UserMessage(text="a"), AssistantMessage(text="a"))
        second = await talk.send("b")
        assert (first.output, second.output, second.turns) == ("a", "a / b", 1)
        assert talk.messages == second.messages
        assert len(second.messages) == 4
        tasks = Tasks(runner)
        assert [(await tasks.get(f"{talk.id}-{number}")).output for number in (0, 1)] == ["a", "a / b"]


async def test_an_agent_with_types_is_spoken_to_in_them() -> None:
    model = ScriptedModel([REPORT, REPORT])
    agent = Agent("weather", prompt="Of {city}.", model=model, input=Query, output=Report)
    async with running(MemoryStore(), agent) as runner, converse(runner, agent) as talk:
        assert (await talk.send(Query(city="Oslo"))).output.degrees == 3
        with pytest.raises(InvalidRequest):
            await talk.send({"town": "Rome"})
        assert (await talk.send("And tomorrow?")).output == Report(city="Oslo", degrees=3)
    assert [request.messages[0].text for request in model.requests] == ["Of Oslo."] * 2


async def test_a_conversation_goes_on_in_another_process() -> None:
    store = MemoryStore()
    async with echoing(store) as runner, converse(runner, "echo", id="c") as talk:
        for text in "abcdef":
            await talk.send(text)
    async with echoing(store) as runner, converse(runner, "echo", id="c") as talk:
        assert len(talk.messages) == 12
        assert (await talk.send("g")).output == "a / b / c / d / e / f / g"


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 7, 8, 9])
async def test_the_last_turn_is_found_whatever_its_number(turns: int) -> None:
    store = MemoryStore()
    async with echoing(store) as runner:
        async with converse(runner, "echo", id="c") as talk:
            for number in range(turns):
                await talk.send(str(number))
        async with converse(runner, "echo", id="c") as talk:
            assert len(talk.messages) == 2 * turns
            assert (await talk.send("last")).output.count("/") == turns


async def test_messages_sent_at_once_are_answered_one_after_the_other() -> None:
    async with echoing() as runner, converse(runner, "echo") as talk:
        async with anyio.create_task_group() as group:
            for text in "abc":
                group.start_soon(talk.send, text)
        assert sorted(said_in(talk.messages)) == ["a", "b", "c"]
        assert talk.messages[-1] == AssistantMessage(text=" / ".join(said_in(talk.messages)))


async def test_a_conversation_that_is_open_twice_is_one() -> None:
    async with echoing() as runner:
        async with (
            converse(runner, "echo", id="c") as one,
            converse(runner, "echo", id="c") as other,
            anyio.create_task_group() as group,
        ):
            for talk in (one, other, one, other):
                group.start_soon(talk.send, "same")
        async with converse(runner, "echo", id="c") as talk:
            assert said_in(talk.messages) == ["same"] * 4
            assert (await one.send("more")).output == " / ".join([*["same"] * 4, "more"])


async def test_fifty_conversations_with_one_agent_never_mix() -> None:
    outputs: dict[int, list[str]] = {}

    async def speak(number: int) -> None:
        async with converse(runner, "echo") as talk:
            outputs[number] = [(await talk.send(f"{number}{part}")).output for part in "ab"]

    async with echoing() as runner, anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(speak, number)
    assert outputs == {number: [f"{number}a", f"{number}a / {number}b"] for number in range(50)}


async def test_an_idle_conversation_is_over_also_for_those_who_open_it_again() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    async with echoing(store, clock=clock) as runner, converse(runner, "echo", id="c") as talk:
        await talk.send("a")
        clock.now += 300
        await talk.send("b")
        clock.now += 301
        with pytest.raises(ConversationOver, match=r"more than 300 s; start another one with converse"):
            await talk.send("c")
    async with echoing(store, clock=clock) as runner:
        async with converse(runner, "echo", id="c") as talk:
            assert said_in(talk.messages) == ["a", "b"]
            with pytest.raises(ConversationOver):
                await talk.send("c")
        async with converse(runner, "echo", id="c", idle=None) as talk:
            assert (await talk.send("c")).output == "a / b / c"


async def test_a_conversation_that_others_keep_alive_is_not_over() -> None:
    clock = Clock()
    async with (
        echoing(MemoryStore(clock=clock), clock=clock) as runner,
        converse(runner, "echo", id="c") as one,
        converse(runner, "echo", id="c") as other,
    ):
        await one.send("a")
        clock.now += 200
        await other.send("b")
        clock.now += 200
        assert (await one.send("c")).output == "a / b / c"


@pytest.mark.parametrize("texts", ["", "ab"], ids=["nothing said", "something said"])
async def test_a_conversation_is_ended_for_good(texts: str) -> None:
    store = MemoryStore()
    async with (
        echoing(store) as runner,
        converse(runner, "echo", id="c") as talk,
        converse(runner, "echo", id="c") as other,
    ):
        for text in texts:
            await talk.send(text)
        await talk.end()
        await talk.end()
        for ended in (talk, other):
            with pytest.raises(ConversationOver, match="somebody has ended it"):
                await ended.send("c")
        assert said_in(talk.messages) == [*texts]
    async with echoing(store) as runner, converse(runner, "echo", id="c", idle=None) as talk:
        assert said_in(talk.messages) == [*texts]
        with pytest.raises(ConversationOver):
            await talk.send("c")


async def test_an_end_waits_for_what_is_being_said() -> None:
    door = Door()
    model = Held(["one"], {0: door})
    async with (
        running(MemoryStore(), Agent("slow", prompt="", model=model)) as runner,
        converse(runner, "slow", id="c") as talk,
        converse(runner, "slow", id="c") as other,
    ):
        async with anyio.create_task_group() as group:
            group.start_soon(talk.send, "a")
            await door.entered.wait()
            group.start_soon(other.end)
            door.open.set()
        assert said_in(other.messages) == ["a"]
        with pytest.raises(ConversationOver):
            await talk.send("b")


async def test_a_message_that_does_not_wait_is_refused_while_another_is_answered_and_joins_with_its_key() -> None:
    door = Door()
    agent = Agent("slow", prompt="", model=Held(["one", "two"], {0: door}))
    async with running(MemoryStore(), agent) as runner, converse(runner, "slow", id="c", waits=False) as talk:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(talk.send, "a", key="k"))
            await door.entered.wait()
            other = converse(runner, "slow", id="c", waits=False)
            for key in (None, "another"):
                with pytest.raises(TaskNotFinished):
                    await other.send("b", key=key)
            with pytest.raises(RunConflict):
                await other.send("b", key="k")
            async with other.stream("a", key="k") as stream:
                assert stream.task_id == "c-0"
            door.open.set()
        assert (await other.send("b")).output == "two"


async def test_a_message_with_a_key_is_said_once() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    async with echoing(store, clock=clock) as runner, converse(runner, "echo", id="c") as talk:
        for _ in range(2):
            assert (await talk.send("a", key="k1")).output == "a"
        assert (await talk.send("b", key="k2")).output == "a / b"
        assert (await talk.send("a", key="k1")).output == "a"
        assert (await talk.send("c")).output == "a / b / c"
        with pytest.raises(RunConflict):
            await talk.send("another", key="k1")
        assert (await talk.send("d", key="k3")).output == "a / b / c / d"
        await talk.end()
        assert (await talk.send("d", key="k3")).output == "a / b / c / d"
    clock.now += 1000
    async with echoing(store, clock=clock) as runner, converse(runner, "echo", id="c") as talk:
        assert (await talk.send("d", key="k3")).output == "a / b / c / d"
        with pytest.raises(ConversationOver):
            await talk.send("a", key="k1")
        assert said_in(talk.messages) == ["a", "b", "c", "d"]


async def test_a_turn_that_has_failed_stays_in_the_transcript() -> None:
    model = ScriptedModel(["fine", call("look", city="Oslo"), OSError("down"), "again fine"])
    async with (
        running(MemoryStore(), Agent("w", prompt="", model=model, tools=[look])) as runner,
        converse(runner, "w") as talk,
    ):
        await talk.send("a")
        with pytest.raises(RunFailed):
            await talk.send("b", key="k")
        with pytest.raises(RunFailed):
            await talk.send("b", key="k")
        result = await talk.send("c")
    assert result.output == "again fine"
    assert said(model.requests[-1]) == ["a", "b", "c"]
    assert len(results(result)) == 1


async def test_a_turn_that_was_cancelled_stays_in_the_transcript() -> None:
    model = ScriptedModel([call("mail", to="eve"), "fine"])
    async with running(MemoryStore(), Agent("m", prompt="", model=model, tools=[mail])) as runner:
        tasks = Tasks(runner)
        async with converse(runner, "m", id="c") as talk:
            await impatiently(tasks, talk.send, "a")
            assert [wanted.task_id for wanted in await tasks.approvals()] == ["c-0"]
            async with anyio.create_task_group() as group:
                group.start_soon(talk.send, "b")
                await tasks.cancel("c-0")
            assert said_in(talk.messages) == ["a", "b"]
            assert [result.text for result in results(list(talk.messages))] == ["not called: the run ended before"]


async def test_an_answer_waits_for_an_approval_also_of_somebody_who_comes_back() -> None:
    store = MemoryStore()

    def agent() -> Agent[str]:
        return Agent("m", prompt="", model=ScriptedModel([call("mail", to="eve"), "sent", "bye"]), tools=[mail])

    async with running(store, agent()) as runner, converse(runner, "m", id="c") as talk:
        await impatiently(Tasks(runner), talk.send, "a")
    async with running(store, agent()) as runner, converse(runner, "m", id="c") as talk:
        assert said_in(talk.messages) == ["a"]
        (wanted,) = await Tasks(runner).approvals()
        async with anyio.create_task_group() as group:
            group.start_soon(talk.send, "b")
            await Tasks(runner).decide(wanted.id, Allow())
        assert said_in(talk.messages) == ["a", "b"]
        assert [result.text for result in results(list(talk.messages))] == ["sent to eve"]


async def test_a_turn_that_nobody_works_on_is_taken_up_by_whoever_waits_for_it() -> None:
    store, door = MemoryStore(), Door()
    model = Held(["one"], {0: door})
    agent = Agent("slow", prompt="", model=model)
    async with (
        running(store, agent, grace=0) as runner,
        converse(runner, "slow", id="c") as talk,
        anyio.create_task_group() as group,
    ):
        group.start_soon(talk.send, "a")
        await door.entered.wait()
        group.cancel_scope.cancel()
    door.open.set()
    async with running(store, agent) as runner:
        loop = agent.as_workflow()
        assert isinstance(loop, AgentLoop)
        last = await Turns(runner, loop, "c").last(-1)
    assert last is not None
    assert last.state is not None
    assert last.state["output"] == "one"


async def test_runs_with_the_names_of_turns_are_not_taken_for_turns() -> None:
    other = Agent("other", prompt="", model=ScriptedModel(["x"] * 9))
    sleeping = Chain("sleeping", [Sleep("sleep", 0)])
    async with running(MemoryStore(), echo(), other, sleeping) as runner:
        async with converse(runner, "other", id="c") as talk:
            await talk.send("a")
        with pytest.raises(RunConflict, match="'other'"):
            async with converse(runner, "echo", id="c"):
                pass
        await (await Tasks(runner).start("echo", "a", task_id="d-0")).result()
        with pytest.raises(RunConflict, match="not part of conversation 'd'"):
            async with converse(runner, "echo", id="d"):
                pass
        for name, start in (
            ("echo", Tasks(runner).start("echo", "a", task_id="e-0")),
            ("x", runner.start(sleeping, run_id="f-0")),
        ):
            async with converse(runner, "echo", id="e" if name == "echo" else "f") as talk:
                await start
                for key in (None, "k"):
                    with pytest.raises(RunConflict):
                        await talk.send("a", key=key)


async def test_a_conversation_that_cannot_be_is_refused() -> None:
    chain = Chain("chain", [Sleep("sleep", 0)])
    async with running(MemoryStore(), echo(), chain) as runner:
        with pytest.raises(WorkflowNotFound, match="nobody"):
            converse(runner, "nobody")
        with pytest.raises(NotAnAgent, match="chain"):
            converse(runner, "chain")
        with pytest.raises(InvalidName):
            converse(runner, "echo", id="a/b")
        with pytest.raises(ValueError, match="at most 80"):
            converse(runner, "echo", id="a" * 81)
        with pytest.raises(LabelRefused, match="'conversation' is what converse"):
            converse(runner, "echo", labels={"conversation": "mine"})
        async with converse(runner, echo()) as talk:
            with pytest.raises(DefinitionError):
                await talk.send("a")
        assert "with echo" in repr(talk)


async def impatiently(tasks: Tasks, send: Any, text: str) -> None:
    """Say something, and give up waiting when the answer needs an approval."""
    async with anyio.create_task_group() as group:
        group.start_soon(send, text)
        await until(tasks.approvals)
        group.cancel_scope.cancel()


def said_in(messages: Any) -> list[str]:
    return [message.text for message in messages if isinstance(message, UserMessage)]
