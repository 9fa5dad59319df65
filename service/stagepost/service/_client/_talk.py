"""A conversation with an agent of a service."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import quote
from uuid import uuid4

import anyio
import httpx2

from stagepost.agents import Allow, Deny, InvalidPart, Refuse, StreamPart, TokenArrived, part_from_dict

from .._wire._asked import refusal
from .._wire._conversations import ConversationShown, Said
from .._wire._done import Done
from .._wire._waits import WaitList
from ._errors import ServiceRefused, ServiceUnreachable
from ._http import Query, Service, raise_problem

ResultT = TypeVar("ResultT")
Events: TypeAlias = AbstractAsyncContextManager[AsyncIterator[httpx2.ServerSentEvent]]

_TRIES: Final = 30  # how often in a row a service that has gone is asked again: it may be started anew
_PAUSE: Final = 1.0  # seconds before that
_PASSING: Final = (502, 503, 504)  # statuses of a service that starts or ends, or of what stands before it
_SHOWN: Final = 10  # texts of before
_WAITS: Final = 10_000


class ServiceTalk:
    """A conversation with an agent of a service.

    What it says is sent once, and what it hears is heard once, however often the connection is cut or the service
    started anew meanwhile.

    Args:
        service: The service.
        agent: Name of the agent.
        name: The conversation.
        lost: Is told once the service has gone, or the connection to it.

    Attributes:
        id: The conversation.
        said: The last texts that were said before it was opened.
        before: How many there are before these.
    """

    def __init__(self, service: Service, agent: str, name: str, lost: Callable[[], None]) -> None:
        self.id = name
        self.said: Sequence[Said] = ()
        self.before = 0
        self._service = service
        self._agent = agent
        self._lost = lost
        self._open: str | None = None
        self._path = f"/conversations/{quote(name, safe='')}"

    async def opened(self) -> "ServiceTalk":
        """Look at what was said before.

        Raises:
            ServiceRefused: There is no such agent, or it is another one's conversation.
            ServiceUnreachable: Nobody answers.
        """
        query: Query = {"agent": self._agent, "limit": _SHOWN}
        found = await self._service.get(ConversationShown, self._path, query)
        self.said, self.before, self._open = found.said, found.before, found.open
        return self

    def rest(self) -> AsyncGenerator[StreamPart, None] | None:
        """The answer that is not over yet; None if each message was answered."""
        return None if self._open is None else self._heard(None, self._open)

    def say(self, text: str) -> AsyncGenerator[StreamPart, None]:
        """Say something; what comes of it, part by part."""
        body = {"agent": self._agent, "request": text}
        return self._heard(partial(self._service.events, self._path, body=body, key=uuid4().hex), None)

    async def asks(self, wait_id: str) -> bool:
        """Whether something still waits for somebody."""
        query: Query = {"run": wait_id.partition("/")[0], "limit": _WAITS}
        found = await self._patiently(partial(self._service.get, WaitList, "/waits", query))
        return any(each.wait_id == wait_id for each in found.waits)

    async def decide(self, wait_id: str, decision: Allow | Deny) -> None:
        """Say whether a call may be made."""
        await self._told(wait_id, {"allow": True} if isinstance(decision, Allow) else {"deny": decision.reason})

    async def answer(self, wait_id: str, value: object) -> None:
        """Answer a question, or refuse to."""
        await self._told(wait_id, {"answer": refusal(value.reason) if isinstance(value, Refuse) else value})

    async def settle(self, wait_id: str, result: str | None) -> None:
        """Say what came of a call in doubt; None: it is made again."""
        await self._told(wait_id, {"retry": True} if result is None else {"result": result})

    async def _told(self, wait_id: str, body: dict[str, Any]) -> None:
        await self._patiently(partial(self._service.post, Done, f"/waits/{quote(wait_id, safe='')}", body))

    async def _patiently(self, ask: Callable[[], Awaitable[ResultT]]) -> ResultT:
        """Ask, and ask again while the service is away."""
        for failures in range(_TRIES):
            try:
                return await ask()
            except (ServiceRefused, ServiceUnreachable) as error:
                _check_passing(error)
                await self._pause(failures)
        return await ask()

    async def _pause(self, failures: int) -> None:
        if not failures:
            self._lost()
        await anyio.sleep(_PAUSE)

    async def _heard(self, begin: Callable[[], Events] | None, run_id: str | None) -> AsyncGenerator[StreamPart, None]:
        """The parts of an answer to its end.

        Args:
            begin: Says what is answered; as often as it takes until the answer has begun.
            run_id: The run of an answer that has begun.
        """
        cursor: str | None = None
        tokens, failures = _Tokens(), 0
        while True:
            error: Exception | None = None
            opening = self._events(run_id, cursor) if begin is None or run_id is not None else begin()
            try:
                async with opening as events:
                    async for event in events:
                        failures = 0
                        part = self._part(event)
                        run_id, cursor = part.task_id, part.cursor or cursor
                        for each in tokens.told(part):
                            yield each
                        if part.is_last:
                            return
            except (ServiceRefused, ServiceUnreachable, httpx2.TransportError) as raised:
                _check_passing(raised)
                error = raised
            if failures == _TRIES:
                raise ServiceUnreachable(self._service.url, str(error or "its stream ends before the answer"))
            tokens.cut()
            await self._pause(failures)
            failures += 1

    def _events(self, run_id: str | None, cursor: str | None) -> Events:
        return self._service.events(f"/runs/{quote(run_id or '', safe='')}/events", {"after": cursor})

    def _part(self, event: httpx2.ServerSentEvent) -> StreamPart:
        raise_problem(event)
        try:
            return part_from_dict(json.loads(event.data))
        except (InvalidPart, ValueError) as error:
            raise ServiceUnreachable(self._service.url, "what it tells is of another version") from error


def _check_passing(error: Exception) -> None:
    """Raise what the service itself has said, unless it only says that it is not there now."""
    if isinstance(error, ServiceRefused) and error.status not in _PASSING:
        raise error


class _Tokens:
    """The text of the answers that are on their way: after a cut it comes again from the answer's beginning."""

    def __init__(self) -> None:
        self._texts: dict[tuple[object, ...], str] = {}
        self._doubtful: set[tuple[object, ...]] = set()

    def cut(self) -> None:
        """What comes next may have come before."""
        self._doubtful = set(self._texts)

    def told(self, part: StreamPart) -> Sequence[StreamPart]:
        """A part, without what of it has come before."""
        if not isinstance(part, TokenArrived):
            return (part,)
        key = (part.path, part.turn, part.kind, part.call)
        before = "" if part.index == 0 else self._texts.get(key, "")
        if key in self._doubtful:
            self._doubtful.discard(key)
            before = self._texts[key]
            if not part.token.startswith(before):
                self._texts[key] = part.token
                return (replace(part, index=0),)
            part = replace(part, token=part.token[len(before) :], index=max(part.index, 1))
        self._texts[key] = before + part.token
        return (part,) if part.token else ()
