"""stagepost, as users get it: every check on, no observer."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, Literal

import anyio
from benchmarks.agents.crowd import BURST, TALKS, Ask, late
from benchmarks.agents.imports import importing
from benchmarks.agents.long import between_agents, conversation, follow_ups, in_memory, stored
from benchmarks.agents.long_runs import long_run
from benchmarks.agents.measure import Figures, Measure, Task, as_opened, cost, times
from benchmarks.agents.provider import MODEL, provider
from benchmarks.agents.task import ANSWER, ARGUMENTS, PROMPT, REQUEST, TURNS, add, call_id, check
from benchmarks.workflows.measure import database

from stagepost.agents import (
    Agent,
    AssistantMessage,
    FunctionModel,
    LiteLLM,
    Model,
    ModelRequest,
    ModelResponse,
    SystemMessage,
    Tasks,
    ToolCall,
    ToolMessage,
    UserMessage,
    call,
    tool,
)
from stagepost.checkpoint import CheckpointStore, MemoryStore, SqliteStore
from stagepost.hub import Hub
from stagepost.workflows import Runner

_RESPONSES: Final = (
    *(ModelResponse(calls=[ToolCall(id=call_id(n), name="add", arguments=text)]) for n, text in enumerate(ARGUMENTS)),
    ModelResponse(ANSWER),
)


class Scripted:
    """A model that answers at once."""

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """The answer that comes next."""
        return _RESPONSES[sum(isinstance(message, AssistantMessage) for message in request.messages)]


def _adder(model: Model | None = None) -> Agent[str]:
    return Agent("adder", prompt=PROMPT, model=model or Scripted(), tools=[add])


def loop(scale: float) -> Figures:
    """The cost of a turn in memory."""
    agent = _adder()

    async def run() -> None:
        check((await agent.run(REQUEST)).output)

    return cost(as_opened(run), times(500, scale), parts=TURNS)


@asynccontextmanager
async def _served(store: CheckpointStore, model: Model | None = None) -> AsyncIterator[Ask]:
    """Requests through a hub to an agent that a runner serves."""
    async with store, Hub() as hub, Runner(store, hub=hub) as runner:
        await runner.serve(_adder(model))

        async def ask(_client: str) -> None:
            check(await hub.request("adder", REQUEST, timeout=None))

        yield ask


@asynccontextmanager
async def _asking(store: CheckpointStore) -> AsyncIterator[Task]:
    """One client."""
    async with _served(store) as ask:
        yield partial(ask, "one")


def memory_store(scale: float) -> Figures:
    """The cost of a turn that is kept in memory."""
    return cost(partial(_asking, MemoryStore()), times(300, scale), parts=TURNS)


def saved(durability: Literal["process", "power"], scale: float) -> Figures:
    """The cost of a turn that is on disk before the next one begins."""
    with database() as path:
        return cost(partial(_asking, SqliteStore(path, durability=durability)), times(100, scale), parts=TURNS)


@asynccontextmanager
async def _sleeping(seconds: float) -> AsyncIterator[Ask]:
    """An agent on a database, with a model that is nothing but the time that it takes."""

    async def answer(request: ModelRequest) -> str | ToolCall:
        await anyio.sleep(seconds)
        return ANSWER if isinstance(request.messages[-1], ToolMessage) else call("add", a=1, b=2)

    with database() as path:
        async with _served(SqliteStore(path), FunctionModel(answer)) as ask:
            yield ask


@asynccontextmanager
async def _talking(seconds: float) -> AsyncIterator[Ask]:
    """An agent on a database, with a model that litellm asks over HTTP."""
    with database() as path, provider() as url:
        async with _litellm(url, seconds) as model, _served(SqliteStore(path), model) as ask:
            yield ask


def _litellm(url: str, seconds: float = 0.0) -> LiteLLM:
    options = {"user": str(seconds)}
    return LiteLLM(f"openai/{MODEL}", api_base=url, api_key="none", timeout=None, options=options)


def model_call(scale: float) -> Figures:
    """The cost of a model's answer through litellm."""
    request = ModelRequest((SystemMessage(text=PROMPT), UserMessage(text=REQUEST)), [tool(add).schema])

    @asynccontextmanager
    async def opened() -> AsyncIterator[Task]:
        with provider() as url:
            async with _litellm(url) as model:
                yield partial(model.answer, request)

    return cost(opened, times(200, scale))


async def _in_memory(agent: Agent[str]) -> None:
    await agent.run(REQUEST)


async def _on_disk(agent: Agent[str]) -> None:
    with database() as path:
        async with SqliteStore(path, durability="process") as store, Runner(store, workflows=[agent]) as runner:
            await (await Tasks(runner).start(agent, REQUEST)).result()


MEASURES: Mapping[str, Measure] = {
    "loop": loop,
    "memory store": memory_store,
    "process": partial(saved, "process"),
    "power": partial(saved, "power"),
    "call": model_call,
    "talks": partial(late, _sleeping, TALKS),
    "burst": partial(late, _sleeping, BURST),
    "talks over HTTP": partial(late, _talking, TALKS),
    "burst over HTTP": partial(late, _talking, BURST),
    "talk of 500": partial(stored, conversation, 500),
    "talk of 5,000": partial(stored, conversation, 5_000),
    "500 follow-ups": partial(stored, follow_ups, 500),
    "500 messages": partial(between_agents, 500),
    "5,000 in memory": partial(in_memory, 5_000),
    "long run": partial(long_run, _in_memory),
    "long run on disk": partial(long_run, _on_disk),
    "imports": partial(importing, ["stagepost.agents"]),
}
