"""A service with workflows and agents, for tests of its routes."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
from starlette.applications import Starlette
from tests.service import _flows as flows

from stagepost.agents import Agent, ScriptedModel, call
from stagepost.checkpoint import CheckpointStore, MemoryStore
from stagepost.service import Key, RequestLimits, create_app
from stagepost.workflows import Chain, Runner, State, StepContext, step


@step
async def tell_all(state: State, context: StepContext) -> dict[str, object]:
    for word in ("one", "two"):
        context.tell(word)
    return {"told": True}


@step
async def hang(state: State) -> None:
    await anyio.sleep_forever()


def workflows() -> list[Any]:
    script = ScriptedModel([call("look", city="Oslo"), "It rains."] * 5)
    weather = Agent("weather", prompt="W.", model=script, tools=[flows.look])
    return [*flows.workflows, flows.mailer, flows.buyer, weather, Chain("teller", [tell_all]), Chain("stuck", [hang])]


@asynccontextmanager
async def service(
    store: CheckpointStore | None = None, *, keys: Iterable[Key] = (), limits: RequestLimits | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service in this process."""
    runner = Runner(store or MemoryStore(), workflows=workflows(), keep="all")
    app = create_app(runner, keys=keys, limits=limits or RequestLimits.none())
    async with client_of(app) as http:
        yield http


@asynccontextmanager
async def client_of(app: Starlette) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application, which has started."""
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        yield http


async def started(http: httpx.AsyncClient, workflow: str, **given: Any) -> str:
    """Start a run, and wait until it has ended or waits; its id."""
    begin: dict[str, Any] = {"state": {}} if "request" not in given else {}
    answer = await http.post("/runs", json={"workflow": workflow, **begin, **given})
    assert answer.status_code == 202, answer.text
    run_id: str = answer.json()["run_id"]
    await http.get(f"/runs/{run_id}/events", params={"view": "watch", "settled": "true"})
    return run_id


def error_of(answer: httpx.Response, status: int) -> str:
    """The type of the error of an answer with this status."""
    assert answer.status_code == status, answer.text
    kind: str = answer.json()["error"]["type"]
    return kind
