"""A service whose agent works at an MCP server behind OAuth, and a person with a browser."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from starlette.applications import Starlette
from tests.agents.mcp._authority import Authority

from stagepost.agents import (
    Agent,
    AuthorizationCode,
    McpServer,
    Model,
    PendingQuestion,
    ScriptedModel,
    StoredTokens,
    StreamPart,
    Task,
    Tasks,
    TokenStore,
    ToolCall,
    ToolMessage,
    call,
)
from stagepost.checkpoint import RunStatus, SqliteStore
from stagepost.service import Key, create_app, oauth_routes
from stagepost.workflows import Runner

CALLBACK = "http://localhost/oauth/callback"
ASK = call("authorize_vault")
WORK = (ASK, call("echo", text="hi"))


def server(
    authority: Authority, tokens: TokenStore, callback: str = CALLBACK, name: str = "vault", **options: Any
) -> McpServer:
    auth = AuthorizationCode(callback, tokens, **options)
    return McpServer.http(f"{authority.base}/mcp", name=name, auth=auth, connect_timeout=20)


def clerk(vault: McpServer, work: Sequence[ToolCall] | Model) -> Agent[str]:
    model = ScriptedModel([*work, "done"]) if isinstance(work, Sequence) else work
    return Agent("clerk", "Work.", model=model, tools=[vault])


@dataclass
class Office:
    """A service, its runs, and the browser of a person.

    Attributes:
        served: The application.
        app: The browser's requests to the service.
        web: Its requests to everybody else.
    """

    served: Starlette
    agent: Agent[str]
    runner: Runner
    tasks: Tasks
    app: httpx.AsyncClient
    web: httpx.AsyncClient

    async def asked(self, task: str = "t") -> PendingQuestion:
        """What a task is asked, once nothing of it goes on."""
        assert await (await self.runner.get(task)).settled() is RunStatus.WAITING
        (found,) = (await self.tasks.get(task)).questions
        return found

    async def consent(self, question: PendingQuestion) -> httpx.Response:
        """Open the address of a question and do what the person does there; the answer to the callback."""
        return await self.app.get(await self.decided(question))

    async def decided(self, question: PendingQuestion) -> str:
        """The same, up to the address of the callback."""
        assert question.url is not None
        begun = await self.app.get(question.url)
        assert begun.status_code == 303, begun.text
        return await self.back(begun)

    async def back(self, begun: httpx.Response) -> str:
        """Where the authorization server sends the browser."""
        answer = await self.web.get(begun.headers["location"])
        assert answer.status_code == 302, answer.text
        return str(answer.headers["location"])

    async def parts(self, task: str = "t") -> list[StreamPart]:
        """What the stream of a task has told."""
        async with self.tasks.stream(task) as stream:
            return [part async for part in stream]

    async def ended(self, task: str = "t") -> Task:
        """A task that has come to its end."""
        await (await self.runner.get(task)).result()
        return await self.tasks.get(task)


@asynccontextmanager
async def office(
    authority: Authority,
    folder: Path,
    work: Sequence[ToolCall] | Model = WORK,
    *,
    auth: Mapping[str, Any] | None = None,
    keys: bytes | None = None,
    app_keys: Sequence[Key] = (),
    clock: Callable[[], float] = time.time,
    callback: str = CALLBACK,
    name: str = "vault",
    **options: Any,
) -> AsyncIterator[Office]:
    """A service over a store, as long as a process lives."""
    store = SqliteStore(folder / "runs.db")
    tokens = StoredTokens(store, keys=keys, clock=clock)
    agent = clerk(server(authority, tokens, callback, name, **(auth or {})), work)
    runner = Runner(store, workflows=[agent])
    app = create_app(runner, routes=oauth_routes(tokens), keys=app_keys, **options)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
        httpx.AsyncClient() as web,
    ):
        yield Office(app, agent, runner, Tasks(runner), client, web)


def query(address: str) -> dict[str, str]:
    """The parameters in an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def said(task: Task) -> list[str]:
    """The results of its calls."""
    return [message.text for message in task.messages if isinstance(message, ToolMessage)]
