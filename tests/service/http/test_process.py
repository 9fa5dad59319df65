"""A service as a process of its own, which is killed and started again."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import httpx
from anyio.abc import Process
from httpx_sse import aconnect_sse

HERE = Path(__file__).parents[3]


@asynccontextmanager
async def process(file: Path, listening: socket.socket, flag: Path) -> AsyncIterator[Process]:
    """The service, until it is killed."""
    arguments = [sys.executable, "-m", "tests.service.http._process", file, listening.fileno(), flag]
    async with await anyio.open_process(
        [str(each) for each in arguments],
        cwd=HERE,
        stdin=subprocess.DEVNULL,
        stdout=None,
        stderr=None,
        pass_fds=[listening.fileno()],
    ) as started:
        try:
            yield started
        finally:
            with suppress(ProcessLookupError):
                started.kill()


class Reader:
    """A foreign client of server-sent events that remembers what it has heard, and comes back with it."""

    def __init__(self, http: httpx.AsyncClient, path: str) -> None:
        self.http = http
        self.path = path
        self.heard: list[dict[str, Any]] = []

    async def until(self, kind: str | None, *, cuts: int = 0) -> None:
        """Hear events until one of this type, or the end of the stream; leave and come back after the first so many."""
        while True:
            headers = {"Last-Event-ID": self.heard[-1]["id"]} if self.heard else {}
            async with aconnect_sse(self.http, "GET", self.path, headers=headers) as source:
                if source.response.status_code == 204:
                    return
                async for event in source.aiter_sse():
                    part = json.loads(event.data)
                    if part["cursor"] is None:  # told, and stored nowhere
                        continue
                    self.heard.append({"event": event.event, "id": event.id, **part})
                    if event.event == kind:
                        return
                    if cuts:
                        cuts -= 1
                        break


async def test_a_task_is_heard_once_over_kills_in_mid_turn_and_at_an_approval(tmp_path: Path) -> None:
    file, flag = tmp_path / "runs.db", tmp_path / "flag"
    with socket.socket() as listening, anyio.fail_after(60):
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"

        def client() -> httpx.AsyncClient:
            return httpx.AsyncClient(base_url=url, timeout=30)

        async with process(file, listening, flag) as first, client() as http:
            begin = {"workflow": "scout", "request": "Oslo?", "run_id": "trip-1"}
            started = await http.post("/runs", json=begin, headers={"Idempotency-Key": "k"})
            assert (started.status_code, started.json()["run_id"]) == (202, "trip-1")
            reader = Reader(http, "/runs/trip-1/events")
            await reader.until("tool_result", cuts=2)
            first.kill()
            await first.wait()

        flag.touch()
        async with process(file, listening, flag) as second, client() as http:
            again = await http.post("/runs", json=begin, headers={"Idempotency-Key": "k"})
            assert again.json()["run_id"] == "trip-1"
            reader.http = http
            await reader.until("approval_requested", cuts=3)
            second.kill()
            await second.wait()

        async with process(file, listening, flag) as third, client() as http:
            reader.http = http
            (wait,) = (await http.get("/waits", params={"run": "trip-1"})).json()["waits"]
            decided = await http.post(f"/waits/{quote(wait['wait_id'], safe='')}", json={"allow": True})
            assert decided.status_code == 200
            await reader.until(None)
            whole = Reader(http, reader.path)
            await whole.until(None)
            shown = (await http.get("/runs/trip-1")).json()
            transcript = await curl(f"{url}{reader.path}")
            third.terminate()
            await third.wait()

    kinds = [each["event"] for each in reader.heard]
    assert kinds == [
        "message",
        "tool_call",
        "tool_result",
        "tool_call",
        "approval_requested",
        "approval_decided",
        "tool_result",
        "message",
        "completed",
    ]
    assert [each["id"] for each in reader.heard] == [each["id"] for each in whole.heard]
    assert list(map(timeless, reader.heard)) == list(map(timeless, whole.heard))
    for event in reader.heard:
        assert (event["event"], event["id"], event["task_id"]) == (event["type"], event["cursor"], "trip-1")
        assert {"timestamp", "seq", "path", "call_id", "visit"} <= event.keys()
    assert (shown["run"]["status"], shown["output"]) == ("completed", "It rains.")
    if transcript is not None:
        head, _, body = transcript.partition("\r\n\r\n")
        assert "text/event-stream" in head.lower()
        assert [line[4:] for line in body.splitlines() if line.startswith("id: ")] == [
            each["id"] for each in whole.heard
        ]


def timeless(event: dict[str, Any]) -> dict[str, Any]:
    """An event without its time: of a part that is read again that is not always the one that it was told with."""
    return {name: value for name, value in event.items() if name != "timestamp"}


async def curl(url: str) -> str | None:
    """What curl writes of a stream; None where there is no curl."""
    if shutil.which("curl") is None:
        return None
    return (await anyio.run_process(["curl", "-sNi", url])).stdout.decode()
