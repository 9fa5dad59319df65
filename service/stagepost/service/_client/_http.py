"""Requests to a service: what it answers is read as a model, what it refuses is raised."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias, TypeVar

import httpx2
from pydantic import BaseModel, ValidationError

from .._wire._errors import ErrorTold
from ._errors import ServiceRefused, ServiceUnreachable

M = TypeVar("M", bound=BaseModel)
Query: TypeAlias = Mapping[str, str | int | bool | Sequence[str] | None]

_TIMEOUT: Final = httpx2.Timeout(30.0, connect=10.0)
_LONG: Final = httpx2.Timeout(30.0, connect=10.0, read=60.0)  # of a stream, in which a comment comes every 15 s
_SHOWN: Final = 200


class Service:
    """A service, as its client sees it.

    Args:
        url: Where it is, such as ``https://runs.example.com/stagepost``.
        key: The secret of a key; None for a service that asks for none.
    """

    def __init__(self, url: str, key: str | None, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        headers = {} if key is None else {"X-API-Key": key}
        self._http = httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT, transport=transport)

    async def close(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def get(self, model: type[M], path: str, query: Query | None = None) -> M:
        """Ask for something.

        Raises:
            ServiceRefused: It was refused.
            ServiceUnreachable: Nobody answers.
        """
        return await self._asked(model, "GET", path, params=_given(query or {}))

    async def post(self, model: type[M], path: str, body: Mapping[str, Any] | None = None) -> M:
        """Have something done.

        Args:
            model: What is answered.
            path: Where it is done.
            body: What is sent.

        Raises:
            ServiceRefused: It was refused.
            ServiceUnreachable: Nobody answers.
        """
        return await self._asked(model, "POST", path, json=body or {})

    async def delete(self, model: type[M], path: str) -> M:
        """Have something deleted.

        Raises:
            ServiceRefused: It was refused.
            ServiceUnreachable: Nobody answers.
        """
        return await self._asked(model, "DELETE", path)

    @asynccontextmanager
    async def events(
        self, path: str, query: Query | None = None, body: Mapping[str, Any] | None = None, key: str | None = None
    ) -> AsyncIterator[AsyncIterator[httpx2.ServerSentEvent]]:
        """Server-sent events.

        Args:
            path: Whose they are.
            query: What stands after the question mark.
            body: What is sent, if something is to be done that they tell of.
            key: The header ``Idempotency-Key`` for that.

        Raises:
            ServiceRefused: They were refused.
            ServiceUnreachable: Nobody answers.
            httpx2.TransportError: The connection is cut, or nothing comes for a minute (while they are read).
        """
        address, params = f"{self.url}{path}", _given(query or {})
        headers = {"Accept": "text/event-stream", **({} if key is None else {"Idempotency-Key": key})}
        method = "GET" if body is None else "POST"
        request = self._http.build_request(method, address, params=params, json=body, headers=headers, timeout=_LONG)
        response = await self._sent(request, stream=True)
        try:
            if response.is_error:
                await response.aread()
                raise refusal(response)
            yield aiter(httpx2.EventSource(response))
        finally:
            await response.aclose()

    async def _asked(self, model: type[M], method: str, path: str, **given: Any) -> M:
        response = await self._sent(self._http.build_request(method, f"{self.url}{path}", **given))
        if not response.is_success:
            raise refusal(response)
        try:
            return model.model_validate_json(response.content)
        except ValidationError as error:
            raise ServiceUnreachable(self.url, "what answers there is no stagepost service of this version") from error

    async def _sent(self, request: httpx2.Request, *, stream: bool = False) -> httpx2.Response:
        try:
            return await self._http.send(request, stream=stream)
        except httpx2.TimeoutException as error:
            raise ServiceUnreachable(self.url, "it took too long") from error
        except httpx2.TransportError as error:
            raise ServiceUnreachable(self.url, str(error) or type(error).__name__) from error


def refusal(response: httpx2.Response) -> ServiceRefused:
    """Why something was refused."""
    try:
        told = ErrorTold.model_validate_json(response.content).error
    except ValidationError:
        text = " ".join(response.text.split())[:_SHOWN]
        return ServiceRefused("HTTPError", f"the answer was {response.status_code}: {text}", response.status_code)
    fields = "; ".join(f"{each.field}: {each.message}" if each.field else each.message for each in told.details)
    parts = [told.message, fields, told.hint or "", f"reference {told.reference}" if told.reference else ""]
    return ServiceRefused(told.type, ": ".join(part for part in parts if part), response.status_code)


def raise_problem(event: httpx2.ServerSentEvent) -> None:
    """See that an event of a stream is not the last one, which says that nobody can go on with the run.

    Raises:
        ServiceRefused: It is.
    """
    if event.event == "problem":
        told = ErrorTold.model_validate_json(event.data).error
        raise ServiceRefused(told.type, told.message, 200)


def _given(query: Query) -> dict[str, Any]:
    """What was given, as it stands in an address."""
    return {name: value for name, value in query.items() if value is not None}
