"""The server itself: a thread that listens, and a thread for each connection."""

import socket
from collections.abc import Sequence
from contextlib import suppress
from http.server import ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Final, Self

from anyio import CancelScope, to_thread

from ._entries import ServerRequest, ServerScript
from ._handler import Handler
from ._plan import Plan

_HOST: Final = "127.0.0.1"
_LOOK: Final = 0.05  # seconds between two looks at whether to close


class LocalServer:
    """A provider on this machine, for tests and offline examples.

    It implements OpenAI's chat completions, streamed or not, with tool calls and usage, and fails as scripted::

        async with LocalServer([Status(429, retry_after=1), call("get_weather", city="Miami"), "30 °C"]) as server:
            model = LiteLLM("openai/local", api_base=server.url, api_key="none")

    The script is read as by a `ScriptedModel`: which answer a request gets depends on how many answers its conversation
    holds, and faults precede the answer that follows them, each once. It runs in threads, so with any event loop, and
    whatever happens to the loop.

    Args:
        script: Texts, calls, responses and faults (`Status`, `Slow`, `Hang`, `Drip`, `Cut`, `Garbage`); or a function
            of the request that returns one of them, called in the thread of its connection.
        port: Where to listen; 0 for any free port.
    """

    def __init__(self, script: ServerScript, *, port: int = 0) -> None:
        self._plan = Plan(script)
        self._port = port
        self._http: HttpServer | None = None
        self._seen: list[ServerRequest] = []

    @property
    def url(self) -> str:
        """What a client takes as the base of the API."""
        return f"http://{_HOST}:{self._port}/v1"

    @property
    def requests(self) -> Sequence[ServerRequest]:
        """The requests so far, in the order of their coming; also when the server has closed."""
        return tuple(self._seen)

    def open(self) -> None:
        """Listen. For those who cannot use ``async with``; `close` is theirs to call, then."""
        self._http = HttpServer(self._port, self._plan, self._seen)
        self._port = self._http.server_port
        self._thread = Thread(target=self._http.serve_forever, args=(_LOOK,), name="stagepost-local-server")
        self._thread.start()

    def close(self) -> None:
        """Close all connections, also those that hang, and wait for the threads to end."""
        if self._http is not None:
            self._http.close()
            self._thread.join()
            self._http = None

    async def __aenter__(self) -> Self:
        self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with CancelScope(shield=True):  # it ends by itself, within `_LOOK` and what the script's function takes
            await to_thread.run_sync(self.close)


class HttpServer(ThreadingHTTPServer):
    """Listens, and knows its connections, so that it can close them."""

    daemon_threads = False  # they are waited for
    request_queue_size = 128

    def __init__(self, port: int, plan: Plan, seen: list[ServerRequest]) -> None:
        super().__init__((_HOST, port), Handler)
        self.plan = plan
        self.seen = seen
        self.closing = Event()
        self._lock = Lock()
        self._connections: set[socket.socket] = set()

    def close(self) -> None:
        """Refuse new connections, close the old ones, wait for their threads."""
        self.shutdown()
        self.closing.set()
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):  # the client was faster
                    connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection."""
        connection, address = super().get_request()
        with self._lock:
            self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone away is no error here, and nothing is printed."""
