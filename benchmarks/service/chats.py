"""Fifty chats at once over HTTP, against the agent alone: ``python -m benchmarks.service.chats [--rounds N]``."""

import argparse
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from time import perf_counter, time
from typing import Final, NamedTuple

import anyio
import httpx
from anyio.abc import ByteStream
from benchmarks.service.served import TOKENS, agent

from stagepost.agents import Tasks, TokenArrived
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

_CHATS: Final = 50
_END: Final = b"event: completed"
_TOKEN: Final = re.compile(rb'"token":"([0-9.]+) "')


class Answer(NamedTuple):
    """What one caller has seen.

    Attributes:
        seconds: How long its answer took.
        first: Seconds from the first token of the model until it was there.
    """

    seconds: float
    first: float


async def bare(folder: Path) -> Sequence[Answer]:
    """The agent in this process: as many tasks, streamed without HTTP."""
    answers: list[Answer] = []

    async def ask(tasks: Tasks, number: int) -> None:
        start, first = perf_counter(), 0.0
        async with tasks.start_stream("clock", f"chat {number}") as stream:
            async for part in stream:
                if isinstance(part, TokenArrived) and not first:
                    first = time() - float(part.token)
        answers.append(Answer(perf_counter() - start, first))

    async with (
        SqliteStore(folder / "bare.db") as store,
        Runner(store, workflows=[agent()]) as runner,
        anyio.create_task_group() as group,
    ):
        for number in range(_CHATS):
            group.start_soon(ask, Tasks(runner), number)
    return answers


async def chats(url: str) -> Sequence[Answer]:
    """As many callers of the service, with as little work as can be: on real machines each has its own."""
    answers: list[Answer] = []
    host, port = url.removeprefix("http://").split(":")

    async def ask(stream: ByteStream, number: int) -> None:
        body = json.dumps({"workflow": "clock", "request": f"chat {number}"})
        head = f"POST /runs HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n"
        start, first, heard = perf_counter(), 0.0, b""
        await stream.send(f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        while _END not in heard:
            heard = heard[-len(_END) :] if first else heard
            heard += await stream.receive()
            if not first and (found := _TOKEN.search(heard)):
                first = time() - float(found[1])
        answers.append(Answer(perf_counter() - start, first))

    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(await anyio.connect_tcp(host, int(port))) for _ in range(_CHATS)]
        async with anyio.create_task_group() as group:
            for number, stream in enumerate(opened):
                group.start_soon(ask, stream, number)
    return answers


def _processor(pid: int) -> float:
    """Seconds of processor that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def service(folder: Path) -> AsyncIterator[tuple[str, int]]:
    """The service as a process: its address, and its id."""
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listening:
        command = [
            sys.executable,
            "-m",
            "benchmarks.service.served",
            str(folder / "served.db"),
            str(listening.fileno()),
        ]
        process = await anyio.open_process(
            command, stdin=subprocess.DEVNULL, stdout=None, stderr=None, pass_fds=[listening.fileno()]
        )
        async with process:
            try:
                url = f"http://127.0.0.1:{listening.getsockname()[1]}"
                async with httpx.AsyncClient(timeout=60) as http:
                    await http.get(f"{url}/workflows")
                yield url, process.pid
            finally:
                process.kill()


def p95(values: Sequence[float]) -> float:
    """The value that 95 of 100 do not exceed."""
    return quantiles(values, n=20)[-1]


async def measure(rounds: int) -> None:
    """Measure, and write a table."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        alone = [await bare(folder) for _ in range(rounds)]
        async with service(folder) as (url, pid):
            await chats(url)  # warms up
            start = _processor(pid)
            served = [await chats(url) for _ in range(rounds)]
            spent = (_processor(pid) - start) / rounds / _CHATS
    rows = []
    for where, rounds_of in (("agent alone", alone), ("over HTTP", served)):
        whole = min(p95([each.seconds for each in answers]) for answers in rounds_of)
        first = min(p95([each.first for each in answers]) for answers in rounds_of)
        rows.append((f"p95 of the answer of {_CHATS} chats at once, {where}", f"{whole * 1000:,.0f} ms"))
        rows.append((f"p95 of the first token after the model's, {where}", f"{first * 1000:.1f} ms"))
    rows.append((f"processor of the service for a chat of {TOKENS} tokens", f"{spent * 1000:.1f} ms"))
    print("| what | measured |\n|---|--:|")  # it is what this is for
    for row in rows:
        print(f"| {row[0]} | {row[1]} |")  # as above


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    anyio.run(measure, parser.parse_args().rounds)
