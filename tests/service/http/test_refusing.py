"""What is refused before it is known who asks, and what is refused because somebody asks too much."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import httpx
import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope
from tests.service.http._served import SECRET, app, client

from stagepost.service import EventStream, Key, RequestLimits, Scope, new_key, serving
from stagepost.service._http._cut import AnswerCut
from stagepost.service._http._rates import network_of
from stagepost.service._http._refusing import host_in, is_loopback, is_same
from stagepost.service._http._streams import OpenStreams
from stagepost.service._serving._protocol import PatientProtocol
from stagepost.service.errors import InvalidKey, TooManyStreams

WITH_KEY = {"X-API-Key": SECRET}
JSON = {**WITH_KEY, "Content-Type": "application/json"}


@asynccontextmanager
async def connected(served: ASGIApp, protocol: type[PatientProtocol] = PatientProtocol) -> AsyncIterator[int]:
    """The port of a server in this loop."""
    config = uvicorn.Config(served, http=protocol, log_config=None, h11_max_incomplete_event_size=32 * 1024)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as bound, anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [bound])
            try:
                yield bound.getsockname()[1]
            finally:
                server.should_exit = True


async def said(port: int, request: bytes) -> bytes:
    """What a server answers to bytes, until it ends the connection."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        if request:
            await stream.send(request)
        found = b""
        with anyio.fail_after(30), suppress(anyio.BrokenResourceError):
            async for piece in stream:
                found += piece
    return found


async def test_paths_that_servers_read_in_different_ways_are_refused() -> None:
    strange = ("//whoami", "/echo//x", "/echo/../whoami", "/echo/%2e%2e/whoami", "/echo/%2E", "/echo/a%2F%2Fb")
    async with connected(app()) as port:
        for path in (*strange, "/%00", "/a%0d%0ab", "/a%5Cb", "/%ff"):
            answer = await said(port, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 400"), path
            assert b'"MalformedRequest"' in answer


async def test_an_encoded_slash_is_a_part_of_the_path() -> None:
    async with client(app()) as http:
        assert (await http.get("/echo/a%2Fb")).json() == {"rest": "a/b"}


STRANGE = {
    "key": f"Host: localhost\r\nX-API-Key: {SECRET}\r\nX-API-Key: {SECRET}\r\n",
    "bearer": f"Host: localhost\r\nAuthorization: Bearer {SECRET}\r\nAuthorization: Bearer other\r\n",
    "origin": "Host: localhost\r\nOrigin: http://a\r\nOrigin: http://b\r\n",
    "host": "Host: localhost\r\nHost: evil.example\r\n",
    "length": "Host: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
    "empty host": "Host: \r\n",
    "no host": "",
    "huge": f"Host: localhost\r\nX-Long: {'x' * 40_000}\r\n",
}


async def test_headers_that_servers_read_in_different_ways_are_refused() -> None:
    async with connected(app()) as port:
        for name, headers in STRANGE.items():
            answer = await said(port, f"GET /whoami HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 400"), name


async def test_a_second_request_hidden_in_the_first_is_not_answered() -> None:
    head = f"POST /wish HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {SECRET}\r\nContent-Length: 60\r\n"
    hidden = "GET /whoami HTTP/1.1\r\nHost: localhost\r\n\r\n"
    chunked = f"{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"
    async with connected(app()) as port:
        answer = await said(port, chunked.encode())
    assert answer.count(b"HTTP/1.1") == 1
    assert b'"MalformedRequest"' in answer


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "user@localhost", "[::2]"]
)
async def test_without_keys_no_other_name_is_answered(host: str) -> None:
    async with client(app(keys=[])) as http:
        assert (await http.get("/whoami")).json()["name"] == "local"
        assert (await http.get("/whoami", headers={"Host": host})).status_code == 403


@pytest.mark.parametrize(
    "headers", [{"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}, {"Via": "1.1 p"}], ids=str
)
async def test_without_keys_no_proxy_is_answered(headers: dict[str, str]) -> None:
    async with client(app(keys=[])) as http:
        assert (await http.get("/whoami", headers=headers)).status_code == 403


async def test_without_keys_no_other_machine_is_answered() -> None:
    async with client(app(keys=[]), client=("192.0.2.1", 1)) as http:
        assert (await http.get("/whoami")).status_code == 403


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}], ids=str
)
async def test_without_keys_no_page_of_another_site_changes_anything(headers: dict[str, str]) -> None:
    async with client(app(keys=[])) as http:
        assert (await http.post("/change", headers=headers)).status_code == 403
        assert (await http.post("/change")).status_code == 200


async def test_a_key_in_a_header_needs_no_origin() -> None:
    async with client(app()) as http:
        assert (await http.post("/whoami", headers={**WITH_KEY, "Origin": "http://evil.example"})).status_code == 200


