"""Long conversations: what a turn costs at their end, what their file takes, and how long it takes to open them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Final, NamedTuple, TypeAlias

import anyio
from benchmarks.agents.measure import Figures, frozen, times
from benchmarks.workflows.measure import database

from stagepost.agents import Agent, AgentResult, Budget, FunctionModel, ModelRequest, Tasks, ToolCall, call, converse
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

Say: TypeAlias = Callable[[], Awaitable[object]]
"""One turn: 480 bytes each way."""
Talking: TypeAlias = Callable[[Runner], AbstractAsyncContextManager[Say]]

_SAID: Final = "x" * 480
_ANSWERED: Final = "y" * 480
_ID: Final = "talk"
_AGENT: Final = Agent("echo", prompt="Answer.", model=FunctionModel(lambda _: _ANSWERED))


class _Taken(NamedTuple):
    """Seconds of processor and clock."""

    cpu: float
    wall: float

    @classmethod
    def now(cls) -> "_Taken":
        """What has passed of both."""
        return cls(process_time(), perf_counter())

    def since(self, before: "_Taken") -> "_Taken":
        """What has passed since then."""
        return _Taken(self.cpu - before.cpu, self.wall - before.wall)


@asynccontextmanager
async def conversation(runner: Runner) -> AsyncIterator[Say]:
    """Somebody outside, and an agent."""
    async with converse(runner, _AGENT, id=_ID, idle=None) as talk:
        yield lambda: talk.send(_SAID)


@asynccontextmanager
async def follow_ups(runner: Runner) -> AsyncIterator[Say]:
    """A task, and those that continue it."""
    tasks, last = Tasks(runner), ""

    async def say() -> None:
        nonlocal last
        run = await (tasks.follow_up(last, _SAID) if last else tasks.start(_AGENT, _SAID))
        await run.result()
        last = run.id

    yield say


def stored(talking: Talking, turns: int, scale: float) -> Figures:
    """Turns one after the other, each saved before the next one begins; then the conversation is opened anew."""

    async def talk(path: Path) -> Sequence[_Taken]:
        async with _running(path, _AGENT) as runner, talking(runner) as say:
            return await _each(say, times(turns, scale))

    async def again(path: Path) -> float:
        async with _running(path, _AGENT) as runner:
            await anyio.sleep(0.1)  # it looks for what it has to do
            start = perf_counter()
            async with talking(runner):
                return perf_counter() - start

    with database() as path:
        taken = anyio.run(talk, path)
        return _figures(taken, path.stat().st_size, anyio.run(again, path))


def in_memory(turns: int, scale: float) -> Figures:
    """Runs in memory, each after the other."""

    async def talk() -> Sequence[_Taken]:
        result: AgentResult[str] | None = None

        async def say() -> None:
            nonlocal result
            result = await _AGENT.run(_SAID, after=result)

        return await _each(say, times(turns, scale))

    return _figures(anyio.run(talk))


def between_agents(turns: int, scale: float) -> Figures:
    """Messages of one agent to another, in one run: each is answered twice, by the other one and by itself."""
    wanted, taken = times(turns, scale), list[_Taken]()

    def lead(_: ModelRequest) -> str | ToolCall:
        taken.append(_Taken.now())
        if len(taken) > wanted:
            return "done"
        if len(taken) == 1:
            return call("message_agent", message=_SAID, agent_name="echo")
        return call("message_agent", message=_SAID, conversation_id="echo-0-0")

    async def talk(path: Path) -> None:
        budget = Budget(turns=2 * wanted + 2, tool_calls=wanted)
        agent = Agent("lead", prompt="Ask.", model=FunctionModel(lead), sub_agents=[_AGENT], budget=budget)
        async with _running(path, agent) as runner:
            with frozen():
                await (await Tasks(runner).start(agent, "Go on.")).result()

    with database() as path:
        anyio.run(talk, path)
        each = [after.since(before) for before, after in pairwise(taken)]
        return _figures(each, path.stat().st_size)


@asynccontextmanager
async def _running(path: Path, agent: Agent[str]) -> AsyncIterator[Runner]:
    async with SqliteStore(path, durability="process") as store, Runner(store, workflows=[agent]) as runner:
        yield runner


async def _each(say: Say, turns: int) -> Sequence[_Taken]:
    """What each of some turns takes."""
    taken: list[_Taken] = []
    with frozen():
        for _ in range(turns):
            before = _Taken.now()
            await say()
            taken.append(_Taken.now().since(before))
    return taken


def _figures(taken: Sequence[_Taken], size: int = 0, opened: float = 0.0) -> Figures:
    early, late = taken[10:20] or taken, taken[-len(taken) // 5 :]
    cpu, wall = (median(turn[clock] for turn in late) for clock in (0, 1))
    return {
        "cpu": cpu,
        "wall": wall,
        "cpu growth": cpu / median(turn.cpu for turn in early),
        "wall growth": wall / median(turn.wall for turn in early),
        "size": size,
        "opened": opened,
    }
