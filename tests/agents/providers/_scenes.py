"""What all scenarios share: where they take place, tools, and an agent's run in memory and in a store."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from anyio import fail_after
from tests.agents.providers._all import PROVIDERS
from tests.agents.providers._rules import Provider

from stagepost.agents import Agent, AgentResult, Tasks
from stagepost.checkpoint import CheckpointStore, MemoryStore
from stagepost.workflows import Runner

LOOKED: Final = '{"city":"Oslo","degrees":3}'


def everywhere(providers: Sequence[Provider] = PROVIDERS) -> list[pytest.MarkDecorator]:
    """Marks of a module of scenarios: each provider, whole and streamed."""
    return [
        pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"]),
        pytest.mark.parametrize("provider", providers, ids=[each.name for each in providers]),
        # What pydantic says of litellm's own code. litellm ignores the first when it is imported, and pytest undoes
        # that; the others nobody sees who has not asked for warnings of deprecation in other people's modules.
        pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
        pytest.mark.filterwarnings("ignore::DeprecationWarning:litellm"),
    ]


async def run(agent: Agent[Any], request: object = "How is the weather?", **options: Any) -> AgentResult[Any]:
    """An agent's run in memory."""
    with fail_after(10):
        return await agent.run(request, **options)


@asynccontextmanager
async def tasks_of(agent: Agent[Any], store: CheckpointStore | None = None) -> AsyncIterator[tuple[Tasks, Runner]]:
    """An agent's tasks in a store, by a process that waits for nothing when it ends."""
    with fail_after(10):
        async with store or MemoryStore() as opened, Runner(opened, workflows=[agent], grace=0) as runner:
            yield Tasks(runner), runner
