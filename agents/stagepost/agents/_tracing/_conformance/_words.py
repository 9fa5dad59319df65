"""What the checks of providers have in common."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, NamedTuple, Protocol, TypeAlias

from .._observation import ObservationStatus, TraceContext
from .._provider import TracingProvider

TracingOpened: TypeAlias = Callable[[], AbstractAsyncContextManager[TracingProvider]]
"""Opens a new provider."""

TracingCheck: TypeAlias = Callable[[TracingOpened], Awaitable[None]]
"""One promise of a provider: returns if it is kept, and raises `AssertionError` if it is not."""

AT: Final = 1_700_000_000.0  # seconds since 1970
PATIENCE: Final = 30.0  # seconds that nothing here takes


class KeptSpan(NamedTuple):
    """A span as it arrived where a provider sends it.

    Attributes:
        name: Its name.
        trace_id: 32 hexadecimal digits.
        span_id: 16 hexadecimal digits.
        parent_id: What it is below; None for nothing.
        status: How it has ended, as far as that can be told: ``error``, or anything else.
        started_at: Seconds since 1970.
        ended_at: Seconds since 1970.
    """

    name: str
    trace_id: str
    span_id: str
    parent_id: str | None
    status: ObservationStatus
    started_at: float
    ended_at: float


class Keeping(Protocol):
    """A provider, and what has arrived where it sends to."""

    @property
    def provider(self) -> TracingProvider:
        """The provider."""
        ...

    async def spans(self) -> Sequence[KeptSpan]:
        """All spans that have arrived and ended; called after a `flush`."""
        ...


KeepingOpened: TypeAlias = Callable[[], AbstractAsyncContextManager[Keeping]]
"""Opens a new provider, together with where it sends to."""

KeepingCheck: TypeAlias = Callable[[KeepingOpened], Awaitable[None]]
"""One promise of a provider whose spans can be read."""


def context(number: int, trace: int = 1) -> TraceContext:
    """A context with ids of its own."""
    return TraceContext(f"{trace:032x}", f"{number:016x}")


def equal(found: object, expected: object) -> None:
    """See that something is what it should be.

    Raises:
        AssertionError: It is not.
    """
    if found != expected:
        raise AssertionError(f"expected {expected!r}, and found {found!r}")


def true(fact: object, what: str) -> None:
    """See that something is so.

    Raises:
        AssertionError: It is not.
    """
    if not fact:
        raise AssertionError(what)
