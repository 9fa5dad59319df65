"""Real processes for the tests, told to act through their pipes."""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Protocol

import anyio
import anyio.lowlevel
from anyio.abc import ByteReceiveStream, ByteSendStream
from anyio.streams.buffered import BufferedByteReceiveStream
from tests._forks import LAYERS, Fork, shared


class Process(Protocol):
    """What tests need of a process, whoever has started it."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    @property
    def stdin(self) -> ByteSendStream | None: ...
    async def wait(self) -> int: ...
    def kill(self) -> None: ...


class Other:
    """Another Python process."""

    def __init__(self, process: Process, output: ByteReceiveStream) -> None:
        self.process = process
        self._output = BufferedByteReceiveStream(output)

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


class _Output(ByteReceiveStream):
    """The end of a pipe that is read."""

    def __init__(self, number: int) -> None:
        self._number = number

    async def receive(self, max_bytes: int = 65536) -> bytes:
        await anyio.wait_readable(self._number)
        if not (received := os.read(self._number, max_bytes)):
            raise anyio.EndOfStream
        return received

    async def aclose(self) -> None:
        os.close(self._number)


class _Input(ByteSendStream):
    """The end of a pipe that is written to, little at a time."""

    def __init__(self, number: int) -> None:
        self._number = number

    async def send(self, item: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        try:
            os.write(self._number, item)
        except BrokenPipeError as error:
            raise anyio.BrokenResourceError from error

    async def aclose(self) -> None:
        os.close(self._number)


class _Forked:
    """A fork, waited for by an event loop."""

    def __init__(self, fork: Fork, stdin: ByteSendStream) -> None:
        self._fork = fork
        self.pid = fork.pid
        self.stdin = stdin

    @property
    def returncode(self) -> int | None:
        return self._fork.returncode

    async def wait(self) -> int:
        while (code := self._fork.returncode) is None:
            await anyio.wait_readable(self._fork.connection)
        return code

    def kill(self) -> None:
        self._fork.kill()


def environment(**variables: str) -> dict[str, str]:
    """This process's environment for another one, which finds the same modules."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), *filter(None, sys.path)]), **variables}


def running(script: str, *arguments: object, **variables: str) -> AbstractAsyncContextManager[Other]:
    """A process that runs a script, until the block is left. With variables it is none that finds its imports done."""
    command = ("-c", script, *map(str, arguments))
    return _started(command, variables) if variables else _forked(command)


def module(name: str, *arguments: object) -> AbstractAsyncContextManager[Other]:
    """A process that runs a module, until the block is left."""
    return _forked(("-m", name, *map(str, arguments)))


@asynccontextmanager
async def _started(command: tuple[str, ...], variables: Mapping[str, str]) -> AsyncIterator[Other]:
    process = await anyio.open_process(
        [sys.executable, *command], stdin=PIPE, stderr=None, env=environment(**variables)
    )
    async with process:
        assert process.stdout is not None
        try:
            yield Other(process, process.stdout)
        finally:
            if process.returncode is None:
                process.kill()


@asynccontextmanager
async def _forked(command: tuple[str, ...]) -> AsyncIterator[Other]:
    reads, tells = os.pipe()
    hears, writes = os.pipe()
    try:
        fork = shared(*LAYERS).start(*command, environment=dict(os.environ), stdin=reads, stdout=writes)
    finally:
        os.close(reads)
        os.close(writes)
    stdin, output = _Input(tells), _Output(hears)
    try:
        yield Other(_Forked(fork, stdin), output)
    finally:
        fork.close()
        await stdin.aclose()
        await output.aclose()
