"""Talking to a process that writes for runs beside their owner; see `_outsider`."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio import to_thread


class Outsider:
    """Another process; see `_outsider`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    async def say(self, verb: str, *arguments: object, **options: object) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([verb, arguments, options]) + "\n")
        self._process.stdin.flush()
        return await self.heard()

    async def heard(self) -> str:
        assert self._process.stdout is not None
        return (await to_thread.run_sync(self._process.stdout.readline)).strip()


@asynccontextmanager
async def outsider(file: Path, knows: str = "checked") -> AsyncIterator[Outsider]:
    path = os.pathsep.join(filter(None, [str(Path.cwd()), *sys.path]))
    process = subprocess.Popen(  # noqa: ASYNC220  # its pipes are read in threads
        [sys.executable, "-m", "tests.workflows._outsider", str(file), knows],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    other = Outsider(process)
    try:
        assert await other.heard() == "ready"
        yield other
    finally:
        with anyio.CancelScope(shield=True):
            process.kill()
            await to_thread.run_sync(process.wait)
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
