"""Streams of runs, as server-sent events."""

from collections.abc import AsyncGenerator
from contextlib import ExitStack, aclosing
from http import HTTPStatus
from secrets import token_hex
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from stagepost.agents import sse
from stagepost.hub import get_logger
from stagepost.workflows import RunnerStopped

from ..._wire._asked import EventsAsked
from ..._wire._watched import WatchEvent
from .._errors import told, unexpected
from .._serving import asked, serving
from .._streams import EventStream
from ._operation import Begin, Call

_EVENTS: Final = "text/event-stream"
_PING: Final = 15.0  # seconds without an event after which a comment is sent


async def run_events(request: Request, call: Call) -> Response:
    """The stream of a run, from its beginning or after a cursor; status 204 to whoever was told all of it."""
    wanted: EventsAsked = call.query
    run_id = call.path["run_id"]
    cursor = request.headers.get("last-event-id") or wanted.after
    if wanted.view == "watch":
        await call.verbs.heard_all(call.caller, run_id, None)  # raises if there is no such run
        changes = call.verbs.watch(call.caller, run_id, until_settled=wanted.settled)
        return RunEvents(request, _watched(changes), ping=_PING)
    if await call.verbs.heard_all(call.caller, run_id, cursor):
        return Response(status_code=HTTPStatus.NO_CONTENT)
    return RunEvents(request, sse(await call.verbs.stream(call.caller, run_id, after=cursor), every=_PING))


def wants_events(request: Request) -> bool:
    """Whether a client accepts server-sent events, and names them."""
    return _EVENTS in request.headers.get("accept", "")


async def starts_stream(request: Request, call: Call, begin: Begin) -> Response:
    """Start a run and send its stream from the first token on."""
    after = request.headers.get("last-event-id")
    events = sse(await begin(call, after), every=_PING)
    with ExitStack() as stack:  # whoever may have no more streams starts no run, which a retry would start again
        stack.enter_context(serving(request).streams.admitted(asked(request).who))
        first = await anext(events)  # by now the run is stored, or was refused
        return RunEvents(request, _begun(first, events), admission=stack.pop_all())


class RunEvents(EventStream):
    """The response with the events of a run; however it ends, nobody listens to the run for it any more.

    Args:
        request: What it answers.
        events: The events.
        ping: As for `EventStream`; 0 where the events have comments among them.
        admission: As for `EventStream`.
    """

    def __init__(
        self,
        request: Request,
        events: AsyncGenerator[bytes, None],
        *,
        ping: float = 0,
        admission: ExitStack | None = None,
    ) -> None:
        self._events = _told(events)
        streams, who = serving(request).streams, asked(request).who
        super().__init__(self._events, streams=streams, who=who, ping=ping, admission=admission)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._events.aclose()


async def _begun(first: bytes, events: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(events):
        yield first
        async for event in events:
            yield event


async def _watched(changes: AsyncGenerator[WatchEvent, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(changes):
        async for change in changes:
            yield b"event: " + change.event.encode() + b"\ndata: " + change.model_dump_json().encode() + b"\n\n"


async def _told(events: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Events; and if there are no more though the run has not ended, why: ``event: problem``."""
    async with aclosing(events):
        try:
            async for event in events:
                yield event
        except RunnerStopped:  # the service ends, and the client comes back to the next one
            return
        except Exception as error:  # noqa: BLE001  # the answer has begun, so that this is how it is told
            yield b"event: problem\ndata: " + _problem(error) + b"\n\n"


def _problem(error: Exception) -> bytes:
    """An error in the form that it has as an answer."""
    found = told(error)
    if found is None:
        reference = token_hex(8)
        get_logger("service").error("stream failed", reference=reference, exc_info=error)
        found = unexpected(reference)
    return bytes(found.as_json().body)
