"""The web application."""

import signal
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TypedDict

import anyio
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from hub_service.agents import Desk, Order, Receipt
from stagepost.hub import Hub, HubStopped, MailboxFull, RequestTimeout


class Shared(TypedDict):
    """What the lifespan gives to each request."""

    hub: Hub


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncGenerator[Shared, None]:
    """Run the hub as long as the service, and begin to drain it with the signal that stops the service.

    The server waits for its open responses first, and a stream of events only ends with the hub: so the hub must not
    wait for the server. Draining finishes what was accepted, answers its requesters, and then ends the streams.
    """
    async with Hub("service") as hub, anyio.create_task_group() as tasks:
        hub.register(Desk(), mailbox=1000)
        tasks.start_soon(_drain_at_sigterm, hub)
        yield {"hub": hub}
        tasks.cancel_scope.cancel()


async def _drain_at_sigterm(hub: Hub) -> None:
    server = signal.getsignal(signal.SIGTERM)
    with anyio.open_signal_receiver(signal.SIGTERM) as signals:
        async for number in signals:
            if callable(server):
                server(number, None)  # the server stops taking connections
            report = await hub.drain()
            print(f"drained, {len(report.unfinished)} unfinished", flush=True)


async def order(request: Request) -> Response:
    """Ask the desk, and say in HTTP what may go wrong."""
    hub: Hub = request.state.hub
    try:
        wanted = Order.model_validate_json(await request.body())
        receipt = await hub.request("desk", wanted, expect=Receipt, timeout=5)
    except ValidationError as error:
        return Response(error.json(), status_code=422, media_type="application/json")
    except (MailboxFull, RequestTimeout, HubStopped) as error:
        return JSONResponse({"error": str(error)}, status_code=503, headers={"Retry-After": "1"})
    return JSONResponse(receipt.model_dump())


async def events(request: Request) -> Response:
    """Stream what is booked as server-sent events, from now on."""
    hub: Hub = request.state.hub
    return StreamingResponse(_booked(hub), media_type="text/event-stream")


async def _booked(hub: Hub) -> AsyncIterator[str]:
    async with hub.listen("orders.*.booked", overflow="drop_oldest") as stream:
        yield ": listening\n\n"
        async for message in stream:
            yield f"event: {message.topic}\ndata: {message.data.model_dump_json()}\n\n"
    yield "event: end\ndata: \n\n"


app = Starlette(routes=[Route("/orders", order, methods=["POST"]), Route("/events", events)], lifespan=lifespan)
