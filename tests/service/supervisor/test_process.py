"""The service as a process: killed while a worker works and while a person is asked, and finished by the next one."""

import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import pytest
from httpx_sse import ServerSentEvent, aconnect_sse
from tests.service.supervisor._shop import new_session

ROOT = Path(__file__).parents[3]
FOLDERS = ("hub", "checkpoint", "workflows", "agents", "service", ".")
KEY = {"Idempotency-Key": "k"}


@asynccontextmanager
async def serving(listener: socket.socket, folder: Path) -> AsyncIterator[Any]:
    """A process that serves, killed at the end."""
    path = os.pathsep.join(str(ROOT / each) for each in FOLDERS)
    command = [sys.executable, "-m", "tests.service.supervisor._served", str(listener.fileno()), str(folder)]
    process = await anyio.open_process(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        pass_fds=[listener.fileno()],
        stdout=DEVNULL,
        stderr=None,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await process.wait()


class Client:
    """A browser: it remembers the last id, and comes back with it."""

    def __init__(self, url: str) -> None:
        self.http = httpx.AsyncClient(base_url=url, timeout=60)
        self.session = new_session()
        self.events: list[ServerSentEvent] = []

    async def hear(self, *until: str, most: int | None = None) -> None:
        """Hear until each of these events has come; or so many events have, or one of these."""
        missing = set(until)
        after = {"Last-Event-ID": self.events[-1].id} if self.events else {}
        body = {"message": "Miami and AAPL?", "session_id": self.session}
        heard = 0
        async with aconnect_sse(self.http, "POST", "/chat", json=body, headers={**KEY, **after}) as source:
            async for event in source.aiter_sse():
                if not event.data:  # httpx-sse hands on what follows a comment, which browsers do not
                    continue
                self.events.append(event)
                missing.discard(event.event)
                heard += 1
                if (until and not missing) or heard == most or (most and event.event in until):
                    return

    def names(self) -> list[str]:
        return [event.event for event in self.events if event.event != "token"]

    def text(self) -> str:
        return "".join(event.json()["content"] for event in self.events if event.event == "token")


async def allow(client: Client) -> None:
    """Let the call be made that waits for a person."""
    (asked,) = [event.json() for event in client.events if event.event == "approval_requested"]
    answered = await client.http.post(f"/waits/{quote(asked['approval_id'], safe='')}", json={"allow": True})
    assert answered.is_success, answered.text


def check_whole(client: Client, folder: Path) -> None:
    """Each event has come once, and the tool was called once."""
    assert (folder / "calls.txt").read_text() == "Miami\n"
    names = client.names()
    assert sorted(names) == sorted(
        2 * ["tool_call", "worker_started", "worker_tool_call", "worker_tool_result", "worker_completed", "tool_result"]
        + ["approval_requested", "approval_decided", "done"]
    )
    assert names[-1] == "done"
    assert client.text() == "Let me ask.\n\nAll is said."
    completed = [event.json() for event in client.events if event.event == "worker_completed"]
    assert {(each["worker"], each["status"]) for each in completed} == {("weather", "ok"), ("stock", "ok")}


async def test_a_turn_killed_in_a_worker_and_at_an_approval_is_finished_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, anyio.fail_after(60):
        client = Client(f"http://127.0.0.1:{listener.getsockname()[1]}")
        async with serving(listener, tmp_path):
            await client.hear("worker_tool_result", "approval_requested")
        async with serving(listener, tmp_path):
            (tmp_path / "open").touch()
            await client.hear("worker_completed")
            await allow(client)
            await client.hear("done")
            same = await client.http.post(
                "/chat/complete", json={"message": "Miami and AAPL?", "session_id": client.session}, headers=KEY
            )
            assert (await client.http.get(f"/chat/{client.session}")).json()["turns"][0]["status"] == "completed"
        check_whole(client, tmp_path)
        assert same.json()["response"] == client.text()
        assert len(same.json()["worker_details"]) == 2
        await client.http.aclose()


@pytest.mark.long
@pytest.mark.parametrize("most", [1, 3, 5, 7, 9])
async def test_a_turn_killed_at_any_event_is_finished_once(tmp_path: Path, most: int) -> None:
    """The process is killed after every few events, the gate is open from the second life on."""
    with socket.create_server(("127.0.0.1", 0)) as listener, anyio.fail_after(300):
        client = Client(f"http://127.0.0.1:{listener.getsockname()[1]}")
        while "approval_requested" not in client.names():
            async with serving(listener, tmp_path):
                await client.hear("approval_requested", most=most)
        (tmp_path / "open").touch()
        async with serving(listener, tmp_path):
            await allow(client)
            await client.hear(most=most)
        while "done" not in client.names():
            async with serving(listener, tmp_path):
                await client.hear(most=most)
        check_whole(client, tmp_path)
        assert json.loads(client.events[-1].data)["seq"] == len(client.events)
        await client.http.aclose()
