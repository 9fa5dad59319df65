"""The metrics of hubs for OpenTelemetry; `stagepost.hub.otel` has them for users."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from opentelemetry.metrics import MeterProvider

from stagepost._metering import Gauges, Readings, meter_of

from ._hub import Hub
from ._limits import Duration, seconds
from ._metrics import HubMetrics

_ENDED: Final = "stagepost.hub.message.ended"
_OUTCOMES: Final = ("handled", "failed", "cancelled", "dead")
_COUNTED: Final[Mapping[str, tuple[str, str, str]]] = {
    "refused": ("stagepost.hub.message.refused", "{message}", "Messages that were never accepted."),
    "observer_failures": ("stagepost.hub.observer.failed", "{event}", "Events on which the observer failed."),
}
_CURRENT: Final[Mapping[str, tuple[str, str, str]]] = {
    "in_flight": ("stagepost.hub.message.in_flight", "{message}", "Messages that wait or are being handled."),
    "depth": ("stagepost.hub.message.queued", "{message}", "Messages that wait in mailboxes."),
    "blocked": ("stagepost.hub.sender.blocked", "{sender}", "Senders that wait for room in a mailbox."),
}


class HubInstruments:
    """Records what `Hub.metrics` counts as metrics of OpenTelemetry, for as long as a hub is watched.

    ::

        instruments = HubInstruments()
        async with Hub() as hub, instruments.watching(hub): ...

    Make one of it for all hubs of a process. Attributes are the hub's name and an outcome, never an agent or a message.

    Args:
        meter_provider: Makes the instruments; by default the global one of OpenTelemetry.
    """

    def __init__(self, meter_provider: MeterProvider | None = None) -> None:
        meter = meter_of("stagepost.hub", meter_provider)
        self._ended = meter.create_counter(_ENDED, "{message}", "Messages that were handled, or never will be.")
        self._counted = {field: meter.create_counter(*about) for field, about in _COUNTED.items()}
        self._gauges = Gauges(meter)
        for about in _CURRENT.values():
            self._gauges.add(*about)

    @asynccontextmanager
    async def watching(self, hub: Hub, *, every: Duration = 15.0) -> AsyncIterator[None]:
        """Record the metrics of a hub within a block: what it counts from the beginning to the end of the block.

        Args:
            hub: The hub. It may be entered within the block, too, so that what is done while it is left counts as well.
            every: How often they are read, in seconds or as a `timedelta`. Export them no more often.
        """
        last = hub.metrics()

        async def read() -> Readings:
            nonlocal last
            before, last = last, hub.metrics()
            return self._record(hub.name, before, last)

        try:
            async with self._gauges.reading(read, seconds(every, "every")):
                yield
        finally:
            await read()

    def _record(self, hub: str, before: HubMetrics, now: HubMetrics) -> Readings:
        """Count what has happened in between, and return what is so now."""
        name = "stagepost.hub.name"
        for outcome in _OUTCOMES:
            self._ended.add(getattr(now, outcome) - getattr(before, outcome), {name: hub, "stagepost.outcome": outcome})
        for field, counter in self._counted.items():
            counter.add(getattr(now, field) - getattr(before, field), {name: hub})
        return {about[0]: {((name, hub),): getattr(now, field)} for field, about in _CURRENT.items()}
