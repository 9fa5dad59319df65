"""How long conversations last without a message, and what is told of it meanwhile."""

import math
from datetime import timedelta
from typing import Any

import pytest
from tests.agents.test_converse import Clock, echoing
from tests.agents.test_messaging import echo, lead
from tests.workflows._words import running

from stagepost.agents import Agent, Agents, ConversationOver, FunctionModel, InvalidAgent, Tasks, call, converse
from stagepost.checkpoint import MemoryStore
from stagepost.hub import InvalidArgument
from stagepost.workflows import Runner


def started(**options: Any) -> Agent[str]:
    return lead(call("message_agent", agent_name="echo", message="one"), "done", **options)


def patient(idle: float | timedelta | None) -> Agent[str]:
    return Agent("echo", prompt="", model=FunctionModel(lambda _: "yes"), idle=idle)


async def complete(runner: Runner) -> bool:
    (conversation,) = (await Tasks(runner).get("t")).conversations
    return conversation.is_complete


@pytest.mark.parametrize(
    ("agent", "seconds"),
    [
        pytest.param(started(), 300, id="five minutes, where nobody says anything"),
        pytest.param(started(sub_agents=[patient(10)]), 10, id="as the agent says"),
        pytest.param(started(sub_agents=[patient(timedelta(hours=2))]), 7200, id="a timedelta"),
        pytest.param(started(idle=20), 20, id="as the agent above says"),
        pytest.param(started(idle=20, sub_agents=[patient(10)]), 10, id="as the agent says, not the one above"),
        pytest.param(started(idle=20, sub_agents=[patient(math.inf)]), math.inf, id="for ever"),
        pytest.param(Agents([started()], idle=30)["lead"], 30, id="as the team says"),
        pytest.param(Agents([started(sub_agents=["echo"]), patient(40)], idle=30)["lead"], 40, id="not as the team"),
    ],
)
async def test_a_conversation_is_complete_when_its_idle_time_is_up(agent: Agent[Any], seconds: float) -> None:
    clock = Clock()
    async with running(MemoryStore(clock=clock), agent, clock=clock) as runner:
        run = await Tasks(runner).start("lead", "go", task_id="t")
        await run.result()
        assert not await complete(runner)
        clock.now += min(seconds, 1e6)
        assert not await complete(runner)
        clock.now += 1
        assert await complete(runner) is (seconds < math.inf)
    store = MemoryStore(clock=clock)
    async with running(store, agent, clock=clock) as runner, converse(runner, agent) as talk:
        assert not talk.is_complete


async def test_what_a_run_lists_as_its_conversations_is_complete_when_the_time_is_up() -> None:
    clock = Clock()
    agent = started()
    async with running(MemoryStore(clock=clock), agent, clock=clock) as runner, converse(runner, agent) as talk:
        result = await talk.send("go")
        assert [each.is_complete for each in result.conversations] == [False]
        clock.now += 301
        assert [each.is_complete for each in result.conversations] == [True]
    result = await started(sub_agents=[patient(math.inf)]).run("go")
    assert [each.is_complete for each in result.conversations] == [False]


async def test_a_conversation_with_a_caller_lasts_as_long_as_the_agent_says() -> None:
    clock = Clock()
    agent = patient(10)
    async with (
        running(MemoryStore(clock=clock), agent, clock=clock) as runner,
        converse(runner, "echo", id="c") as talk,
        converse(runner, "echo", id="c", idle=50) as longer,
        converse(runner, "echo", id="c", idle=None) as endless,
    ):
        await talk.send("a")
        clock.now += 11
        assert talk.is_complete
        with pytest.raises(ConversationOver, match="more than 10 s"):
            await talk.send("b")
        await longer.send("b")
        clock.now += 51
        assert (talk.is_complete, longer.is_complete) == (True, True)
        with pytest.raises(ConversationOver, match="more than 50 s"):
            await longer.send("c")
        await endless.send("c")
        assert not endless.is_complete
        await endless.end()
        assert endless.is_complete


async def test_an_idle_time_that_is_none_is_refused() -> None:
    for wrong in (-1, math.nan, "soon", True):
        with pytest.raises(InvalidAgent, match="idle="):
            Agent("echo", prompt="", idle=wrong)  # type: ignore[arg-type]  # what is tested
        with pytest.raises(InvalidArgument, match="idle"):
            Agents([echo], idle=wrong)  # type: ignore[arg-type]  # what is tested
    async with echoing() as runner:
        with pytest.raises(InvalidArgument, match="idle"):
            converse(runner, "echo", idle=-1)


def test_a_team_keeps_agents_that_say_how_long() -> None:
    agent, other = patient(5), Agent("other", prompt="")
    agents = Agents([agent, other], idle=7)
    assert agents["echo"] is agent
    assert (other.idle, agents["other"].idle) == (None, 7)


def test_the_idle_time_is_described_and_loaded() -> None:
    agents = Agents.load(
        {"agents": [{"name": "a", "prompt": "", "idle": 12.5}, {"name": "b", "prompt": ""}]}, idle=math.inf
    )
    assert [agents[name].idle for name in "ab"] == [12.5, math.inf]
    assert [agents[name].describe()["idle"] for name in "ab"] == [12.5, "inf"]
    assert "idle" not in Agent("c", prompt="").describe()
