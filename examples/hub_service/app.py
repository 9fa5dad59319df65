"""The application: endpoints that speak to agents, and a lifespan that owns their hub."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypedDict

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from stagepost.hub import Hub, HubError

from .shop import Journal, Order, Receipt, Warehouse
from .statuses import answer_hub_error
from .streams import Streams

_PATIENCE: Final = 1.0
_GRACE: Final = 30.0
_log = logging.getLogger("hub_service")


class State(TypedDict):
    """What every request finds in ``request.state``."""

    hub: Hub
    streams: Streams


def create_app(journal: Path, *, pause: float = 0.0, streams: Streams | None = None) -> Starlette:
    """Make the application.

    Args:
        journal: The file that receipts are written to.
        pause: How many seconds writing one takes.
        streams: Pass your own to end the streams of events when the server is about to stop.
    """

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[State]:
        async with Hub("shop") as hub:
            hub.register(Warehouse())
            hub.register(Journal(journal, pause=pause), mailbox=1000)
            yield {"hub": hub, "streams": streams or Streams()}
            report = await hub.drain(_GRACE)  # no request is open any more, but accepted work is queued
            for message in report.unfinished:
                _log.error("not finished: %s for %s (%s)", message.payload, message.agent, message.stage)

    routes = [
        Route("/orders", order, methods=["POST"]),
        Route("/orders/later", order_later, methods=["POST"]),
        Route("/events", events),
        Route("/health", health),
    ]
    handlers = {HubError: answer_hub_error, ValidationError: answer_invalid}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)


async def order(request: Request) -> JSONResponse:
    """``POST /orders``: wait for the receipt."""
    hub: Hub = request.state.hub
    wanted = Order.model_validate_json(await request.body())
    receipt = await hub.request(Warehouse.id, wanted, expect=Receipt, timeout=5)
    return JSONResponse(receipt.model_dump(), 201)


async def order_later(request: Request) -> JSONResponse:
    """``POST /orders/later``: the order is accepted, which is a promise; a full mailbox refuses it after a second."""
    hub: Hub = request.state.hub
    wanted = Order.model_validate_json(await request.body())
    await hub.send(Warehouse.id, wanted, timeout=_PATIENCE)
    return JSONResponse({"accepted": wanted.model_dump()}, 202)


async def events(request: Request) -> StreamingResponse:
    """``GET /events?topic=orders.*.reserved``: what happens from now on, as server-sent events."""
    hub: Hub = request.state.hub
    streams: Streams = request.state.streams
    stream = await streams.subscribe(hub, request.query_params.get("topic", "orders.>"))
    return StreamingResponse(stream, media_type="text/event-stream")


async def health(request: Request) -> JSONResponse:
    """``GET /health``: how busy the hub is."""
    hub: Hub = request.state.hub
    metrics = hub.metrics()
    facts = {"handled": metrics.handled, "failed": metrics.failed, "dead": metrics.dead, "waiting": metrics.depth}
    return JSONResponse({"hub": hub.name, **facts, "p95": metrics.latency.p95})


async def answer_invalid(_request: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a body that is no order."""
    if not isinstance(error, ValidationError):
        raise error
    return JSONResponse({"error": error.errors(include_url=False, include_context=False, include_input=False)}, 422)
