"""One connection to a local server, in a thread of its own."""

from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler
from itertools import islice
from threading import Event
from typing import Final, Protocol, cast

from pydantic_core import from_json, to_json

from .._model import ModelResponse
from ._entries import Cut, Drip, Garbage, Hang, ServerRequest, Slow, Status
from ._plan import Move, Plan
from ._wire import DONE, chunks, completion, problem

_JSON: Final = "application/json"
_ASKED: Final = "/v1/chat/completions"


class Home(Protocol):
    """What all connections of a server share.

    Attributes:
        plan: What the server does next.
        seen: The requests so far.
        closing: Set when the server closes.
    """

    plan: Plan
    seen: list[ServerRequest]
    closing: Event


class Handler(BaseHTTPRequestHandler):
    """Speaks HTTP and does what the plan says."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # an answer leaves in one piece, and a chunk when it is flushed

    def do_GET(self) -> None:
        """List the requests so far."""
        if self.path != "/requests":
            self._send(404, to_json(problem(f"there is nothing at {self.path}", 404)))
            return
        seen = [{"path": request.path, "body": request.body} for request in self._home.seen]
        self._send(200, to_json(seen))

    def do_POST(self) -> None:
        """Answer a request for a completion."""
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            body = from_json(data)
            request = ServerRequest(self.path, body, {name.lower(): value for name, value in self.headers.items()})
            self._home.seen.append(request)
            move = self._decide(request)
        except Exception as error:  # noqa: BLE001  # the script's function is a user's: the client is told
            self._fail(Status(400, message=f"{type(error).__name__}: {error}"))
        else:
            self._act(request, move)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Print nothing."""

    @property
    def _home(self) -> Home:
        return cast("Home", self.server)

    def _decide(self, request: ServerRequest) -> Move:
        if request.path != _ASKED:
            message = f"there is nothing at {request.path}: ask {_ASKED}"
            return Move(ModelResponse(), Status(404, message=message))
        move = self._home.plan.next(request)
        while isinstance(move.fault, Slow):
            self._home.closing.wait(move.fault.seconds)
            move = self._home.plan.next(request)
        return move

    def _act(self, request: ServerRequest, move: Move) -> None:
        match move.fault:
            case Status() as status:
                self._fail(status)
            case Garbage() as garbage:
                self._send(200, garbage.text.encode(), garbage.type)
            case Drip() as drip:
                self._drip(drip.every)
            case _ if request.body.get("stream"):
                self._stream(request, move)
            case _:
                self._whole(request, move)

    def _whole(self, request: ServerRequest, move: Move) -> None:
        data = to_json(completion(move.response, request.body))
        if isinstance(move.fault, Hang):
            self._hang()
        elif isinstance(move.fault, Cut):
            self._begin(200, _JSON, {"Content-Length": str(len(data))})
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
        else:
            self._send(200, data)

    def _stream(self, request: ServerRequest, move: Move) -> None:
        events = chunks(move.response, request.body)
        if not isinstance(move.fault, Hang | Cut):
            self._open_stream([*events, DONE])
            self._end_stream()
            return
        if move.fault.after or isinstance(move.fault, Cut):
            self._open_stream(islice(events, move.fault.after))
        if isinstance(move.fault, Hang):
            self._hang()
        elif move.fault.clean:
            self._end_stream()
        else:
            self.close_connection = True

    def _open_stream(self, events: Iterable[bytes]) -> None:
        self._begin(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        for event in events:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            self.wfile.flush()

    def _end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _drip(self, every: float) -> None:
        self.close_connection = True
        self._open_stream([])
        while not self._home.closing.wait(every):
            self.wfile.write(b"1\r\n\n\r\n")
            self.wfile.flush()

    def _hang(self) -> None:
        self.close_connection = True
        self._home.closing.wait()

    def _fail(self, status: Status) -> None:
        headers = {} if status.retry_after is None else {"Retry-After": f"{status.retry_after:g}"}
        self._send(status.code, to_json(problem(status.message, status.code)), headers=headers)

    def _send(self, code: int, data: bytes, kind: str = _JSON, headers: dict[str, str] | None = None) -> None:
        self._begin(code, kind, {"Content-Length": str(len(data)), **(headers or {})})
        self.wfile.write(data)

    def _begin(self, code: int, kind: str, headers: dict[str, str]) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
