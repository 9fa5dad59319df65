"""The application below a prefix, in applications of others whose lifespan holds the runner."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from tests._needs import need
from tests.service.http._served import HOST, KEY, ROUTES, SECRET, app, client

from stagepost.checkpoint import MemoryStore
from stagepost.service import create_app
from stagepost.workflows import Runner

need("fastapi")
WITH_KEY = {"X-API-Key": SECRET}


async def test_an_entered_runner_is_used_and_left_as_it_is() -> None:
    from fastapi import FastAPI

    runner = Runner(MemoryStore())
    served = create_app(runner, keys=[KEY], routes=ROUTES, pages={})

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with runner.store, runner:
            yield

    outer = FastAPI(lifespan=lifespan)
    outer.mount("/agents", served)
    transport = httpx.ASGITransport(outer)
    async with outer.router.lifespan_context(outer), httpx.AsyncClient(transport=transport, base_url=HOST) as http:
        assert (await http.get("/agents/whoami", headers=WITH_KEY)).json() == {"name": "ann", "open": True}
        assert (await http.get("/agents/health")).json() == {"status": "ok"}
        sent = await http.get("/agents/whoami", headers={"Accept": "text/html"})
        assert sent.headers["location"] == "/agents/login?next=/agents/whoami"
        page = await http.get(sent.headers["location"])
        assert 'action="/agents/login"' in page.text
        style = page.text.partition('stylesheet" href="')[2].partition('"')[0]
        assert (await http.get(style)).status_code == 200
        form = {"key": SECRET, "next": "/agents/whoami"}
        begun = await http.post("/agents/login", data=form, headers={"Origin": HOST})
        assert begun.headers["location"] == "/agents/whoami"
        assert "path=/agents" in begun.headers["set-cookie"].lower()
        other = await http.post("/agents/login", data={**form, "next": "/elsewhere"}, headers={"Origin": HOST})
        assert other.headers["location"] == "/agents/"
        assert runner.is_open
    assert not runner.is_open
    async with httpx.AsyncClient(transport=transport, base_url=HOST) as http:
        assert (await http.get("/agents/whoami", headers=WITH_KEY)).status_code == 503


async def test_an_application_that_holds_its_runner_is_started_by_the_one_around_it() -> None:
    served = app()

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with served.router.lifespan_context(served):
            yield

    async with client(Starlette(routes=[Mount("/runs-of-ours", served)], lifespan=lifespan)) as http:
        assert (await http.get("/runs-of-ours/whoami", headers=WITH_KEY)).json()["open"]


async def test_a_function_makes_the_runner_when_the_application_starts() -> None:
    begun = []

    @asynccontextmanager
    async def source() -> AsyncIterator[Runner]:
        async with MemoryStore() as store, Runner(store) as runner:
            begun.append(runner)
            yield runner

    async with client(create_app(source, keys=[KEY], routes=ROUTES)) as http:
        assert (await http.get("/whoami", headers=WITH_KEY)).json()["open"]
    assert not begun[0].is_open


async def test_what_surrounds_the_service_begins_after_its_runner_and_ends_before() -> None:
    seen = []

    @asynccontextmanager
    async def around(served: object) -> AsyncIterator[None]:
        seen.append(served.runner.is_open)  # type: ignore[attr-defined]  # a Serving
        yield
        seen.append(served.runner.is_open)  # type: ignore[attr-defined]  # a Serving

    async with client(app(lifespan=around)):
        pass
    assert seen == [True, True]


@pytest.mark.parametrize("has_docs", [True, False], ids=["told", "not"])
async def test_the_routes_are_described_if_that_is_wanted(has_docs: bool) -> None:  # noqa: FBT001  # a table
    async with client(app(has_docs=has_docs)) as http:
        assert ((await http.get("/openapi.json", headers=WITH_KEY)).status_code == 200) is has_docs
