"""Clients of `_server`: each listens to a task until its end, through as many deaths of the server as there are."""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import anyio
import anyio.to_thread
import httpx2
from tests._forks import Forks
from tests.agents.stream._server import READY
from tests.agents.stream._world import FRAIL

GONE: Final = 204


class Event(NamedTuple):
    """What came over the wire: the name and the id of an event, and its data."""

    name: str
    id: str | None
    data: Mapping[str, Any]


@dataclass
class Heard:
    """What a client was told of a task, in order; and after how many of it the server was killed.

    Attributes:
        task: The task.
        text: What was asked.
        events: What came.
        deaths: The lengths that `events` had at each death of the server.
    """

    task: str
    text: str
    events: list[Event] = field(default_factory=list)
    deaths: list[int] = field(default_factory=list)

    @property
    def cursor(self) -> str | None:
        """Where it goes on."""
        return next((event.id for event in reversed(self.events) if event.id is not None), None)


class Service:
    """The server as its clients see it: it dies after so many events, and comes back.

    Args:
        folder: Where its store is.
        forks: What starts it.
    """

    def __init__(self, folder: Path, forks: Forks) -> None:
        self.kills = 0
        self._folder = folder
        self._forks = forks
        self._up = anyio.Event()
        self._due = anyio.Event()
        self._left: int | None = None

    async def is_up(self) -> None:
        """Wait until it answers, or may be believed to."""
        await self._up.wait()

    def heard(self) -> None:
        """Count an event that a client has got."""
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                self._due.set()

    def client(self) -> httpx2.AsyncClient:
        """A client of it, in whichever life."""
        transport = httpx2.AsyncHTTPTransport(uds=str(self._folder / "socket"))
        return httpx2.AsyncClient(transport=transport, base_url="http://service", timeout=None)

    async def live(self, after: int | None, is_over: anyio.Event) -> None:
        """One life: it ends after so many events, or when all is over."""
        self._due, self._left = (is_over, None) if after is None else (anyio.Event(), after)
        program = ("-m", "tests.agents.stream._server", str(self._folder))
        with self._forks.started(*program, cwd=self._folder) as printed:
            said = await anyio.to_thread.run_sync(printed.readline, abandon_on_cancel=True)
            assert said.strip() == READY, "it has ended: what it has printed stands above"
            self._up.set()
            if after != 0:
                await self._due.wait()
            self._up = anyio.Event()
        self.kills += 1


class Listener:
    """Somebody who starts a task, listens to it, and decides what it asks for.

    Args:
        service: The server.
        rng: What decides in which order, and how, calls are decided about.
    """

    def __init__(self, service: Service, rng: Random) -> None:
        self._service = service
        self._rng = rng
        self._asked = defaultdict[str, list[str]](list)

    async def listen(self, task: str, text: str, after: str = "") -> Heard:
        """Start a task, and listen until its end has been told, and nothing more is."""
        heard = Heard(task, text)
        start = ("/tasks/" + task, {"text": text, "after": after})
        async with anyio.create_task_group() as group:
            await self._post(*start)
            while await self._connected(heard, group):
                pass
        return heard

    async def _connected(self, heard: Heard, group: anyio.abc.TaskGroup) -> bool:
        """Listen for as long as the connection lasts; whether there may be more."""
        await self._service.is_up()
        headers = {} if heard.cursor is None else {"last-event-id": heard.cursor}
        try:
            async with (
                self._service.client() as client,
                client.stream("GET", f"/tasks/{heard.task}/events", headers=headers) as response,
            ):
                if response.status_code == GONE:
                    return False
                response.raise_for_status()
                async for event in _events(response):
                    heard.events.append(event)
                    self._service.heard()
                    await self._react(event, heard, group)
        except httpx2.TransportError:
            heard.deaths.append(len(heard.events))
        return True

    async def _react(self, event: Event, heard: Heard, group: anyio.abc.TaskGroup) -> None:
        if event.name == "approval_requested":
            waiting = self._asked[event.data["visit"]]
            waiting.append(event.data["approval_id"])
            if len(waiting) == event.data["arguments"]["of"]:  # all of this answer: now, in any order
                self._rng.shuffle(waiting)
                group.start_soon(self._decide, self._asked.pop(event.data["visit"]))
        elif event.name == "doubt_raised":
            group.start_soon(self._post, "/doubts", {"id": event.data["doubt_id"]})
        elif event.name == "error" and heard.text.startswith(FRAIL):
            await self._post(f"/tasks/{heard.task}/resume", {"text": heard.text})

    async def _decide(self, approvals: list[str]) -> None:
        for approval in approvals:
            await self._post("/decisions", {"id": approval, "allow": self._rng.random() < 0.8})

    async def _post(self, path: str, body: Mapping[str, object]) -> None:
        """Ask until somebody answers."""
        while True:
            await self._service.is_up()
            try:
                async with self._service.client() as client:
                    answer = await client.post(path, json=body)
            except httpx2.TransportError:
                continue
            assert answer.status_code in (202, 409), answer.text
            return


async def _events(response: httpx2.Response) -> AsyncIterator[Event]:
    """The events of a response as a browser reads them: one is whole once its empty line has come."""
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield Event(fields["event"], fields.get("id"), json.loads(fields["data"]))
            fields = {}
        else:
            fields = {}  # a ping
