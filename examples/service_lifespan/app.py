"""The application: endpoints that start runs and answer their waits, and a lifespan that owns what runs need."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypedDict

from anyio import move_on_after
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from stagepost.checkpoint import RunStatus, SqliteStore, WaitKind
from stagepost.hub import Hub
from stagepost.workflows import PendingWait, Run, RunFailed, Runner

from .claims import Bank, Claim, Decision, claims, rates
from .statuses import HANDLERS

PATIENCE: Final = 1.0
_log = logging.getLogger("service_lifespan")


class State(TypedDict):
    """What every request finds in ``request.state``."""

    runner: Runner


def create_app(folder: Path) -> Starlette:
    """Make the application.

    Args:
        folder: Where it keeps its runs and the list of payments.
    """

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[State]:
        async with (
            SqliteStore(folder / "runs.db") as store,
            Hub("claims") as hub,
            Runner(store, hub=hub, workflows=[claims], deps=Bank(folder / "payments.txt")) as runner,
        ):
            hub.register("rates", rates)
            report = await runner.recover()  # whatever the last process has left goes on from here
            for run_id, why in report.left_open.items():
                _log.error("run %s was left open: %s", run_id, why)
            yield {"runner": runner}

    routes = [
        Route("/claims", submit, methods=["POST"]),
        Route("/claims/{run_id}", look, methods=["GET"]),
        Route("/inbox", inbox, methods=["GET"]),
        Route("/inbox/{wait_id:path}", decide, methods=["POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={**HANDLERS, ValidationError: invalid})


async def submit(request: Request) -> JSONResponse:
    """``POST /claims``: start a run. The same ``Idempotency-Key`` finds the same run, however often it is sent."""
    runner: Runner = request.state.runner
    claim = Claim.model_validate_json(await request.body())
    run = await runner.start(claims, claim, key=request.headers.get("idempotency-key"))
    return await standing(run)


async def look(request: Request) -> JSONResponse:
    """``GET /claims/{run_id}``: the claim if it is done, or that it is not."""
    runner: Runner = request.state.runner
    return await standing(await runner.get(request.path_params["run_id"]))


async def inbox(request: Request) -> JSONResponse:
    """``GET /inbox``: what waits for a person."""
    runner: Runner = request.state.runner
    return JSONResponse([as_entry(wait) for wait in await runner.waits(kind=WaitKind.ANSWER)])


async def decide(request: Request) -> JSONResponse:
    """``POST /inbox/{wait_id}``: the answer of a person; the first one counts."""
    runner: Runner = request.state.runner
    wait_id: str = request.path_params["wait_id"]
    decision = Decision.model_validate_json(await request.body())
    await runner.answer(wait_id, decision, by=decision.by or None)
    return await standing(await runner.get(wait_id.partition("/")[0]))


async def standing(run: Run) -> JSONResponse:
    """Where a run stands, after a moment of patience: 200 with its result, or 202 and where to ask again."""
    status = RunStatus.RUNNING
    with move_on_after(PATIENCE):
        status = await run.settled()
    where = {"Location": f"/claims/{run.id}"}
    if status.is_open:
        return JSONResponse({"run": run.id, "status": status, "waits": run.waits}, 202, headers=where)
    try:
        claim: Claim = await run.result()
    except RunFailed:
        _log.exception("run %s", run.id)
        return JSONResponse({"run": run.id, "status": status, "error": "it has failed, and the log says why"}, 500)
    return JSONResponse({"run": run.id, "status": status, **claim.model_dump(mode="json")}, headers=where)


def as_entry(wait: PendingWait) -> dict[str, object]:
    """A wait as a client sees it."""
    due = None if wait.due_at is None else wait.due_at.isoformat()
    return {"wait": wait.id, "shown": wait.shown, "due": due}


async def invalid(_request: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a body."""
    assert isinstance(error, ValidationError)  # noqa: S101  # what it is registered for
    return JSONResponse({"error": error.errors(include_url=False, include_context=False, include_input=False)}, 422)
