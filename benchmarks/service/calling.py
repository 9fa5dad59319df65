"""Callers of a service that do as little as can be: on real machines each has its own."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from time import perf_counter, time
from typing import Final, NamedTuple

import anyio
from anyio.abc import ByteStream

_ENDS: Final = (b"event: completed", b"event: done", b"event: error", b"event: failed")
_LONGEST: Final = max(map(len, _ENDS))
_TOKEN: Final = re.compile(rb'"(?:token|content)":"([0-9]+[.][0-9]{6}) ')


class Answer(NamedTuple):
    """What one caller has seen.

    Attributes:
        seconds: How long its answer took.
        first: Seconds from the first token of the model until it was there.
    """

    seconds: float
    first: float


class Process(NamedTuple):
    """A service.

    Attributes:
        pid: Its process.
        port: Where it listens on this machine.
    """

    pid: int
    port: int

    @property
    def cpu(self) -> float:
        """Seconds of processor that it has taken."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def service(name: str, file: Path) -> AsyncIterator[Process]:
    """A service of `benchmarks.service.served` as a process; until it serves, its socket lets callers wait."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        number = listening.fileno()
        process = await anyio.open_process(
            [sys.executable, "-m", "benchmarks.service.served", name, str(file), str(number)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None,
            pass_fds=[number],
        )
        async with process:
            try:
                yield Process(process.pid, listening.getsockname()[1])
            finally:
                process.kill()


async def asked(port: int, path: str, bodies: Sequence[Mapping[str, str]]) -> Sequence[Answer]:
    """Ask everything at once, each on a connection of its own, which is open before.

    Raises:
        RuntimeError: An answer is none, or has no token.
    """
    answers: list[Answer] = []
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port)) for _ in bodies]
        questions = [_question(port, path, body) for body in bodies]
        async with anyio.create_task_group() as group:
            for stream, question in zip(opened, questions, strict=True):
                group.start_soon(_heard, stream, question, answers)
    return answers


def _question(port: int, path: str, body: Mapping[str, str]) -> bytes:
    text = json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


async def _heard(stream: ByteStream, question: bytes, answers: list[Answer]) -> None:
    start, first, heard = perf_counter(), 0.0, b""
    await stream.send(question)
    while not any(end in heard for end in _ENDS):
        heard = heard[-_LONGEST:] if first else heard
        heard += await stream.receive()
        if not first and (found := _TOKEN.search(heard)):
            first = time() - float(found[1])
    if not first or not any(end in heard for end in _ENDS[:2]):
        raise RuntimeError(f"no answer: {heard[-1000:]!r}")
    answers.append(Answer(perf_counter() - start, first))
