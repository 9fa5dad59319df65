"""The application: it opens and recovers its runner, and knows who asks."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from stagepost.checkpoint import MemoryStore
from stagepost.service import Key, Scope, caller, create_app, new_key, serving
from stagepost.workflows import Runner

SECRET, KEY = new_key("ann", [Scope.READ])


async def whoami(request: Request) -> JSONResponse:
    return JSONResponse({"name": caller(request, Scope.READ).name, "open": serving(request).runner.is_open})


async def change(request: Request) -> JSONResponse:
    caller(request, Scope.RUN)
    return JSONResponse({})


async def broken(request: Request) -> JSONResponse:
    raise KeyError("a secret inside")


ROUTES = [Route("/whoami", whoami), Route("/change", change, methods=["POST"]), Route("/broken", broken)]


@asynccontextmanager
async def client(app: Starlette) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as made,
    ):
        yield made


def app(keys: Iterable[Key] = (KEY,)) -> Starlette:
    return create_app(Runner(MemoryStore()), keys=keys, routes=ROUTES)


@pytest.mark.parametrize(
    "headers", [{"X-API-Key": SECRET}, {"Authorization": f"bearer {SECRET}"}], ids=["own", "bearer"]
)
async def test_a_key_says_who_asks(headers: dict[str, str]) -> None:
    async with client(app()) as http:
        assert (await http.get("/whoami", headers=headers)).json() == {"name": "ann", "open": True}


@pytest.mark.parametrize("headers", [{}, {"X-API-Key": "wrong"}], ids=["none", "wrong"])
async def test_without_a_valid_key_nothing_is_told(headers: dict[str, str]) -> None:
    async with client(app()) as http:
        refused = await http.get("/whoami", headers=headers)
    assert refused.status_code == 401
    assert refused.json()["error"]["type"] == "KeyRequired"
    assert refused.headers["www-authenticate"].startswith("Bearer")


async def test_a_key_without_the_scope_is_refused() -> None:
    async with client(app()) as http:
        refused = await http.post("/change", headers={"X-API-Key": SECRET})
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "ScopeRequired")


async def test_what_nobody_expects_is_told_by_a_reference_only() -> None:
    async with client(app()) as http:
        failed = await http.get("/broken")
    assert failed.status_code == 500
    assert failed.json()["error"]["message"] == "Internal server error"
    assert "secret" not in failed.text


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/change", 405)], ids=["path", "method"])
async def test_what_is_not_there_is_told_in_the_same_form(path: str, status: int) -> None:
    async with client(app()) as http:
        refused = await http.get(path)
    assert refused.status_code == status
    assert set(refused.json()["error"]) == {"type", "message"}
