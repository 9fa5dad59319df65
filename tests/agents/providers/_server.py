"""One HTTP server for all providers: a header of the request says which session it belongs to.

The address is the same for all sessions: litellm keeps a client for each address, and drops the oldest, unclosed, once
there are some hundreds.
"""

from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Lock, Thread
from types import TracebackType
from typing import Final, Self, TypeAlias, cast

from pydantic_core import from_json, to_json
from tests.agents.providers._rules import Asked, Entry, Provider, Refused, Reply, Request, Says, check, says

_HOST: Final = "127.0.0.1"
_SESSION: Final = "x-scene"  # no name that sounds like a key: its value would be masked
_LOOK: Final = 0.02  # seconds between two looks at whether to close

Script: TypeAlias = Sequence[Entry] | Mapping[str, Sequence[Entry]]
"""Answers in their order; or several lists, each for the requests in whose prompt or users' texts its key stands."""


class Session:
    """What one model at one provider is to say, and what it was asked.

    Args:
        name: Its name.
        address: Where the server is.
        provider: The provider.
        script: What the model says.

    Attributes:
        headers: What requests to it have to carry.
        requests: The requests so far, refused ones included.
        asked: What those that were taken say.
        refusals: Why requests were refused.
    """

    def __init__(self, name: str, address: str, provider: Provider, script: Script) -> None:
        self.address = address
        self.headers = {_SESSION: name}
        self.provider = provider
        self.requests: list[Request] = []
        self.asked: list[Asked] = []
        self.refusals: list[Refused] = []
        self._lock = Lock()
        self._numbers = count()
        lists = script if isinstance(script, Mapping) else {"": script}
        self._left = {key: list(entries) for key, entries in lists.items()}

    @property
    def unsaid(self) -> int:
        """How many answers of the script were never asked for."""
        return sum(map(len, self._left.values()))

    def extend(self, entries: Sequence[Entry], key: str = "") -> None:
        """Have the model say more."""
        with self._lock:
            self._left.setdefault(key, []).extend(entries)

    def answer(self, request: Request) -> Reply:
        """Check a request and answer it.

        Raises:
            Refused: It breaks a rule, or the script has nothing more to say.
        """
        with self._lock:
            self.requests.append(request)
            try:
                self._find(request)
                check(self.provider.rules, request)
                asked = self.provider.read(request)
                said = self._next(asked)
            except Refused as refused:
                self.refusals.append(refused)
                raise
            self.asked.append(asked)
            return self.provider.reply(request, said, next(self._numbers))

    def _find(self, request: Request) -> None:
        if self.provider.path.fullmatch(request.path) is None:
            raise Refused(f"there is nothing at {request.path}", code="not_found", status=404)

    def _next(self, asked: Asked) -> Says:
        known = "\n".join([asked.system, *asked.texts])
        for key, left in self._left.items():
            if key in known:
                if not left:
                    raise Refused(f"the script for {key!r} has nothing more to say", code="script")
                return says(left.pop(0), asked)
        raise Refused(f"the script has nothing to say to {known!r}", code="script")


class ProviderServer:
    """Listens in a thread; a test opens a session in it."""

    def __init__(self) -> None:
        self._http = _HttpServer((_HOST, 0), _Handler)
        self._thread = Thread(target=self._http.serve_forever, args=(_LOOK,), name="provider-server")
        self._numbers = count()

    def session(self, provider: Provider, script: Script = ()) -> Session:
        """A session of its own."""
        name = f"scene-{next(self._numbers):06}"
        session = Session(name, f"http://{_HOST}:{self._http.server_port}", provider, script)
        self._http.sessions[name] = session
        return session

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True  # a client may keep its connections open for as long as the process lives
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.sessions: dict[str, Session] = {}

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone away is no error here, and nothing is printed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        session = cast("_HttpServer", self.server).sessions[headers[_SESSION]]
        try:
            reply = session.answer(Request(self.path, from_json(data), headers))
        except Refused as refused:
            body = to_json(session.provider.problem(refused))
            self._begin(refused.status, "application/json", {"Content-Length": str(len(body)), "x-rule": refused.rule})
            self.wfile.write(body)
        else:
            self._send(reply)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Print nothing."""

    def _send(self, reply: Reply) -> None:
        if not reply.streamed:
            body = b"".join(reply.chunks)
            self._begin(200, reply.type, {"Content-Length": str(len(body))})
            self.wfile.write(body)
            return
        self._begin(200, reply.type, {"Transfer-Encoding": "chunked"})
        for chunk in reply.chunks:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _begin(self, code: int, kind: str, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
