"""Streams of agents' runs, in memory and in a store."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import anyio
import pytest
from anyio import fail_after
from tests.agents._ways import working

from stagepost.agents import (
    Agent,
    ModelRequest,
    ModelResponse,
    StreamPart,
    Tasks,
    TaskStream,
    Token,
    TokenArrived,
)

_SOME_TIME: Final = datetime(2026, 11, 23, tzinfo=UTC)

Streaming: TypeAlias = Callable[..., AbstractAsyncContextManager[TaskStream[Any]]]


@asynccontextmanager
async def in_memory(agent: Agent[Any], request: object = "go", **options: Any) -> AsyncIterator[TaskStream[Any]]:
    """The stream of a run in memory, for ten seconds at most."""
    with fail_after(10):
        async with agent.stream(request, **options) as stream:
            yield stream


@asynccontextmanager
async def durably(agent: Agent[Any], request: object = "go", **options: Any) -> AsyncIterator[TaskStream[Any]]:
    """The stream of task ``t``, for ten seconds at most."""
    async with working(agent) as runner, Tasks(runner).start_stream(agent, request, task_id="t", **options) as stream:
        yield stream


both_stream = pytest.mark.parametrize("streaming", [in_memory, durably])


async def all_of(stream: TaskStream[Any]) -> list[StreamPart]:
    """All parts that are still to come."""
    return [part async for part in stream]


async def until(stream: TaskStream[Any], kind: type[StreamPart]) -> list[StreamPart]:
    """Parts up to the first of a kind."""
    found: list[StreamPart] = []
    async for part in stream:
        found.append(part)
        if isinstance(part, kind):
            return found
    raise AssertionError(f"there was no {kind.__name__}")


def types(parts: Iterable[StreamPart]) -> list[str]:
    """The types of parts, adjacent tokens as one."""
    found: list[str] = []
    for part in parts:
        if not (isinstance(part, TokenArrived) and found[-1:] == ["token"]):
            found.append(part.type)
    return found


def numbered(parts: Iterable[StreamPart]) -> list[StreamPart]:
    """Those with a number, without their times: who reads a part later is told of a later one."""
    return [replace(part, timestamp=_SOME_TIME) for part in parts if part.is_numbered]


def text_of(parts: Sequence[StreamPart], turn: int = 0, kind: str = "text") -> str:
    """The text that the tokens of a turn make."""
    text = ""
    for part in parts:
        if isinstance(part, TokenArrived) and (part.turn, part.kind) == (turn, kind):
            text = part.token if part.index == 0 else text + part.token
    return text


class Writer:
    """A model that writes answers word by word, and one of them only so far until it is let go.

    Args:
        texts: The answers.
        held: Number of the answer that is held.
        after: How many of its words are written before.
    """

    def __init__(self, *texts: str, held: int = 0, after: int = 2) -> None:
        self._texts = texts
        self._held = held
        self._after = after
        self.has_written = anyio.Event()
        self.may_go_on = anyio.Event()

    async def answer(self, request: ModelRequest) -> ModelResponse:
        text = self._texts[request.answers]
        for number, word in enumerate(text.split(" ")):
            if (request.answers, number) == (self._held, self._after):
                self.has_written.set()
                await self.may_go_on.wait()
            if request.on_token is not None:
                request.on_token(Token(number, f" {word}" if number else word))
        return ModelResponse(text=text)
