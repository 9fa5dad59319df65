"""The laws of recovery, at every commit: the process dies before it or right behind it."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from anyio import fail_after
from tests.agents._weather import results

from stagepost.agents import Agent, AssistantMessage, ModelRequest, ModelResponse, ScriptedModel, call, tool
from stagepost.checkpoint import CheckpointError, Commit, MemoryStore, StoreFailed
from stagepost.workflows import Runner, RunnerStopped

# 1 answer, 2 frozen, 3-5 a beginning and two results, 6 joined, 7 answer and beginning, 8 result, 9 answer and the end
COMMITS = 9
FIRST_UNDER_WAY, SECOND_UNDER_WAY = range(3, 5), range(7, 8)
Instant = Literal["before", "behind"]


class MortalStore(MemoryStore):
    """Takes so many commits; at the next one the process is dead."""

    def __init__(self) -> None:
        super().__init__()
        self.commits = 0
        self.last: int | None = None
        self.instant: Instant = "before"

    async def commit(self, commit: Commit) -> None:
        self.commits += 1
        if self.last is not None and self.commits > self.last + (self.instant == "behind"):
            raise StoreFailed(Path("memory"), "dead")
        await super().commit(commit)
        if self.last is not None and self.commits > self.last:
            raise StoreFailed(Path("memory"), "dead")


class World:
    """What outlives a process: its effects, and how often the model was asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.looked = 0
        self.sent: list[str] = []

    def agent(self) -> Agent[str]:
        """The agent as a new process would build it."""

        @tool(idempotent=True)
        async def look() -> str:
            self.looked += 1
            return "seen"

        @tool
        async def send(to: str) -> str:
            self.sent.append(to)
            return f"sent to {to}"

        both = [call("look"), call("send", to="ann")]
        script = ScriptedModel([both, [call("send", to="bob")], "done"])
        world = self

        class Asked:
            async def answer(self, request: ModelRequest) -> ModelResponse:
                world.asked.append(sum(isinstance(message, AssistantMessage) for message in request.messages))
                return await script.answer(request)

        return Agent("mailer", prompt="", model=Asked(), tools=[look, send])


async def live(store: MemoryStore, agent: Agent[str]) -> tuple[str, list[str]] | None:
    """One process: starts the run or goes on with it. None if it died."""
    loop = agent.as_workflow()
    async with store, Runner(store, workflows=[loop], grace=0) as runner:
        report = await runner.recover()
        try:
            run = report.resumed[0] if report.resumed else await runner.start(loop, loop.accept("go"), run_id="r")
            state = await run.result()
        except (CheckpointError, RunnerStopped):
            return None
        return state["output"], [message.text for message in results(state["messages"])]


async def test_an_uninterrupted_run_takes_so_many_commits() -> None:
    store, world = MortalStore(), World()
    with fail_after(5):
        end = await live(store, world.agent())
    assert end == ("done", ["seen", "sent to ann", "sent to bob"])
    assert store.commits == COMMITS
    assert (world.asked, world.looked, world.sent) == ([0, 1, 2], 1, ["ann", "bob"])


@pytest.mark.in_turns
@pytest.mark.parametrize("successor", ["process", "runner"])
@pytest.mark.parametrize("instant", ["before", "behind"])
@pytest.mark.parametrize("last", range(COMMITS))
async def test_p7_wherever_a_process_dies_the_next_one_ends_as_it_could_have(
    last: int, instant: Instant, successor: Literal["process", "runner"]
) -> None:
    store, world = MortalStore(), World()
    agent = world.agent()
    store.last, store.instant = last, instant
    with fail_after(5):
        assert await live(store, agent) is None
        store.last = None
        end = await live(store, world.agent() if successor == "process" else agent)
    assert end is not None
    output, (looked, *mails) = end
    assert (output, looked) == ("done", "seen")
    assert len(world.sent) == len(set(world.sent)), "an effect was made twice"
    saved = last + (instant == "behind")
    for to, text, under_way in zip(("ann", "bob"), mails, (FIRST_UNDER_WAY, SECOND_UNDER_WAY), strict=True):
        interrupted = text.startswith("interrupted, outcome unknown")
        assert interrupted or (text == f"sent to {to}" and to in world.sent)
        assert saved in under_way or not interrupted
    assert world.looked <= 2
    assert sorted(set(world.asked)) == [0, 1, 2]
    assert len(world.asked) <= 4, "an answer that was committed was asked for again"


async def test_p7_two_crashes_in_a_row_change_nothing() -> None:
    store, world = MortalStore(), World()
    with fail_after(5):
        for last in (4, 7):
            store.last = last
            assert await live(store, world.agent()) is None
        store.last = None
        end = await live(store, world.agent())
    assert end is not None
    assert len(world.sent) == len(set(world.sent))


async def test_p7_call_of_a_tool_that_is_gone_behind_a_crash_is_in_doubt_all_the_same() -> None:
    store, world = MortalStore(), World()
    store.last = 7  # the second mail is begun
    with fail_after(5):
        assert await live(store, world.agent()) is None
        store.last = None
        agent = world.agent()
        end = await live(store, replace(agent, tools=[each for each in agent.tools if each.name != "send"]))
    assert end is not None
    assert end[1][-1].startswith("interrupted, outcome unknown")
