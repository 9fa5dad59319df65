"""An agent that calls the server of `_asking`, in this process or in one that is killed."""

import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
from tests._forks import Fork
from tests.agents.mcp import _programs
from tests.agents.mcp._asking import build

from stagepost.agents import Agent, McpServer, PendingQuestion, ScriptedModel, Task, Tasks, ToolCall, ToolMessage, call
from stagepost.checkpoint import RunStatus, SqliteStore
from stagepost.workflows import Runner

ASKING = Path(__file__).parent / "_asking.py"


def stdio(folder: Path, era: str, **options: Any) -> McpServer:
    """The server as a program."""
    return McpServer.stdio(*_programs.python(), str(ASKING), "stdio", era, str(folder), name="hall", **options)


def near(folder: Path, era: str, **options: Any) -> McpServer:
    """The server as it is started fastest: of the new protocol in this process."""
    if era == "old":
        return stdio(folder, era, **options)
    return McpServer.memory(build(folder), **{"name": "hall", **options})


@contextmanager
def serving(folder: Path, era: str, port: int = 0) -> Iterator[tuple[Fork, int]]:
    """The server behind HTTP, and its port."""
    with _programs.serving(ASKING, "http", era, folder, port) as started:
        yield started


@contextmanager
def hall(folder: Path, kind: str, era: str, **options: Any) -> Iterator[McpServer]:
    """The server, by either transport."""
    if kind == "stdio":
        yield stdio(folder, era, **options)
        return
    with serving(folder, era) as (_, port):
        yield McpServer.http(f"http://127.0.0.1:{port}/mcp", name="hall", **options)


def clerk(server: McpServer, *calls: ToolCall | Sequence[ToolCall], **options: Any) -> Agent[str]:
    """An agent that makes some calls, and is done."""
    made = calls or (call("book", city="Bergen"),)
    return Agent("clerk", "Book.", model=ScriptedModel([*made, "done"]), tools=[server], **options)


@asynccontextmanager
async def at_work(agent: Agent[Any], folder: Path, **options: Any) -> AsyncIterator[tuple[Tasks, Runner]]:
    async with SqliteStore(folder / "runs.db") as store, Runner(store, workflows=[agent], **options) as runner:
        yield Tasks(runner), runner


async def question(tasks: Tasks, runner: Runner, task: str = "t") -> PendingQuestion:
    """The only thing that a task is asked, once nothing of it goes on."""
    assert await (await runner.get(task)).settled() is RunStatus.WAITING
    (found,) = await tasks.questions()
    return found


async def ended(tasks: Tasks, runner: Runner, task: str = "t") -> Task:
    """A task that has come to its end."""
    await (await runner.get(task)).result()
    return await tasks.get(task)


def said(task: Task) -> list[str]:
    """The results of its calls."""
    return [message.text for message in task.messages if isinstance(message, ToolMessage)]


def log(folder: Path) -> list[str]:
    """What the server has done, without its processes."""
    file = folder / "log"
    lines = file.read_text().splitlines() if file.exists() else []
    return [line.partition(" in ")[0] for line in lines]


async def first_life(folder: str, era: str, tool: str, options: Mapping[str, Any]) -> None:
    """Start a task, say when it waits, and wait to be killed."""
    place = Path(folder)
    agent = clerk(stdio(place, era, **options), call(tool, city="Bergen"))
    async with at_work(agent, place) as (tasks, runner):
        await tasks.start(agent, "go", task_id="t")
        await question(tasks, runner)
        os.write(1, b"asked\n")
        await anyio.sleep_forever()
