"""The least one can do: awaits without a framework, and httpx without a client of the API."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from typing import Any

import anyio
from benchmarks.agents.crowd import BURST, TALKS, Ask, late
from benchmarks.agents.imports import importing
from benchmarks.agents.measure import Figures, Measure, Task, as_opened, cost, times
from benchmarks.agents.provider import MODEL, provider
from benchmarks.agents.task import ANSWER, ARGUMENTS, PROMPT, REQUEST, SPOKEN, TURNS, add, call_id, check

_RESPONSES: Sequence[Mapping[str, Any]] = (
    *({"id": call_id(turn), "name": "add", "arguments": text} for turn, text in enumerate(ARGUMENTS)),
    {"text": ANSWER},
)


async def _answer(messages: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return _RESPONSES[[message["role"] for message in messages].count("assistant")]


async def _run() -> None:
    tools = {"add": add}
    messages: list[Mapping[str, Any]] = [{"role": "system", "text": PROMPT}, {"role": "user", "text": REQUEST}]
    while "text" not in (answer := await _answer(messages)):
        result = await tools[answer["name"]](**json.loads(answer["arguments"]))
        messages.append({"role": "assistant", "call": answer})
        messages.append({"role": "tool", "id": answer["id"], "text": str(result)})
    check(answer["text"])


def loop(scale: float) -> Figures:
    """The cost of a turn of a loop of awaits, without a check of anything."""
    return cost(as_opened(_run), times(5_000, scale), parts=TURNS)


@asynccontextmanager
async def _posting() -> AsyncIterator[tuple[Any, str]]:
    """A client of httpx that may open as many connections as it likes, and where to post to."""
    httpx = import_module("httpx")
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    with provider() as url:
        async with httpx.AsyncClient(limits=limits, timeout=None) as client:
            yield client, f"{url}/chat/completions"


async def _post(client: Any, url: str, messages: Sequence[Mapping[str, Any]], seconds: float) -> Any:
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
    body = {"model": MODEL, "user": str(seconds), "messages": messages, "tools": [tool]}
    response = await client.post(url, json=body, headers={"Authorization": "Bearer none"})
    response.raise_for_status()
    return response.json()["choices"][0]["message"]


def post(scale: float) -> Figures:
    """The cost of a model's answer over HTTP."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Task]:
        async with _posting() as (client, url):
            yield partial(_post, client, url, SPOKEN, 0.0)

    return cost(opened, times(200, scale))


@asynccontextmanager
async def _sleeping(seconds: float) -> AsyncIterator[Ask]:
    """A model that is nothing but the time that it takes."""

    async def ask(_client: str) -> None:
        await anyio.sleep(seconds)
        await add(1, 2)
        await anyio.sleep(seconds)

    yield ask


@asynccontextmanager
async def _talking(seconds: float) -> AsyncIterator[Ask]:
    """A model that is asked over HTTP."""
    async with _posting() as (client, url):

        async def ask(_client: str) -> None:
            called = await _post(client, url, SPOKEN, seconds)
            (call,) = called["tool_calls"]
            result = await add(**json.loads(call["function"]["arguments"]))
            told = {"role": "tool", "tool_call_id": call["id"], "content": str(result)}
            check((await _post(client, url, [*SPOKEN, called, told], seconds))["content"])

        yield ask


MEASURES: Mapping[str, Measure] = {
    "loop": loop,
    "call": post,
    "talks": partial(late, _sleeping, TALKS),
    "burst": partial(late, _sleeping, BURST),
    "talks over HTTP": partial(late, _talking, TALKS),
    "burst over HTTP": partial(late, _talking, BURST),
    "imports": partial(importing, ["anyio", "pydantic", "structlog", "aiosqlite"]),
}
