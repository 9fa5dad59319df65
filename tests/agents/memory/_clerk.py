"""An agent with a memory, and what its runs come to."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

from anyio import fail_after

from stagepost.agents import (
    Agent,
    AgentResult,
    Memory,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    ToolMessage,
)
from stagepost.checkpoint import MemoryStore, SqliteStore
from stagepost.workflows import Runner

Store: TypeAlias = MemoryStore | SqliteStore
ANN: Mapping[str, str] = {"customer": "ann"}
BOB: Mapping[str, str] = {"customer": "bob"}
BY_CUSTOMER = Memory(label="customer")


def clerk(*script: ScriptEntry, memory: Any = BY_CUSTOMER, **options: Any) -> Agent[str]:
    """The agent."""
    return Agent("clerk", "Help.", model=ScriptedModel([*script, "done"]), tools=[memory], **options)


@asynccontextmanager
async def serving(store: Store, agent: Agent[Any], **options: Any) -> AsyncIterator[Tasks]:
    """Tasks of an agent on a store that is open already."""
    with fail_after(20):
        async with Runner(store, workflows=[agent], **options) as runner:
            yield Tasks(runner)


async def told(
    store: Store, *script: ScriptEntry, labels: Mapping[str, str] = ANN, memory: Any = BY_CUSTOMER, **options: Any
) -> Sequence[str]:
    """The results of the calls of a script, in a run of its own."""
    agent = clerk(*script, memory=memory)
    async with serving(store, agent, **options) as tasks:
        run = await tasks.start(agent, "Hello.", labels=labels)
        return results((await run.result())["messages"])


def results(messages: Sequence[object]) -> Sequence[str]:
    """The results of calls, those of errors marked."""
    return [
        f"error: {message.text}" if message.is_error else message.text
        for message in messages
        if isinstance(message, ToolMessage)
    ]


def file_store(folder: Path) -> SqliteStore:
    return SqliteStore(folder / "runs.db")


__all__ = ["ANN", "BOB", "AgentResult", "clerk", "file_store", "results", "serving", "told"]
