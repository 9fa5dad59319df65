"""Real processes for the tests, told to act through their pipes."""

import os
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from subprocess import PIPE

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream


class Other:
    """Another Python process."""

    def __init__(self, process: Process) -> None:
        assert process.stdout is not None
        self.process = process
        self._output = BufferedByteReceiveStream(process.stdout)

    async def line(self) -> str:
        """The next line that it writes."""
        return (await self._output.receive_until(b"\n", 1000)).decode()

    async def rest(self) -> list[str]:
        """The whole lines that it has written until its end."""
        lines: list[str] = []
        while True:
            try:
                lines.append(await self.line())
            except (anyio.EndOfStream, anyio.IncompleteRead):
                return lines

    async def kill(self) -> None:
        """SIGKILL, and wait for its death."""
        self.process.kill()
        await self.process.wait()


def environment(**variables: str) -> dict[str, str]:
    """This process's environment for another one, which finds the same modules."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *filter(None, sys.path)]), **variables}


def running(script: str, *arguments: object, **variables: str) -> AbstractAsyncContextManager[Other]:
    """A process that runs a script, until the block is left."""
    return _started("-c", script, arguments, variables)


def module(name: str, *arguments: object, **variables: str) -> AbstractAsyncContextManager[Other]:
    """A process that runs a module, until the block is left."""
    return _started("-m", name, arguments, variables)


@asynccontextmanager
async def _started(
    how: str, what: str, arguments: Iterable[object], variables: Mapping[str, str]
) -> AsyncIterator[Other]:
    command = [sys.executable, how, what, *map(str, arguments)]
    process = await anyio.open_process(command, stdin=PIPE, stderr=None, env=environment(**variables))
    async with process:
        try:
            yield Other(process)
        finally:
            if process.returncode is None:
                process.kill()
