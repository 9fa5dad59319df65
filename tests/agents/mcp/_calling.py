"""Calling a connected tool as an agent's loop does, and waiting for what other processes do."""

import os
from collections.abc import Sequence
from pathlib import Path

import anyio
from pydantic_core import to_json

from stagepost.agents import Tool, ToolContext
from stagepost.agents._tools._invoking import ToolResult, invoke

CONTEXT = ToolContext(run_id="run", agent="a", call_id="c", idempotency_key="k", deps=None)


async def use(tools: Sequence[Tool[..., object]], name: str, /, **arguments: object) -> ToolResult:
    """One call."""
    found = next(tool for tool in tools if tool.name == name)
    return await invoke(found, found.parse(to_json(arguments).decode()), CONTEXT)


async def use_often(
    tools: Sequence[Tool[..., object]], name: str, times: int, /, parameter: str = "text", value: str = "{}"
) -> list[ToolResult]:
    """Many calls at once, each with its number in its argument; results in the order of the numbers."""
    results: dict[int, ToolResult] = {}

    async def one(number: int) -> None:
        results[number] = await use(tools, name, **{parameter: value.format(number)})

    async with anyio.create_task_group() as tasks:
        for number in range(times):
            tasks.start_soon(one, number)
    return [results[number] for number in range(times)]


async def appear(*files: Path) -> None:
    """Wait for files of another process."""
    while not all(file.exists() for file in files):  # noqa: ASYNC110  # files have no events
        await anyio.sleep(0.01)


async def gone(pid: int) -> None:
    """Wait for the end of another process."""
    while is_alive(pid):  # noqa: ASYNC110  # nor has a process that is not ours to wait for
        await anyio.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