async def test_only_the_hosts_that_were_named_are_answered() -> None:
    async with client(app(hosts=["runs.example.com"])) as http:
        assert (await http.get("/whoami", headers=WITH_KEY)).status_code == 403
        assert (await http.get("/whoami", headers={**WITH_KEY, "Host": "Runs.example.com:8443"})).status_code == 200


async def test_pages_of_other_sites_may_ask_only_where_they_were_named() -> None:
    asking = {"Origin": "https://app.example.com", "Access-Control-Request-Method": "POST"}
    async with client(app()) as http:
        assert "access-control-allow-origin" not in (await http.options("/whoami", headers=asking)).headers
    async with client(app(origins=["https://app.example.com"])) as http:
        allowed = await http.options("/whoami", headers=asking)
        other = await http.options("/whoami", headers={**asking, "Origin": "https://evil.example"})
        refused = await http.get("/whoami", headers={"Origin": "https://app.example.com"})
    assert allowed.headers["access-control-allow-origin"] == "https://app.example.com"
    assert "access-control-allow-credentials" not in allowed.headers
    assert "access-control-allow-origin" not in other.headers
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "https://app.example.com")


@pytest.mark.parametrize("origin", ["*", "https://*.example.com", "app.example.com", "https://a.example/path"])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(ValueError, match="give scheme and host"):
        app(origins=[origin])


async def test_the_61st_request_of_a_minute_is_refused() -> None:
    other, key = new_key("ben", [Scope.READ])
    async with client(
        app(keys=[key, Key.of(SECRET, name="ann", scopes=["read"])], limits=RequestLimits(requests="60/minute"))
    ) as http:
        statuses = [(await http.get("/whoami", headers=WITH_KEY)).status_code for _ in range(60)]
        refused = await http.get("/whoami", headers=WITH_KEY)
        assert (await http.get("/whoami", headers={"X-API-Key": other})).status_code == 200
        assert (await http.get("/health", headers=WITH_KEY)).status_code == 200
    assert set(statuses) == {200}
    assert (refused.status_code, refused.json()["error"]["type"]) == (429, "TooManyRequests")
    assert 0 < int(refused.headers["retry-after"]) <= 60


async def test_whoever_guesses_keys_is_slowed_down_and_others_are_not() -> None:
    async with client(app(limits=RequestLimits(failures="2/minute"))) as http:
        tried = [(await http.get("/whoami", headers={"X-API-Key": f"guess-{n}"})).status_code for n in range(3)]
        assert (await http.get("/whoami", headers=WITH_KEY)).status_code == 200
    assert tried == [401, 401, 429]


async def test_a_body_is_refused_by_its_length_before_it_is_read() -> None:
    sent = 0

    async def content() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(150):
            sent += 1
            yield b" " * 2**20

    async with client(app()) as http:
        refused = await http.post("/wish", content=content(), headers={**JSON, "Content-Length": str(150 * 2**20)})
    assert (refused.status_code, refused.json()["error"]["type"]) == (413, "BodyTooLarge")
    assert sent == 0


async def test_a_client_that_goes_in_the_middle_of_its_body_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    served = app()
    async with client(served):
        headers = [(b"host", b"localhost"), (b"x-api-key", SECRET.encode())]
        scope = {"type": "http", "method": "POST", "path": "/wish", "query_string": b"", "headers": headers}
        answered: list[Message] = []

        async def gone() -> Message:
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            answered.append(message)

        with caplog.at_level("ERROR"):
            await served(scope, gone, send)
    assert not answered
    assert not caplog.records


async def test_a_body_in_chunks_is_refused_once_it_is_too_large() -> None:
    async def content() -> AsyncIterator[bytes]:
        for _ in range(150):
            yield b" " * 2**20

    async with connected(app()) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as http:
        refused = await http.post("/wish", content=content(), headers=JSON)
    assert (refused.status_code, refused.json()["error"]["type"]) == (413, "BodyTooLarge")


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    head = f"POST /wish HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {SECRET}\r\nContent-Length: 10\r\n\r\n12".encode()
    async with connected(app(limits=RequestLimits(body_timeout=0.05))) as port:
        assert (await said(port, head)).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("head", [b"", b"GET /whoami HTTP/1.1\r\nHost: local"], ids=["nothing", "a part"])
async def test_a_head_that_does_not_come_is_not_waited_for(head: bytes) -> None:
    class Hasty(PatientProtocol):
        headers_timeout = 0.05

    async with connected(app(), Hasty) as port:
        assert not await said(port, head)


async def test_a_client_that_reads_nothing_is_not_waited_for() -> None:
    class Hasty(PatientProtocol):
        stalled_timeout = 0.05

    ended = anyio.Event()

    async def endless(scope: object, receive: object, send: object) -> None:
        assert isinstance(scope, dict)
        if scope["type"] != "http":
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore[operator]  # ASGI
        try:
            while True:
                await send({"type": "http.response.body", "body": b"x" * 2**18, "more_body": True})  # type: ignore[operator]  # ASGI
                message = None
                with anyio.move_on_after(0):
                    message = await receive()  # type: ignore[operator]  # ASGI
                if message is not None and message["type"] == "http.disconnect":
                    return
        finally:
            ended.set()

    async with connected(endless, Hasty) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with anyio.fail_after(30):
            await ended.wait()


