"""The application: it opens and recovers its runner, knows who asks, and tells errors in one form."""

import logging

import anyio
import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message
from tests.service.http._served import KEY, ROUTES, SECRET, app, client

from stagepost.checkpoint import MemoryStore
from stagepost.service import Scope, create_app, new_key
from stagepost.service.errors import InvalidKey
from stagepost.workflows import Chain, Runner, Wait

WITH_KEY = {"X-API-Key": SECRET}


@pytest.mark.parametrize("headers", [WITH_KEY, {"Authorization": f"bearer {SECRET}"}], ids=["own", "bearer"])
async def test_a_key_says_who_asks(headers: dict[str, str]) -> None:
    async with client(app()) as http:
        assert (await http.get("/whoami", headers=headers)).json() == {"name": "ann", "open": True}


@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "wrong"}, {"Authorization": "Basic eDp5"}], ids=str)
async def test_without_a_valid_key_nothing_is_told(headers: dict[str, str]) -> None:
    async with client(app()) as http:
        refused = await http.get("/whoami", headers=headers)
    assert refused.status_code == 401
    assert refused.json()["error"]["type"] == "KeyRequired"
    assert refused.headers["www-authenticate"].startswith("Bearer")


async def test_a_key_without_the_scope_is_refused() -> None:
    async with client(app()) as http:
        refused = await http.post("/change", headers=WITH_KEY)
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "ScopeRequired")
    assert "the scope 'run'" in refused.json()["error"]["message"]


async def test_an_admin_may_do_everything() -> None:
    secret, key = new_key("root", [Scope.ADMIN])
    async with client(app(keys=[key])) as http:
        assert (await http.post("/change", headers={"X-API-Key": secret})).status_code == 200


async def test_two_keys_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidKey, match="'ann'"):
        app(keys=[KEY, new_key("ann", [Scope.RUN])[1]])


async def test_what_nobody_expects_is_told_by_a_reference_that_the_log_has(caplog: pytest.LogCaptureFixture) -> None:
    async with client(app()) as http:
        failed = await http.get("/broken")
    told = failed.json()["error"]
    assert (failed.status_code, told["message"]) == (500, "Internal server error")
    assert "secret" not in failed.text
    assert told["reference"] in caplog.text
    assert "a secret inside" in caplog.text


async def test_an_answer_that_fails_after_its_beginning_is_cut_without_insides() -> None:
    async with client(app()) as http:
        with pytest.raises(Exception, match="could not be completed") as raised:
            await http.get("/breaking")
    assert "secret" not in str(raised.value)
    assert raised.value.__suppress_context__


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/change", 405), ("/whoami/", 404)], ids=str)
async def test_what_is_not_there_is_told_in_the_same_form(path: str, status: int) -> None:
    async with client(app()) as http:
        refused = await http.get(path)
    assert refused.status_code == status
    assert set(refused.json()["error"]) == {"type", "message"}


async def test_every_answer_has_an_id_and_the_headers_that_browsers_obey(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "stagepost.service.access")
    async with client(app(), base_url="https://localhost") as http:
        for path in ("/whoami?token=hush", "/broken", "/nowhere"):
            answer = await http.get(path, headers={**WITH_KEY, "X-Request-ID": "asked-7"})
            assert answer.headers["x-request-id"] == "asked-7"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "max-age" in answer.headers["strict-transport-security"]
    assert "caller=ann" in caplog.text or "'ann'" in caplog.text
    assert "hush" not in caplog.text
    assert SECRET not in caplog.text


async def test_an_id_that_could_forge_a_log_is_replaced() -> None:
    async with client(app()) as http:
        assert (await http.get("/whoami", headers={"X-Request-ID": "a b"})).headers["x-request-id"] != "a b"


async def test_runs_that_cannot_go_on_are_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    store, flow = MemoryStore(), Chain("asking", [Wait("approval", expect=bool)])
    async with store, Runner(store, workflows=[flow]) as runner:
        run = await runner.start(flow, {}, run_id="asking-1")
        await run.settled()
        await runner.answer("asking-1/approval", value=True)
    async with client(create_app(Runner(store))):
        pass
    assert "run left open" in caplog.text
    assert "asking-1" in caplog.text


def test_a_secret_for_logins_has_to_be_long() -> None:
    with pytest.raises(ValueError, match="at least 32"):
        app(login_secret=b"short")
    app(login_secret="x" * 32)
    app(login_secret=b"x" * 32)


async def test_a_route_outside_of_the_service_is_told_where_it_belongs() -> None:
    transport = httpx.ASGITransport(Starlette(routes=ROUTES))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        with pytest.raises(RuntimeError, match="/whoami is no route of an application of create_app"):
            await http.get("/whoami")


async def test_a_page_needs_pages(caplog: pytest.LogCaptureFixture) -> None:
    async with client(app(inspector=False)) as http:
        assert (await http.get("/shown", headers=WITH_KEY)).status_code == 500
    assert "give create_app(pages=" in caplog.text


async def test_before_the_start_it_says_so() -> None:
    served = app()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(served), base_url="http://localhost") as http:
        refused = await http.get("/whoami", headers=WITH_KEY)
    assert (refused.status_code, refused.json()["error"]["type"]) == (503, "NotServing")


async def test_whoever_is_cut_off_by_the_end_of_the_service_is_told_so() -> None:
    answered: list[Message] = []
    reached = anyio.Event()

    async def hang(request: Request) -> Response:
        reached.set()
        await anyio.sleep_forever()
        raise AssertionError

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        answered.append(message)

    served = app(routes=[Route("/hang", hang)])
    headers = [(b"host", b"localhost"), (b"x-api-key", SECRET.encode())]
    scope = {"type": "http", "method": "GET", "path": "/hang", "query_string": b"", "headers": headers}
    async with client(served), anyio.create_task_group() as group:
        group.start_soon(served, scope, receive, send)
        with anyio.fail_after(20):
            await reached.wait()
        group.cancel_scope.cancel()
    assert answered[0]["status"] == 503
    assert (b"retry-after", b"5") in answered[0]["headers"]
    assert b'"NotServing"' in answered[1]["body"]
