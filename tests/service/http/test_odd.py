"""Whatever is sent to a service is answered, and nothing of it is a failure of the service."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from tests.service.http._runs import client_of, workflows
from tests.service.supervisor._shop import WORKERS, supervisor

from stagepost.checkpoint import MemoryStore
from stagepost.service import RequestLimits
from stagepost.service._http._runs._operations import OPERATIONS
from stagepost.service.supervisor import create_supervisor_app
from stagepost.workflows import Runner

SESSION = str(uuid4())
METHODS = ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "BREW")
CHATS = ("/chat", "/chat/complete", f"/chat/{SESSION}", f"/chat/{SESSION}/events")
NAMES = ("%00", "%FF", "%ED%A0%80", "%F0%9F%98%80", "%E2%80%AEx", "a%2Fb", "..", "x" * 3_000, "%23", "'%22--")
NUMBERS = ("-1", "0", "99999999999999999999", "NaN", "1e3", "%D9%A3", "")
QUERIES = (
    *(f"/runs?limit={each}" for each in NUMBERS),
    *(f"/runs/none/history?after={each}" for each in NUMBERS),
    *(f"/runs?{name}=%00" for name in ("after", "before", "text", "workflow", "key", "label", "below", "since")),
    "/runs?text=%22%20OR%20*",
    "/runs?since=0001-01-01T00:00:00%2B23:59",
    "/runs?until=9999-12-31T23:59:59-23:59",
    "/runs?status=open&status=open&limit=1&limit=2",
    "/waits?after=%ED%A0%80",
    "/schedules?after=zz",
    "/chat/none?detach=maybe",
    f"/chat/{SESSION}?X-API-Key=secret",
)
VALUES = (
    b"",
    b"null",
    b"[]",
    b'"x"',
    b"{",
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b'{"a": NaN}',
    b'{"a": 1e999}',
    b"[" * 100_000,
    b'{"a": ' * 500 + b"1" + b"}" * 500,
    b'{"a": ' + b"9" * 5_000 + b"}",
    b'{"\\ud800": 1}',
)
STATES: tuple[Any, ...] = ("\0", 10**30, [[[]] * 50], {"": {"$x": None}})
REQUESTS: tuple[Any, ...] = (None, 5, [], [1], {"type": "image"}, "")
BODIES: tuple[dict[str, Any], ...] = (
    *({"workflow": "quick", "state": {"a": each}} for each in STATES),
    *({"workflow": "quick", "state": {}, "run_id": each} for each in ("", "..", "a/b", "a\0", "é", "x" * 101)),
    *({"workflow": "quick", "state": {}, "labels": each} for each in ({"": "x"}, {"a": ""}, {"a\0": "b\0"})),
    *({"workflow": "mailer", "request": each} for each in REQUESTS),
    *({"message": each, "session_id": SESSION} for each in ("", "\0", "\u202e", "x" * 32_001, 5)),
    {"message": "x", "session_id": f"{SESSION}\n"},
    {"answer": {"deep": [{}]}, "allow": True},
    {"name": "\0", "value": None},
    {"key": "k", "retry": True, "value": 1},
    {"at": -1},
    {"at": "x" * 5_000},
    {"text": "\0"},
)
HEADERS = (
    {"Last-Event-ID": "A" * 20_000},
    {"Last-Event-ID": "1!x.y"},
    {"Last-Event-ID": "99999999999999999999"},
    {"Last-Event-ID": "eyJ0dXJuIjotMX0"},
    {"Idempotency-Key": " "},
    {"Idempotency-Key": "x" * 201},
    {"Cookie": "stagepost_login=x; =;;="},
    {"Authorization": "Bearer"},
    {"Content-Type": "application/x-www-form-urlencoded"},
    {"Accept": "text/event-stream;q=0"},
    {"X-Request-ID": "a b"},
)


def paths() -> Iterator[tuple[str, str]]:
    """Each method and path, for a run, a wait and so on that there is not."""
    for each in OPERATIONS:
        yield each.method, each.path.replace(":path", "")
    yield from (("POST", path) for path in CHATS[:2])
    yield from (("GET", path) for path in (*CHATS[2:], "/health", "/openapi.json"))


def requests() -> Iterator[dict[str, Any]]:
    for method, path in paths():
        there = path.format(run_id="r", wait_id="r/w", key="k", conversation_id="c")
        yield from ({"method": odd, "url": there} for odd in METHODS)
        yield from ({"method": method, "url": there, "headers": odd} for odd in HEADERS)
        if "{" in path:
            yield from (
                {"method": method, "url": path.format(run_id=odd, wait_id=odd, key=odd, conversation_id=odd)}
                for odd in NAMES
            )
        if method == "POST":
            contents = (*VALUES, *(json.dumps(body).encode() for body in BODIES))
            yield from ({"method": method, "url": there, "content": content} for content in contents)
    yield from ({"method": "GET", "url": query} for query in QUERIES)


async def test_nothing_that_is_sent_is_a_failure_of_the_service(caplog: pytest.LogCaptureFixture) -> None:
    agent = supervisor()
    runner = Runner(MemoryStore(), workflows=[*workflows(), agent])
    app = create_supervisor_app(runner, agent, WORKERS, limits=RequestLimits.none(), pages={})
    async with client_of(app) as http:
        answers = [await answered(http, request) for request in requests()]
    assert len(answers) > 1_000
    assert [(request, answer.text) for request, answer in answers if answer.status_code >= 500] == []
    assert "request failed" not in caplog.text
    told = [answer.json()["error"] for _, answer in answers if answer.status_code >= 400 and answer.text]
    assert all({"type", "message"} <= set(error) for error in told)


async def answered(http: httpx.AsyncClient, request: dict[str, Any]) -> tuple[dict[str, Any], httpx.Response]:
    headers = {"Content-Type": "application/json", **request.get("headers", {})}
    return request, await http.request(**{**request, "headers": headers})