async def test_a_client_that_reads_slowly_gets_all_of_it() -> None:
    request = b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    async with connected(app()) as port:
        assert (await said(port, request)).endswith(b"\r\n\r\n" + b"x" * 2**24)


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b"{", ""),
        (b"[]", ""),
        (b"{}", "text"),
        (b'{"text": 1}', "text"),
        (b'{"text": "x", "count": "no"}', "count"),
        (b"\xff", ""),
        (b'{"text": "x", "count": NaN}', ""),
        (b'{"text": "x", "more": -Infinity}', ""),
        (b'{"text": "x", "more": [{"deep": 1e999}]}', ""),
        (b'{"text": "x", "more": -1' + b"0" * 400 + b".0}", ""),
    ],
    ids=range(10),
)
async def test_a_body_that_does_not_fit_is_told_by_its_field(content: bytes, field: str) -> None:
    async with client(app()) as http:
        refused = await http.post("/wish", content=content, headers=JSON)
        taken = await http.post("/wish", json={"text": "NaN of 1e999"}, headers=WITH_KEY)
        plain = await http.post("/wish", content=b'{"text": "x"}', headers={**WITH_KEY, "Content-Type": "text/plain"})
    assert refused.status_code == 422
    assert refused.json()["error"]["details"][0]["field"] == field
    assert taken.json() == {"text": "NaN of 1e999", "count": 1}
    assert plain.status_code == 422


def test_streams_are_counted_for_all_and_for_each_caller() -> None:
    streams = OpenStreams(RequestLimits(streams=3, streams_per_caller=2))
    with streams.admitted("ann"), streams.admitted("ann"):
        with pytest.raises(TooManyStreams, match="of one caller"), streams.admitted("ann"):
            pass
        with streams.admitted("ben"):
            assert streams.total == 3
            with pytest.raises(TooManyStreams, match="of all"), streams.admitted("cleo"):
                pass
    assert streams.total == 0
    unlimited = OpenStreams(RequestLimits.none())
    with unlimited.admitted("ann"):
        assert unlimited.total == 1


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="streams=0"):
        RequestLimits(streams=0)


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix", "unix"),
    ],
)
def test_addresses_of_one_network_count_as_one(host: str, network: str) -> None:
    assert network_of(host) == network


@pytest.mark.parametrize(
    ("origin", "host", "scheme", "same"),
    [
        ("http://a", "a", "http", True),
        ("http://a:80", "a", "http", True),
        ("https://a", "a", "http", True),  # a proxy ends TLS
        ("http://a", "a", "https", False),
        ("http://a:81", "a", "http", False),
        ("http://a", "b", "http", False),
        ("null", "a", "http", False),
        ("http://a", "a:x", "http", False),
        ("file://a", "a", "http", False),
    ],
)
def test_an_origin_is_ours_if_it_is_the_host(origin: str, host: str, scheme: str, same: bool) -> None:  # noqa: FBT001  # a table
    assert is_same(origin, host, scheme) is same


def test_what_is_this_machine() -> None:
    assert [host_in(each) for each in ("[::1]:80", "a:1", "x@localhost", "a/b", "[")] == ["::1", "a", "", "", ""]
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1")))
    assert not any(map(is_loopback, ("", "0.0.0.0", "192.0.2.1", "localhost.")))  # noqa: S104  # binds nothing


@pytest.mark.parametrize(
    "secret", ["short", "x" * 513, "with spaces in it " * 2, "not ascii é is not in headers"], ids=ascii
)
def test_a_secret_that_cannot_be_used_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(InvalidKey, match="'ann'") as raised:
        Key.of(secret, name="ann", scopes=[Scope.READ])
    assert secret not in str(raised.value)


async def test_a_stream_that_nobody_reads_is_cut_off_by_any_server(caplog: pytest.LogCaptureFixture) -> None:
    async def endless(request: Request) -> Response:
        async def events() -> AsyncIterator[bytes]:
            while True:
                yield b":" + b"x" * 2**18 + b"\n\n"

        return EventStream(events(), streams=serving(request).streams, who="ann")

    async def answered(scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            with suppress(AnswerCut):
                await served(scope, receive, send)
        finally:
            if scope["type"] == "http":
                ended.set()

    ended = anyio.Event()
    served = app(routes=[Route("/endless", endless)], limits=RequestLimits(send_timeout=0.05))
    async with connected(answered) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with anyio.fail_after(30):
            await ended.wait()
    assert "request failed" not in caplog.text


async def test_websockets_are_not_answered() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    await app()({"type": "websocket", "path": "/whoami", "headers": []}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]
