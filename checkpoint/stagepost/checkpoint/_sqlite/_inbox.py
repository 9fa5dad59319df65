"""What anybody may do, on top of SQL: read, and write for runs; how it reaches the connection is left to a store."""

from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypeVar

from .._limits import Limits
from ..errors import StoreClosed
from . import _words as words
from ._connect import Connection
from ._reading import Reading
from ._rows import to_micros

T = TypeVar("T")


class Sink(Protocol):
    """Where work goes that has to be done in a transaction."""

    def write(
        self, work: Callable[[Connection], T], *, patient: bool = True, tells: bool = False
    ) -> Coroutine[Any, Any, T]:
        """Do it.

        Args:
            work: It.
            patient: Whether to wait as long as another process holds the write lock; callers from outside do not.
            tells: Whether it brings news, of which whoever owns the runs, or may claim them, has to hear.
        """
        ...


class Closed:
    """The sink of a store that is not open.

    Args:
        name: What the store is called.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    async def write(self, work: Callable[[Connection], T], *, patient: bool = True, tells: bool = False) -> T:  # noqa: ARG002  # refused
        """Refuse it."""
        raise StoreClosed(self._name)


class SqlInbox(Reading):
    """Writes what is for runs, whoever owns them.

    Args:
        clock: Seconds since 1970, for the times that waits carry.
        limits: How large values may be.
        sink: Where work goes.
    """

    def __init__(self, clock: Callable[[], float], limits: Limits, sink: Sink) -> None:
        self._clock = clock
        self.limits = limits
        self._sink = sink

    async def answer(
        self,
        run_id: str,
        place: str,
        value: bytes,
        *,
        name: str | None = None,
        by: str | None = None,
        checked: bool = True,
    ) -> None:
        """Answer a wait."""
        given = partial(words.answer, run_id=run_id, place=place, value=value, name=name, by=by)
        await self._tell(partial(given, checked=checked, now=self._now()))

    async def signal(
        self, run_id: str, name: str, value: bytes, *, dedup: str | None = None, checked: bool = True
    ) -> bool:
        """Send a signal to a run."""
        sent = partial(words.signal, run_id=run_id, name=name, value=value, dedup=dedup)
        return await self._tell(partial(sent, checked=checked, now=self._now()))

    async def settle(self, run_id: str, place: str, key: str, value: bytes | None, *, checked: bool = True) -> None:
        """Say what became of an effect in doubt."""
        said = partial(words.settle, run_id=run_id, place=place, key=key, value=value)
        await self._tell(partial(said, checked=checked, now=self._now()))

    async def cancel(self, run_id: str) -> None:
        """Request the end of an open run and of all below it."""
        await self._tell(partial(words.cancel, run_id=run_id))

    async def release(self, child: str) -> None:
        """End the waits for another run."""
        await self._tell(partial(words.release, child=child, now=self._now()), patient=True)

    async def expire(self, now: float, limit: int = 100) -> datetime | None:
        """End the waits that are due."""
        return await self._tell(partial(words.expire, now=to_micros(now), limit=limit), patient=True)

    def _tell(self, work: Callable[[Connection], T], *, patient: bool = False) -> Coroutine[Any, Any, T]:
        return self._sink.write(work, patient=patient, tells=True)

    def _now(self) -> int:
        return to_micros(self._clock())
