"""Webhooks whose tasks say what a test lets them say."""

import base64
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import anyio
from anyio import fail_after
from tests.agents.webhooks._receiver import Got

from stagepost.agents import (
    Agent,
    MessageSaid,
    ModelRequest,
    ModelResponse,
    Retries,
    ScriptedModel,
    StreamPart,
    TaskCompleted,
    Tasks,
    TurnBegan,
    Webhook,
    Webhooks,
)
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import Runner

SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()
SOON = Retries(attempts=3, first=0.001, most=0.002, jitter=0)
PATIENT = Retries(attempts=3, first=3600, most=3600, jitter=0, patience=7200)
AT = datetime(2026, 1, 1, tzinfo=UTC)


class Endless:
    """A model that says the same to everybody."""

    async def answer(self, request: ModelRequest) -> ModelResponse:
        return await ScriptedModel(["done"]).answer(request)


def lead() -> Agent[str]:
    """An agent whose tasks are quickly done."""
    return Agent("lead", prompt="Lead.", model=Endless())


class Said:
    """What tasks say. Cursors are numbers.

    Attributes:
        opened: The tasks whose streams were opened, with the cursor.
        error: What streams raise.
    """

    def __init__(self) -> None:
        self.opened: list[tuple[str, str | None]] = []
        self.error: Exception | None = None
        self._parts: dict[str, list[StreamPart]] = {}
        self._changed = anyio.Event()

    def say(self, task_id: str, *texts: str, end: bool = False) -> None:
        """A task says something; before each text there is a part without a number."""
        parts = self._parts.setdefault(task_id, [])
        for text in texts:
            parts.append(TurnBegan(timestamp=AT, task_id=task_id, iteration=len(parts)))
            number = len(parts)
            parts.append(
                MessageSaid(timestamp=AT, task_id=task_id, seq=number, cursor=str(number + 1), role="user", text=text)
            )
        if end:
            parts.append(TaskCompleted(timestamp=AT, task_id=task_id, cursor=str(len(parts) + 1), result="done"))
        self._changed.set()
        self._changed = anyio.Event()

    @asynccontextmanager
    async def stream(self, task_id: str, after: str | None) -> AsyncIterator[AsyncIterable[StreamPart]]:
        """As a runner's stream."""
        self.opened.append((task_id, after))
        if self.error is not None:
            raise self.error
        async with aclosing(self._from(task_id, int(after or 0))) as parts:
            yield parts

    async def _from(self, task_id: str, number: int) -> AsyncGenerator[StreamPart, None]:
        while True:
            parts = self._parts.get(task_id, [])
            if number < len(parts):
                yield parts[number]
                number += 1
            elif parts and parts[-1].is_last:
                return
            else:
                await self._changed.wait()


class Hooks(Webhooks):
    """Webhooks of what a test lets tasks say."""

    def __init__(self, runner: Runner, said: Said, **options: Any) -> None:
        super().__init__(runner, **{"secret": SECRET, "retries": SOON, **options})
        self._said = said

    def _stream(self, task_id: str, after: str | None) -> AbstractAsyncContextManager[AsyncIterable[StreamPart]]:
        return self._said.stream(task_id, after)


@asynccontextmanager
async def hooks(store: MemoryStore, said: Said, *tasks: str, **options: Any) -> AsyncIterator[Hooks]:
    async with store, Runner(store, workflows=[lead()]) as runner:
        for task_id in tasks:
            await (await Tasks(runner).start("lead", "Go.", task_id=task_id)).result()
        async with Hooks(runner, said, **options) as opened:
            yield opened


def texts(got: list[Got]) -> list[str]:
    return [each.part.get("text", each.part["type"]) for each in got]


async def forgotten(opened: Webhooks) -> None:
    """Wait until no task is followed any more."""
    with fail_after(30):
        while await opened.list():
            await anyio.wait_all_tasks_blocked()


async def until(opened: Webhooks, wanted: str, *, task_id: str = "t") -> Webhook:
    """The webhook once a task of it is paused, or has failed once."""
    with fail_after(30):
        while True:
            for webhook in await opened.list():
                for task in webhook.tasks:
                    if task.task_id == task_id and (task.status == wanted or (wanted == "failed" and task.failures)):
                        return webhook
            await anyio.wait_all_tasks_blocked()
