"""An HTTP server in a thread of its own that keeps what it was sent, and answers as it is told."""

import json
import socket
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import uvicorn
from anyio.lowlevel import checkpoint
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

NEVER = 0  # instead of a status: no answer comes
ENDLESS = 1  # 200, with a body that has no end


class Got(NamedTuple):
    """A request.

    Attributes:
        path: Of its URL.
        headers: Its headers, in lower case.
        body: Its body.
        status: What it was answered.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes
    status: int

    @property
    def key(self) -> str:
        return self.headers["idempotency-key"]

    @property
    def part(self) -> dict[str, Any]:
        part: dict[str, Any] = json.loads(self.body)
        return part


class Receiver:
    """See the module.

    Attributes:
        url: Where it is.
        got: All requests, in the order in which they came.
        under_way: How many are under way.
        most: How many were under way at once, at most.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.got: list[Got] = []
        self.most = 0
        self.under_way = 0
        self._plans: dict[str, deque[int | Response]] = defaultdict(deque)
        self._gates: dict[str, threading.Event] = {}
        self._changed = threading.Condition()

    def plan(self, path: str, *answers: int | Response) -> None:
        """Answer requests to a path like this, one after the other; then 204."""
        self._plans[path].extend(answers)

    def plan_nothing(self, path: str) -> None:
        """Answer all further requests to a path with 204."""
        self._plans.pop(path, None)

    def hold(self, path: str) -> Callable[[], None]:
        """Answer requests to a path only after the function that this returns was called."""
        self._gates[path] = threading.Event()
        return self._gates[path].set

    def of(self, path: str = "/hook", *, ok: bool = True) -> list[Got]:
        """The requests to a path that were answered with 2xx, or all."""
        return [
            each for each in self.got if each.path == path and (not ok or 200 <= each.status < 300 or each.status == 1)
        ]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so of what was received."""
        await anyio.to_thread.run_sync(self._wait, condition, abandon_on_cancel=True)

    async def received(self, count: int, path: str = "/hook", *, ok: bool = True) -> list[Got]:
        """The first so many requests to a path, once they are there."""
        await self.until(lambda: len(self.of(path, ok=ok)) >= count)
        return self.of(path, ok=ok)[:count]

    def _wait(self, condition: Callable[[], bool]) -> None:
        with self._changed:
            self._changed.wait_for(condition)

    async def answer(self, request: Request) -> Response:
        """Answer a request."""
        path = request.url.path
        try:
            body = await request.body()
        except ClientDisconnect:  # the sender was killed before it had sent all
            return Response(status_code=400)
        with self._changed:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            self._changed.notify_all()
        try:
            if (gate := self._gates.get(path)) is not None:
                await anyio.to_thread.run_sync(gate.wait, abandon_on_cancel=True)
            plan = self._plans[path]
            planned = plan.popleft() if plan else 204
            status = planned if isinstance(planned, int) else planned.status_code
            with self._changed:
                self.got.append(Got(path, dict(request.headers), body, status))
                self._changed.notify_all()
            if planned == NEVER:
                await anyio.sleep_forever()
            if planned == ENDLESS:
                return StreamingResponse(_endless())
            return planned if isinstance(planned, Response) else Response(status_code=planned)
        finally:
            self.under_way -= 1


async def _endless() -> Any:
    while True:
        yield b"x" * 1000
        await checkpoint()


@contextmanager
def receiving(port: int = 0) -> Iterator[Receiver]:
    """A receiver on this machine."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    receiver = Receiver(f"http://127.0.0.1:{listener.getsockname()[1]}")
    app = Starlette(routes=[Route("/{path:path}", receiver.answer, methods=["POST", "GET"])])
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.should_exit = server.force_exit = True
        thread.join(10)
        listener.close()
