"""Numbers that are read on the event loop, and collected by the thread of an exporter."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, TypeAlias

from anyio import create_task_group, sleep
from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider, Observation, get_meter_provider

_SCHEMA: Final = "https://opentelemetry.io/schemas/1.41.0"

Attributes: TypeAlias = tuple[tuple[str, str], ...]
Readings: TypeAlias = Mapping[str, Mapping[Attributes, int]]
Read: TypeAlias = Callable[[], Awaitable[Readings]]


def meter_of(scope: str, provider: MeterProvider | None) -> Meter:
    """What makes the instruments of a layer, by the global provider if none is given."""
    return (provider or get_meter_provider()).get_meter(scope, schema_url=_SCHEMA)


class Gauges:
    """Current numbers, which a task reads on its event loop, and which any thread may collect.

    What several blocks read at once is added up.

    Args:
        meter: Makes the instruments.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._read: dict[object, Readings] = {}

    def add(self, name: str, unit: str, description: str) -> None:
        """Make an instrument of the readings of this name."""
        observe = partial(self._observe, name)
        self._meter.create_observable_up_down_counter(name, [observe], unit=unit, description=description)

    @asynccontextmanager
    async def reading(self, read: Read, every: float) -> AsyncIterator[None]:
        """Read at the beginning of a block, and every so many seconds until its end; after it nothing is observed.

        What the block raises leaves it as it is, not in a group.
        """
        block, failure = object(), None
        self._read[block] = await read()
        try:
            async with create_task_group() as group:
                group.start_soon(self._go_on, block, read, every)
                try:
                    yield
                except Exception as error:  # noqa: BLE001  # raised again
                    failure = error
                group.cancel_scope.cancel()
        finally:
            del self._read[block]
        if failure is not None:
            raise failure

    async def _go_on(self, block: object, read: Read, every: float) -> None:
        while True:
            await sleep(every)
            self._read[block] = await read()

    def _observe(self, name: str, _: CallbackOptions) -> Sequence[Observation]:
        """Add up what was read; the exporter's thread calls this."""
        total = Counter[Attributes]()
        for readings in tuple(self._read.values()):  # made at once, while the event loop may add one
            total.update(readings.get(name, {}))
        return [Observation(number, dict(attributes)) for attributes, number in total.items()]
