"""Talking to a process that writes for runs beside their owner; see `_outsider`."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.checkpoint._processes import Other, module


class Outsider:
    """Another process; see `_outsider`."""

    def __init__(self, process: Other) -> None:
        self._process = process

    async def say(self, verb: str, *arguments: object, **options: object) -> str:
        assert self._process.process.stdin is not None
        await self._process.process.stdin.send(json.dumps([verb, arguments, options]).encode() + b"\n")
        return await self.heard()

    async def heard(self) -> str:
        return (await self._process.line()).strip()


@asynccontextmanager
async def outsider(file: Path, knows: str = "checked") -> AsyncIterator[Outsider]:
    async with module("tests.workflows._outsider", file, knows) as process:
        other = Outsider(process)
        assert await other.heard() == "ready"
        yield other
