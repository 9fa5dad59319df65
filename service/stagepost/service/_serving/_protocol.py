"""Connections that end when a client takes too long, at either end of a request."""

from asyncio import TimerHandle, Transport  # noqa: TID251  # uvicorn's connections are asyncio's
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

_HEADERS: Final = 15.0  # seconds for the head of a request
_STALLED: Final = 30.0  # seconds for which a client may read nothing of what waits for it


class PatientProtocol(H11Protocol):
    """A connection of uvicorn that is patient for a time only.

    uvicorn itself waits for ever: for the end of a request's head, and for clients that read no more.
    """

    headers_timeout = _HEADERS
    stalled_timeout = _STALLED

    _head: TimerHandle | None = None
    _stalled: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        if self._head is None and self._is_idle:
            self._expect_head()
        super().data_received(data)
        if not self._is_idle:
            _cancel(self._head)
            self._head = None

    def pause_writing(self) -> None:
        """The client does not read as fast as it is written to."""
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(self.stalled_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        """It has read most of it."""
        super().resume_writing()
        _cancel(self._stalled)
        self._stalled = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        _cancel(self._head, self._stalled)
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        return cycle is None or cycle.response_complete

    def _expect_head(self) -> None:
        self._head = self.loop.call_later(self.headers_timeout, self._end_idle)

    def _end_idle(self) -> None:
        self._head = None
        if self._is_idle:
            self.transport.abort()


def _cancel(*timers: TimerHandle | None) -> None:
    for timer in timers:
        if timer is not None:
            timer.cancel()
