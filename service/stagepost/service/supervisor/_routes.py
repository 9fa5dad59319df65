"""The routes of a supervisor."""

from collections.abc import Callable, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import Final

import anyio
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from .._http._bodies import read_json
from .._http._runs._described import DescribedRoute
from .._http._runs._events import RunEvents
from .._http._serving import caller, serving
from ._bodies import read_resumption, read_session
from ._errors import TurnFailed
from ._history import history_of
from ._operations import CHAT, COMPLETE, EVENTS, HISTORY
from ._phrases import FAILED
from ._requests import ChatRequest, Resumption
from ._responses import Answering, SupervisorResponse
from ._sending import sent
from ._sessions import ChatSessions
from ._turns import ChatTurn

_PING: Final = 15.0  # seconds without an event after which a comment is sent


class SupervisorRoutes:
    """The routes of a supervisor.

    Args:
        sessions: Its sessions, while they are open.
    """

    def __init__(self, sessions: Callable[[], ChatSessions]) -> None:
        self._sessions = sessions

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """The routes."""
        return (
            DescribedRoute(CHAT, self.chat),
            DescribedRoute(COMPLETE, self.complete),
            DescribedRoute(HISTORY, self.history),
            DescribedRoute(EVENTS, self.events),
        )

    async def chat(self, request: Request) -> Response:
        """Answer a message with events."""
        caller(request, CHAT.needed)
        how = read_resumption(request)
        turn = await self._sessions().turn(await read_json(request, ChatRequest), how)
        return _stream(request, turn)

    async def complete(self, request: Request) -> Response:
        """Answer a message as a whole."""
        caller(request, COMPLETE.needed)
        how = read_resumption(request)
        body = await read_json(request, ChatRequest)
        sessions = self._sessions()
        turn = await sessions.turn(body, Resumption(key=how.key, detach=how.detach))
        assert turn is not None  # noqa: S101  # that is the answer to a reader who comes back
        answer = await _while_connected(request, turn, Answering(sessions.workers))
        return Response(status_code=HTTPStatus.NO_CONTENT) if answer is None else _json(answer)

    async def history(self, request: Request) -> Response:
        """Show a session."""
        caller(request, HISTORY.needed)
        session_id, sessions = read_session(request), self._sessions()
        turns = await sessions.turns(session_id)
        found = await history_of(serving(request).tasks, session_id, turns, sessions.workers)
        return _json(found)

    async def events(self, request: Request) -> Response:
        """The events of a session's last turn."""
        caller(request, EVENTS.needed)
        after = read_resumption(request).after
        return _stream(request, await self._sessions().last(read_session(request), after))


def _json(found: BaseModel) -> Response:
    return Response(found.model_dump_json(), media_type="application/json")


def _stream(request: Request, turn: ChatTurn | None) -> Response:
    """The events of a turn; status 204, which ends an ``EventSource``, if all were told."""
    if turn is None:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    return RunEvents(request, sent(turn), ping=_PING)


async def _while_connected(request: Request, turn: ChatTurn, answering: Answering) -> SupervisorResponse | None:
    """What a turn comes to; None if its client has gone before.

    Raises:
        TurnFailed: It has ended without an answer.
        Exception: What has kept it from being told, as it is and not in a group.
    """
    answer: SupervisorResponse | None = None
    failure: Exception | None = None
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            async with aclosing(turn.events()) as events:
                async for event in events:
                    answering.add(event)
                    if event.name == "error":
                        failure = TurnFailed(turn.session_id, FAILED)
            answer = answering.response
        except Exception as error:  # noqa: BLE001  # raised again below, outside of the group
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return answer
