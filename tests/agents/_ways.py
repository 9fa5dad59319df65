"""The two ways in which an agent runs, for what has to be the same in both, and small parts of teams."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import pytest
from anyio import fail_after

from stagepost.agents import Agent, AgentResult, ModelRequest, ToolMessage
from stagepost.agents._loop._loop import AgentLoop
from stagepost.checkpoint import CheckpointStore, MemoryStore, RunStatus
from stagepost.workflows import PendingWait, Run, Runner

Way: TypeAlias = Callable[[Agent[Any]], Awaitable[AgentResult[Any]]]


@asynccontextmanager
async def working(
    agent: Agent[Any], *, store: CheckpointStore | None = None, clock: list[float] | None = None, **options: Any
) -> AsyncIterator[Runner]:
    """A runner that knows the agent, for ten seconds at most.

    Args:
        agent: The agent.
        store: An open store; a new one in memory if there is none.
        clock: What the runner's clock shows.
        options: Others of the runner.
    """
    now = [1_000_000.0] if clock is None else clock
    with fail_after(10):
        async with (
            MemoryStore() as own,
            Runner(store or own, workflows=[agent], clock=lambda: now[0], **options) as runner,
        ):
            yield runner


async def started(runner: Runner, agent: Agent[Any], request: str = "go") -> Run:
    """The agent's run ``r``."""
    workflow = agent.as_workflow()
    return await runner.start(workflow, workflow.accept(request), run_id="r")


async def the_wait(runner: Runner, run: Run) -> PendingWait:
    """The only thing that a run waits for, once nothing of it goes on."""
    assert await run.settled() is RunStatus.WAITING
    (wait,) = await runner.waits(run.id)
    return wait


async def result_of(run: Run, agent: Agent[Any]) -> AgentResult[Any]:
    """What a run has come to."""
    return loop_of(agent).result(await run.result())


def loop_of(agent: Agent[Any]) -> AgentLoop:
    """The workflow that does the agent's work, with what it knows of agents."""
    loop = agent.as_workflow()
    assert isinstance(loop, AgentLoop)
    return loop


async def in_memory(agent: Agent[Any]) -> AgentResult[Any]:
    with fail_after(10):
        return await agent.run("go")


async def durably(agent: Agent[Any]) -> AgentResult[Any]:
    async with working(agent) as runner:
        return await result_of(await started(runner, agent), agent)


both_ways = pytest.mark.parametrize("way", [in_memory, durably])


def told(request: ModelRequest) -> list[str]:
    """The results of tools that a request holds."""
    return [message.text for message in request.messages if isinstance(message, ToolMessage)]
